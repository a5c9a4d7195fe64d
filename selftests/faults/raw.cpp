// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * raw.cpp - see raw.h.
 */
#include "raw.h"

#include <algorithm>
#include <array>

#include "../common/check.h"

namespace faults {

uint64_t Doorbell::pack() const
{
	return (op & PAVO_DB_OP_MASK) | (fence ? PAVO_DB_FENCE : 0) |
	       static_cast<uint64_t>(units & PAVO_DB_OFFSET_MAX)
		       << PAVO_DB_OFFSET_SHIFT |
	       static_cast<uint64_t>(size & 0xff) << PAVO_DB_SIZE_SHIFT |
	       static_cast<uint64_t>(qpn & 0xffffff) << PAVO_DB_QPN_SHIFT;
}

pavo_next_seg &Wqe::next()
{
	if (bytes_.empty())
		add(pavo_next_seg{.next = 0,
				  .size = 0,
				  .flags = PAVO_WQE_SIGNALED,
				  .imm = 0});
	return at<pavo_next_seg>(0);
}

static pavo_data_seg whole(Memory &memory, uint32_t length)
{
	return {.byte_count = length,
		.lkey = memory.lkey(),
		.va = memory.address()};
}

static pavo_raddr_seg remote(Memory &memory, uint32_t length)
{
	return {.va = memory.address(),
		.rkey = memory.rkey(),
		.length = length};
}

Wqe good_write(Pair &pair, uint32_t length)
{
	return Wqe(PAVO_WQE_WRITE)
		.add(remote(pair.sink, length))
		.add(whole(pair.source, length));
}

Wqe good_read(Pair &pair, uint32_t length)
{
	return Wqe(PAVO_WQE_READ)
		.add(remote(pair.sink, length))
		.add(whole(pair.source, length));
}

Wqe good_atomic(Pair &pair)
{
	return Wqe(PAVO_WQE_FETCH_ADD)
		.add(remote(pair.sink, 8))
		.add(pavo_atomic_seg{.swap_add = 1, .compare = 0})
		.add(whole(pair.source, 8));
}

Wqe good_send(Pair &pair, uint32_t length)
{
	return Wqe(PAVO_WQE_SEND).add(whole(pair.source, length));
}

Wqe good_inline(Pair &pair, uint32_t length)
{
	Wqe wqe(PAVO_WQE_WRITE);
	std::vector<uint8_t> segment((length + 4 + 15) / 16 * 16, 0x5a);
	uint32_t word = PAVO_INLINE_SEG | length;

	wqe.add(remote(pair.sink, length));
	memcpy(segment.data(), &word, sizeof(word));
	for (size_t at = 0; at < segment.size(); at += 16) {
		std::array<uint8_t, 16> unit;

		std::copy_n(segment.begin() + static_cast<long>(at), 16,
			    unit.begin());
		wqe.add(unit);
	}
	return wqe;
}

Wqe good_datagram(End &from, End &to, uint32_t qkey, uint64_t va,
		  uint32_t length, const Memory &memory)
{
	pavo_ud_seg way = {};

	memcpy(way.dgid, to.device().gid().raw, sizeof(way.dgid));
	way.dest_qpn = to.qp()->qp_num;
	way.qkey = qkey;
	way.sgid_index = from.device().gid_index();
	way.hop_limit = 64;
	way.port_num = PAVO_PORT;
	return Wqe(PAVO_WQE_SEND)
		.add(way)
		.add(pavo_data_seg{
			.byte_count = length, .lkey = memory.lkey(), .va = va});
}

RawSq::RawSq(End &end) : end_(end)
{
	REQUIRE_EQ(pavodv_query_qp(end.qp(), &dv_), 0);
}

void RawSq::place(uint32_t index, const Wqe &wqe)
{
	auto *slot = static_cast<uint8_t *>(dv_.sq) +
		     size_t{index % dv_.sq_wqe_cnt} * dv_.sq_wqe_size;

	REQUIRE(wqe.bytes().size() <= dv_.sq_wqe_size, "the test's WQE");
	memcpy(slot, wqe.bytes().data(), wqe.bytes().size());
}

Doorbell RawSq::doorbell(uint32_t index, const Wqe &wqe) const
{
	return {.op = wqe.op,
		.units = index % dv_.sq_wqe_cnt * stride_units(),
		.size = wqe.units(),
		.qpn = dv_.qpn};
}

void RawSq::ring_bits(uint64_t bits)
{
	REQUIRE_EQ(pavodv_ring(end_.device().context(), bits), 0);
	REQUIRE_EQ(pavodv_kick_send(end_.qp()), 0);
}

void RawSq::post(uint32_t index, const Wqe &wqe, uint64_t wr_id)
{
	place(index, wqe);
	ring(doorbell(index, wqe), 1, wr_id);
}

void RawSq::ring(const Doorbell &doorbell, uint32_t count, uint64_t wr_id)
{
	REQUIRE_EQ(pavodv_skip_send(end_.qp(), count, wr_id), 0);
	ring_bits(doorbell.pack());
}

} // namespace faults
