/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuse.h - a FUSE server whose pages come when it is told, and not before.
 */
#ifndef PAVO_CALLFUZZ_FUSE_H
#define PAVO_CALLFUZZ_FUSE_H

#include <string>

#include "shared.h"

namespace callfuzz {

/** Starts it, a process of its own. Returns where it is mounted; "": it cannot be. */
std::string start_fuse(Shared &shared);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_FUSE_H */
