// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Several processes: each with its own context on the device, killed while
 * messages travel, forked while regions are registered, gone without a word.
 */
#include <cstring>
#include <functional>
#include <memory>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/child.h"
#include "link.h"
#include "remote_host.h"
#include "tap.h"

using namespace pv;

namespace {

/* A child process that does what it is told over a socket pair. */
class Child {
public:
	explicit Child(const Selector &device)
	{
		int fds[2];

		REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds),
			"socketpair");
		pid_ = fork();
		REQUIRE(pid_ >= 0, "fork");
		if (!pid_) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(fds[0]);
			serve_and_leave(device, fds[1]);
		}
		close(fds[1]);
		host_ = remote_host(fds[0]);
	}

	~Child()
	{
		host_.reset();
		if (pid_ > 0) {
			kill(pid_, SIGKILL);
			waitpid(pid_, nullptr, 0);
		}
	}

	Host &host() { return *host_; }

	void kill_now()
	{
		int status;

		kill(pid_, SIGKILL);
		waitpid(pid_, &status, 0);
		pid_ = -1;
	}

private:
	[[noreturn]] static void serve_and_leave(const Selector &device, int fd)
	{
		try {
			LocalHost host(device);

			serve(host, fd);
		} catch (const std::exception &) {
			_exit(1);
		}
		_exit(0);
	}

	pid_t pid_ = -1;
	std::unique_ptr<Host> host_;
};

/* Runs @body in a child that has both devices open; fails unless the child says all was well. */
void in_child_with(Env &env, const std::function<void(Env &)> &body)
{
	common::Child child([&] {
		LocalHost a(env.device_a), b(env.device_b);
		Env mine(a, b, env.options, env.device_a, env.device_b);

		body(mine);
	});

	child.must_end_well();
}

/* Every operation, both directions, with an end on `device` in another process. */
void with_another(Env &env, const Selector &device)
{
	Child child(device);
	Env both(env.a, child.host(), env.options, env.device_a, device);
	Link link = connect(both);
	Place at_a = {must_reg(both.a, {30000, 9}), 5};
	Place at_b = {must_reg(both.b, {30000, 7}), 3};

	for (Op op :
	     {Op::send, Op::send_imm, Op::write, Op::write_imm, Op::read}) {
		exchange(both, link.a, link.b, op, at_a, at_b, 20001);
		exchange(both, link.b, link.a, op, at_b, at_a, 20001);
	}
	std::string left = both.end();
	REQUIRE(left.empty(), left);
}

} // namespace

PV_TEST_LOCAL("process.two",
	      "the ends in two processes: every operation, both directions")
{
	with_another(env, env.device_b);
}

PV_TEST_LOCAL("process.same_device",
	      "two processes on the same device, connected to each other")
{
	with_another(env, env.device_a);
}

PV_TEST_LOCAL("process.key_of_another",
	      "the key of a region in another process does not open it")
{
	env.expect_async();
	Child child(env.device_b);
	Env both(env.a, child.host(), env.options, env.device_a, env.device_b);
	Link link = connect(env); /* B's end is in this process */
	Mr theirs = must_reg(both.b, {4096});
	Mr mine = must_reg(env.a, {64});
	SendWr wr = make_wr(Op::write, {mine, 0}, 64, {theirs, 0});

	both.b.fill(theirs.id, 0, 4096, 11, 0);
	must_send(env, link.a, wr, "write with a key of another process",
		  IBV_WC_REM_ACCESS_ERR);
	must_match(both.b, theirs, 0, 4096, 11, 0, "their memory");
}

PV_TEST_LOCAL(
	"process.killed_peer",
	"the other process killed under traffic: RETRY_EXC_ERR, flush, no hang")
{
	env.expect_async();
	for (Op op : {Op::write, Op::read, Op::send}) {
		constexpr uint64_t size = 4 << 20;
		Child child(env.device_b);
		Env both(env.a, child.host(), env.options, env.device_a,
			 env.device_b);

		Link link = connect(both, {.timeout = 12, .retry_count = 2});
		Mr mr = must_reg(both.a, {size}),
		   there = must_reg(both.b, {size});
		std::vector<SendWr> wrs(8,
					make_wr(op, {mr, 0}, size, {there, 0}));

		for (int i = 0; i < 2; i++)
			must_post(link.b,
				  RecvWr{0,
					 {{there.id, 0, uint32_t(size), 0}}});
		bool ended = false;
		auto take = [&](const Wc &wc) {
			/* Keys may go before the queue pair does. */
			bool fatal = wc.status == IBV_WC_RETRY_EXC_ERR ||
				     wc.status == IBV_WC_REM_ACCESS_ERR ||
				     wc.status == IBV_WC_REM_OP_ERR;

			REQUIRE(ended ? wc.status == IBV_WC_WR_FLUSH_ERR :
					fatal || wc.status == IBV_WC_SUCCESS,
				name_of(op), ": ",
				ibv_wc_status_str(wc.status));
			ended |= fatal;
		};
		/* It may serve many before it ends. */
		auto ends = [&] {
			for (const Wc &wc :
			     wait_completions(both, link.a, link.a.send_cq, 8,
					      "requests"))
				take(wc);
			if (!ended)
				must_post(link.a, wrs);
			return ended;
		};

		must_post(link.a, wrs);
		child.kill_now();
		REQUIRE(eventually(env, ends), name_of(op),
			": no error from a dead peer");
		wait_state(env, link.a, IBV_QPS_ERR);
		env.a.destroy(Kind::qp, link.a.qp.id);
	}
}

PV_TEST_LOCAL("process.leaves_without_cleaning",
	      "10 processes exit with everything open and work outstanding")
{
	for (int round = 0; round < 10; round++) {
		in_child_with(env, [](Env &mine) {
			Link link = connect(mine);
			constexpr uint64_t size = 1 << 20;
			Mr at_a = must_reg(mine.a, {size}),
			   at_b = must_reg(mine.b, {size});

			must_post(link.b, std::vector<RecvWr>(8));
			must_post(link.a, std::vector<SendWr>{
						  make_wr(Op::write, {at_a, 0},
							  size, {at_b, 0}),
						  make_wr(Op::read, {at_a, 0},
							  size, {at_b, 0}),
						  make_wr(Op::send, {}, 0)});
			/* As the kernel sees it: all at once, no destructors. */
			_exit(0);
		});
	}
	Link link = connect(env);
	prove_alive(env, link);
}

PV_TEST_LOCAL(
	"process.fork_parent_keeps",
	"after fork the parent's buffers are still the ones the device uses")
{
	Link link = connect(env);
	constexpr uint64_t size = 300000;
	Mr out = must_reg(env.a, {size, 77}, 1),
	   in = must_reg(env.b, {size, 99});
	uint8_t *target = local(env.b).memory(in.id);
	int pipe_fds[2];

	env.b.fill(in.id, 0, size, 2, 0);
	REQUIRE(!pipe2(pipe_fds, O_CLOEXEC), "pipe");
	common::Child child([&] {
		char byte;

		/* Lives on, sharing pages, and scribbles on its own copies. */
		close(pipe_fds[1]);
		memset(target, 0xee, size);
		while (read(pipe_fds[0], &byte, 1) > 0)
			;
	});
	close(pipe_fds[0]);
	/* The parent writes after the fork: its pages, not copies. */
	for (uint64_t seed = 10; seed < 13; seed++) {
		env.a.fill(out.id, 0, size, seed, 0);
		env.b.fill(in.id, 0, size, 2, 0);
		must_send(env, link.a,
			  make_wr(Op::write, {out, 0}, size, {in, 0}), "write");
		must_match(env.b, in, 0, size, seed, 0, "data after fork");
	}
	close(pipe_fds[1]);
	child.must_end_well();
	prove_alive(env, link);
}

PV_TEST_LOCAL("process.fork_child_has_own",
	      "a forked child opens the device itself while the parent goes on")
{
	Link link = connect(env);

	for (int round = 0; round < 3; round++) {
		in_child_with(env, [](Env &mine) {
			Link own = connect(mine);

			prove_alive(mine, own);
			REQUIRE(mine.end().empty(), "its end");
		});
		prove_alive(env, link);
	}
}

PV_TEST_LOCAL("process.other_user",
	      "who opened the device and then becomes another user goes on")
{
	in_child_with(env, [](Env &mine) {
		Link own = connect(mine);

		prove_alive(mine, own);
		REQUIRE(!setgid(65534) && !setuid(65534), "another user");
		prove_alive(mine, own);
		REQUIRE(mine.end().empty(), "its end");
	});
}

PV_TEST_LOCAL(
	"process.inherited_context",
	"a child that exits with the parent's context inherited breaks nothing")
{
	Link link = connect(env);

	prove_alive(env, link);
	for (int round = 0; round < 5; round++) {
		common::Child([] {}).must_end_well();
		prove_alive(env, link);
	}
}

PV_TEST_LOCAL("process.open_close",
	      "the device opened and closed 100 times, with a PD each time")
{
	for (int round = 0; round < 100; round++) {
		LocalHost host(env.device_a);

		REQUIRE_EQ(host.alloc_pd().error, 0, "alloc_pd");
	}
}
