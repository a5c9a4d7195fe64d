// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_attempts.h - what tests share that make each attempt of RDMA themselves, without
 * pavo::Rdma: only the test repeats what the network loses.
 */
#ifndef PAVO_WINDOW_NODES_ATTEMPTS_H
#define PAVO_WINDOW_NODES_ATTEMPTS_H

#include "nodes.h"

namespace nodes {

/* How long an attempt is waited for, before another. */
constexpr auto timeout = std::chrono::milliseconds(200);

/* Until it is so, or an attempt was waited for. */
template <class Condition> bool soon(Condition &&condition)
{
	return common::eventually(condition, timeout);
}

/* Whose pattern memory has when nothing was written to it by RDMA. */
constexpr uint32_t untouched = 200;

/* A client's part of the server's memory, and by which context it is reached. */
struct Part {
	uint32_t rcxt;
	pavo::Pvo memory;
};

/* The end that is asked, with memory for each client. */
struct Asked : Server {
	/* @bytes: of each */
	Asked(const Arguments &arguments, size_t bytes);

	size_t clients() const { return meetings.size(); }
	/* Of client @i, from 0. */
	std::span<std::byte> part(size_t i)
	{
		return std::span(memory).subspan(i * bytes, bytes);
	}

	size_t bytes;
	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	std::vector<uint32_t> rcxts;
};

/* The end that asks, with as much memory. */
struct Asker : Client {
	Asker(const Arguments &arguments, size_t bytes);

	pavo::Window &asking() { return node.window; }
	/*
	 * One attempt, for which the request has a tid that was not used; returns when
	 * the frame was sent, or nothing of it could be.
	 */
	void attempt(bool write);
	/* The mark on the frame. */
	pavo::FrameState ask(bool write);
	/* How it ended: of one attempt after the other, one is answered. */
	pavo::DoneFrame notified(bool write);

	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	/* All of the memory, from one end to the other. */
	pavo::RequestFrame request{};

private:
	/* Of the last attempt; of others it may be notified later. */
	bool hear(pavo::DoneFrame &answer);
};

} // namespace nodes

#endif // PAVO_WINDOW_NODES_ATTEMPTS_H
