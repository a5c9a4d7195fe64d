// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * extended.hpp - extended operations of verbs queue pairs: masked atomics, swap, immediate
 * data of eight bytes, and flush. Uses pavo_dv.h, so the program has to link with the provider, as pavodv(7)
 * describes.
 */
#ifndef PAVO_EXTENDED_HPP
#define PAVO_EXTENDED_HPP

#include <pavo/language.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include <endian.h>
#include <infiniband/verbs.h>

#include <pavo/pavo_dv.h>
#include <pavo/result.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/** Division of a 64-bit word into fields, from its lowest bits on. */
class Fields {
public:
	/** One field of 64 bits. */
	constexpr Fields() = default;

	/** @widths: bits of each field; the rest of the word is one more field. */
	constexpr Fields(std::initializer_list<unsigned> widths)
	{
		unsigned end = 0;

		for (unsigned width : widths) {
			end += width;
			if (end - 1 < 64)
				tops_ |= uint64_t{1} << (end - 1);
		}
	}

	/** Returns a word with the highest bit of each field set. */
	constexpr uint64_t tops() const { return tops_; }

	/** Returns a word with @value in field @number, truncated to its width. */
	constexpr uint64_t put(unsigned number, uint64_t value) const
	{
		return value << begin(number) & mask(number);
	}

	/** Returns the value of field @number of @word. */
	constexpr uint64_t get(unsigned number, uint64_t word) const
	{
		return (word & mask(number)) >> begin(number);
	}

	/** Returns a word with all bits of field @number set. */
	constexpr uint64_t mask(unsigned number) const
	{
		unsigned bit = begin(number);
		uint64_t bits = 0;

		for (; bit < 64; bit++) {
			bits |= uint64_t{1} << bit;
			if (tops_ >> bit & 1)
				break;
		}
		return bits;
	}

private:
	constexpr unsigned begin(unsigned number) const
	{
		unsigned bit = 0;

		for (; number && bit < 64; bit++)
			number -= tops_ >> bit & 1;
		return bit;
	}

	uint64_t tops_ = 0;
};

/** Eight aligned bytes of the peer's memory. */
struct RemoteWord {
	uint64_t address;
	uint32_t rkey;
};

/** Bytes of the peer's memory. */
struct RemoteRange {
	uint64_t address;
	uint32_t rkey;
	size_t length;
};

/** Eight bytes of this process for the previous value. */
struct LocalWord {
	uint64_t address;
	uint32_t lkey;
};

/** Bits of a word, and their value to compare or to set. The other bits do not matter. */
struct Bits {
	uint64_t value;
	uint64_t mask = UINT64_MAX;
};

/**
 * Posts extended operations to a queue pair of RC or XRC that was made for ibv_wr_*(3). Each call
 * posts one request with wr_id @id and @flags (IBV_SEND_*), and fails as ibv_wr_complete(3).
 */
class Extended {
public:
	/**
	 * Makes the object for a queue pair.
	 * @qp: has to live longer
	 * @srqn: XRC: the peer's shared receive queue. It takes immediate data, and atomics access
	 *        memory of its protection domain
	 * Fails with EOPNOTSUPP: @qp is not pavo's, or was not made for ibv_wr_*(3).
	 */
	static Result<Extended> open(ibv_qp *qp, uint32_t srqn = 0)
	{
		ibv_qp_ex *extended = ibv_qp_to_qp_ex(qp);

		if (!extended || !pavodv_query_ext(qp->context))
			return Unexpected(Error(
				EOPNOTSUPP,
				"extended operations: not a queue pair of "
				"pavo's that was made for ibv_wr_*"));
		return Extended(extended, srqn);
	}

	/** Adds to each field of a word without a carry into the next one. @old: previous value. */
	Result<void> fetch_add(RemoteWord word, uint64_t add, Fields fields,
			       LocalWord old, uint64_t id,
			       unsigned flags = IBV_SEND_SIGNALED)
	{
		begin(id, flags);
		pavodv_wr_ext_fetch_add(qp_, word.rkey, word.address, add,
					fields.tops());
		return end(old);
	}

	/** Replaces a word. @old: previous value. */
	Result<void> swap(RemoteWord word, uint64_t value, LocalWord old,
			  uint64_t id, unsigned flags = IBV_SEND_SIGNALED)
	{
		begin(id, flags);
		pavodv_wr_ext_swap(qp_, word.rkey, word.address, value);
		return end(old);
	}

	/** Sets the bits of @next if those of @expected have the expected value. @old: previous value. */
	Result<void> compare_swap(RemoteWord word, Bits expected, Bits next,
				  LocalWord old, uint64_t id,
				  unsigned flags = IBV_SEND_SIGNALED)
	{
		begin(id, flags);
		pavodv_wr_ext_cmp_swap(qp_, word.rkey, word.address,
				       expected.value, expected.mask,
				       next.value, next.mask);
		return end(old);
	}

	/** Sends immediate data, which the peer reads by read_immediate(). */
	Result<void> send_immediate(uint64_t value, uint64_t id,
				    unsigned flags = IBV_SEND_SIGNALED)
	{
		begin(id, flags);
		pavodv_wr_imm64(qp_, htobe64(value));
		return end();
	}

	/**
	 * Makes visible at the peer what the requests before wrote. @what: PAVO_FLUSH_*, by which
	 * the whole region may be meant instead of the range
	 */
	Result<void> flush(RemoteRange range, uint64_t id,
			   unsigned flags = IBV_SEND_SIGNALED,
			   uint32_t what = PAVO_FLUSH_GLOBAL)
	{
		begin(id, flags);
		pavodv_wr_flush(qp_, range.rkey, range.address, range.length,
				what);
		return end();
	}

	/** Returns whether the peer supports extended operations; unknown until one has ended. */
	pavodv_peer peer() const
	{
		pavodv_peer peer = PAVODV_PEER_UNKNOWN;

		pavodv_query_peer(&qp_->qp_base, &peer);
		return peer;
	}

private:
	Extended(ibv_qp_ex *qp, uint32_t srqn) : qp_(qp), srqn_(srqn) {}

	void begin(uint64_t id, unsigned flags)
	{
		ibv_wr_start(qp_);
		qp_->wr_id = id;
		qp_->wr_flags = flags;
	}

	Result<void> end(LocalWord old)
	{
		ibv_wr_set_sge(qp_, old.lkey, old.address, sizeof(uint64_t));
		return end();
	}

	Result<void> end()
	{
		if (qp_->qp_base.qp_type == IBV_QPT_XRC_SEND)
			ibv_wr_set_xrc_srqn(qp_, srqn_);
		return to_result(Error(ibv_wr_complete(qp_)));
	}

	ibv_qp_ex *qp_;
	uint32_t srqn_;
};

/** Reads the immediate data of @cq's current completion; none: it has none. */
inline std::optional<uint64_t> read_immediate(ibv_cq_ex *cq)
{
	__be64 imm;

	if (!pavodv_wc_read_imm64(cq, &imm))
		return {};
	return be64toh(imm);
}

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_EXTENDED_HPP
