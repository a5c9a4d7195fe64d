// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A campaign: see campaign.h.
 */
#include "campaign.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace wf {

namespace {

constexpr size_t pool_most = 1500;
constexpr size_t recent_most = 48;
/* Dialogues between: all objects anew, a packet count, a look at the witness. */
constexpr uint64_t renew_every = 3000, count_every = 16, look_every = 64;
constexpr uint64_t progress_every = 2048;
constexpr int settle_ms = 5000;

/* Packets that came to the adapter are in one of these. */
const std::vector<std::string> dropped_before_qp = {
	"rx_packets",	  "rx_drop_short",   "rx_drop_version",
	"rx_drop_opcode", "rx_drop_surplus", "rx_icrc_encapsulated"};

double seconds_since(timespec begin)
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<double>(now.tv_sec - begin.tv_sec) +
	       static_cast<double>(now.tv_nsec - begin.tv_nsec) / 1e9;
}

timespec time_now()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now;
}

Dialogue read_file(const std::string &path)
{
	std::ifstream file(path);
	std::stringstream text;

	if (!file)
		throw std::runtime_error("cannot read " + path);
	text << file.rdbuf();
	return parse(text.str());
}

void write_dialogue(const std::string &path, const std::string &comment,
		    const Dialogue &dialogue)
{
	std::ofstream(path) << "# " << comment << "\n" << print(dialogue);
}

Dialogue joined(const std::vector<Dialogue> &dialogues)
{
	Dialogue all;

	for (const Dialogue &one : dialogues)
		all.insert(all.end(), one.begin(), one.end());
	return all;
}

} // namespace

Campaign::Campaign(const Options &options, Witness &witness)
	: options_(options), witness_(witness), random_(options.seed),
	  counters_(options.device, options.netif)
{
	if (options.failures)
		failures_ = std::make_unique<Failures>();
	renew();
}

void Campaign::renew()
{
	if (player_) {
		packets_ += player_->packets();
		heard_ += player_->heard();
		completions_ += player_->completions();
	}
	player_.reset();
	player_ = std::make_unique<Player>(options_.device, options_.interface,
					   options_.netif, counters_,
					   failures_.get());
}

void Campaign::judge_kernel()
{
	if (auto complaint = console_.complaint())
		throw Violation("the kernel says: " + *complaint);
}

/* A packet that came later than its dialogue moves a counter all the same. */
void Campaign::play_counted(const Dialogue &dialogue)
{
	witness_.pause();
	const uint64_t before = counters_.sum(dropped_before_qp);
	const uint64_t sure = player_->sure();
	uint64_t counted = 0, wanted = 0;

	keep(dialogue, player_->play(dialogue));
	for (int ms = 0; ms < settle_ms; ms++) {
		counted = counters_.sum(dropped_before_qp) - before;
		wanted = player_->sure() - sure;
		if (counted >= wanted)
			break;
		usleep(1000);
	}
	witness_.go_on();
	if (counted < wanted)
		throw Violation(std::to_string(wanted - counted) + " of " +
				std::to_string(wanted) +
				" packets are in no counter");
}

bool Campaign::play(const Dialogue &dialogue)
{
	record(dialogue);
	played_++;
	try {
		if (!failures_ && played_ % count_every == 0)
			play_counted(dialogue);
		else
			keep(dialogue, player_->play(dialogue));
		judge_kernel();
		if (played_ % look_every == 0)
			witness_.rounds();
		if (played_ % progress_every == 0)
			witness_.expect_progress(options_.patience);
	} catch (const Violation &violation) {
		witness_.go_on();
		report(violation.what());
		return false;
	}
	if (played_ % renew_every == 0)
		renew();
	return true;
}

void Campaign::keep(const Dialogue &dialogue, Reached reached)
{
	const size_t before = all_.size();

	all_.insert(reached.begin(), reached.end());
	if (all_.size() == before || dialogue.empty())
		return;
	if (pool_.size() < pool_most)
		pool_.push_back({dialogue, std::move(reached)});
	else
		random_.pick(pool_) = {dialogue, std::move(reached)};
}

Dialogue Campaign::next()
{
	if (pool_.empty() || random_.one_in(4))
		return invent(random_);
	return mutate(random_.pick(pool_).dialogue,
		      random_.pick(pool_).dialogue, failures_ != nullptr,
		      random_);
}

/* In two files by turns, so that the last ones outlive a kernel that panics. */
void Campaign::record(const Dialogue &dialogue)
{
	const uint64_t page = played_ / recent_most;
	const std::string path =
		options_.out + "/recent-" + std::to_string(page % 2) + ".txt";
	const auto mode = played_ % recent_most ? std::ios::app :
						  std::ios::trunc;

	if (recent_.size() == recent_most)
		recent_.erase(recent_.begin());
	recent_.push_back(dialogue);
	std::ofstream(path, std::ios::out | mode)
		<< "# dialogue " << played_ << " of seed " << options_.seed
		<< "\n"
		<< print(dialogue);
}

bool Campaign::fails_again(const Dialogue &dialogue, const std::string &what)
{
	try {
		renew();
		player_->play(dialogue);
		judge_kernel();
	} catch (const Violation &violation) {
		/* Numbers in it may differ. */
		return what.substr(0, 8) ==
		       std::string(violation.what()).substr(0, 8);
	}
	return false;
}

/* Leaves out what is not needed, halves first. */
Dialogue Campaign::shorten(Dialogue dialogue, const std::string &what)
{
	for (size_t part = dialogue.size() / 2; part; part /= 2)
		for (size_t at = 0; at + part <= dialogue.size();) {
			Dialogue less = dialogue;
			const auto from = less.begin() + static_cast<long>(at);

			less.erase(from, from + static_cast<long>(part));
			if (fails_again(less, what))
				dialogue = std::move(less);
			else
				at += part;
		}
	return dialogue;
}

void Campaign::report(const std::string &what)
{
	const std::string name = options_.out + "/wrong-" +
				 std::to_string(options_.seed) + "-" +
				 std::to_string(played_) + ".txt";
	const std::string comment = what.substr(0, what.find('\n'));
	Dialogue wrong = recent_.back();

	std::printf("# dialogue %llu of seed %llu: %s\n",
		    static_cast<unsigned long long>(played_),
		    static_cast<unsigned long long>(options_.seed),
		    what.c_str());
	write_dialogue(name, comment, wrong);
	bool again = fails_again(wrong, what);
	if (!again) {
		wrong = joined(recent_);
		again = fails_again(wrong, what);
	}
	if (again)
		wrong = shorten(wrong, what);
	write_dialogue(name, comment, wrong);
	std::printf("# %s, in %s:\n",
		    again ? "it does so again, made short" :
			    "not again when repeated; with those before it",
		    name.c_str());
	if (again)
		std::printf("%s", print(wrong).c_str());
	std::fflush(stdout);
}

bool Campaign::replay()
{
	bool right = true;

	for (const std::string &file : options_.files) {
		console_.note("wirefuzz: " + file);
		if (!play(read_file(file))) {
			std::printf("# in %s\n", file.c_str());
			right = false;
		}
	}
	return right;
}

bool Campaign::run()
{
	const timespec begin = time_now();
	bool right = true;

	for (uint64_t n = 0; right; n++) {
		if (seconds_since(begin) > options_.seconds ||
		    (options_.count && n >= options_.count))
			break;
		if (played_ % progress_every == 0)
			console_.note("wirefuzz: seed " +
				      std::to_string(options_.seed) +
				      ", dialogue " + std::to_string(played_));
		right = play(next());
	}
	took_ = seconds_since(begin);
	if (right && !options_.save.empty())
		save_pool();
	return right;
}

/* The purpose of a dialogue of the corpus: not how far a counter moved, nor beside what. */
Reached Campaign::essence(const Reached &reached)
{
	Reached names;

	for (const std::string &name : reached)
		if (name.starts_with("counter ") || name.starts_with("sent ") ||
		    name.starts_with("cq "))
			names.insert(name);
	return names;
}

/* The one that adds most, as long as one adds something; the shorter of equals. */
void Campaign::save_pool() const
{
	Reached covered;

	for (int number = 0;; number++) {
		const Kept *best = nullptr;
		size_t most = 0;

		for (const Kept &kept : pool_) {
			size_t more = 0;

			for (const std::string &name : essence(kept.reached))
				more += !covered.contains(name);
			if (more > most ||
			    (more && more == most &&
			     kept.dialogue.size() < best->dialogue.size())) {
				best = &kept;
				most = more;
			}
		}
		if (!best)
			return;
		covered.merge(essence(best->reached));
		char name[32];

		std::snprintf(name, sizeof(name), "/%03d.txt", number);
		write_dialogue(options_.save + name,
			       "SPDX-License-Identifier: GPL-2.0 OR "
			       "BSD-2-Clause",
			       best->dialogue);
	}
}

std::string Campaign::unmoved() const
{
	std::string text = "not moved:";

	for (const std::string &name : counters_.names())
		if (!all_.contains("counter " + name))
			text += " " + name;
	return text;
}

std::string Campaign::summary() const
{
	const double packets =
		static_cast<double>(packets_ + player_->packets());
	size_t moved = 0;
	char text[512];

	for (const std::string &name : all_)
		moved += name.starts_with("counter ");
	std::snprintf(
		text, sizeof(text),
		"seed %llu: %llu dialogues in %.0f s (%.0f a second), "
		"%.0f packets, %llu answers, %llu completions; %zu of %zu "
		"counters moved, %zu things reached, pool %zu; witness "
		"%llu rounds",
		static_cast<unsigned long long>(options_.seed),
		static_cast<unsigned long long>(played_), took_,
		took_ > 0 ? static_cast<double>(played_) / took_ : 0.0, packets,
		static_cast<unsigned long long>(heard_ + player_->heard()),
		static_cast<unsigned long long>(completions_ +
						player_->completions()),
		moved, counters_.names().size(), all_.size(), pool_.size(),
		static_cast<unsigned long long>(witness_.rounds()));
	return text;
}

} // namespace wf
