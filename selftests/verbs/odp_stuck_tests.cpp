// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Pages that do not come: those of a file whose filesystem is frozen, so that a fault by
 * writing waits until it is thawed.
 */
#include <barrier>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/child.h"
#include "../common/device.h"
#include "disk.h"
#include "manager.h"
#include "never.h"
#include "paged.h"
#include "tap.h"
#include "window.h"
#include "xrc.h"

using namespace pv;

namespace {

/* More than works of a workqueue that a CPU has at a time. */
constexpr size_t faults = 300;

/* A page of a file in a filesystem of its own. */
class Frozen {
	Disk disk_{page};

public:
	explicit Frozen(int patience_ms)
	{
		REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    ends_),
			"socketpair");
		keeper_ = fork();
		if (!keeper_)
			_exit(keep(patience_ms));
	}

	~Frozen()
	{
		close(ends_[0]);
		if (keeper_)
			waitpid(keeper_, nullptr, 0);
		munmap(memory, page);
		close(ends_[1]);
	}
	Frozen(const Frozen &) = delete;

	void freeze()
	{
		char done;

		REQUIRE(write(ends_[0], "f", 1) == 1 &&
				read(ends_[0], &done, 1) == 1 && done == 'f',
			"freeze");
	}

	/* Return: it had not been long enough. */
	bool thaw()
	{
		int status = -1;

		(void)!write(ends_[0], "t", 1);
		waitpid(keeper_, &status, 0);
		keeper_ = 0;
		return status == 0;
	}

	uint8_t *const memory = disk_.map(PROT_READ | PROT_WRITE, MAP_SHARED);

private:
	/* The other process: this one may hang. */
	int keep(int patience_ms) const
	{
		pollfd end = {ends_[1], POLLIN, 0};
		int fd = open(Disk::folder(), O_RDONLY);
		char what;

		close(ends_[0]);
		if (read(ends_[1], &what, 1) != 1)
			return 1;
		if (ioctl(fd, FIFREEZE, 0))
			what = 0;
		(void)!write(ends_[1], &what, 1);
		int ready = poll(&end, 1, patience_ms);
		ioctl(fd, FITHAW, 0);
		return ready != 1;
	}

	int ends_[2];
	pid_t keeper_ = 0;
};

/* All of this thread, and what its packets cause, is on the first CPU; no new memory. */
class OneCpu {
public:
	OneCpu()
	{
		cpu_set_t one;

		sched_getaffinity(0, sizeof(before_), &before_);
		CPU_ZERO(&one);
		CPU_SET(0, &one);
		sched_setaffinity(0, sizeof(one), &one);
		/* Its lock is taken by those who wait for pages. */
		mallopt(M_TOP_PAD, 16 << 20);
		mallopt(M_TRIM_THRESHOLD, 64 << 20);
		mallopt(M_MMAP_THRESHOLD, 32 << 20);
		free(malloc(1 << 20));
	}
	~OneCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
	OneCpu(const OneCpu &) = delete;

private:
	cpu_set_t before_;
};

} // namespace

PV_TEST_LOCAL("odp.stuck_fault",
	      "pages do not come for 300 queue pairs: the end of a key, for "
	      "which the manager's work walks, does not wait for them")
{
	Frozen frozen(int(env.options.patience_ms));
	RawMr region = on_demand(env.b, frozen.memory, page);
	Mr in = as_target(region), out = must_reg(env.a, {8 * faults});
	LinkSpec uc = {.type = IBV_QPT_UC,
		       .cap = {4, 4, 1, 1, 0},
		       .cq_a = env.a.create_cq(1024, false),
		       .cq_b = env.b.create_cq(1024, false)};
	std::vector<Link> links;
	for (size_t i = 0; i < faults; i++)
		links.push_back(connect(env, uc));
	Window window(env.b, IBV_MW_TYPE_1);
	must_bind(env, links[0].b, window,
		  {must_reg(env.b, {page, 0, bindable_access}), 0, page});
	for (size_t i = 0; i < faults; i++)
		env.a.store(out.id, int64_t(8 * i), ~uint64_t(i));

	OneCpu one;
	Moved asked(env.b, "odp_faults");
	frozen.freeze();
	for (size_t i = 0; i < faults; i++) {
		SendWr wr = make_wr(Op::write, {out, int64_t(8 * i)}, 8,
				    {in, int64_t(8 * i)});

		wr.flags = 0;
		must_post(links[i].a, wr);
	}
	while (asked.by() < faults)
		;
	const int error = window.free();
	REQUIRE(frozen.thaw(), "deallocation waited for the pages");
	REQUIRE_EQ(error, 0, "dealloc_mw");
	/* They come at last, and nothing was lost. */
	for (size_t i = 0; i < faults; i++) {
		auto *word = reinterpret_cast<uint64_t *>(frozen.memory) + i;

		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != ~uint64_t(i))
			sched_yield();
	}
}

PV_TEST_LOCAL("odp.stuck_backlog",
	      "packets for a queue pair that waits for a page wait, too, up to "
	      "1024, and end with it; none is dropped uncounted")
{
	constexpr unsigned most = 1024, sent = most + 200;
	Frozen frozen(int(env.options.patience_ms));
	RawMr region = on_demand(env.b, frozen.memory, page);
	Mr in = as_target(region), out = must_reg(env.a, {8});
	Link link = connect(env, {.type = IBV_QPT_UC});

	OneCpu one;
	Moved full(env.b, "rx_drop_backlog"), ended(env.b, "rx_drop_state");
	frozen.freeze();
	for (unsigned i = 0; i < sent; i++) {
		must_send(env, link.a, make_wr(Op::write, {out, 0}, 8, {in, 0}),
			  "write that B does not answer");
	}
	while (full.by() < sent - most)
		sched_yield();
	REQUIRE_EQ(ended.by(), 0u, "packets of a queue pair that ended");
	to_state(link.b, IBV_QPS_RESET);
	while (ended.by() < most)
		sched_yield();
	REQUIRE(frozen.thaw(), "the queue pair's end waited for the page");
	REQUIRE_EQ(full.by(), sent - most, "packets that found no room");
	REQUIRE_EQ(ended.by(), most, "packets of a queue pair that ended");
}

namespace {

/* A writes eight bytes to page `number` of `region`; no end hears of it but by @flags. */
void write_to(Link &link, const Mr &out, const RawMr &region, size_t number,
	      unsigned flags = 0)
{
	SendWr wr = make_wr(Op::write, {out, 0}, 8,
			    {as_target(region), int64_t(number * page)});
	wr.flags = flags;
	must_post(link.a, wr);
}

LinkSpec patient()
{
	LinkSpec spec = {.timeout = 0};

	return spec;
}

/* So many packets wait until their queue pairs end, and those beyond were dropped. */
template <class Links>
void must_keep(Env &env, Links &links, uint64_t kept, uint64_t dropped,
	       const Moved &full, const Moved &ended)
{
	REQUIRE(eventually(env, [&] { return full.by() >= dropped; }),
		"those beyond the bound");
	for (auto &link : links)
		to_state(link.b, IBV_QPS_RESET);
	REQUIRE(eventually(env, [&] { return ended.by() >= kept; }),
		"those that waited");
	REQUIRE_EQ(full.by(), dropped, "dropped");
	REQUIRE_EQ(ended.by(), kept, "ended with their queue pairs");
}

} // namespace

PV_TEST_LOCAL("odp.never_ends",
	      "pages that never come hold up nothing: their queue pair is reset "
	      "and destroyed, their region deregistered")
{
	Never never(4);
	auto region = on_demand(env.b, never.memory, 4 * page);
	Mr out = must_reg(env.a, {8});
	Moved asked(env.b, "odp_faults");
	Link reset = connect(env, patient()), gone = connect(env, patient());

	write_to(reset, out, region, 0);
	write_to(gone, out, region, 1);
	REQUIRE(eventually(env, [&] { return asked.by() == 2; }), "faults");
	to_state(reset.b, IBV_QPS_RESET);
	/* It works again, although its page has still not come. */
	to_state(reset.a, IBV_QPS_RESET);
	bring_up(reset);
	Mr in = must_reg(env.b, {page}), from = must_reg(env.a, {page});
	exchange(env, reset.a, reset.b, Op::write, {from, 0}, {in, 0}, page);
	REQUIRE_EQ(env.b.destroy(Kind::qp, gone.b.qp.id), 0, "destroy_qp");
	REQUIRE_EQ(ibv_dereg_mr(region.release()), 0, "dereg_mr");
	/* Nothing has been written behind its back. */
	std::vector<unsigned char> resident(4);
	REQUIRE_EQ(mincore(never.memory, 4 * page, resident.data()), 0,
		   "mincore");
	for (unsigned char there : resident)
		REQUIRE_EQ(int(there & 1), 0, "a page came");
}

PV_TEST_LOCAL(
	"odp.never_paid",
	"packets that wait count for their user: beyond its bound they are "
	"dropped and counted, whatever room there is in queue pairs")
{
	constexpr uint64_t most = 100, sent = 130;
	Never never(2);
	auto region = on_demand(env.b, never.memory, 2 * page);
	Parameter bound("backlog_per_user", str(most));
	Mr out = must_reg(env.a, {8});
	LinkSpec uc = {.type = IBV_QPT_UC};
	Link links[] = {connect(env, uc), connect(env, uc)};
	Moved full(env.b, "rx_drop_backlog"), ended(env.b, "rx_drop_state");

	for (uint64_t i = 0; i < sent; i++) {
		write_to(links[i % 2], out, region, i % 2, IBV_SEND_SIGNALED);
		wait_send(env, links[i % 2].a, "write that B does not answer");
	}
	must_keep(env, links, most, sent - most, full, ended);
}

PV_TEST_LOCAL(
	"odp.never_target",
	"those for targets of XRC, which rdma core makes as the kernel's, count "
	"for their user, too")
{
	constexpr uint64_t most = 20, sent = 30;
	Never never(2);
	auto region = on_demand(env.b, never.memory, 2 * page);
	Parameter bound("backlog_per_user", str(most));
	Mr out = must_reg(env.a, {8});
	XrcLink links[] = {connect_xrc(env, patient()),
			   connect_xrc(env, patient())};
	Moved full(env.b, "rx_drop_backlog"), ended(env.b, "rx_drop_state"),
		came(env.b, "rx_packets");

	for (uint64_t i = 0; i < sent; i++) {
		SendWr wr = make_wr(Op::write, {out, 0}, 8,
				    {as_target(region), int64_t(i % 2 * page)});

		wr.flags = 0;
		must_post(links[i % 2].a, to_srq(links[i % 2].srq, wr));
		REQUIRE(eventually(env, [&] { return came.by() > i; }),
			"packet ", i);
	}
	must_keep(env, links, most, sent - most, full, ended);
}

PV_TEST_LOCAL(
	"odp.never_turns",
	"more pages that never come than a process may have asked for at a "
	"time: its other faults wait, and go on when that region ends")
{
	constexpr size_t stuck = 8;
	Never never(stuck);
	/* Their queue pairs learn that the region is gone. */
	env.expect_async();
	auto region = on_demand(env.b, never.memory, stuck * page);
	std::vector<uint8_t> plain(4 * page, 0);
	auto good = on_demand(env.b, plain.data(), plain.size());
	Mr out = must_reg(env.a, {8});
	std::vector<Link> links;
	Moved asked(env.b, "odp_faults");

	env.a.store(out.id, 0, 0x1122334455667788);
	for (size_t i = 0; i < stuck; i++) {
		links.push_back(connect(env, patient()));
		write_to(links.back(), out, region, i);
	}
	REQUIRE(eventually(env, [&] { return asked.by() == stuck; }), "faults");
	Link last = connect(env, patient());
	SendWr wr = make_wr(Op::write, {out, 0}, 8);
	wr.remote = uintptr_t(&plain[2 * page]);
	wr.rkey = good->rkey;
	must_post(last.a, wr);
	REQUIRE(eventually(env, [&] { return asked.by() == stuck + 1; }),
		"the good one's fault");
	no_more(last.a, "it waits for its turn");
	REQUIRE_EQ(ibv_dereg_mr(region.release()), 0, "dereg_mr");
	expect_send(env, last.a, wr.id, "the good one");
	uint64_t word;
	memcpy(&word, &plain[2 * page], sizeof(word));
	REQUIRE_EQ(word, 0x1122334455667788u, "its data");
}

PV_TEST_LOCAL(
	"odp.never_raced",
	"queue pairs are reset while a thread deregisters the region whose "
	"pages they wait for: each fault ends once")
{
	constexpr size_t served = 4, waiting = 4;
	const uint32_t rounds = env.options.races / 5000;
	Never never(served), other(waiting);
	auto blocker = on_demand(env.b, never.memory, served * page);
	Mr out = must_reg(env.a, {8});
	std::vector<Link> blocked, links;
	Moved asked(env.b, "odp_faults");

	env.expect_async();
	for (size_t i = 0; i < served; i++) {
		blocked.push_back(connect(env, patient()));
		write_to(blocked.back(), out, blocker, i);
	}
	REQUIRE(eventually(env, [&] { return asked.by() == served; }),
		"faults that are served");
	for (size_t i = 0; i < waiting; i++)
		links.push_back(connect(env, patient()));
	for (uint32_t round = 0; round < rounds; round++) {
		auto region = on_demand(env.b, other.memory, waiting * page);
		Moved more(env.b, "odp_faults");
		std::barrier start(2);

		for (size_t i = 0; i < waiting; i++)
			write_to(links[i], out, region, i);
		REQUIRE(eventually(env, [&] { return more.by() == waiting; }),
			"faults that wait for their turn");
		std::thread deregister([&] {
			start.arrive_and_wait();
			region.reset();
		});
		start.arrive_and_wait();
		for (Link &link : links)
			to_state(link.b, IBV_QPS_RESET);
		deregister.join();
		for (Link &link : links) {
			to_state(link.a, IBV_QPS_RESET);
			bring_up(link);
		}
	}
	/* The first ones still wait; they end with their region. */
	REQUIRE_EQ(ibv_dereg_mr(blocker.release()), 0, "dereg_mr");
	Mr in = must_reg(env.b, {page}), from = must_reg(env.a, {page});
	exchange(env, links[0].a, links[0].b, Op::write, {from, 0}, {in, 0},
		 page);
}

PV_TEST_LOCAL("odp.never_alone",
	      "another process's pages come while this one's never do")
{
	constexpr size_t stuck = 300;
	Never never(stuck);
	/* Their queue pairs learn that the region is gone. */
	env.expect_async();
	auto region = on_demand(env.b, never.memory, stuck * page);
	Mr out = must_reg(env.a, {8});
	LinkSpec spec = patient();
	std::vector<Link> links;
	Moved asked(env.b, "odp_faults");

	spec.cap = {4, 4, 1, 1, 0};
	spec.cq_a = env.a.create_cq(1024, false);
	spec.cq_b = env.b.create_cq(1024, false);
	for (size_t i = 0; i < stuck; i++) {
		links.push_back(connect(env, spec));
		write_to(links.back(), out, region, i);
	}
	REQUIRE(eventually(env, [&] { return asked.by() == stuck; }), "faults");
	std::string command = str(
		"/proc/", getpid(), "/exe --dev ",
		ibv_get_device_name(local(env.a).raw_pd(0)->context->device),
		" --peer ",
		ibv_get_device_name(local(env.b).raw_pd(0)->context->device),
		" --only odp.data >/dev/null");
	REQUIRE_EQ(system(command.c_str()), 0, "the other process");
}

namespace {

/*
 * The other process's part: it asks for pages that never come, in the call itself. It says
 * so when the call waits for one.
 */
void prefetch_never(const char *device, int say)
{
	ibv_context *context = common::open_device(device);
	Never never(4);
	ibv_mr *mr = common::must_make(
		ibv_reg_mr(ibv_alloc_pd(context), never.memory, 4 * page,
			   int(all_access | IBV_ACCESS_ON_DEMAND)),
		"region");

	std::thread([&] {
		never.await();
		(void)!write(say, "w", 1);
	}).detach();
	ibv_sge sge = {uintptr_t(never.memory), 4 * page, mr->lkey};
	ibv_advise_mr(mr->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	_exit(4);
}

} // namespace

PV_TEST_LOCAL("odp.never_prefetched",
	      "a process that has pages prefetched which never come can be "
	      "killed")
{
	const char *device =
		ibv_get_device_name(local(env.b).raw_pd(0)->context->device);
	int ends[2], status = 0;
	char said;

	REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0, "pipe");
	common::Child child([&] { prefetch_never(device, ends[1]); });
	close(ends[1]);
	REQUIRE_EQ(read(ends[0], &said, 1), 1, "it waits for no page");
	close(ends[0]);
	kill(child.pid(), SIGKILL);
	REQUIRE(eventually(env, [&] { return child.has_ended(status); }),
		"it cannot be killed");
	REQUIRE(WIFSIGNALED(status), "status ", status);
}
