// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cancel_send_tests.cpp - the memory of an operation is the process's again when cancel() has
 * returned, although another thread is sending of it.
 */
#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "adapter.h"

using namespace windows;
using Clock = std::chrono::steady_clock;

namespace {

/* One packet; more than is copied. */
constexpr uint32_t length = 1024;
constexpr int rounds = 40, policies = 4000;

/*
 * While it lives packets of an interface are copied when they leave. Else their pages
 * arrive at the other one, which looks at what is in them by then.
 */
class Copied {
public:
	explicit Copied(const char *interface) : interface_(interface)
	{
		gather(0);
	}
	~Copied() { gather(1); }
	Copied(const Copied &) = delete;

private:
	void gather(uint32_t on)
	{
		ethtool_value value = {ETHTOOL_SSG, on};
		ifreq request = {};
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		interface_.copy(request.ifr_name, IFNAMSIZ - 1);
		request.ifr_data = reinterpret_cast<char *>(&value);
		EXPECT_EQ(ioctl(fd, SIOCETHTOOL, &request), 0);
		close(fd);
	}

	std::string interface_;
};

/* So many policies before the one that counts: it takes long to make a packet. */
class LongWay {
public:
	LongWay()
	{
		batch([](std::ofstream &file, int n) {
			file << "rule add " << policy(n) << '\n';
		});
	}
	~LongWay()
	{
		batch([](std::ofstream &file, int n) {
			file << "rule del " << policy(n) << '\n';
		});
	}
	LongWay(const LongWay &) = delete;

	/* Routes that were found are forgotten. */
	static void again()
	{
		shell("ip rule add pref 14 from 10.98.0.1 lookup 99");
		shell("ip rule del pref 14 from 10.98.0.1 lookup 99");
	}

private:
	static std::string policy(int n)
	{
		return "pref 15 from 10.99." + std::to_string(n / 256) + '.' +
		       std::to_string(n % 256) + " lookup 99";
	}

	static void batch(void (*line)(std::ofstream &, int))
	{
		const char *name = "/tmp/policies";
		{
			std::ofstream file(name);

			for (int n = 0; n < policies; n++)
				line(file, n);
		}
		shell(std::string("ip -batch ") + name);
		unlink(name);
	}
};

/* What was under way has come by when this message has. */
void settle(Ends &ends)
{
	pavo_frame_state state = PAVO_FRAME_EMPTY;

	ASSERT_TRUE(eventually([&] { return ends.a.sent({&state, 1}) == 1; }));
	EXPECT_TRUE(state == PAVO_FRAME_CANCELLED || state == PAVO_FRAME_SENT);
	ASSERT_FALSE(ends.a.send(node_b, ends.b.number(), {}));
	ASSERT_TRUE(eventually([&] { return ends.a.sent({&state, 1}) == 1; }));
	ASSERT_TRUE(eventually([&] {
		return ends.b.receive([](const pavo::Message &) {}, 1);
	}));
}

/* Is every byte what one of the two has in its place? */
bool all_of(const Buffer &buffer, const std::vector<std::byte> &first,
	    const std::vector<std::byte> &second)
{
	const std::byte *at = buffer.memory.at();

	for (size_t i = 0; i < first.size(); i++)
		if (at[i] != first[i] && at[i] != second[i])
			return false;
	return true;
}

/*
 * One thread sends, the other cancels at any moment of that and writes to the memory at
 * once. What arrives is of before, or nothing does.
 */
TEST(CancelAtTheSource, LeavesTheMemoryToTheProcess)
{
	Copied copied("va");
	LongWay way;
	Ends ends(world::page);
	const std::vector<std::byte> first = pattern(1, length),
				     second = pattern(2, length),
				     later = pattern(3, length);
	std::mt19937 random(1);
	Clock::duration takes{};
	int before = 0;

	for (int round = 0; round < rounds; round++) {
		std::atomic<bool> begun = false;
		auto delay = takes * (random() % 1024) / 1024;

		ends.here.fill(1);
		ends.there.fill(2);
		ASSERT_FALSE(ends.a.prepare_rdma(
			true, node_b, ends.b.number(),
			ends.request(uint64_t(round) + 1, length, 0)));
		LongWay::again();
		std::thread other([&] {
			while (!begun)
				;
			const auto until = Clock::now() + delay;
			while (Clock::now() < until)
				;
			EXPECT_FALSE(ends.a.cancel({&ends.rcxt_a, 1}));
			std::ranges::copy(later, ends.here.memory.at());
		});
		begun = true;
		const auto began = Clock::now();
		EXPECT_FALSE(ends.a.start());
		takes = Clock::now() - began;
		other.join();
		ASSERT_NO_FATAL_FAILURE(settle(ends));
		before += ends.there.holds(2, 0, length);
		/* A packet of the round before may come while it is filled. */
		ASSERT_TRUE(all_of(ends.there, first, second))
			<< "round " << round;
	}
	std::cout << "# " << before << " of " << rounds
		  << " were cancelled before\n";
}

} // namespace
