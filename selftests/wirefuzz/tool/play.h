/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The player carries out dialogues against a live adapter, and says what they reached.
 *
 * Owns: the two sides, for as long as it lives. Used by: the campaign.
 */
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "counters.h"
#include "dialogue.h"
#include "trouble.h"
#include "windows.h"
#include "wire.h"
#include "world.h"

namespace wf {

/* The things that a dialogue reached: names of counters that moved, answers, ends of requests. */
using Reached = std::set<std::string>;

class Player {
public:
	/*
	 * @netif: interface over a window of the device, or empty; @failures: none where the kernel
	 * cannot, or shall not
	 */
	Player(const std::string &device, const std::string &interface,
	       const std::string &netif, Counters &counters,
	       Failures *failures);

	/* Throws Violation. */
	Reached play(const Dialogue &dialogue);
	uint64_t packets() const { return wire_.sent(); }
	uint64_t heard() const { return wire_.heard(); }
	uint64_t completions() const { return completions_; }
	/* Packets that have to have been counted by the adapter, all told. */
	uint64_t sure() const { return wire_.sure(); }

	/* The names that dialogues have for them. */
	static const std::map<std::string_view, ibv_qp_state> &states();

private:
	void carry_out(const Step &step);
	bool memory_step(const Step &step);
	bool target_step(Target &target, const Step &step);
	void begin(Target &target, const Step &step);
	void poll();
	void note_changes(const Step &step);
	void note_counters(const std::vector<uint64_t> &before,
			   const Dialogue &dialogue);
	void note_states();

	World world_;
	Windows windows_;
	Wire wire_;
	Counters &counters_;
	Failures *failures_;
	Reached reached_;
	uint64_t completions_ = 0;
};

} // namespace wf
