// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * group.hpp - a group of processes that find each other by TCP, exchange values and wait for each
 * other: what they need before they can use RDMA. Connecting windows of a group: connect.hpp.
 */
#ifndef PAVO_GROUP_HPP
#define PAVO_GROUP_HPP

#include <pavo/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <pavo/result.hpp>

#pragma GCC visibility push(default)

namespace pavo {

struct GroupOptions {
	/**
	 * Where rank 0 is: host name or address. Of rank 0 itself the local address that it
	 * listens at; empty: all.
	 */
	std::string host;
	/** TCP port that rank 0 listens at, 1 to 65535, while the group comes together. */
	uint16_t port = 0;
	/**
	 * Number of this process in the group, 0 to size - 1. None: 0 where @host is empty, else
	 * the lowest that is free when this process comes.
	 */
	std::optional<uint16_t> rank = {};
	/** Processes of the group, 1 to Group::max_size. Others than rank 0 may say 0: any. */
	uint16_t size = 0;
	/**
	 * Rank 0 refuses processes that do not have its key. It goes over the network in clear, as
	 * the keys of jobs and memory do.
	 */
	uint64_t key = 0;
	/** How long join(), and then each exchange, may take. */
	std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

/**
 * Membership in a group. Each process has a TCP connection to rank 0, for as long as the Group
 * lives. All processes make the same calls in the same order. For one thread at a time.
 *
 * After an error of an exchange this process has left the group: calls fail with ENOTCONN, and
 * those of the others with ECONNRESET. Processes of other groups, and strangers who connect to the
 * port, are refused, or are dropped after 5 s of silence; they may delay join(), up to the
 * timeout.
 */
class Group {
public:
	/** Processes of a group. */
	static constexpr uint16_t max_size = 1024;
	/** Bytes of a value that processes exchange. */
	static constexpr size_t max_value = 1 << 20;

	/**
	 * Called while a call waits, again and again, to drive what others need of this process
	 * meanwhile: Rdma::progress() for example. The call then waits without sleeping.
	 */
	using Progress = std::function<void()>;

	/**
	 * Joins a group, and returns when all of its processes have. Rank 0 listens, others try to
	 * connect until it does.
	 *
	 * Fails with EINVAL: size, rank or port is out of range, or a rank above 0 has no host;
	 * ETIMEDOUT: not all came in time, or rank 0 did not answer; EADDRINUSE, EADDRNOTAVAIL,
	 * EACCES: rank 0 cannot listen there; EHOSTUNREACH: the host name is not known;
	 * ECONNRESET: a process left while the group came together. Of others than rank 0 also
	 * with EACCES: another key; EEXIST: another process has that rank; ERANGE: rank 0 has
	 * another size; EPROTO: what listens at the port is no group. ENOMEM, EMFILE.
	 */
	static Result<Group> join(const GroupOptions &options) noexcept;
	/** Leaves the group. */
	~Group();
	Group(Group &&from) noexcept;
	Group &operator=(Group &&from) noexcept;

	/** Number of this process in the group: 0 to size() - 1. */
	uint16_t rank() const noexcept { return rank_; }
	/** Processes of the group. */
	uint16_t size() const noexcept { return size_; }

	/**
	 * Gives @mine to all, and returns the values of all, by rank, with this process's own.
	 * Waits until each has given one. T, which is not bool, is the same type in all
	 * processes, which run on machines with the same layout of it.
	 *
	 * Fails with EMSGSIZE: another process gave a value of other length, or T is longer than
	 * max_value; ECONNRESET: a process left; ETIMEDOUT: not all gave one in time; EPROTO: the
	 * processes do not make the same calls; ENOTCONN: after an error; ENOMEM.
	 */
	template <class T>
	Result<std::vector<T>> exchange(const T &mine,
					const Progress &progress = {})
	{
		static_assert(std::is_trivially_copyable_v<T> &&
			      !std::is_same_v<T, bool>);

		return exchange_bytes(std::as_bytes(std::span(&mine, 1)),
				      progress)
			.transform([](const std::vector<std::byte> &all) {
				std::vector<T> values(all.size() / sizeof(T));

				memcpy(values.data(), all.data(), all.size());
				return values;
			});
	}

	/**
	 * The same with bytes, of which each process gives as many. Return: those of all, one
	 * behind the other by rank.
	 */
	Result<std::vector<std::byte>>
	exchange_bytes(std::span<const std::byte> mine,
		       const Progress &progress = {});

	/** Returns when all processes of the group have called it. Fails as exchange(). */
	Result<void> barrier(const Progress &progress = {});

private:
	struct Links;
	Group(uint16_t rank, uint16_t size, std::unique_ptr<Links> links);

	uint16_t rank_;
	uint16_t size_;
	std::unique_ptr<Links> links_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_GROUP_HPP
