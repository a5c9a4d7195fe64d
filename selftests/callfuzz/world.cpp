// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * world.cpp - see world.h.
 */
#include "world.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <iterator>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters.h"
#include "rules.h"

namespace callfuzz {
namespace {

constexpr unsigned other_user = 2000;

void write_text(const std::string &path, const std::string &text)
{
	std::ofstream(path) << text << std::flush;
}

/* "fe80:0000:...": eight groups of four digits. */
void read_gid(const std::string &text, uint8_t *gid)
{
	std::istringstream in(text);
	std::string group;

	for (int i = 0; i < 16 && std::getline(in, group, ':'); i += 2) {
		const unsigned long word = strtoul(group.c_str(), nullptr, 16);

		gid[i] = uint8_t(word >> 8);
		gid[i + 1] = uint8_t(word);
	}
}

/* Addresses beside those of adapters, from number 8 on. */
void add_gids(Places &places)
{
	static const char *const more[] = {
		"0000:0000:0000:0000:0000:ffff:ef09:0909", /* 239.9.9.9 */
		"ff0e:0000:0000:0000:0000:0000:0000:0009",
		"0000:0000:0000:0000:0000:0000:0000:0000",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"0000:0000:0000:0000:0000:ffff:7f00:0001",
		"fe80:0000:0000:0000:0000:0000:0000:0001",
		"0000:0000:0000:0000:0000:ffff:0a0a:00ff",
		"0000:0000:0000:0000:0000:ffff:ffff:ffff",
	};

	for (size_t i = 0; i < std::size(more); i++)
		read_gid(more[i], places.gid[8 + i]);
}

bool has_call(const Shared &shared, const Program &program, const char *name)
{
	for (size_t i = 0; i < program.calls.size(); i++)
		if (program.calls[i].entry->name == name &&
		    shared.told[i].state != State::idle &&
		    !shared.told[i].error)
			return true;
	return false;
}

/* One that tc refused took those before it away, and left an empty place. */
bool has_rule(const Shared &shared, const Program &program)
{
	for (size_t i = 0; i < program.calls.size(); i++)
		if (is_rule(program.calls[i]) &&
		    shared.told[i].state != State::idle)
			return true;
	return false;
}

} // namespace

World::World(std::string script, Shared &shared)
	: script_(std::move(script)), shared_(shared)
{
	add_gids(shared_.places);
}

World::~World()
{
	end_holder();
}

void World::start_holder()
{
	int ready[2];
	char done;

	if (pipe2(ready, O_CLOEXEC))
		throw std::runtime_error("pipe");
	holder_ = fork();
	if (!holder_) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgroups(0, nullptr) ||
		    setresgid(other_user, other_user, other_user) ||
		    setresuid(other_user, other_user, other_user) ||
		    unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(1);
		(void)!write(ready[1], "r", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (holder_ < 0 || read(ready[0], &done, 1) != 1)
		throw std::runtime_error("no namespaces for an actor");
	close(ready[0]);
	const std::string proc = "/proc/" + std::to_string(holder_) + "/";
	write_text(proc + "uid_map", "0 2000 1\n");
	write_text(proc + "setgroups", "deny\n");
	write_text(proc + "gid_map", "0 2000 1\n");
}

void World::end_holder()
{
	if (holder_ <= 0)
		return;
	kill(holder_, SIGKILL);
	waitpid(holder_, nullptr, 0);
	holder_ = 0;
}

bool World::run(const std::string &what) const
{
	return !system(("bash " + script_ + " " + what + " " +
			std::to_string(holder_) +
			" >/run/callfuzz-world.log 2>&1")
			       .c_str());
}

/* Reads the lines of world.sh: of each adapter its numbers and addresses. */
bool World::describe()
{
	std::ifstream in("/run/callfuzz-world");
	Places &places = shared_.places;

	for (int i = 0; i < devices; i++) {
		std::string four, six;

		if (!(in >> places.index[i] >> places.uverbs[i] >>
		      places.sgid[i] >> places.sgid[devices + i] >> four >>
		      six))
			return false;
		read_gid(four, places.gid[i]);
		read_gid(six, places.gid[devices + i]);
	}
	return true;
}

void World::make()
{
	if (!holder_)
		start_holder();
	if (!run("make") || !describe())
		throw std::runtime_error("the world cannot be made: "
					 "/run/callfuzz-world.log");
	reset_counters(shared_.places);
}

/* Interfaces of this namespace up, with their addresses and routes. */
bool World::mend_links() const
{
	pid_t pid = fork();
	int status = 1;

	if (!pid) {
		close(2);
		execlp("ip", "ip", "-force", "-batch", "/run/callfuzz-links",
		       nullptr);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid;
}

/* Interfaces over windows, which outlive the processes that made them. */
void World::end_interfaces() const
{
	const std::string list = "ip -o link show type pavo_window | "
				 "sed 's/^[0-9]*: \\([^:@]*\\).*/\\1/'";
	const std::string each =
		"for i in $(" + list + "); do ip link del $i; done; ";

	(void)!system(("{ " + each + "} 2>/dev/null").c_str());
	(void)!system(("nsenter -t " + std::to_string(holder_) +
		       " -n sh -c \"" + each + "\" 2>/dev/null")
			      .c_str());
}

/* Mends the world, if that is possible without all being made anew. */
bool World::mend(const Program &program)
{
	for (const char *name : {"remove_link", "end_ns"})
		if (has_call(shared_, program, name))
			return false;
	if (has_call(shared_, program, "nl_stat_auto"))
		reset_counters(shared_.places);
	if (has_rule(shared_, program))
		end_rules(holder_);
	if (has_call(shared_, program, "netif_add"))
		end_interfaces();
	bool links = false;
	for (const char *name : {"link", "mtu"})
		links |= has_call(shared_, program, name);
	if (links && !mend_links())
		return false;
	bool adapters = links || !adapters_are_whole();
	for (const char *name : {"nl_dellink", "nl_newlink", "nl_set"})
		adapters |= has_call(shared_, program, name);
	if (!adapters)
		return true;
	repairs_++;
	return mend_adapters(holder_) && find_places(shared_.places);
}

void World::repair(const Program &program)
{
	if (mend(program))
		return;
	repairs_++;
	if (has_call(shared_, program, "end_ns"))
		end_holder();
	make();
}

} // namespace callfuzz
