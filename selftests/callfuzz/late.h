/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * late.h - the oracle of late bytes: an actor all of whose requests are completed, and whose
 * regions can be read by no peer, writes a pattern into its memory, as does one without
 * regions. No request may read that: the pattern is in no other memory, and in no packet
 * that another namespace holds.
 */
#ifndef PAVO_CALLFUZZ_LATE_H
#define PAVO_CALLFUZZ_LATE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "program.h"
#include "shared.h"

namespace callfuzz {

/** The use of an area that is shared with the module. */
enum class Role { doorbells, sends, receives, completions, frames, commands };

/**
 * The regions and requests of an actor as it knows them, and never too few: one that may have
 * come to be counts, and it counts until it was said to be gone. An actor whose areas have
 * other contents than it knows is out of control: it may have requests that do not count.
 */
class Late {
public:
	/** Around a call that may make or end a region; @spoiled: with other arguments. */
	void begin(const Entry &entry, const uint64_t *args, bool spoiled);
	void end(const Entry &entry, bool failed);
	/** A request of queue pair @qpn is posted, or completed. */
	void begin_request(uint32_t qpn);
	void end_request(uint32_t qpn);
	/** @length bytes of the area of @file that is at @at there. */
	void add_area(uint64_t area, uint64_t length, uint64_t file,
		      uint64_t at);
	/** The first @size bytes of @area are used as that, and nothing else is. */
	void use(uint64_t area, uint64_t size, Role role);
	void lose_control();
	/** Writes the pattern. Returns 0 or an errno: EBUSY, a request could read. */
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
	struct Area {
		uint64_t length, file, at;
	};

	void clean_locked();
	bool can_be_read() const;

	std::mutex lock_;
	int regions_ = 0;
	bool readable_ = false; /* by peers, for as long as there are regions */
	bool lost_ = false;
	std::map<uint32_t, int> requests_; /* of each queue pair */
	std::map<uint64_t, Area> areas_;
	/* By file and place in it. */
	std::map<std::pair<uint64_t, uint64_t>, Role> roles_;
	std::vector<Range> written_;
	std::vector<int> sockets_;
};

/** Looks for late bytes in all memory of actor @actor; tells them in @shared. */
void look_for_late(Shared &shared, int actor);
/** Likewise in @size bytes of a packet. */
void look_in_packet(Shared &shared, const void *packet, size_t size);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_LATE_H */
