/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mutate.h - makes new programs of old ones.
 */
#ifndef PAVO_CALLFUZZ_MUTATE_H
#define PAVO_CALLFUZZ_MUTATE_H

#include <random>

#include "shared.h"

namespace callfuzz {

class Mutator {
public:
	explicit Mutator(uint32_t seed) : random_(seed) {}

	/** Something else than @program, which may take calls of @other. */
	Program mutate(Program program, const Program &other);
	/** One that is not made of others. */
	Program invent();
	/** Constants that the module compared arguments with; used from now on. */
	void learn(const Compared *compared, size_t count);
	/** From 0 to below @bound. */
	uint64_t any(uint64_t bound) { return random_() % bound; }
	size_t learned() const { return learned_.size(); }

private:
	bool chance(unsigned percent) { return any(100) < percent; }
	const Entry &any_entry();
	uint64_t any_number(const Field &field, uint64_t before);
	Value any_value(const Program &program, size_t at, const Field &field,
			Value before);
	Twisted any_twist(const Call &call);
	void change_arg(Program &program, size_t at);
	void change_call(Program &program, size_t at);
	void insert_call(Program &program);
	void repeat_call(Program &program, size_t at);
	void swap_calls(Program &program, size_t at);
	void splice(Program &program, const Program &other);
	void spare_world(Program &program);
	void mutate_once(Program &program, const Program &other);

	std::mt19937_64 random_;
	std::vector<Compared> learned_;
};

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_MUTATE_H */
