// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_attempts.h - shared by tests that make each attempt of RDMA themselves, without
 * pavo::Rdma: only the test repeats what the network loses.
 */
#ifndef PAVO_WINDOW_NODES_ATTEMPTS_H
#define PAVO_WINDOW_NODES_ATTEMPTS_H

#include "nodes.h"

namespace nodes {

/* Time that an attempt may take before the next one. */
constexpr auto patience = std::chrono::milliseconds(200);

/* Waits for the condition, at most for the time of an attempt. */
template <class Condition> bool soon(Condition &&condition)
{
	return common::eventually(condition, patience);
}

/* The pattern of memory to which RDMA has written nothing. */
constexpr uint32_t untouched = 200;

/* A client's part of the server's memory, and the rCxt for it. */
struct Part {
	uint32_t rcxt;
	pavo::Pvo memory;
};

/* The end that answers requests, with memory for each client. */
struct Responder : Server {
	/* @bytes: of each */
	Responder(const Arguments &arguments, size_t bytes);

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

/* The end that makes requests, with as much memory. */
struct Requester : Client {
	Requester(const Arguments &arguments, size_t bytes);

	pavo::Window &own_window() { return node.window; }
	/*
	 * One attempt, for which the request has a tid that was not used; returns when
	 * the frame was sent, or nothing of it could be.
	 */
	void attempt(bool write);
	/* The mark on the frame. */
	pavo::FrameState post(bool write);
	/* Repeats attempts until one is answered. Return: how the operation ended. */
	pavo::DoneFrame complete(bool write);

	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	/* All of the memory, from one end to the other. */
	pavo::RequestFrame request{};

private:
	/* Takes the notification of the last attempt; those of others may follow. */
	bool hear(pavo::DoneFrame &answer);
};

} // namespace nodes

#endif // PAVO_WINDOW_NODES_ATTEMPTS_H
