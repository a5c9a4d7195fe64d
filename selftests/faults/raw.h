/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * raw.h - the bytes of WQEs and doorbells, written past the provider.
 *
 * Owns: nothing but a view of what pavo_dv.h hands out. Used by the
 * *_faults.cpp and by fuzz.cpp.
 */
#ifndef PAVO_FAULTS_RAW_H
#define PAVO_FAULTS_RAW_H

#include <cstring>
#include <vector>

#include "ends.h"

namespace faults {

/** The parts of a doorbell; packs without checking anything. */
struct Doorbell {
	uint32_t op;
	uint32_t units; /* offset of the WQE */
	uint32_t size;
	uint32_t qpn;
	bool fence = false;

	uint64_t pack() const;
	uint32_t low() const { return static_cast<uint32_t>(pack()); }
};

/** A WQE in the making: segments one behind the other. */
class Wqe {
public:
	explicit Wqe(uint32_t op) : op(op) { next(); }

	/** Adds a segment and returns where it begins. */
	template <class Segment> Wqe &add(const Segment &segment)
	{
		size_t at = bytes_.size();

		bytes_.resize(at + sizeof(segment));
		memcpy(bytes_.data() + at, &segment, sizeof(segment));
		return *this;
	}

	/** The segment @units from the start, to be spoiled. */
	template <class Segment> Segment &at(size_t units)
	{
		return *reinterpret_cast<Segment *>(bytes_.data() + units * 16);
	}

	pavo_next_seg &next();
	pavo_raddr_seg &remote() { return at<pavo_raddr_seg>(1); }
	uint32_t units() const
	{
		return static_cast<uint32_t>(bytes_.size() / 16);
	}
	const std::vector<uint8_t> &bytes() const { return bytes_; }

	uint32_t op;

private:
	std::vector<uint8_t> bytes_;
};

/** Correct WQEs of a pair, to begin with. */
Wqe good_write(Pair &pair, uint32_t length = 64);
Wqe good_read(Pair &pair, uint32_t length = 64);
Wqe good_atomic(Pair &pair);
Wqe good_send(Pair &pair, uint32_t length = 64);
Wqe good_inline(Pair &pair, uint32_t length = 24);
/** A datagram with the first @length bytes at @va of @memory. */
Wqe good_datagram(End &from, End &to, uint32_t qkey, uint64_t va,
		  uint32_t length, const Memory &memory);

/** The send queue of an end, posted to by hand. */
class RawSq {
public:
	explicit RawSq(End &end);

	/** Writes @wqe into slot @index, counted from RESET. */
	void place(uint32_t index, const Wqe &wqe);
	/** The doorbell that slot @index with @wqe in it would need. */
	Doorbell doorbell(uint32_t index, const Wqe &wqe) const;
	/** Rings, and lets the provider believe in @count completions. */
	void ring(const Doorbell &doorbell, uint32_t count = 1,
		  uint64_t wr_id = 0);
	/** Places @wqe, and rings for it alone. */
	void post(uint32_t index, const Wqe &wqe, uint64_t wr_id);
	/** Rings any 64 bits; no completion is expected. */
	void ring_bits(uint64_t bits);

	uint32_t stride_units() const { return dv_.sq_wqe_size / 16; }
	uint32_t count() const { return dv_.sq_wqe_cnt; }

private:
	End &end_;
	pavodv_qp dv_;
};

} // namespace faults

#endif /* PAVO_FAULTS_RAW_H */
