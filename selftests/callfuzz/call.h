/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * call.h - makes one call of a program, in the process that is to make it.
 */
#ifndef PAVO_CALLFUZZ_CALL_H
#define PAVO_CALLFUZZ_CALL_H

#include "late.h"
#include "shared.h"

namespace callfuzz {

/** The things in an actor's hands; one for all its workers. */
struct Hands {
	Shared &shared;
	int actor;
	int uffd = -1;
	int first_file = 20; /* those before are not the program's */
	uint32_t posted[64] = {}; /* by a hash of the ring's address */
	Late late = {};
	std::mutex polling = {};
};

/** Makes call @at of @program; its results are in @hands.shared then. */
void make_call(Hands &hands, const Program &program, size_t at);

/** @value, with the result of the call that it names. */
uint64_t resolve_value(const Shared &shared, const Value &value);

/** For the words of the list whose fields are text. */
const char *word_of(uint64_t number);

/** The file of that number if it is the program's, else -1. */
int own_file(const Hands &hands, uint64_t number);

/** Runs @access, which may touch memory that is not there. Returns 0 or EFAULT. */
int touch_memory(void (*access)(void *), void *context);
void catch_faults();

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_CALL_H */
