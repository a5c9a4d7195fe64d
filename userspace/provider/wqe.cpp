// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * wqe.cpp - see wqe.h. The formats are those of uapi/rdma/pavo-abi.h.
 *
 * This file checks the things that the verbs interface promises to refuse at
 * posting time. The module does not trust it and repeats all checks.
 */
#include "wqe.h"

#include <cerrno>
#include <cstring>

#include "ops.h"

namespace pavo {
namespace {

constexpr uint64_t max_message = 0x7fffffff;

/* Hands out the slot segment by segment and never beyond its end. */
class Slot {
public:
	Slot(std::byte *start, uint32_t size) : start_(start), size_(size) {}

	/* Space for @bytes, rounded up to a whole unit; null if the slot has less. */
	std::byte *take(uint32_t bytes)
	{
		uint32_t padded = (bytes + PAVO_WQE_UNIT - 1) / PAVO_WQE_UNIT *
				  PAVO_WQE_UNIT;
		std::byte *segment = start_ + used_;

		if (padded > size_ - used_)
			return nullptr;
		used_ += padded;
		return segment;
	}

	bool put(const void *segment, uint32_t size)
	{
		std::byte *to = take(size);

		if (to)
			memcpy(to, segment, size);
		return to != nullptr;
	}

	template <class Segment> bool put(const Segment &segment)
	{
		static_assert(sizeof(Segment) % PAVO_WQE_UNIT == 0);
		return put(&segment, sizeof(Segment));
	}

	uint32_t used() const { return used_; }

private:
	std::byte *start_;
	uint32_t size_;
	uint32_t used_ = 0;
};

/* Sum of the entries, or more than max_message if they are too long. */
uint64_t total_length(const ibv_sge *sge, int count)
{
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		sum += sge[i].length;
	return sum;
}

int put_data(Slot &slot, const ibv_sge *sge, int count)
{
	for (int i = 0; i < count; i++) {
		/* Nothing to move, and all zeros would be a terminator. */
		if (!sge[i].length)
			continue;

		pavo_data_seg data = {
			.byte_count = sge[i].length,
			.lkey = sge[i].lkey,
			.va = sge[i].addr,
		};

		if (!slot.put(data))
			return EINVAL;
	}
	return 0;
}

int put_inline(Slot &slot, const ibv_sge *sge, int count, uint32_t length)
{
	constexpr uint32_t header = sizeof(pavo_inline_seg);
	std::byte *to = slot.take(header + length);
	uint32_t word = PAVO_INLINE_SEG | length;

	if (!to)
		return EINVAL;
	memcpy(to, &word, header);
	to += header;
	for (int i = 0; i < count; i++) {
		if (!sge[i].length)
			continue;
		memcpy(to, reinterpret_cast<void *>(sge[i].addr),
		       sge[i].length);
		to += sge[i].length;
	}
	return 0;
}

int put_payload(Slot &slot, const ibv_send_wr &wr, const Operation &op,
		const WqeLimits &limits, uint32_t length)
{
	if (!(wr.send_flags & IBV_SEND_INLINE))
		return put_data(slot, wr.sg_list, wr.num_sge);
	if (!(op.segments & PAVO_SEG_INLINE) || length > limits.max_inline)
		return EINVAL;
	if (!length)
		return 0;
	return put_inline(slot, wr.sg_list, wr.num_sge, length);
}

int put_message(Slot &slot, const ibv_send_wr &wr, const Operation &op,
		const WqeLimits &limits, const pavo_ud_seg *av)
{
	uint64_t length = total_length(wr.sg_list, wr.num_sge);

	if (length > max_message)
		return EINVAL;
	if (limits.service == IBV_QPT_UD) {
		pavo_ud_seg ud;

		if (!av)
			return EINVAL;
		ud = *av;
		ud.dest_qpn = wr.wr.ud.remote_qpn & 0xffffff;
		ud.qkey = wr.wr.ud.remote_qkey;
		if (!slot.put(ud))
			return EINVAL;
	}
	return put_payload(slot, wr, op, limits, length);
}

int put_remote(Slot &slot, const ibv_send_wr &wr, const Operation &op,
	       const WqeLimits &limits)
{
	uint64_t length = total_length(wr.sg_list, wr.num_sge);

	if (length > max_message)
		return EINVAL;
	if (op.length && length != op.length)
		return EINVAL;

	pavo_raddr_seg remote = {
		.va = wr.wr.rdma.remote_addr,
		.rkey = wr.wr.rdma.rkey,
		.length = static_cast<uint32_t>(length),
	};

	if (!slot.put(remote))
		return EINVAL;
	return put_payload(slot, wr, op, limits, length);
}

int put_atomic(Slot &slot, const ibv_send_wr &wr, bool compare)
{
	pavo_raddr_seg remote = {
		.va = wr.wr.atomic.remote_addr,
		.rkey = wr.wr.atomic.rkey,
		.length = sizeof(uint64_t),
	};
	pavo_atomic_seg operands = {
		.swap_add = compare ? wr.wr.atomic.swap :
				      wr.wr.atomic.compare_add,
		.compare = compare ? wr.wr.atomic.compare_add : 0,
	};

	if (wr.send_flags & IBV_SEND_INLINE)
		return EINVAL;
	if (!slot.put(remote) || !slot.put(operands))
		return EINVAL;
	return put_data(slot, wr.sg_list, wr.num_sge);
}

/* A request that verbs have no opcode for. */
int put_extended(Slot &slot, const ibv_send_wr &wr, const Operation &op,
		 const Extension *extension)
{
	pavo_raddr_seg remote = {
		.va = wr.wr.atomic.remote_addr,
		.rkey = wr.wr.atomic.rkey,
		.length = op.length,
	};

	if (!extension || wr.send_flags & IBV_SEND_INLINE)
		return EINVAL;
	if (op.segments & PAVO_SEG_RADDR && !slot.put(remote))
		return EINVAL;
	if (!slot.put(extension->bytes(), extension->size()))
		return EINVAL;
	if (!(op.segments & PAVO_SEG_DATA))
		return wr.num_sge ? EINVAL : 0;
	return put_data(slot, wr.sg_list, wr.num_sge);
}

/* A flush. ibv_post_send() cannot say what it is for. */
int put_flush(Slot &slot, const ibv_send_wr &wr, const Extension *range)
{
	if (!range || wr.num_sge || wr.send_flags & IBV_SEND_INLINE)
		return EINVAL;
	return slot.put(range->bytes(), range->size()) ? 0 : EINVAL;
}

int put_bind(Slot &slot, const ibv_send_wr &wr)
{
	const ibv_mw_bind_info &info = wr.bind_mw.bind_info;

	/* A memory window without length is unbound, and then without a region. */
	if (!wr.bind_mw.mw || (info.length && !info.mr))
		return EINVAL;

	pavo_bind_seg bind = {
		.va = info.addr,
		.length = info.length,
		.mw_rkey = wr.bind_mw.mw->rkey,
		.new_rkey = bound_key(wr),
		.mr_lkey = info.mr ? info.mr->lkey : 0,
		.access = info.mw_access_flags,
	};

	return slot.put(bind) ? 0 : EINVAL;
}

/* The word of the NextSeg that carries immediate data or a key. */
uint32_t immediate_word(const ibv_send_wr &wr, const Operation &op)
{
	if (op.properties & (PAVO_WQE_HAS_IMM | PAVO_WQE_HAS_FETH))
		return wr.imm_data;
	return op.properties & PAVO_WQE_HAS_KEY ? wr.invalidate_rkey : 0;
}

/* The XrcSeg: the shared receive queue from which a message takes its receive. */
int put_xrc(Slot &slot, const ibv_send_wr &wr, const Operation &op,
	    const WqeLimits &limits)
{
	pavo_xrc_seg xrc = {};

	/* An operation without other segments sends nothing. */
	if (limits.service != IBV_QPT_XRC_SEND ||
	    !(op.segments & ~PAVO_SEG_BIND))
		return 0;
	xrc.srqn = wr.qp_type.xrc.remote_srqn;
	if (xrc.srqn > 0xffffff || !slot.put(xrc))
		return EINVAL;
	return 0;
}

int put_body(Slot &slot, const ibv_send_wr &wr, const Operation &op,
	     const WqeLimits &limits, const pavo_ud_seg *av,
	     const Extension *extension)
{
	if (op.segments == PAVO_SEG_PAYLOAD)
		return put_message(slot, wr, op, limits, av);
	if (op.properties & PAVO_WQE_EXTENDED)
		return put_extended(slot, wr, op, extension);
	if (op.op == PAVO_WQE_FLUSH)
		return put_flush(slot, wr, extension);
	if (op.segments & PAVO_SEG_BIND)
		return put_bind(slot, wr);
	if (op.segments & PAVO_SEG_ATOMIC)
		return put_atomic(slot, wr, op.op == PAVO_WQE_CMP_SWAP);
	if (op.segments & PAVO_SEG_RADDR)
		return put_remote(slot, wr, op, limits);
	return 0;
}

} // namespace

int build_send_wqe(std::byte *start, const ibv_send_wr &wr,
		   const WqeLimits &limits, const pavo_ud_seg *av,
		   const Extension *extension, uint32_t flags, WqeName *name)
{
	const Operation *op = find_operation(limits.service, wr.opcode);
	Slot slot(start, limits.slot_size);
	int err;

	if (!op)
		return EINVAL;
	if (wr.num_sge < 0 ||
	    static_cast<uint32_t>(wr.num_sge) > limits.max_sge)
		return EINVAL;

	if (wr.send_flags & IBV_SEND_SIGNALED)
		flags |= PAVO_WQE_SIGNALED;
	if (wr.send_flags & IBV_SEND_SOLICITED)
		flags |= PAVO_WQE_SOLICITED;

	pavo_next_seg next = {
		.next = 0,
		.size = 0,
		.flags = flags,
		.imm = immediate_word(wr, *op),
	};

	if (!slot.put(next))
		return EINVAL;
	err = put_xrc(slot, wr, *op, limits);
	if (err)
		return err;
	err = put_body(slot, wr, *op, limits, av, extension);
	if (err)
		return err;

	name->word = op->op;
	if (wr.send_flags & IBV_SEND_FENCE)
		name->word |= PAVO_DB_FENCE;
	name->units = slot.used() / PAVO_WQE_UNIT;
	return 0;
}

int build_recv_wqe(std::byte *start, const ibv_recv_wr &wr,
		   const WqeLimits &limits)
{
	static_assert(sizeof(pavo_srq_seg) == sizeof(pavo_next_seg));
	pavo_srq_seg first = {
		.wr_id = limits.shared ? wr.wr_id : 0,
		.reserved = 0,
	};
	static constexpr pavo_data_seg terminator = {};
	Slot slot(start, limits.slot_size);

	if (wr.num_sge < 0 ||
	    static_cast<uint32_t>(wr.num_sge) > limits.max_sge)
		return EINVAL;
	for (int i = 0; i < wr.num_sge; i++)
		if (wr.sg_list[i].length > max_message)
			return EINVAL;
	if (!slot.put(first) || put_data(slot, wr.sg_list, wr.num_sge) ||
	    !slot.put(terminator))
		return EINVAL;
	return 0;
}

uint32_t bound_key(const ibv_send_wr &wr)
{
	static constexpr uint32_t tag = 0xff;

	return (wr.bind_mw.mw->rkey & ~tag) | (wr.bind_mw.rkey & tag);
}

void link_wqe(std::byte *slot, const WqeName &next, uint64_t offset)
{
	auto *segment = reinterpret_cast<pavo_next_seg *>(slot);

	segment->next = next.word |
			static_cast<uint32_t>(offset / PAVO_WQE_UNIT)
				<< PAVO_DB_OFFSET_SHIFT;
	segment->size = next.units;
}

uint64_t make_doorbell(uint32_t qpn, const WqeName &first, uint64_t offset)
{
	return first.word | (offset / PAVO_WQE_UNIT) << PAVO_DB_OFFSET_SHIFT |
	       static_cast<uint64_t>(first.units) << PAVO_DB_SIZE_SHIFT |
	       static_cast<uint64_t>(qpn) << PAVO_DB_QPN_SHIFT;
}

} // namespace pavo
