// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * meeting.h - programs of a test find each other by TCP. Other than in a pavo::Group each pair
 * talks for itself, in an order of its own.
 */
#ifndef PAVO_WINDOW_MEETING_H
#define PAVO_WINDOW_MEETING_H

#include <string>
#include <type_traits>
#include <utility>

#include <pavo/window.hpp>

#include "stream.hpp"

namespace nodes {

/** A TCP connection to the other program. The program that waits is node 0. */
class Meeting {
public:
	/** @host: empty: waits for another program, else connects there. Throws. */
	Meeting(const std::string &host, uint16_t port);

	/** This program waited. */
	bool first() const { return !node_; }
	/** The numbers of this node and of the other. */
	uint16_t node() const { return node_; }
	uint16_t other() const { return other_; }

	/** The other program has sent a value, or is gone: exchange() would not wait. */
	bool anything() const;

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
	friend class Listener;
	explicit Meeting(pavo::Stream stream);
	Meeting(pavo::Stream stream, uint16_t other);
	void write(const void *from, size_t bytes);
	void read(void *to, size_t bytes);

	pavo::Stream stream_;
	uint16_t node_ = 0;
	uint16_t other_ = 0;
};

/** A place where one program waits for several others: nodes 1, 2, ... as they come. */
class Listener {
public:
	explicit Listener(uint16_t port);

	/** Meets the next program. */
	Meeting meet();

private:
	pavo::Stream stream_;
	uint16_t last_ = 0;
};

/** The objects that a program needs before it can talk: a window of a job. */
struct Node {
	Node(const std::string &device_name, uint32_t job_id, uint64_t job_key,
	     uint16_t number);

	/**
	 * Tells the other program its address and its window, and learns the other's.
	 * Its window can send there after that. Return: the address of the other's
	 * window. Throws.
	 */
	pavo::WindowAddress introduce(Meeting &meeting);

	pavo::Device device;
	pavo::Job job;
	pavo::AdapterAddress address;
	pavo::Window window;
};

} // namespace nodes

#endif // PAVO_WINDOW_MEETING_H
