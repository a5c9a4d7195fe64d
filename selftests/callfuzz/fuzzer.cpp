// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fuzzer.cpp - see fuzzer.h.
 */
#include "fuzzer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace callfuzz {

/* Runs that making a program shorter may take. */
constexpr int most_trials = 24;
constexpr std::chrono::milliseconds slow_run(1500);

Fuzzer::Fuzzer(Director &director, uint32_t seed, std::string save)
	: director_(director), mutator_(seed), save_(std::move(save))
{
}

void Fuzzer::run(const Program &program, bool learns)
{
	last_ = program;
	director_.run(program, learns);
	if (learns) {
		const Shared &shared = director_.shared();
		const size_t count =
			std::min<size_t>(shared.compared_count, most_compared);

		mutator_.learn(shared.compared, count);
		return;
	}
	for (size_t i = 0; i < most_places; i += 8) {
		uint8_t *reached = &director_.shared().reached[i];

		if (!*reinterpret_cast<uint64_t *>(reached))
			continue;
		for (size_t k = 0; k < 8; k++)
			if (reached[k])
				places_.set(i + k);
	}
}

Fuzzer::News Fuzzer::find_news() const
{
	const Shared &shared = director_.shared();
	News news;

	for (uint32_t i = 0; i < edge_bits; i++)
		if (shared.edges[i] && !edges_[i])
			news.edges.push_back(i);
	for (uint32_t i = 0; i < other_bits; i++)
		if (shared.others[i] && !others_[i])
			news.others.push_back(i);
	return news;
}

bool Fuzzer::still(const News &news) const
{
	const Shared &shared = director_.shared();

	return std::all_of(news.edges.begin(), news.edges.end(),
			   [&](uint32_t i) { return shared.edges[i]; }) &&
	       std::all_of(news.others.begin(), news.others.end(),
			   [&](uint32_t i) { return shared.others[i]; });
}

void Fuzzer::take(const News &news)
{
	for (uint32_t i : news.edges)
		edges_.set(i);
	for (uint32_t i : news.others)
		others_.set(i);
}

/* Without the calls that it does not need for its news; one that is slow as it is. */
Program Fuzzer::minimise(Program program, const News &news)
{
	int trials = director_.last_time() > slow_run ? most_trials : 0;

	for (size_t at = program.calls.size(); at-- && trials < most_trials;) {
		Program shorter = program;

		shorter.remove(at);
		run(shorter);
		trials++;
		if (still(news))
			program = shorter;
	}
	return program;
}

void Fuzzer::save(const Program &program)
{
	if (save_.empty())
		return;
	const std::string text = program.text();
	const size_t name = std::hash<std::string>()(text);
	char path[32];

	snprintf(path, sizeof(path), "/%016zx", name);
	std::ofstream(save_ + path) << text;
}

/* Did the calls of the program that was just run end as it says? */
static void judge_errors(const Program &program, const Shared &shared)
{
	for (size_t i = 0; i < program.calls.size(); i++) {
		const Call &call = program.calls[i];
		const Told &told = shared.told[i];

		if (call.expected >= 0 &&
		    (told.state != State::done || told.error != call.expected))
			throw Wrong{"call " + std::to_string(i) + ", " +
				    call.entry->name + ": " +
				    (told.state == State::done ?
					     strerrorname_np(told.error) :
					     "not done") +
				    ", not " + strerrorname_np(call.expected)};
	}
}

void Fuzzer::add_seed(const Program &program)
{
	run(program);
	judge_errors(program, director_.shared());
	const News news = find_news();

	take(news);
	corpus_.push_back(program);
}

const Program &Fuzzer::pick()
{
	/* The last ones lead on more often. */
	const size_t size = corpus_.size();
	const size_t among = mutator_.any(3) ? size :
					       std::min<size_t>(size, 30);

	return corpus_[size - 1 - mutator_.any(among)];
}

void Fuzzer::once()
{
	Program program;

	if (corpus_.empty() || !mutator_.any(20))
		program = mutator_.invent();
	else
		program = mutator_.mutate(pick(), pick());
	if (program.calls.empty())
		return;
	const bool learns = director_.has_kcov() && !mutator_.any(20);

	run(program, learns);
	if (learns)
		return;
	News news = find_news();
	if (news.empty())
		return;
	/* Once more: what does not come again leads nowhere. */
	if (director_.has_kcov()) {
		run(program);
		if (!still(news)) {
			take(news);
			return;
		}
		program = minimise(program, news);
	}
	take(news);
	corpus_.push_back(program);
	save(program);
}

void Fuzzer::tell()
{
	printf("# %llu programs, %zu kept, %zu places, %zu edges, %zu others, "
	       "%u worlds in %lld s, %llu stuck\n",
	       static_cast<unsigned long long>(director_.runs()), kept(),
	       places(), edges(), others(), director_.repairs(),
	       static_cast<long long>(director_.repair_time().count()),
	       static_cast<unsigned long long>(director_.stuck()));
	fflush(stdout);
}

void Fuzzer::fuzz(std::chrono::seconds time)
{
	using Clock = std::chrono::steady_clock;
	const auto end = Clock::now() + time;
	auto told = Clock::now();

	while (Clock::now() < end) {
		once();
		if (Clock::now() - told > std::chrono::seconds(20)) {
			told = Clock::now();
			tell();
		}
	}
	tell();
}

void Fuzzer::write_places(const std::string &path) const
{
	std::ofstream out(path);

	for (size_t i = 0; i < most_places; i++)
		if (places_[i])
			out << std::hex << (i << 2) << '\n';
}

} // namespace callfuzz
