// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * wqe_model_test.cpp - random WQEs, most of them nearly right: the parser must
 * say what a plain model of the ABI's text says, and never point outside the
 * WQE.
 */
#include <gtest/gtest.h>

#include <algorithm>

#include "random.h"
#include "wqe_env.h"

namespace {

/* The meaning of a WQE by pavo-abi.h, read from its bytes without economy. */
struct WqeModelled {
	pavo_status err = PAVO_ST_OK;
	uint64_t length = 0;
	size_t entries = 0;
	uint32_t srqn = 0;
	bool is_inline = false;
};

template <typename Segment>
Segment at(const std::vector<uint8_t> &bytes, size_t offset)
{
	Segment segment;

	std::memcpy(&segment, bytes.data() + offset, sizeof(segment));
	return segment;
}

/* InlineSeg or DataSegs from @offset on. */
void model_payload(WqeModelled &model, const std::vector<uint8_t> &bytes,
		   size_t offset, bool read, const pavo_parser_limits &limits)
{
	size_t room = bytes.size() - offset;

	if (!room)
		return;
	uint32_t word = at<uint32_t>(bytes, offset);

	if (word & PAVO_INLINE_SEG) {
		uint64_t len = word & 0x7fffffff;

		model.is_inline = true;
		model.length = len;
		if (read)
			model.err = PAVO_ST_WQE_SEGMENT;
		else if (len + 4 > room)
			model.err = PAVO_ST_WQE_LENGTH;
		else if ((len + 4 + 15) / 16 * 16 != room)
			model.err = PAVO_ST_WQE_SEGMENT;
		return;
	}
	model.entries = room / 16;
	if (model.entries > limits.max_sge) {
		model.err = PAVO_ST_WQE_SEGMENT;
		return;
	}
	for (; offset < bytes.size(); offset += 16) {
		uint32_t len = at<uint32_t>(bytes, offset);

		if (len & PAVO_INLINE_SEG) {
			model.err = PAVO_ST_WQE_SEGMENT;
			return;
		}
		model.length += len;
		if (model.length > 0x7fffffff) {
			model.err = PAVO_ST_WQE_LENGTH;
			return;
		}
	}
}

/* Bit n: operation n is one of the service, by the ABI's text. */
uint32_t ops_of(const pavo_parser_limits &limits)
{
	constexpr uint32_t sends = 1u << PAVO_WQE_NOP | 1u << PAVO_WQE_SEND |
				   1u << PAVO_WQE_SEND_IMM;
	constexpr uint32_t connected =
		sends | 1u << PAVO_WQE_WRITE | 1u << PAVO_WQE_WRITE_IMM |
		1u << PAVO_WQE_LOCAL_INV | 1u << PAVO_WQE_BIND_MW;

	switch (limits.service) {
	case PAVO_FOR_UD:
		return sends;
	case PAVO_FOR_UC:
		return connected;
	default:
		break;
	}

	constexpr uint32_t reliable =
		connected | 1u << PAVO_WQE_SEND_INV | 1u << PAVO_WQE_READ |
		1u << PAVO_WQE_CMP_SWAP | 1u << PAVO_WQE_FETCH_ADD |
		1u << PAVO_WQE_ATOMIC_WRITE | 1u << PAVO_WQE_EXT_FETCH_ADD |
		1u << PAVO_WQE_EXT_SWAP | 1u << PAVO_WQE_EXT_CMP_SWAP |
		1u << PAVO_WQE_IMM64 | 1u << PAVO_WQE_FLUSH;

	return reliable;
}

bool is_ext_atomic(uint32_t op)
{
	return op == PAVO_WQE_EXT_FETCH_ADD || op == PAVO_WQE_EXT_SWAP ||
	       op == PAVO_WQE_EXT_CMP_SWAP;
}

/* Fields that the operation does not use have one value. */
bool operands_are_right(uint32_t op, const pavo_ext_atomic_seg &seg)
{
	if (op == PAVO_WQE_EXT_CMP_SWAP)
		return true;
	if (op == PAVO_WQE_EXT_SWAP && seg.swap_add_mask != UINT64_MAX)
		return false;
	return seg.compare == 0 && seg.compare_mask == UINT64_MAX;
}

/* Imm64Seg at @begin, and no further segment. */
void model_imm64(WqeModelled &model, const std::vector<uint8_t> &bytes,
		 size_t begin)
{
	if (bytes.size() != begin + 16 ||
	    at<pavo_imm64_seg>(bytes, begin).reserved) {
		model.err = PAVO_ST_WQE_SEGMENT;
		return;
	}
	model.length = 8;
	model.is_inline = true;
}

WqeModelled model_of(const Wqe &wqe, uint32_t op,
		     const pavo_parser_limits &limits)
{
	const std::vector<uint8_t> &bytes = wqe.bytes();
	auto next = at<pavo_next_seg>(bytes, 0);
	bool atomic = op == PAVO_WQE_CMP_SWAP || op == PAVO_WQE_FETCH_ADD;
	bool ext = is_ext_atomic(op);
	bool eight = atomic || ext || op == PAVO_WQE_ATOMIC_WRITE;
	bool flush = op == PAVO_WQE_FLUSH;
	bool rdma = op == PAVO_WQE_WRITE || op == PAVO_WQE_WRITE_IMM ||
		    op == PAVO_WQE_READ || eight || flush;
	bool ud = limits.service == PAVO_FOR_UD;
	bool xrc = limits.service == PAVO_FOR_XRC;
	size_t remote = 16 + (ud ? 48 : 0) + (xrc ? 16 : 0);
	size_t offset =
		remote + (rdma ? 16 : 0) + (atomic ? 16 : 0) + (ext ? 32 : 0);
	WqeModelled model;

	if (next.size > 255 || next.flags > 3)
		return {PAVO_ST_WQE_FLAGS};
	if (op > 17 || !(ops_of(limits) >> op & 1))
		return {PAVO_ST_WQE_OPCODE};
	if (op == PAVO_WQE_BIND_MW)
		return {bytes.size() == 48 ? PAVO_ST_OK : PAVO_ST_WQE_SEGMENT};
	if (op == PAVO_WQE_NOP || op == PAVO_WQE_LOCAL_INV)
		return {bytes.size() == 16 ? PAVO_ST_OK : PAVO_ST_WQE_SEGMENT};
	if (bytes.size() < offset)
		return {PAVO_ST_WQE_SEGMENT};
	if (ud) {
		auto way = at<pavo_ud_seg>(bytes, 16);
		auto zeros = std::ranges::count(way.reserved, 0);

		if (zeros != std::ssize(way.reserved))
			return {PAVO_ST_WQE_FLAGS};
		if (way.dest_qpn > 0xffffff || way.port_num != 1 || way.sl > 15)
			return {PAVO_ST_AV};
	}
	if (xrc) {
		auto queue = at<pavo_xrc_seg>(bytes, 16);
		auto zeros = std::ranges::count(queue.reserved, 0u);

		if (queue.srqn > 0xffffff ||
		    zeros != std::ssize(queue.reserved))
			return {PAVO_ST_WQE_SEGMENT};
		model.srqn = queue.srqn;
	}
	if (op == PAVO_WQE_IMM64) {
		model_imm64(model, bytes, remote);
		return model;
	}
	if (flush) {
		if (bytes.size() != offset)
			return {PAVO_ST_WQE_SEGMENT};
		if (!(next.imm & 3) || next.imm & ~0x13u)
			return {PAVO_ST_WQE_FLAGS};
		if (at<pavo_raddr_seg>(bytes, remote).length > limits.max_len)
			return {PAVO_ST_WQE_LENGTH};
		return model;
	}
	if (op == PAVO_WQE_FETCH_ADD &&
	    at<pavo_atomic_seg>(bytes, remote + 16).compare)
		return {PAVO_ST_WQE_SEGMENT};
	if (ext && !operands_are_right(
			   op, at<pavo_ext_atomic_seg>(bytes, remote + 16)))
		return {PAVO_ST_WQE_SEGMENT};
	model_payload(model, bytes, offset,
		      atomic || ext || op == PAVO_WQE_READ, limits);
	if (model.err)
		return model;
	if (model.length > limits.max_len)
		return {PAVO_ST_WQE_LENGTH};
	if (rdma && at<pavo_raddr_seg>(bytes, remote).length != model.length)
		return {PAVO_ST_WQE_LENGTH};
	if (eight && model.length != 8)
		return {PAVO_ST_WQE_LENGTH};
	return model;
}

uint32_t random_length(Random &random)
{
	switch (random.below(6)) {
	case 0:
		return 0;
	case 1:
		return 8;
	case 2:
		return random.below(5000);
	case 3:
		return 0x7fffffff - random.below(3);
	case 4:
		return random.below(0x7fffffff);
	default:
		return static_cast<uint32_t>(random.bits());
	}
}

/* A UDSeg, one of whose fields may be wrong. */
pavo_ud_seg random_way(Random &random)
{
	auto way = ud_seg(random.below(1 << 24));

	way.flow_label = static_cast<uint32_t>(random.bits());
	way.sgid_index = static_cast<uint8_t>(random.bits());
	switch (random.below(8)) {
	case 0:
		way.dest_qpn = static_cast<uint32_t>(random.bits());
		break;
	case 1:
		way.port_num = static_cast<uint8_t>(random.below(4));
		break;
	case 2:
		way.reserved[random.below(sizeof(way.reserved))] =
			static_cast<uint8_t>(random.bits());
		break;
	default:
		break;
	}
	return way;
}

/* Operands and masks, one of which may be wrong. */
pavo_ext_atomic_seg random_operands(Random &random, uint32_t op)
{
	bool compares = op == PAVO_WQE_EXT_CMP_SWAP;
	bool swap = op == PAVO_WQE_EXT_SWAP;
	pavo_ext_atomic_seg seg = {
		.swap_add = random.bits(),
		.swap_add_mask = swap ? UINT64_MAX : random.bits(),
		.compare = compares ? random.bits() : 0,
		.compare_mask = compares ? random.bits() : UINT64_MAX,
	};

	switch (random.below(8)) {
	case 0:
		seg.swap_add_mask ^= 1ull << random.below(64);
		break;
	case 1:
		seg.compare ^= 1ull << random.below(64);
		break;
	case 2:
		seg.compare_mask ^= 1ull << random.below(64);
		break;
	default:
		break;
	}
	return seg;
}

/* A WQE of @op that is valid, or wrong in one or two fields. */
Wqe random_wqe(Random &random, uint32_t op, const pavo_parser_limits &limits)
{
	bool atomic = op == PAVO_WQE_CMP_SWAP || op == PAVO_WQE_FETCH_ADD;
	bool ext = is_ext_atomic(op);
	bool eight = atomic || ext || op == PAVO_WQE_ATOMIC_WRITE;
	uint32_t entries = eight ? 1 : random.below(6);
	std::vector<uint32_t> lengths;
	uint32_t total = 0;
	Wqe wqe;

	for (uint32_t i = 0; i < entries; i++) {
		lengths.push_back(eight ? 8 : random_length(random));
		total += lengths.back();
	}
	if (op == PAVO_WQE_LOCAL_INV)
		return wqe;
	if (op == PAVO_WQE_BIND_MW)
		return wqe.bind(random.bits(), random.bits(), 1, 2, 3, 4);
	if (limits.service == PAVO_FOR_UD)
		wqe.add(random_way(random));
	if (limits.service == PAVO_FOR_XRC && op != PAVO_WQE_NOP)
		wqe.add(pavo_xrc_seg{
			.srqn = random.below(random.below(8) ? 1 << 24 : ~0u),
			.reserved = {0, random.below(16) == 0, 0}});
	if (op == PAVO_WQE_IMM64)
		return wqe.imm64(random.bits(), random.below(8) == 0);
	if (op == PAVO_WQE_FLUSH)
		return wqe
			.raddr(random.bits(), random.below(1 << 31),
			       random_length(random))
			.flush(random.below(8) ? 1 + random.below(3) :
						 random.below(0x40));
	if (eight || (op >= PAVO_WQE_WRITE && op <= PAVO_WQE_READ))
		wqe.raddr(random.bits(), random.below(1 << 31),
			  random.below(8) ? total : random_length(random));
	if (atomic)
		wqe.atomic(random.bits(), random.coin() ? random.bits() : 0);
	if (ext)
		wqe.add(random_operands(random, op));
	if (op != PAVO_WQE_NOP && random.below(3) == 0) {
		std::vector<uint8_t> data(random.below(100));
		auto len = static_cast<uint32_t>(data.size());

		wqe.inline_data(random.coin() ? len : random_length(random),
				data);
	} else if (op != PAVO_WQE_NOP) {
		for (uint32_t len : lengths)
			wqe.sge(len);
	}
	return wqe;
}

/* Truncates, extends or changes a word of every other WQE. */
void damage(Random &random, Wqe &wqe)
{
	std::vector<uint8_t> &bytes = wqe.bytes();
	auto word = static_cast<uint32_t>(random.bits());

	switch (random.below(8)) {
	case 0:
		bytes.resize(16 + random.below(static_cast<uint32_t>(
					  bytes.size() / 16)) *
					  16);
		break;
	case 1:
		bytes.resize(bytes.size() + 16 * (1 + random.below(32)));
		break;
	case 2:
		std::memcpy(bytes.data() +
				    4 * random.below(static_cast<uint32_t>(
						bytes.size() / 4)),
			    &word, sizeof(word));
		break;
	default:
		break;
	}
}

void expect_within(const ParsedWqe &parsed, size_t size)
{
	const uint8_t *begin = parsed->raw;
	const uint8_t *end = begin + size;
	auto *sge = reinterpret_cast<const uint8_t *>(parsed->sge);

	if (parsed->flags & PAVO_SWQE_INLINE) {
		EXPECT_GE(parsed->data, begin);
		EXPECT_LE(parsed->data + parsed->length, end);
	} else if (parsed->num_sge) {
		EXPECT_GE(sge, begin);
		EXPECT_LE(sge + parsed->num_sge * sizeof(*parsed->sge), end);
	}
}

void check(const Wqe &wqe, uint32_t op, const pavo_parser_limits &limits)
{
	WqeModelled model = model_of(wqe, op, limits);
	ParsedWqe parsed = parse_wqe(wqe, op, limits);

	ASSERT_EQ(parsed.err, model.err);
	ASSERT_EQ(parsed->status, model.err);
	ASSERT_EQ(parsed->op, op);
	if (model.err)
		return;
	EXPECT_EQ(parsed->length, model.length);
	EXPECT_EQ(parsed->srqn, model.srqn);
	EXPECT_EQ(parsed->num_sge, model.entries);
	EXPECT_EQ(bool(parsed->flags & PAVO_SWQE_INLINE), model.is_inline);
	expect_within(parsed, wqe.bytes().size());
}

TEST(WqeModel, RandomWqesMeanWhatTheModelSays)
{
	Random random;
	std::vector<int> seen(PAVO_ST_AV + 1);

	for (int i = 0; i < 200000; i++) {
		const pavo_parser_limits services[] = {rc_limits(),
						       ud_limits(1024),
						       uc_limits(),
						       xrc_limits()};
		uint32_t service = random.below(std::size(services));
		pavo_parser_limits limits = services[service];
		uint32_t op = random.below(random.below(8) ? 18 : 32);
		Wqe wqe = random_wqe(random, op, limits);

		limits.max_sge = 1 + random.below(8);
		damage(random, wqe);
		seen[model_of(wqe, op, limits).err]++;
		check(wqe, op, limits);
		ASSERT_FALSE(HasFailure()) << "round " << i << ", operation "
					   << op << ", service " << service;
	}
	/* Random means nothing if it does not get everywhere. */
	for (auto err : {PAVO_ST_OK, PAVO_ST_WQE_OPCODE, PAVO_ST_WQE_FLAGS,
			 PAVO_ST_WQE_SEGMENT, PAVO_ST_WQE_LENGTH, PAVO_ST_AV})
		EXPECT_GT(seen[err], 1000) << "error " << err;
}

} // namespace
