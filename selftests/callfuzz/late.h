/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * late.h - the oracle of late bytes: an actor that has no region any more writes a pattern
 * into the memory that its regions were of. No request may read that: the pattern is in no
 * other memory, and in no packet that another namespace holds.
 */
#ifndef PAVO_CALLFUZZ_LATE_H
#define PAVO_CALLFUZZ_LATE_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "program.h"
#include "shared.h"

namespace callfuzz {

/**
 * What an actor knows of its own regions, and never too few: one that may have come to be
 * counts, and one counts until it was said to be gone.
 */
class Late {
public:
	/** Around a call that may make or end a region. */
	void begin(const Entry &entry);
	void end(const Entry &entry, bool failed);
	/** Writes the pattern. Returns 0 or an errno: EBUSY, there are regions. */
	int write(Shared &shared, int actor, uint64_t at, uint64_t length);
	/** There is no pattern any more in memory that moves, or that a child gets. */
	void clean();
	/** Held while a child is born. */
	std::mutex &lock() { return lock_; }
	/** The packet socket @fd holds packets that go through this namespace. */
	void add_socket(int fd);
	std::vector<int> sockets();

private:
	struct Range {
		uint64_t at, length;
	};

	void clean_locked();

	std::mutex lock_;
	int regions_ = 0;
	std::vector<Range> written_;
	std::vector<int> sockets_;
};

/** Looks for late bytes in all memory of actor @actor; tells them in @shared. */
void look_for_late(Shared &shared, int actor);
/** Likewise in @size bytes of a packet. */
void look_in_packet(Shared &shared, const void *packet, size_t size);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_LATE_H */
