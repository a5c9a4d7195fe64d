/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * actor.h - a process that makes calls of a program, one at a time in each of its threads,
 * as it is told by the director. Its end closes all it had.
 */
#ifndef PAVO_CALLFUZZ_ACTOR_H
#define PAVO_CALLFUZZ_ACTOR_H

#include <array>

#include "kcov.h"

namespace callfuzz {

/** The things that an actor needs to be one, made before the first. */
struct Stage {
	Stage(Shared *shared, uint64_t module) : shared(shared), module(module)
	{
	}

	Shared *shared;
	std::array<std::array<Kcov, workers>, actors> kcov = {};
	uint64_t module; /* where its text is */
	pid_t holder = 0; /* whose namespaces are C's */
	std::string fuse; /* folder of the FUSE server */
	uint32_t serial = 0; /* of the program */
};

/** In a child of the director: never returns. */
[[noreturn]] void play_actor(Stage &stage, const Program &program, int actor);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_ACTOR_H */
