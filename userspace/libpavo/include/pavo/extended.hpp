// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * extended.hpp - extended operations of verbs queue pairs, with types: masked atomics, swap,
 * and immediate data of eight bytes. Calls the functions of pavo_dv.h, so a program that
 * uses it links with the provider, as pavodv(7) says.
 */
#ifndef PAVO_EXTENDED_HPP
#define PAVO_EXTENDED_HPP

#include <cstdint>
#include <initializer_list>
#include <optional>

#include <endian.h>
#include <infiniband/verbs.h>

#include <pavo/pavo_dv.h>
#include <pavo/result.hpp>

namespace pavo {

/** How a word of 64 bits is divided into fields, from its lowest bits on. */
class Fields {
public:
	/** One field. */
	constexpr Fields() = default;

	/** @widths: bits of each; what they leave of the word is one more. */
	constexpr Fields(std::initializer_list<unsigned> widths)
	{
		unsigned end = 0;

		for (unsigned width : widths) {
			end += width;
			if (end - 1 < 64)
				tops_ |= uint64_t{1} << (end - 1);
		}
	}

	/** The highest bit of each field. */
	constexpr uint64_t tops() const { return tops_; }

	/** @value in field @number, cut to its width. */
	constexpr uint64_t put(unsigned number, uint64_t value) const
	{
		return value << begin(number) & mask(number);
	}

	/** The value of field @number of @word. */
	constexpr uint64_t get(unsigned number, uint64_t word) const
	{
		return (word & mask(number)) >> begin(number);
	}

	/** All bits of field @number. */
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

/** Where the value of before goes. */
struct LocalWord {
	uint64_t address;
	uint32_t lkey;
};

/** Bits of a word, and the value that they have or get; the others are left out. */
struct Bits {
	uint64_t value;
	uint64_t mask = UINT64_MAX;
};

/**
 * Posts extended operations to a queue pair of RC or XRC that was made for ibv_wr_*(3). Each call
 * posts one request, with @id and @flags (IBV_SEND_*) of it. It fails if it was not
 * posted.
 */
class Extended {
public:
	/**
	 * @qp: has to live longer
	 * @srqn: XRC: the peer's shared receive queue, which takes immediate data and says
	 *        by its protection domain which memory an atomic may touch
	 * Fails with EOPNOTSUPP: it is not pavo's, or was made for other calls.
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

	Result<void> fetch_add(RemoteWord word, uint64_t add, Fields fields,
			       LocalWord old, uint64_t id,
			       unsigned flags = IBV_SEND_SIGNALED)
	{
		begin(id, flags);
		pavodv_wr_ext_fetch_add(qp_, word.rkey, word.address, add,
					fields.tops());
		return end(old);
	}

	Result<void> swap(RemoteWord word, uint64_t value, LocalWord old,
			  uint64_t id, unsigned flags = IBV_SEND_SIGNALED)
	{
		begin(id, flags);
		pavodv_wr_ext_swap(qp_, word.rkey, word.address, value);
		return end(old);
	}

	/** Replaces the bits of @next if those of @expected are as expected. */
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

	/** The peer's completion brings @value: read_immediate(). */
	Result<void> send_immediate(uint64_t value, uint64_t id,
				    unsigned flags = IBV_SEND_SIGNALED)
	{
		begin(id, flags);
		pavodv_wr_imm64(qp_, htobe64(value));
		return end();
	}

	/** Does the peer know them? Unknown until one has ended. */
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

/** Eight bytes of the completion that @cq is at; none: it has none. */
inline std::optional<uint64_t> read_immediate(ibv_cq_ex *cq)
{
	__be64 imm;

	if (!pavodv_wc_read_imm64(cq, &imm))
		return {};
	return be64toh(imm);
}

} // namespace pavo

#endif // PAVO_EXTENDED_HPP
