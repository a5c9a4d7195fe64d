// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * group_test.cpp - processes that find each other (pavo/group.hpp), and what strangers can do to
 * them. Each process is a thread here; all are on the loopback interface.
 */
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <numeric>
#include <string>
#include <vector>

#include <pavo/group.hpp>

using pavo::Group, pavo::GroupOptions, pavo::Result, pavo::Unexpected;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t key = 0x6b6579;
const std::string here = "127.0.0.1";

/* A socket of a test that plays a stranger. */
class Raw {
public:
	Raw() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
	Raw(Raw &&from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
	~Raw() { end(); }

	void end()
	{
		if (fd_ >= 0)
			close(std::exchange(fd_, -1));
	}

	/* The port of a socket that is bound to it, and does not listen. */
	uint16_t bind()
	{
		sockaddr_in at = address(0);
		socklen_t length = sizeof(at);

		EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr *>(&at),
				 sizeof(at)),
			  0);
		getsockname(fd_, reinterpret_cast<sockaddr *>(&at), &length);
		return ntohs(at.sin_port);
	}

	/* A connection to a process that is about to listen. */
	static Raw connected(uint16_t port)
	{
		sockaddr_in at = address(port);

		for (auto until = std::chrono::steady_clock::now() + 10s;
		     std::chrono::steady_clock::now() < until;) {
			Raw made;

			if (!connect(made.fd_,
				     reinterpret_cast<sockaddr *>(&at),
				     sizeof(at)))
				return made;
			usleep(1000);
		}
		ADD_FAILURE() << "nothing listens";
		return {};
	}

	Raw accepted()
	{
		Raw made;

		made.end();
		made.fd_ = accept(fd_, nullptr, nullptr);
		return made;
	}
	void listen() { EXPECT_EQ(::listen(fd_, 16), 0); }
	bool say(const void *bytes, size_t length)
	{
		return send(fd_, bytes, length, MSG_NOSIGNAL) ==
		       ssize_t(length);
	}
	bool say(const std::string &text)
	{
		return say(text.data(), text.size());
	}
	/* All that comes until the other end closes it. */
	std::string hear()
	{
		std::string all;
		char bytes[256];

		for (ssize_t n; (n = recv(fd_, bytes, sizeof(bytes), 0)) > 0;)
			all.append(bytes, size_t(n));
		return all;
	}

private:
	static sockaddr_in address(uint16_t port)
	{
		sockaddr_in at = {};

		at.sin_family = AF_INET;
		at.sin_port = htons(port);
		at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return at;
	}

	int fd_;
};

uint16_t free_port()
{
	return Raw().bind();
}

GroupOptions options(uint16_t port, uint16_t size)
{
	return {.host = here,
		.port = port,
		.rank = {},
		.size = size,
		.key = key,
		.timeout = 20s};
}

using Joined = std::future<Result<Group>>;

Joined join(GroupOptions of)
{
	return std::async(std::launch::async, [of] { return Group::join(of); });
}

Joined join_as(uint16_t rank, GroupOptions of)
{
	of.rank = rank;
	return join(of);
}

/* All processes of a group, by their ranks. */
std::vector<Group> gathered(uint16_t size)
{
	const uint16_t port = free_port();
	std::vector<Joined> joining;
	std::vector<Group> groups;

	for (uint16_t rank = 0; rank < size; rank++)
		joining.push_back(join_as(rank, options(port, size)));
	for (Joined &one : joining)
		groups.push_back(one.get().value());
	return groups;
}

/* Results of @call in all processes, which make it at the same time. */
template <class Call> auto each(std::vector<Group> &groups, Call &&call)
{
	using Returned = decltype(call(groups[0]));
	std::vector<std::future<Returned>> calls;
	std::vector<Returned> all;

	for (Group &group : groups)
		calls.push_back(std::async(std::launch::async,
					   [&] { return call(group); }));
	for (auto &one : calls)
		all.push_back(one.get());
	return all;
}

TEST(Group, ExchangesValuesByRank)
{
	std::vector<Group> groups = gathered(4);

	for (uint32_t rank = 0; rank < 4; rank++) {
		EXPECT_EQ(groups[rank].rank(), rank);
		EXPECT_EQ(groups[rank].size(), 4u);
	}
	for (uint64_t round = 0; round < 50; round++)
		for (auto &values : each(groups, [&](Group &group) {
			     return group.exchange(round * 100 + group.rank());
		     }))
			EXPECT_EQ(values.value(),
				  (std::vector<uint64_t>{
					  round * 100, round * 100 + 1,
					  round * 100 + 2, round * 100 + 3}));
}

/* Longer than what sockets keep, and of the longest kind. */
TEST(Group, ExchangesLongValues)
{
	std::vector<Group> groups = gathered(3);
	std::vector<std::byte> mine(Group::max_value), more(mine.size() + 1);

	for (auto &all : each(groups, [&](Group &group) {
		     std::vector<std::byte> bytes(mine.size(),
						  std::byte(group.rank() + 1));

		     return group.exchange_bytes(bytes);
	     })) {
		ASSERT_TRUE(all.has_value());
		ASSERT_EQ(all->size(), 3 * mine.size());
		for (size_t i = 0; i < all->size(); i += 4099)
			ASSERT_EQ((*all)[i], std::byte(i / mine.size() + 1));
	}
	EXPECT_EQ(groups[1].exchange_bytes(more), Unexpected(EMSGSIZE));
	for (auto &result :
	     each(groups, [](Group &group) { return group.barrier(); }))
		EXPECT_TRUE(result.has_value()) << "it is in the group still";
}

TEST(Group, OfOneProcessNeedsNoOther)
{
	auto group = Group::join({.host = {}, .port = free_port(), .size = 1});

	ASSERT_TRUE(group.has_value()) << group.error().message();
	EXPECT_EQ(group->exchange(7).value(), std::vector<int>{7});
	EXPECT_TRUE(group->barrier().has_value());
}

/* Processes that say neither rank nor size. */
TEST(Group, GivesTheLowestRankThatIsFree)
{
	const uint16_t port = free_port();
	Joined first = join_as(0, options(port, 4));
	Joined last = join_as(3, options(port, 4));
	Joined any = join(options(port, 0)), other = join(options(port, 0));
	uint32_t ranks[] = {any.get().value().rank(),
			    other.get().value().rank()};

	EXPECT_EQ(first.get().value().size(), 4u);
	EXPECT_EQ(last.get().value().rank(), 3u);
	EXPECT_EQ(ranks[0] + ranks[1], 3u);
}

TEST(Group, BarrierWaitsForAllAndDrivesTheOthers)
{
	std::vector<Group> groups = gathered(3);
	std::atomic<int> came = 0, driven = 0;
	auto seen = each(groups, [&](Group &group) {
		if (group.rank() == 2)
			while (driven < 100)
				std::this_thread::yield();
		came++;
		EXPECT_TRUE(group.barrier([&] { driven++; }).has_value());
		return came.load();
	});

	EXPECT_EQ(seen, std::vector<int>(3, 3));
}

/* ------------------------------------------------------------------ errors */

TEST(Group, RefusesImpossibleOptions)
{
	const uint16_t port = free_port();
	auto refused = [&](GroupOptions of) {
		return Group::join(of).error_or({}).number();
	};

	EXPECT_EQ(refused({.host = {}, .port = port, .size = 0}), EINVAL);
	EXPECT_EQ(refused({.host = {}, .port = 0, .size = 2}), EINVAL);
	EXPECT_EQ(refused({.host = {},
			   .port = port,
			   .size = Group::max_size + 1}),
		  EINVAL);
	EXPECT_EQ(refused({.host = {}, .port = port, .rank = 1, .size = 2}),
		  EINVAL);
	EXPECT_EQ(refused({.host = here, .port = port, .rank = 2, .size = 2}),
		  EINVAL);
	EXPECT_EQ(refused({.host = here,
			   .port = port,
			   .size = 2,
			   .timeout = -1ms}),
		  EINVAL);
	EXPECT_EQ(refused({.host = "no.such.host.invalid", .port = port}),
		  EHOSTUNREACH);
	EXPECT_EQ(refused({.host = "192.0.2.1",
			   .port = port,
			   .rank = 0,
			   .size = 2}),
		  EADDRNOTAVAIL);
}

TEST(Group, SaysWhyItRefusesAProcess)
{
	const uint16_t port = free_port();
	Joined first = join_as(0, options(port, 3));
	Joined second = join_as(2, options(port, 3));
	GroupOptions wrong = options(port, 3);

	wrong.key++;
	EXPECT_EQ(join(wrong).get(), Unexpected(EACCES));
	EXPECT_EQ(join(options(port, 2)).get(), Unexpected(ERANGE));
	EXPECT_EQ(join_as(3, options(port, 0)).get(), Unexpected(EINVAL));
	/* Either of the two may come first, and joins; the other one is refused at once. */
	auto again = join_as(2, options(port, 3));
	while (second.wait_for(1ms) != std::future_status::ready &&
	       again.wait_for(1ms) != std::future_status::ready)
		;
	auto last = join_as(1, options(port, 3)).get();

	EXPECT_TRUE(last.has_value());
	EXPECT_TRUE(first.get().has_value());
	auto one = second.get(), two = again.get();
	EXPECT_NE(one.has_value(), two.has_value());
	EXPECT_EQ(one.has_value() ? two : one, Unexpected(EEXIST));
}

TEST(Group, EndsToWaitForProcessesThatDoNotCome)
{
	GroupOptions alone = options(free_port(), 3);

	alone.timeout = 200ms;
	auto alone_there = join_as(1, alone).get();
	ASSERT_EQ(alone_there, Unexpected(ETIMEDOUT));
	alone.timeout = 1s;
	auto first = join_as(0, alone);
	alone.timeout = 2s;
	auto second = join_as(1, alone);
	auto error = first.get();
	ASSERT_EQ(error, Unexpected(ETIMEDOUT));
	EXPECT_NE(error.error().message().find("2 of 3 processes"),
		  std::string::npos)
		<< error.error().message();
	EXPECT_EQ(second.get(), Unexpected(ETIMEDOUT));
}

/* A process that dies while the group comes together may be started anew. */
TEST(Group, ARankIsFreeWhenItsProcessIsGone)
{
	const uint16_t port = free_port();
	Joined first = join_as(0, options(port, 3));
	GroupOptions hasty = options(port, 3);

	hasty.timeout = 100ms;
	EXPECT_EQ(join_as(1, hasty).get(), Unexpected(ETIMEDOUT));
	Joined second = join_as(2, options(port, 3));
	EXPECT_EQ(join_as(1, options(port, 3)).get().value().rank(), 1u);
	EXPECT_TRUE(first.get().has_value());
	EXPECT_TRUE(second.get().has_value());
}

TEST(Group, TellsThatAProcessLeft)
{
	std::vector<Group> groups = gathered(3);

	groups.erase(groups.begin() + 2);
	for (int i = 0; i < 2; i++)
		for (auto &result : each(groups, [](Group &group) {
			     return group.exchange(1);
		     }))
			EXPECT_EQ(result,
				  Unexpected(i ? ENOTCONN : ECONNRESET));
}

TEST(Group, TellsThatValuesHaveOtherLengths)
{
	std::vector<Group> groups = gathered(3);
	auto results = each(groups, [](Group &group) {
		return group.rank() == 1 ?
			       group.exchange(char{}).transform([](auto) {}) :
			       group.barrier();
	});

	EXPECT_EQ(results[0], Unexpected(EMSGSIZE));
	EXPECT_EQ(results[1], Unexpected(ECONNRESET));
	EXPECT_EQ(results[2], Unexpected(ECONNRESET));
}

TEST(Group, ExchangeHasADeadline)
{
	const uint16_t port = free_port();
	GroupOptions hasty = options(port, 2);

	hasty.timeout = 2s;
	Joined first = join_as(0, hasty), second = join_as(1, hasty);
	Group one = first.get().value(), two = second.get().value();
	EXPECT_EQ(one.barrier(), Unexpected(ETIMEDOUT));
	EXPECT_EQ(two.barrier(), Unexpected(ECONNRESET));
}

/* Exceptions of a progress function reach its program; the process is out of the group. */
TEST(Group, LetsExceptionsThrough)
{
	std::vector<Group> groups = gathered(2);

	EXPECT_THROW((void)groups[0].barrier([] { throw 7; }), int);
	EXPECT_EQ(groups[0].barrier(), Unexpected(ENOTCONN));
	EXPECT_EQ(groups[1].barrier(), Unexpected(ECONNRESET));
}

/* --------------------------------------------------------------- strangers */

TEST(Group, StrangersDoNotKeepItApart)
{
	const uint16_t port = free_port();
	Joined first = join_as(0, options(port, 3));
	std::vector<Raw> strangers;

	/* More than it listens to at a time; all stay. */
	for (int i = 0; i < 100; i++)
		strangers.push_back(Raw::connected(port));
	strangers[0].say("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
	strangers[99].say("x");
	Raw talks = Raw::connected(port);
	talks.say(std::string(100'000, 'y'));
	EXPECT_EQ(talks.hear(), "") << "no answer to a stranger";

	Joined second = join_as(1, options(port, 3));
	Joined third = join_as(2, options(port, 3));
	Group one = first.get().value(), two = second.get().value();
	Group last = third.get().value();
	std::vector<Group> groups;

	groups.push_back(std::move(one));
	groups.push_back(std::move(two));
	groups.push_back(std::move(last));
	for (auto &values : each(groups, [](Group &group) {
		     return group.exchange(group.rank());
	     }))
		EXPECT_EQ(values.value(), (std::vector<uint16_t>{0, 1, 2}));
}

/* The first bytes of a Hello with this key, which rank 0 answers. */
std::string hello(uint64_t with, uint32_t rank, uint32_t size)
{
	std::string text = "pavogrp1";

	for (int shift = 56; shift >= 0; shift -= 8)
		text += char(with >> shift);
	for (uint32_t number : {rank, size})
		for (int shift = 24; shift >= 0; shift -= 8)
			text += char(number >> shift);
	return text;
}

TEST(Group, AStrangerWithoutTheKeyLearnsNothing)
{
	const uint16_t port = free_port();
	Joined first = join_as(0, options(port, 2));
	Raw stranger = Raw::connected(port);

	stranger.say(hello(key + 1, 1, 2));
	std::string answer = stranger.hear();
	ASSERT_EQ(answer.size(), 24u);
	EXPECT_EQ(answer[11], 1) << "another key";
	EXPECT_EQ(answer.find("key"), std::string::npos);
	EXPECT_TRUE(join_as(1, options(port, 2)).get().has_value());
	EXPECT_TRUE(first.get().has_value());
}

/* A process that has the key, but gives what it wants. */
TEST(Group, LengthsOfAMemberAreChecked)
{
	for (uint64_t length : {0ull, 5ull, 1ull << 40, ~0ull}) {
		const uint16_t port = free_port();
		Joined first = join_as(0, options(port, 2));
		Raw member = Raw::connected(port);
		std::string round(7, 0);

		member.say(hello(key, 1, 0));
		Group group = first.get().value();
		round += char(1);
		for (int shift = 56; shift >= 0; shift -= 8)
			round += char(length >> shift);
		member.say(round + std::string(64, 'z'));
		EXPECT_EQ(group.exchange(1), Unexpected(EMSGSIZE)) << length;
		EXPECT_EQ(member.hear().size(), 24u) << "the Welcome alone";
	}
}

TEST(Group, AnswersOfWhatIsNoGroupAreRefused)
{
	Raw listener;
	const uint16_t port = listener.bind();
	const std::string begin = "pavogrp1";
	auto numbers = [](std::array<uint8_t, 4> each) {
		std::string text;

		for (uint8_t number : each)
			text += std::string(3, 0) + char(number);
		return text;
	};
	const std::pair<std::string, int> answers[] = {
		{"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", EPROTO},
		{begin + numbers({9, 1, 2, 0}), EPROTO},
		{begin + numbers({0, 0, 2, 0}), EPROTO},
		{begin + numbers({0, 2, 2, 0}), EPROTO},
		{begin + std::string(4, 0) + std::string(12, '\xff'), EPROTO},
		{begin + numbers({4, 1, 2, 0}), EEXIST},
	};

	listener.listen();
	for (auto &[answer, error] : answers) {
		Joined joining = join(options(port, 0));
		Raw with = listener.accepted();

		with.say(answer);
		EXPECT_EQ(joining.get(), Unexpected(error)) << answer;
	}
	/* It closes each connection, or says nothing. */
	GroupOptions hasty = options(port, 0);
	hasty.timeout = 300ms;
	Joined joining = join(hasty);
	listener.accepted();
	Raw silent = listener.accepted();
	EXPECT_EQ(joining.get(), Unexpected(ETIMEDOUT));
}

} // namespace
