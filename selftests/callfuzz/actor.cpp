// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * actor.cpp - see actor.h: the user that an actor is, and its threads.
 */
#include "actor.h"

#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "hands.h"

namespace callfuzz {
namespace {

constexpr unsigned ordinary_user = 1000;

void enter(pid_t holder, const char *which)
{
	const std::string path =
		"/proc/" + std::to_string(holder) + "/ns/" + which;
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, 0))
		perror("# setns");
	close(fd);
}

void become(const Stage &stage, int actor)
{
	if (actor == 1) {
		if (setgroups(0, nullptr) ||
		    setresgid(ordinary_user, ordinary_user, ordinary_user) ||
		    setresuid(ordinary_user, ordinary_user, ordinary_user))
			perror("# setuid");
	} else if (actor == 2) {
		/* The network first: root of the new user namespace is nothing here. */
		enter(stage.holder, "net");
		enter(stage.holder, "user");
		if (setresgid(0, 0, 0) || setresuid(0, 0, 0))
			perror("# setuid");
	}
	/* So that it may ask for failures of its own allocations. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* A file that no actor has had, so that no page of it is there. */
int open_fuse(const Stage &stage, int actor)
{
	const std::string path = stage.fuse + "/" +
				 std::to_string(stage.serial) + "-" +
				 std::to_string(actor);

	return stage.fuse.empty() ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC);
}

class Player {
public:
	Player(Stage &stage, const Program &program, Hands &hands)
		: stage_(stage), program_(program), hands_(hands)
	{
	}

	[[noreturn]] void play(int worker)
	{
		auto &box = stage_.shared->box[hands_.actor][worker];
		Kcov &kcov = stage_.kcov[size_t(hands_.actor)][size_t(worker)];

		kcov.watch(stage_.shared->learns);
		box.thread = int(syscall(SYS_gettid));
		box.call = nothing;
		wake_word(box.call);
		for (;;) {
			const int call = box.call.load();

			if (call == nothing) {
				wait_word(box.call, nothing, 1000);
				continue;
			}
			if (call == fork_child)
				bear();
			else if (call == find_late)
				find_late_bytes(hands_);
			else
				make(size_t(call), kcov);
			box.call = nothing;
			wake_word(box.call);
		}
	}

private:
	void make(size_t at, Kcov &kcov)
	{
		Told &told = stage_.shared->told[at];

		kcov.begin();
		make_call(hands_, program_, at);
		kcov.end(*stage_.shared, stage_.module);
		told.state = State::done;
	}

	/* D: it has the files, and copies of the memory. */
	void bear()
	{
		{
			std::lock_guard guard(hands_.late.lock());
			pid_t pid = fork();

			if (pid) {
				stage_.shared->child = pid;
				return;
			}
		}
		hands_.late.clean();
		hands_.actor = 3;
		for (int i = 1; i < workers; i++)
			std::thread([this, i] { play(i); }).detach();
		play(0);
	}

	Stage &stage_;
	const Program &program_;
	Hands &hands_;
};

} // namespace

void play_actor(Stage &stage, const Program &program, int actor)
{
	Hands hands{*stage.shared, actor};
	Player player(stage, program, hands);

	catch_faults();
	make_memory(hands, open_fuse(stage, actor));
	become(stage, actor);
	/* All files from here on are the program's. */
	hands.first_file = dup(0);
	close(hands.first_file);
	for (int i = 1; i < workers; i++)
		std::thread([&player, i] { player.play(i); }).detach();
	player.play(0);
}

} // namespace callfuzz
