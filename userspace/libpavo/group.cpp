// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * group.cpp - see group.hpp. Rank 0 has a connection to each other process. A process that joins
 * says Hello; rank 0 answers with a Welcome when all have come, or at once if it refuses. In an
 * exchange each sends its value to rank 0, which sends all of them back. Numbers are big-endian.
 *
 * A stranger that connects to the port may send anything: rank 0 reads as many bytes as a Hello
 * has, and nothing from a process that was refused. Lengths of values are compared with the own
 * one before they are read.
 */
#include <pavo/group.hpp>

#include <endian.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "error.hpp"
#include "stream.hpp"

namespace pavo {

namespace {

constexpr uint64_t magic = 0x7061766f67727031; /* "pavogrp1" */
constexpr uint32_t any_rank = ~0u;
/* A connection that has not said Hello after that is closed. */
constexpr std::chrono::seconds hello_time(5);
/* Most connections at a time that have not said it. The oldest is closed when another comes. */
constexpr size_t max_strangers = 32;

struct Hello {
	uint64_t magic;
	uint64_t key;
	uint32_t rank;
	uint32_t size; /* 0: any */
};

enum class Verdict : uint32_t { welcome, key, size, rank, taken };

struct Welcome {
	uint64_t magic;
	uint32_t verdict;
	uint32_t rank;
	uint32_t size;
	uint32_t reserved;
};

/* Begins what a process sends in an exchange, and what rank 0 sends back. */
struct Round {
	uint64_t number; /* of exchanges and barriers, from 1 on */
	uint64_t length;
};

template <class T> std::span<std::byte> bytes_of(T &value)
{
	return std::as_writable_bytes(std::span(&value, 1));
}

template <class T> std::span<const std::byte> bytes_of(const T &value)
{
	return std::as_bytes(std::span(&value, 1));
}

/* A connection to rank 0 that has not joined. */
struct Stranger {
	Stream stream;
	TimeLimit::Clock::time_point came;
	std::array<std::byte, sizeof(Hello)> hello;
	size_t length = 0; /* of what has come of it */
};

Welcome answer_of(Verdict verdict, uint32_t rank, uint32_t size)
{
	return {.magic = htobe64(magic),
		.verdict = htobe32(uint32_t(verdict)),
		.rank = htobe32(rank),
		.size = htobe32(size),
		.reserved = 0};
}

/* Rank 0 while the group comes together. */
class Gathering {
public:
	Gathering(const GroupOptions &options, const TimeLimit &limit)
		: options_(options), limit_(limit),
		  listener_(listen_at(options.host, options.port)),
		  members_(options.size)
	{
	}

	/* Connections to the others by their ranks. Throws Failure. */
	std::vector<Stream> wait_for_all()
	{
		while (joined_ + 1 < options_.size) {
			if (limit_.is_over())
				fail(ETIMEDOUT,
				     std::to_string(joined_ + 1) + " of " +
					     std::to_string(options_.size) +
					     " processes of the group came");
			look();
		}
		for (uint32_t rank = 1; rank < options_.size; rank++) {
			Welcome answer = answer_of(Verdict::welcome, rank,
						   options_.size);
			int error =
				members_[rank].write(bytes_of(answer), limit_);

			if (error)
				fail(error, "rank " + std::to_string(rank) +
						    " of the group");
		}
		return std::move(members_);
	}

private:
	/* Waits until a connection has something to say, and hears it. */
	void look()
	{
		std::vector<pollfd> all = {{listener_.fd(), POLLIN, 0}};

		for (const Stranger &stranger : strangers_)
			all.push_back({stranger.stream.fd(), POLLIN, 0});
		for (const Stream &member : members_)
			all.push_back({member.fd(), POLLIN, 0});
		if (poll(all.data(), all.size(), limit_.sleep()) < 0 &&
		    errno != EINTR)
			fail(errno, "group");
		/* A member has nothing to say yet: it is gone. */
		for (size_t rank = 0; rank < members_.size(); rank++)
			if (all[1 + strangers_.size() + rank].revents) {
				members_[rank] = Stream();
				joined_--;
			}
		for (Stranger &stranger : strangers_)
			hear(stranger);
		std::erase_if(strangers_, [](const Stranger &stranger) {
			return !stranger.stream;
		});
		if (all[0].revents)
			accept();
	}

	void accept()
	{
		Stranger stranger{.stream = listener_.accept(),
				  .came = TimeLimit::Clock::now(),
				  .hello = {}};

		if (!stranger.stream) {
			if (errno == EMFILE || errno == ENFILE ||
			    errno == ENOMEM)
				fail(errno, "group");
			return;
		}
		if (strangers_.size() == max_strangers)
			strangers_.erase(strangers_.begin());
		strangers_.push_back(std::move(stranger));
	}

	void hear(Stranger &stranger)
	{
		auto rest = std::span(stranger.hello).subspan(stranger.length);
		ssize_t n = stranger.stream.read_some(rest);

		if (n > 0)
			stranger.length += size_t(n);
		if (stranger.length == sizeof(Hello))
			admit(stranger);
		else if (n < 0 ||
			 TimeLimit::Clock::now() - stranger.came > hello_time)
			stranger.stream = Stream();
	}

	/* Takes the connection from @stranger. One that is no process of a group gets no answer. */
	void admit(Stranger &stranger)
	{
		Stream stream = std::move(stranger.stream);
		Hello hello;

		memcpy(&hello, stranger.hello.data(), sizeof(hello));
		if (be64toh(hello.magic) != magic)
			return;
		uint32_t rank = be32toh(hello.rank);
		Verdict verdict = judge(hello, rank);

		if (verdict == Verdict::welcome) {
			members_[rank] = std::move(stream);
			joined_++;
			return;
		}
		/* It has room for that, or it does not get it. */
		Welcome answer = answer_of(verdict, rank, options_.size);
		(void)stream.write(bytes_of(answer),
				   {.end = TimeLimit::Clock::now()});
	}

	/* @rank: is set where the process has none. */
	Verdict judge(const Hello &hello, uint32_t &rank) const
	{
		const uint32_t size = be32toh(hello.size);

		if (be64toh(hello.key) != options_.key)
			return Verdict::key;
		if (size && size != options_.size)
			return Verdict::size;
		if (rank == any_rank)
			rank = uint32_t(std::find_if(members_.begin() + 1,
						     members_.end(),
						     [](const Stream &one) {
							     return !one;
						     }) -
					members_.begin());
		if (!rank || rank >= options_.size)
			return Verdict::rank;
		return members_[rank] ? Verdict::taken : Verdict::welcome;
	}

	const GroupOptions &options_;
	const TimeLimit &limit_;
	Stream listener_;
	std::vector<Stream> members_;
	std::vector<Stranger> strangers_;
	uint32_t joined_ = 0; /* of members_ */
};

/* Others than rank 0. Return: a connection to it; none: it closed it, try again. */
Stream say_hello(const GroupOptions &options, const TimeLimit &limit,
		 Welcome &answer)
{
	Stream stream = connect_to(options.host, options.port, limit);
	Hello hello = {.magic = htobe64(magic),
		       .key = htobe64(options.key),
		       .rank = htobe32(options.rank ? *options.rank : any_rank),
		       .size = htobe32(options.size)};
	int error = stream.write(bytes_of(hello), limit);

	if (!error)
		error = stream.read(bytes_of(answer), limit);
	if (error == ETIMEDOUT)
		fail(error, "rank 0 of the group did not answer");
	if (!error)
		return stream;
	if (limit.is_over())
		fail(ETIMEDOUT, "rank 0 of the group closes each connection");
	pause_before_retry(limit);
	return {};
}

/* The error of a process that rank 0 refused. */
[[noreturn]] void refuse(const GroupOptions &options, const Welcome &answer)
{
	switch (Verdict(be32toh(answer.verdict))) {
	case Verdict::key:
		fail(EACCES, "group: rank 0 has another key");
	case Verdict::size:
		fail(ERANGE, "group: rank 0 says that there are " +
				     std::to_string(be32toh(answer.size)) +
				     " processes");
	case Verdict::rank:
		fail(options.rank ? EINVAL : EEXIST,
		     options.rank ? "group: it has no such rank" :
				    "group: all processes have come");
	case Verdict::taken:
		fail(EEXIST, "group: another process has rank " +
				     std::to_string(options.rank.value_or(0)));
	default:
		fail(EPROTO, "group: rank 0 is of another version");
	}
}

TimeLimit limit_of(std::chrono::milliseconds timeout,
		   const Group::Progress *progress = nullptr)
{
	/* A time that has no end would be more than the clock has. */
	constexpr std::chrono::milliseconds most = std::chrono::hours(100'000);

	return {.end = TimeLimit::Clock::now() + std::min(timeout, most),
		.meanwhile = progress};
}

void check(const GroupOptions &options, bool first)
{
	if (!options.port || options.timeout.count() < 0 ||
	    options.size > Group::max_size || (first && !options.size) ||
	    (options.size && options.rank.value_or(0) >= options.size) ||
	    (!first && options.host.empty()))
		fail(EINVAL, "group: size, rank, host, port or timeout");
}

} // namespace

/* The connections: of rank 0 to each other rank, of others to rank 0 at [0]. */
struct Group::Links {
	std::vector<Stream> streams;
	std::chrono::milliseconds timeout;
	uint64_t rounds = 0;

	/* Rank 0: takes the others' values to @all, behind its own. */
	void gather(std::span<std::byte> all, size_t length,
		    const TimeLimit &limit)
	{
		for (uint32_t rank = 1; rank < streams.size(); rank++) {
			Round round;

			must(streams[rank].read(bytes_of(round), limit), rank);
			check(round, length, rank);
			must(streams[rank].read(
				     all.subspan(rank * length, length), limit),
			     rank);
		}
		Round round = {htobe64(rounds), htobe64(all.size())};

		for (uint32_t rank = 1; rank < streams.size(); rank++) {
			must(streams[rank].write(bytes_of(round), limit), rank);
			must(streams[rank].write(all, limit), rank);
		}
	}

	/* Others: give @mine, and take all. */
	void give(std::span<const std::byte> mine, std::span<std::byte> all,
		  const TimeLimit &limit)
	{
		Round round = {htobe64(rounds), htobe64(mine.size())};

		must(streams[0].write(bytes_of(round), limit), 0);
		must(streams[0].write(mine, limit), 0);
		must(streams[0].read(bytes_of(round), limit), 0);
		check(round, all.size(), 0);
		must(streams[0].read(all, limit), 0);
	}

private:
	void check(const Round &round, size_t length, uint32_t rank) const
	{
		if (be64toh(round.number) != rounds)
			fail(EPROTO, name(rank) + " makes other calls");
		if (be64toh(round.length) != length)
			fail(EMSGSIZE,
			     name(rank) + " gives " +
				     std::to_string(be64toh(round.length)) +
				     " bytes in place of " +
				     std::to_string(length));
	}

	static std::string name(uint32_t rank)
	{
		return "rank " + std::to_string(rank) + " of the group";
	}

	static void must(int error, uint32_t rank)
	{
		if (error == ECONNRESET)
			fail(error, name(rank) + " has left");
		if (error)
			fail(error, name(rank));
	}
};

Group::Group(uint16_t rank, uint16_t size, std::unique_ptr<Links> links)
	: rank_(rank), size_(size), links_(std::move(links))
{
}

Group::~Group() = default;
Group::Group(Group &&from) noexcept = default;
Group &Group::operator=(Group &&from) noexcept = default;

Result<Group> Group::join(const GroupOptions &options) noexcept
{
	return guarded([&]() -> Result<Group> {
		const bool first = options.rank.value_or(
					   options.host.empty() ? 0 : 1) == 0;
		const TimeLimit limit = limit_of(options.timeout);
		auto links = std::make_unique<Links>();

		check(options, first);
		links->timeout = options.timeout;
		if (first) {
			links->streams =
				Gathering(options, limit).wait_for_all();
			return Group(0, options.size, std::move(links));
		}
		Welcome answer;
		Stream stream;

		while (!stream)
			stream = say_hello(options, limit, answer);
		const uint32_t rank = be32toh(answer.rank);
		const uint32_t size = be32toh(answer.size);

		if (be64toh(answer.magic) != magic)
			fail(EPROTO, options.host + ": no group listens there");
		if (answer.verdict)
			refuse(options, answer);
		if (!rank || rank >= size || size > max_size)
			fail(EPROTO, "group: rank 0 is of another version");
		links->streams.push_back(std::move(stream));
		return Group(uint16_t(rank), uint16_t(size), std::move(links));
	});
}

Result<std::vector<std::byte>>
Group::exchange_bytes(std::span<const std::byte> mine, const Progress &progress)
{
	if (!links_)
		return Unexpected(
			Error(ENOTCONN, "this process has left the group"));
	if (mine.size() > max_value)
		return Unexpected(Error(EMSGSIZE, "value for a group"));
	/* An error, and an exception of @progress too, ends the membership. */
	auto links = std::move(links_);
	auto all = guarded([&]() -> Result<std::vector<std::byte>> {
		const TimeLimit limit = limit_of(
			links->timeout, progress ? &progress : nullptr);
		std::vector<std::byte> values(size_ * mine.size());

		links->rounds++;
		if (rank_) {
			links->give(mine, values, limit);
		} else {
			std::ranges::copy(mine, values.begin());
			links->gather(values, mine.size(), limit);
		}
		return values;
	});

	if (all)
		links_ = std::move(links);
	return all;
}

Result<void> Group::barrier(const Progress &progress)
{
	return exchange_bytes({}, progress)
		.transform([](const std::vector<std::byte> &) {});
}

} // namespace pavo
