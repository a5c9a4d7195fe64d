/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzzer.h - runs programs that reach what others did not, and makes more of those.
 */
#ifndef PAVO_CALLFUZZ_FUZZER_H
#define PAVO_CALLFUZZ_FUZZER_H

#include <bitset>

#include "director.h"
#include "mutate.h"

namespace callfuzz {

class Fuzzer {
public:
	Fuzzer(Director &director, uint32_t seed, std::string save);

	/** Runs it, and keeps it. Throws Wrong: a call did not end as it says. */
	void add_seed(const Program &program);
	/** For so long. */
	void fuzz(std::chrono::seconds time);

	size_t kept() const { return corpus_.size(); }
	/** Places of the module; edges between them; what else was seen. */
	size_t places() const { return places_.count(); }
	size_t edges() const { return edges_.count(); }
	size_t others() const { return others_.count(); }
	/** Places as offsets in the module's text, to @path. */
	void write_places(const std::string &path) const;
	/** The program that was run last. */
	const Program &last() const { return last_; }
	size_t learned() const { return mutator_.learned(); }

private:
	/* Places that the program that was just run reached and no kept one did. */
	struct News {
		std::vector<uint32_t> edges, others;

		bool empty() const { return edges.empty() && others.empty(); }
	};

	void run(const Program &program, bool learns = false);
	News find_news() const;
	bool still(const News &news) const;
	void take(const News &news);
	Program minimise(Program program, const News &news);
	void save(const Program &program);
	const Program &pick();
	void once();
	void tell();

	Director &director_;
	Mutator mutator_;
	std::string save_;
	std::vector<Program> corpus_;
	std::bitset<most_places> places_;
	std::bitset<edge_bits> edges_;
	std::bitset<other_bits> others_;
	Program last_;
};

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_FUZZER_H */
