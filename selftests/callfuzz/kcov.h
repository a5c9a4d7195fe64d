/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kcov.h - what a thread reaches of the module, or all packets (kernel/kcov.h; see
 * Documentation/dev-tools/kcov). The module alone is compiled for it, so all places are
 * its own.
 */
#ifndef PAVO_CALLFUZZ_KCOV_H
#define PAVO_CALLFUZZ_KCOV_H

#include "shared.h"

namespace callfuzz {

/** Where the module's text begins; 0: unknown. */
uint64_t find_module();

/** A buffer of the kernel for one thread at a time. */
class Kcov {
public:
	/** Without such a kernel it is a buffer that stays empty. */
	Kcov(size_t words = 32768);
	Kcov(const Kcov &) = delete;

	bool works() const { return area_; }
	/** From now on the calling thread is watched. */
	void watch(bool learns);
	/** From now on what packets and workers do for all users is. */
	void watch_packets();
	void begin();
	/** Writes the places that were reached since begin() into @shared. */
	void end(Shared &shared, uint64_t base);

private:
	void end_places(Shared &shared, uint64_t base, uint64_t count);
	void end_compared(Shared &shared, uint64_t count);

	size_t words_;
	int fd_ = -1;
	bool learns_ = false;
	uint64_t *area_ = nullptr;
};

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_KCOV_H */
