/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * read_order.hpp - a read sees memory at least as new as the reads before it (IBA 9.5).
 *
 * A read whose response was lost may be executed once more, and then it may see writes that were
 * posted behind it. The reads behind it have to see these writes, too.
 */
#ifndef PAVO_SIM_READ_ORDER_HPP
#define PAVO_SIM_READ_ORDER_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

class ReadOrder {
public:
	/* A read, and the bytes that it finds if it is executed once; in the order of messages. */
	void add_read(size_t message, size_t in_at,
		      std::vector<uint8_t> bytes);
	/*
	 * The bytes that @read finds behind the write @writer; in the order of messages. @whole: a
	 * packet carries out the write, so a byte of it shows that all of it is there.
	 */
	void add_version(size_t read, size_t writer, bool whole,
			 std::vector<uint8_t> bytes);
	/* All reads before message @end are complete; their data is at @in. Throws Failure. */
	void complete(size_t end, const uint8_t *in);

private:
	struct Version {
		size_t writer; /* of the first one: the read itself */
		size_t shows; /* the write that is there as a whole */
		std::vector<uint8_t> bytes;
	};
	struct Read {
		size_t message, in_at;
		std::vector<Version> versions;
	};

	void check(const Read &read, const uint8_t *bytes);

	std::vector<Read> reads_;
	size_t next_ = 0;
	/* The latest write that a read has shown to be there as a whole. */
	size_t newest_ = 0;
};

} // namespace sim

#endif /* PAVO_SIM_READ_ORDER_HPP */
