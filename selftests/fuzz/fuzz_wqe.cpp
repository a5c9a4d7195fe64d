// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fuzz_wqe.cpp - pavo_parse_wqe() on any WQE, doorbell and limits. Segments that it
 * accepts must be inside the WQE and add up.
 *
 * Input: doorbell (64 bits), a byte whose lowest two bits are the service and whose others
 * are the limit of entries, then the WQE.
 */
#include <algorithm>
#include <numeric>

#include "fuzz.h"

extern "C" {
#include "requester/parser.h"
}

namespace {

struct FreeSwqe {
	void operator()(pavo_swqe *wqe) const { std::free(wqe); }
};

using SwqePtr = std::unique_ptr<pavo_swqe, FreeSwqe>;

/* A WQE of @size bytes in a block that ends with it. */
SwqePtr copy_of(const uint8_t *bytes, size_t size)
{
	auto *wqe = static_cast<pavo_swqe *>(
		std::aligned_alloc(16, sizeof(pavo_swqe) + size));

	std::memset(static_cast<void *>(wqe), 0xa5, sizeof(*wqe));
	std::memcpy(wqe->raw, bytes, size);
	return SwqePtr(wqe);
}

bool may_take_loopback(const pavo_swqe &wqe, size_t size, const void *begin,
		       size_t len)
{
	auto *pos = static_cast<const uint8_t *>(begin);

	return pos >= wqe.raw && pos <= wqe.raw + size &&
	       len <= static_cast<size_t>(wqe.raw + size - pos);
}

uint64_t entries_length(const pavo_swqe &wqe)
{
	return std::accumulate(wqe.sge, wqe.sge + wqe.num_sge, uint64_t{0},
			       [](uint64_t sum, const pavo_data_seg &sge) {
				       return sum + sge.byte_count;
			       });
}

void check_payload(const pavo_swqe &wqe, size_t size,
		   const pavo_parser_limits &limits)
{
	CHECK(wqe.length <= limits.max_len);
	if (wqe.flags & PAVO_SWQE_INLINE) {
		CHECK(!wqe.num_sge);
		CHECK(!pavo_op_brings(wqe.op));
		CHECK(may_take_loopback(wqe, size, wqe.data, wqe.length));
		return;
	}
	CHECK(wqe.num_sge <= limits.max_sge);
	if (!wqe.num_sge) {
		CHECK(!wqe.length);
		return;
	}
	CHECK(may_take_loopback(wqe, size, wqe.sge,
				wqe.num_sge * sizeof(*wqe.sge)));
	CHECK(entries_length(wqe) == wqe.length);
}

void check_way(const pavo_ud_seg &way)
{
	CHECK(way.dest_qpn <= 0xffffff);
	CHECK(way.port_num == PAVO_PORT);
	CHECK(std::ranges::all_of(way.reserved,
				  [](uint8_t byte) { return !byte; }));
}

/* Fields that an operation does not use are as they go on the wire. */
void check_extended(const pavo_swqe &wqe, size_t size, bool xrc)
{
	constexpr uint64_t ones = ~0ull;
	const size_t head =
		sizeof(pavo_next_seg) + (xrc ? sizeof(pavo_xrc_seg) : 0);

	switch (wqe.op) {
	case PAVO_WQE_EXT_SWAP:
		CHECK(wqe.swap_add_mask == ones);
		[[fallthrough]];
	case PAVO_WQE_EXT_FETCH_ADD:
		CHECK(!wqe.compare);
		CHECK(wqe.compare_mask == ones);
		[[fallthrough]];
	case PAVO_WQE_EXT_CMP_SWAP:
		CHECK(wqe.num_sge);
		break;
	case PAVO_WQE_IMM64:
		CHECK(size == head + sizeof(pavo_imm64_seg));
		CHECK(wqe.flags & PAVO_SWQE_INLINE);
		CHECK(wqe.data == wqe.raw + head);
		[[fallthrough]];
	default:
		CHECK(!wqe.swap_add_mask);
		CHECK(!wqe.compare_mask);
	}
}

void check_accepted(const pavo_swqe &wqe, size_t size,
		    const pavo_parser_limits &limits)
{
	bool ud = limits.service == PAVO_FOR_UD;
	bool xrc = limits.service == PAVO_FOR_XRC;

	CHECK(pavo_op_find(wqe.op)->services & limits.service);
	if (ud && wqe.op != PAVO_WQE_NOP) {
		CHECK(may_take_loopback(wqe, size, wqe.av, sizeof(*wqe.av)));
		check_way(*wqe.av);
	} else {
		CHECK(!wqe.av);
	}
	CHECK(wqe.srqn <= (xrc ? 0xffffffu : 0));
	if (pavo_op_find(wqe.op)->length)
		CHECK(wqe.length == 8);
	check_extended(wqe, size, xrc);
	if (wqe.op == PAVO_WQE_BIND_MW)
		CHECK(may_take_loopback(wqe, size, wqe.bind,
					sizeof(*wqe.bind)));
	else
		CHECK(!wqe.bind);
	check_payload(wqe, size, limits);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input input(data, size);
	auto db = input.take<uint64_t>();
	uint32_t choice = input.take<uint8_t>();
	constexpr uint8_t services[] = {PAVO_FOR_RC, PAVO_FOR_UD, PAVO_FOR_XRC,
					PAVO_FOR_UC};
	const uint8_t service = services[choice & 3];
	const pavo_parser_limits limits = {
		service, false, choice >> 2,
		service == PAVO_FOR_UD ? 1024 : PAVO_MAX_MSG};
	size_t units = (input.left() + PAVO_WQE_UNIT - 1) / PAVO_WQE_UNIT;
	size_t wqe_size = std::clamp<size_t>(units * PAVO_WQE_UNIT,
					     sizeof(pavo_next_seg),
					     PAVO_WQE_MAX_SIZE);
	auto bytes = input.block(wqe_size);
	SwqePtr wqe = copy_of(bytes.get(), wqe_size);
	pavo_next_seg next;

	std::memcpy(&next, bytes.get(), sizeof(next));
	pavo_status err = pavo_parse_wqe(
		wqe.get(), db, static_cast<uint32_t>(wqe_size), &limits);

	CHECK(err == wqe->status);
	CHECK(wqe->op == (db & PAVO_DB_OP_MASK));
	CHECK(bool(wqe->flags & PAVO_SWQE_FENCE) == bool(db & PAVO_DB_FENCE));
	/* The chain can be followed, unless it is the link that is wrong. */
	bool linked = next.size <= 0xff;

	CHECK(static_cast<uint32_t>(wqe->next) == (linked ? next.next : 0));
	CHECK(pavo_db_get_size(wqe->next) == (linked ? next.size : 0));
	CHECK(!pavo_db_get_qpn(wqe->next));
	/* The copy is left as it was. */
	CHECK(!std::memcmp(wqe->raw, bytes.get(), wqe_size));
	if (!err)
		check_accepted(*wqe, wqe_size, limits);
	return 0;
}
