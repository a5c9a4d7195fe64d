// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * director.cpp - see director.h.
 */
#include "director.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "fuse.h"
#include "rules.h"

namespace callfuzz {

using namespace std::chrono_literals;

/* Programs in one of the two files that are left for the host. */
constexpr uint64_t programs_of_file = 20000;

static Shared *make_shared()
{
	void *at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		throw Wrong{"no memory"};
	return new (at) Shared;
}

Director::Director(const Options &options)
	: options_(options), stage_(make_shared(), find_module()),
	  world_(options.script, *stage_.shared), witnessed_at_(Clock::now())
{
	/* Children of actors are this process's when those are gone. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	stage_.fuse = start_fuse(shared());
	witness_ = start_witness(shared(), options.patience);
	waiter_ = start_waiter(shared());
	world_.make();
	packets_.watch_packets();
	console_ = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	lseek(console_, 0, SEEK_END);
}

Director::~Director()
{
	for (pid_t pid : {witness_, waiter_})
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, nullptr, 0);
		}
	close(console_);
}

void Director::clear(bool learns)
{
	Shared &all = shared();

	memset(all.edges, 0, sizeof(all.edges));
	memset(all.others, 0, sizeof(all.others));
	memset(static_cast<void *>(all.told), 0, sizeof(all.told));
	for (auto &boxes : all.box)
		for (Box &box : boxes)
			box.call = not_there;
	all.child = 0;
	all.fuse_answers = false;
	all.fuse_asked = 0;
	all.late_writes = 0;
	all.late[0] = 0;
	all.starved_ms = 0;
	all.learns = learns;
	all.compared_count = 0;
}

/* So that it is known what ran when the machine ends, or when a leak was made. */
void Director::leave_note(const Program &program)
{
	const uint64_t file = runs_ / programs_of_file % 2;
	const bool first = runs_ % programs_of_file == 0;
	std::string up;

	if (options_.out.empty())
		return;
	std::ifstream("/proc/uptime") >> up;
	std::ofstream(options_.out + "/programs-" + std::to_string(file),
		      first ? std::ios::trunc : std::ios::app)
		<< "\n# number " << runs_ << ", up " << up << '\n'
		<< program.text();
}

void Director::start(const Program &program, int actor)
{
	stage_.holder = world_.holder();
	pids_[size_t(actor)] = fork();
	if (!pids_[size_t(actor)])
		play_actor(stage_, program, actor);
	if (pids_[size_t(actor)] < 0)
		throw Wrong{"fork: " + std::string(strerror(errno))};
	await_start(actor);
}

/* D is born by A when it is called for first. */
void Director::bear_child()
{
	const int worker = find_worker(0);

	if (worker < 0)
		return;
	auto &box = shared().box[0][worker];
	box.call = fork_child;
	wake_word(box.call);
	const auto end = Clock::now() + 5s;
	while (box.call == fork_child && Clock::now() < end)
		wait_word(box.call, fork_child, 100);
	pids_[3] = shared().child;
	if (pids_[3] > 0)
		await_start(3);
}

/* That its first worker takes calls; one that is busy with nothing else soon does. */
void Director::await_start(int actor)
{
	auto &box = shared().box[actor][0];
	const auto end = Clock::now() + 2s;

	while (box.call == not_there && Clock::now() < end)
		wait_word(box.call, not_there, 100);
}

bool Director::is_here(int actor)
{
	return pids_[size_t(actor)] > 0;
}

int Director::find_worker(int actor)
{
	for (int i = 0; i < workers; i++)
		if (shared().box[actor][i].call == nothing)
			return i;
	return -1;
}

/* Whether a thread waits for something; one that could run has not had its turn. */
static bool is_asleep(int thread)
{
	std::ifstream in("/proc/" + std::to_string(thread) + "/stat");
	std::string text;

	std::getline(in, text);
	const size_t end = text.rfind(") ");
	return end == std::string::npos || text[end + 2] != 'R';
}

/* Until it is done, or the actor is asleep, as it is found twice. */
void Director::await(int actor, int worker, int call)
{
	Box &box = shared().box[actor][worker];
	const auto end = Clock::now() + 3s;
	int asleep = 0;

	while (box.call == call && asleep < 2 && Clock::now() < end)
		if (!wait_word(box.call, call, int(options_.call_ms)))
			asleep = is_asleep(box.thread) ? asleep + 1 : 0;
}

/* Calls that are the director's to make. */
bool Director::direct_self(const Program &program, size_t at)
{
	const Call &call = program.calls[at];
	const std::string &name = call.entry->name;

	if (name == "kill") {
		end_actor(int(call.args[0].number % actors));
		return true;
	}
	/* No actor can do it that waits for the page itself. */
	if (name == "fuse_answer") {
		shared().fuse_answers = true;
		return true;
	}
	if (is_rule(call)) {
		shared().told[at].error =
			set_rule(shared(), program, at, world_.holder());
		shared().told[at].state = State::done;
		return true;
	}
	if (name == "end_ns") {
		world_.end_holder();
		shared().told[at].state = State::done;
		return true;
	}
	return false;
}

void Director::direct(const Program &program, size_t at)
{
	const Call &call = program.calls[at];

	if (direct_self(program, at))
		return;
	if (!is_here(call.actor)) {
		if (call.actor == 3) {
			if (!is_here(0))
				start(program, 0);
			bear_child();
		} else if (call.actor != 2 || world_.holder()) {
			start(program, call.actor);
		}
		if (!is_here(call.actor))
			return;
	}
	const int worker = find_worker(call.actor);
	if (worker < 0) {
		stuck_++;
		return;
	}
	auto &box = shared().box[call.actor][worker];
	shared().told[at].state = State::asked;
	box.call = int(at);
	wake_word(box.call);
	if (!call.async)
		await(call.actor, worker, int(at));
}

void Director::reap(pid_t pid)
{
	const auto end = Clock::now() + std::chrono::seconds(options_.patience);

	for (auto rest = 100us; waitpid(pid, nullptr, WNOHANG) == 0;
	     rest = std::min<std::chrono::microseconds>(rest * 2, 20ms)) {
		if (Clock::now() > end) {
			std::ofstream("/proc/sysrq-trigger")
				<< 'w' << std::flush;
			std::ofstream("/proc/sysrq-trigger")
				<< 't' << std::flush;
			throw Wrong{"process " + std::to_string(pid) +
				    " does not end; see the console"};
		}
		std::this_thread::sleep_for(rest);
	}
}

void Director::end_actor(int actor)
{
	pid_t &pid = pids_[size_t(actor)];

	if (pid > 0)
		kill(pid, SIGKILL);
}

/* Each process looks in its own memory, and C in the packets that it holds. */
void Director::find_late_bytes()
{
	if (!shared().late_writes)
		return;
	shared().fuse_answers = true;
	/* A packet that waited for a page is on its way. */
	std::this_thread::sleep_for(5ms);
	for (int actor = 0; actor < actors; actor++) {
		const int worker = is_here(actor) ? find_worker(actor) : -1;

		if (worker < 0)
			continue;
		Box &box = shared().box[actor][worker];
		box.call = find_late;
		wake_word(box.call);
		await(actor, worker, find_late);
	}
}

/* A page of FUSE that was asked for has to come, or its process cannot end. */
void Director::end_all()
{
	shared().fuse_answers = true;
	for (int i = 0; i < actors; i++)
		end_actor(i);
	/* A child that was born late: its parent cannot make another any more. */
	if (pids_[0] > 0)
		reap(pids_[0]);
	pids_[0] = 0;
	pids_[3] = shared().child;
	end_actor(3);
	for (int i : {0, 1, 2, 3}) {
		pid_t &pid = pids_[size_t(i)];

		if (pid > 0)
			reap(pid);
		pid = 0;
	}
	/* Reap the processes that actors left behind. */
	while (waitpid(-1, nullptr, WNOHANG) > 0)
		;
}

void Director::run(const Program &program, bool learns)
{
	const auto begun = Clock::now();

	clear(learns);
	leave_note(program);
	stage_.serial = uint32_t(runs_++);
	packets_.begin();
	for (size_t i = 0; i < program.calls.size(); i++)
		direct(program, i);
	if (!program.calls.empty() && program.calls.back().async)
		std::this_thread::sleep_for(2ms);
	find_late_bytes();
	end_all();
	packets_.end(shared(), stage_.module);
	look();
	const auto before = Clock::now();
	try {
		world_.repair(program);
		repair_time_ += Clock::now() - before;
	} catch (const std::runtime_error &error) {
		throw Wrong{error.what()};
	}
	last_time_ = Clock::now() - begun;
}

void Director::read_console()
{
	static const char *const complaints[] = {
		"[ cut here ]",
		"WARNING: ",
		"BUG: ",
		"KASAN: ",
		"UBSAN: ",
		"ODEBUG: ",
		"INFO: possible",
		"INFO: suspicious",
		"INFO: trying",
		"blocked for more than",
		"page allocation failure",
		"refcount_t: ",
		"corruption",
		"soft lockup",
		"self-detected",
		"unregister_netdevice: waiting"};
	char record[8192];
	ssize_t size;

	while ((size = read(console_, record, sizeof(record) - 1)) > 0 ||
	       (size < 0 && errno == EPIPE)) {
		record[std::max<ssize_t>(size, 0)] = 0;
		for (const char *complaint : complaints)
			if (size > 0 && strstr(record, complaint))
				throw Wrong{std::string("the kernel says: ") +
					    record};
	}
}

uint32_t Director::starve(unsigned ms)
{
	shared().starved_ms = 0;
	starve_all(ms);
	/* It says so when it has the CPU again. */
	std::this_thread::sleep_for(50ms);
	return shared().starved_ms.exchange(0);
}

void Director::look_at_starvation()
{
	const uint32_t ms = shared().starved_ms;

	starved_ms_ = std::max(starved_ms_, ms);
	if (ms > options_.starve_ms)
		throw Wrong{"a process that could run was " +
			    std::to_string(ms) + " ms without the CPU"};
}

void Director::look()
{
	const uint32_t witnessed = shared().witnessed;

	read_console();
	look_at_starvation();
	if (shared().late[0])
		throw Wrong{std::string("late bytes: ") + shared().late};
	if (shared().testimony[0])
		throw Wrong{std::string("the witness: ") + shared().testimony};
	if (witnessed != witnessed_) {
		witnessed_ = witnessed;
		witnessed_at_ = Clock::now();
	} else if (Clock::now() - witnessed_at_ >
		   std::chrono::seconds(2 * options_.patience)) {
		throw Wrong{"the witness says nothing"};
	}
}

} // namespace callfuzz
