/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A campaign: dialogues for a while, guided by what they reach, each judged; and a short
 * one of those that were wrong.
 *
 * Owns: the player, the pool of dialogues, and the files that are left.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "counters.h"
#include "invent.h"
#include "play.h"
#include "random.h"
#include "trouble.h"
#include "witness.h"

namespace wf {

struct Options {
	std::string device = "wf0", interface = "wtool";
	std::string netif; /* over a window of the device */
	std::string out = "."; /* for dialogues that were wrong */
	std::string save; /* for a small pool that reaches all */
	double seconds = 0;
	uint64_t count =
		0; /* dialogues at most; 0: as many as there is time for */
	uint64_t seed = 1;
	bool failures = false;
	unsigned patience = 30;
	std::vector<std::string> files; /* dialogues to begin with */
};

class Campaign {
public:
	Campaign(const Options &options, Witness &witness);

	/* Those of the files, once each. Return: whether all was right. */
	bool replay();
	/* New and changed ones. */
	bool run();
	/* One line of figures, and one of counters that did not move. */
	std::string summary() const;
	std::string unmoved() const;

private:
	struct Kept {
		Dialogue dialogue;
		Reached reached;
	};

	bool play(const Dialogue &dialogue);
	/* With the witness standing still: every packet is in a counter. */
	void play_counted(const Dialogue &dialogue);
	void judge_kernel();
	void keep(const Dialogue &dialogue, Reached reached);
	Dialogue next();
	void record(const Dialogue &dialogue);
	void report(const std::string &what);
	bool fails_again(const Dialogue &dialogue, const std::string &what);
	Dialogue shorten(Dialogue dialogue, const std::string &what);
	void renew();
	static Reached essence(const Reached &reached);
	void save_pool() const;

	const Options &options_;
	Witness &witness_;
	Random random_;
	Counters counters_;
	std::unique_ptr<Failures> failures_;
	Console console_;
	std::unique_ptr<Player> player_;
	std::vector<Kept> pool_;
	Reached all_;
	std::vector<Dialogue> recent_;
	uint64_t played_ = 0, packets_ = 0, heard_ = 0, completions_ = 0;
	double took_ = 0;
};

} // namespace wf
