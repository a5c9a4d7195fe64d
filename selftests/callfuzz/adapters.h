/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * adapters.h - the adapters of the world as the kernel has them: which there are, what
 * they are called by, and how missing ones are added, without starting programs.
 */
#ifndef PAVO_CALLFUZZ_ADAPTERS_H
#define PAVO_CALLFUZZ_ADAPTERS_H

#include <sys/types.h>

#include "shared.h"

namespace callfuzz {

/** All are there, each on its interface, and no others. */
bool adapters_are_whole();
/** Makes it so; @holder: whose namespace the far one is in. */
bool mend_adapters(pid_t holder);
/** No queue pair is counted by rule. */
void reset_counters(const Places &places);
/** Finds numbers and addresses; gids of @places are known from before. */
bool find_places(Places &places);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_ADAPTERS_H */
