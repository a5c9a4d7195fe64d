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
#include "shared_window.hpp"

using namespace windows;
using Clock = std::chrono::steady_clock;

namespace {

/* One packet; more than is copied. */
constexpr uint32_t sent_length = 1024;
constexpr uint64_t rounds = 40, sent_frames = 3;
constexpr int policies = 4000;

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

/* The mark of the adapter on a frame, which another thread may read. */
uint32_t marked(const pavo_frame_hdr *frame)
{
	return __atomic_load_n(&frame->state, __ATOMIC_ACQUIRE);
}

/* All that was under way has come by when the second message has. */
void settle(Ends &ends)
{
	pavo::FrameState states[2] = {};
	size_t known = 0, come = 0;
	auto frames_are_known = [&](size_t n) {
		return eventually([&] {
			known += ends.a.sent(
				std::span(states).subspan(known, n - known));
			return known == n;
		});
	};

	ASSERT_TRUE(frames_are_known(2));
	EXPECT_TRUE(states[0] == pavo::FrameState::cancelled ||
		    states[0] == pavo::FrameState::sent);
	ASSERT_TRUE(ends.a.send({node_b, ends.b.number()}, {}).has_value());
	known = 0;
	ASSERT_TRUE(frames_are_known(1));
	ASSERT_TRUE(eventually([&] {
		come += ends.b.receive([](const pavo::Message &) {});
		return come == 2;
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
 * once. The bytes that arrive are of before, or none arrives. The frame behind the request
 * is sent before its data and takes as long: so there is time between beginning and
 * sending, too.
 */
TEST(CancelAtTheSource, LeavesTheMemoryToTheProcess)
{
	if (std::thread::hardware_concurrency() < 2)
		GTEST_SKIP() << "one CPU: no thread cancels while it sends";
	Copied copied("va");
	LongWay way;
	Ends ends(world::page);
	const std::vector<std::byte> first = pattern(1, sent_length),
				     second = pattern(2, sent_length),
				     later = pattern(3, sent_length);
	const auto late = Clock::now() + std::chrono::minutes(3);
	Moved packets(ends.device_a, "tx_rdma_packets");
	std::mt19937 random(1);
	Clock::duration takes{};
	uint64_t round = 0, sent = 0;

	/* Until some were sent, and some were not. */
	while (round < rounds || !sent || sent == round) {
		ASSERT_TRUE(round < rounds || Clock::now() < late)
			<< sent << " of " << round << " were sent";
		/* From before the operation to behind it. */
		auto delay = takes * (random() % 1280) / 1024;

		ends.here.fill(1);
		ends.there.fill(2);
		const auto *frame = shared_of(ends.a).send_frame(
			uint32_t(sent_frames * round));
		ASSERT_TRUE(ends.a.prepare_rdma(pavo::Direction::write,
						{node_b, ends.b.number()},
						ends.request(++round,
							     sent_length, 0))
				    .has_value());
		ASSERT_TRUE(ends.a.prepare({node_b, ends.b.number()}, {})
				    .has_value());
		LongWay::again();
		std::thread other([&] {
			/* A cancel of what has not begun is none. */
			EXPECT_TRUE(eventually([&] {
				return ends.a.lmt().value().rcxts ||
				       marked(frame) != PAVO_FRAME_EMPTY;
			}));
			const auto until = Clock::now() + delay;
			while (Clock::now() < until)
				;
			EXPECT_TRUE(
				ends.a.cancel({&ends.rcxt_a, 1}).has_value());
			std::ranges::copy(later, ends.here.memory.at());
		});
		const auto began = Clock::now();
		EXPECT_TRUE(ends.a.start().has_value());
		takes = Clock::now() - began;
		other.join();
		ASSERT_NO_FATAL_FAILURE(settle(ends));
		/* A packet of the round before may come while it is filled. */
		ASSERT_TRUE(all_of(ends.there, first, second))
			<< "round " << round;
		if (round >= rounds)
			sent = packets.by();
	}
	std::cout << "# " << sent << " of " << round << " were sent\n";
}

} // namespace
