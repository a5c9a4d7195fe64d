/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * New dialogues, right in all or nearly all, and changed ones.
 *
 * Owns: what a good dialogue looks like, and what may be done to it. Pure.
 */
#pragma once

#include "dialogue.h"
#include "random.h"

namespace wf {

/* Of one kind: a peer that asks, one that answers, both, datagrams, windows... */
Dialogue invent(Random &random);
/* Of windows (invent_windows.cpp), and what their application may do at any time. */
Dialogue invent_windows(Random &random);
Step window_event(Random &random);

/* Several changes; parts of @other may be spliced in. */
Dialogue mutate(const Dialogue &dialogue, const Dialogue &other,
		bool with_failures, Random &random);

} // namespace wf
