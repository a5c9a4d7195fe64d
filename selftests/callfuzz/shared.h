/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * shared.h - memory that the director of a program and its actors share: which call is
 * whose turn, what calls gave, and what of the module they reached.
 */
#ifndef PAVO_CALLFUZZ_SHARED_H
#define PAVO_CALLFUZZ_SHARED_H

#include <atomic>
#include <cstdint>

#include "program.h"

namespace callfuzz {

/* Threads of an actor: as many of its calls may be stuck or run at a time. */
constexpr int workers = 3;
constexpr int devices = 4;

/* Places that a call can reach, as bits that are hashed. */
constexpr size_t edge_bits = 1 << 16;
constexpr size_t other_bits = 1 << 14;
/* Places of the module's text, in units of four bytes. */
constexpr size_t most_places = 1 << 19;
/* A constant of the module, and what it was compared with. */
struct Compared {
	uint64_t constant, value;
};
constexpr size_t most_compared = 4096;

enum class State : uint32_t { idle, asked, done };

struct Told {
	std::atomic<State> state;
	int error;
	uint64_t outs[most_outputs];
};

/* A worker's mailbox: the call it is to make, or one of these. */
constexpr int nothing = -1, fork_child = -2, not_there = -3, find_late = -4;
struct Box {
	std::atomic<int> call;
	std::atomic<int> thread; /* whose it is */
};

/* The known facts of the adapters; index 4 and above of gids: see world.cpp. */
struct Places {
	uint32_t index[devices]; /* of netlink */
	uint32_t witness[2]; /* of its adapters, that no program names */
	int uverbs[devices];
	uint32_t sgid[2 * devices]; /* index of its address of IPv4, of IPv6 */
	uint8_t gid[16][16];
};

struct Shared {
	Told told[most_calls];
	Box box[actors][workers];
	std::atomic<int> child; /* pid of D */
	std::atomic<bool> fuse_answers;
	std::atomic<uint32_t> fuse_asked;
	bool learns; /* comparisons, not places */
	Places places;
	/* Bytes, so that threads need no atomic operations. */
	uint8_t edges[edge_bits];
	uint8_t others[other_bits];
	uint8_t reached[most_places];
	std::atomic<uint32_t> compared_count;
	Compared compared[most_compared];
	std::atomic<uint32_t> witnessed;
	char testimony[256]; /* of a witness that was wronged */
	std::atomic<uint32_t> late_writes; /* of this program, see late.h */
	char late[256]; /* what was found of them */
	/* Longest time that the waiter was without the CPU, since it was made 0. */
	std::atomic<uint32_t> starved_ms;
};

/** Waits while *@word is @value; true: woken, or it changed; false: @ms have passed. */
bool wait_word(std::atomic<int> &word, int value, int ms);
void wake_word(std::atomic<int> &word);

/** Something of @kind that a program showed, beside places of the module. */
void note(Shared &shared, uint32_t kind, uint64_t what);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_SHARED_H */
