// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * meeting.hpp - what the examples share: two programs find each other by TCP and tell
 * what RDMA needs to be told beforehand. Any other way would do.
 */
#ifndef PAVO_EXAMPLES_MEETING_HPP
#define PAVO_EXAMPLES_MEETING_HPP

#include <string>
#include <type_traits>

#include <pavo/window.hpp>

namespace examples {

/** The RoCE v2 address of an adapter that its windows use, and where it stands. */
struct Address {
	uint16_t index;
	pavo::Gid gid;
};

/** Throws std::runtime_error: the adapter's interface has no such address. */
Address address_of(const std::string &device, bool ipv6 = false);

/** A TCP connection to the other program. */
class Meeting {
public:
	/** @host: empty: waits for the other, else goes there. Throws. */
	Meeting(const std::string &host, uint16_t port);
	~Meeting();
	Meeting(const Meeting &) = delete;

	/** This one waited: node 0; the other is node 1. */
	bool first() const { return first_; }

	/** Tells @mine, and returns the other's. */
	template <class T> T exchange(const T &mine)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		T theirs;

		write(&mine, sizeof(mine));
		read(&theirs, sizeof(theirs));
		return theirs;
	}

private:
	void write(const void *from, size_t bytes);
	void read(void *to, size_t bytes);

	int fd_ = -1;
	bool first_;
};

} // namespace examples

#endif // PAVO_EXAMPLES_MEETING_HPP
