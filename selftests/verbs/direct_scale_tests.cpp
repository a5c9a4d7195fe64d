// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Direct windows with many ranges, buffers and processes: each buffer can be had, a process is woken
 * for its own range alone, and a register is read as of one moment.
 */
#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "direct.h"
#include "manager.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint32_t most = PAVO_DIRECT_RANGES;
constexpr int patience_ms = 60000;

/* A thread that waits in the kernel, and how often it was woken there. */
class Waiter {
public:
	template <class Wait>
	explicit Waiter(Wait wait)
		: thread_([this, wait] {
			  number_ = gettid();
			  wait();
			  is_over_ = true;
		  })
	{
	}

	bool is_over() const { return is_over_; }
	bool is_asleep() const
	{
		return number_ && value("State").starts_with("S");
	}
	long wakeups() const { return stol(value("voluntary_ctxt_switches")); }

private:
	std::string value(const std::string &name) const
	{
		std::ifstream status("/proc/self/task/" +
				     std::to_string(number_) + "/status");

		for (std::string word; status >> word;) {
			if (word == name + ":" && status >> word)
				return word;
		}
		return "0";
	}

	std::atomic<pid_t> number_ = 0;
	std::atomic<bool> is_over_ = false;
	std::jthread thread_;
};

/* A pipe that refers to pages of a window, as a device that has not finished. */
class Holder {
public:
	explicit Holder(uint32_t pages)
	{
		REQUIRE(!pipe2(ends_, O_CLOEXEC), "pipe");
		REQUIRE(fcntl(ends_[1], F_SETPIPE_SZ, int(pages * 4096)) >= 0,
			"size of a pipe: errno ", errno);
	}
	~Holder()
	{
		close(ends_[0]);
		close(ends_[1]);
	}
	Holder(const Holder &) = delete;

	void hold(uint8_t *page)
	{
		iovec one = {page, 4096};

		REQUIRE_EQ(vmsplice(ends_[1], &one, 1, 0), 4096, "vmsplice");
	}

	void let_go(uint32_t pages)
	{
		std::array<uint8_t, 4096> page;

		for (uint32_t i = 0; i < pages; i++)
			REQUIRE_EQ(read(ends_[0], page.data(), page.size()),
				   4096, "pipe");
	}

private:
	int ends_[2];
};

} // namespace

PV_TEST_LOCAL("direct.many_buffers",
	      "1,024 ranges have 1,024 different buffers; one range more than "
	      "there are buffers waits, and a poll wakes for the next free one")
{
	{
		Direct even(env.a, {0, most, direct_size, most});

		even.must_be_whole(env);
	}
	Direct window(env.a, {0, most, direct_size, most - 1});

	for (uint32_t i = 0; i + 1 < most; i++)
		window.arm(i, 1);
	REQUIRE_EQ(window.try_arm(most - 1, 1), EAGAIN, "one too many");
	REQUIRE_EQ(window.events(), 0, "no buffer");
	std::atomic<short> found = 0;
	Waiter waiter([&] {
		pollfd look = {window.plain.fd, POLLOUT, 0};

		poll(&look, 1, patience_ms);
		found = look.revents;
	});

	REQUIRE(eventually(env, [&] { return waiter.is_asleep(); }), "poll");
	window.disarm(500);
	REQUIRE(eventually(env, [&] { return waiter.is_over(); }), "woken");
	REQUIRE_EQ(found.load(), POLLOUT, "a buffer");
	window.arm(most - 1, 1);
}

PV_TEST_LOCAL(
	"direct.many_in_quarantine",
	"40 buffers whose pages others have are not had; ranges get the "
	"other 8, and all 48 when the pages are put, of which a poll learns")
{
	constexpr uint32_t held = 40, all = 48;
	Direct window(env.a, {0, 64, direct_size, all});
	std::set<uint32_t> buffers;
	Holder holder(64);

	for (uint32_t i = 0; i < held; i++) {
		window.arm(i, 4096);
		buffers.insert(window.reg(i).buffer);
		holder.hold(window.memory(i));
	}
	REQUIRE_EQ(buffers.size(), held, "buffers");
	for (uint32_t i = 0; i < held; i++)
		window.disarm(i);
	for (uint32_t i = held; i < all; i++) {
		window.arm(i, 1);
		REQUIRE(buffers.insert(window.reg(i).buffer).second,
			"a buffer that others have");
	}
	REQUIRE_EQ(window.try_arm(0, 1), EAGAIN, "the rest is in quarantine");
	REQUIRE_EQ(window.events(), 0, "no buffer");
	Waiter waiter([&] {
		pollfd look = {window.plain.fd, POLLOUT, 0};

		poll(&look, 1, patience_ms);
	});

	REQUIRE(eventually(env, [&] { return waiter.is_asleep(); }), "poll");
	holder.let_go(held);
	REQUIRE(eventually(env, [&] { return waiter.is_over(); }), "woken");
	for (uint32_t i = held; i < all; i++)
		window.disarm(i);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.wakes_one_reader",
	      "of 64 readers that wait for their ranges each is woken by its "
	      "own range, and by no other")
{
	constexpr uint32_t readers = 64, length = 512;
	Link link = connect(env);
	std::vector<std::vector<uint8_t>> got(readers);
	/* They end with the window. */
	std::vector<std::unique_ptr<Waiter>> waiters;
	Direct window(env.a, {0, readers, direct_size, readers});
	uint64_t seed = env.seed();
	Mr at_b = must_reg(env.b, {readers * direct_size}, seed);
	std::vector<long> before;

	window.set_blocking(true);
	for (uint32_t i = 0; i < readers; i++)
		window.arm_read(i, length);
	for (uint32_t i = 0; i < readers; i++)
		waiters.push_back(std::make_unique<Waiter>(
			[&, i] { window.try_take(i, 0, length, &got[i]); }));
	for (auto &waiter : waiters)
		REQUIRE(eventually(env, [&] { return waiter->is_asleep(); }),
			"a reader that does not wait");
	for (auto &waiter : waiters)
		before.push_back(waiter->wakeups());
	for (uint32_t i = 0; i < readers; i++) {
		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(i, length), i,
			    {at_b, int64_t(i) * direct_size});
		expect_send(env, link.a, i, "read");
		REQUIRE(eventually(env, [&] { return waiters[i]->is_over(); }),
			"reader ", i);
		REQUIRE_EQ(got[i].size(), length, "bytes of reader ", i);
		REQUIRE(pattern_verify(got[i].data(), length, seed,
				       i * direct_size) < 0,
			"bytes of reader ", i);
		for (uint32_t other = i + 1; other < readers; other++)
			REQUIRE_EQ(waiters[other]->wakeups(), before[other],
				   "range ", i, " wakes reader ", other);
	}
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.register_of_one_moment",
	      "what a register says belongs together, while the range is armed, "
	      "filled and given up: total and count are those of its use")
{
	constexpr uint32_t rounds = 3000;
	const auto total = [](uint32_t use) { return 1000 + use % 2 * 1000; };
	Direct window(env.a);
	uint32_t seen = 0;

	window.arm(0, total(1));
	std::jthread writer([&] {
		for (uint32_t use = 1; use < rounds; use++) {
			window.put(0, 0, total(use) - 1, use);
			window.disarm(0);
			window.arm(0, total(use + 1));
		}
	});
	for (uint32_t last = 1; last < rounds;) {
		const pavo_direct_register state = window.reg(0);

		REQUIRE_EQ(state.total, total(state.uses), "use ", state.uses);
		REQUIRE(!state.count || state.count == state.total - 1,
			state.count, " of ", state.total);
		REQUIRE(state.uses >= last, "use ", state.uses, " after ",
			last);
		REQUIRE_EQ(state.sequence % 2, 0u, "the adapter writes it");
		seen += state.uses != last;
		last = state.uses;
	}
	REQUIRE(seen, "no use was seen");
}
