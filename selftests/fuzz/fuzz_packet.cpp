// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fuzz_packet.cpp - pavo_parse() on any bytes of any claimed length. A packet that it
 * accepts must add up, and be built again as it was.
 *
 * Input: 32 bits added to the length, then the readable bytes.
 */
#include "fuzz.h"

extern "C" {
#include "wire/wire.h"
#include "wire/layout.h"
}

namespace {

/* The next number of @bits bits, of which the lower @used ones are not reserved. */
uint8_t *clear_unused(uint8_t *at, unsigned int bits, unsigned int used)
{
	for (; bits; bits -= 8, at++) {
		if (bits >= used + 8)
			*at = 0;
		else if (bits > used)
			*at &= 0xff >> (bits - used);
	}
	return at;
}

/* The headers as pavo would have sent them: reserved bits 0, MigReq 1 (packets.h). */
void clear_ignored_bits(uint8_t *headers, const struct pavo_op_info *info)
{
	uint8_t *at = headers + PAVO_BTH_LEN;

	headers[PAVO_BTH_FLAGS] |= PAVO_BTH_MIGREQ;
	headers[PAVO_BTH_MARKS] &= PAVO_BTH_FECN | PAVO_BTH_BECN;
	/* clang-format off */
#define CLEAR_NUMBER(bits, used, name, member) at = clear_unused(at, bits, used);
#define CLEAR_NOTHING(bits, name, member) at += (bits) / 8;
#define CLEAR_ALL(bits) at = clear_unused(at, bits, 0);
#define CLEAR_HEADER(NAME, name, more)				\
	if (info->flags & PAVO_OPF_##NAME) {			\
		PAVO_##NAME##_FIELDS(CLEAR_NUMBER, CLEAR_NOTHING, CLEAR_ALL) \
	}
	PAVO_HEADERS(CLEAR_HEADER, 0)
	/* clang-format on */
}

void check_accepted(const pavo_pkt &pkt, const uint8_t *bytes, size_t avail,
		    unsigned int len)
{
	const struct pavo_op_info *info = pkt.info;
	uint8_t expected[PAVO_MAX_HDR_LEN];
	uint8_t built[PAVO_MAX_HDR_LEN];

	CHECK(info && info == pavo_opcode_get_info(bytes[0]));
	CHECK(pkt.opcode == bytes[0]);
	CHECK(info->hdr_len <= avail);
	CHECK(pkt.pad <= 3);
	CHECK(uint64_t{info->hdr_len} + pkt.payload + pkt.pad + PAVO_ICRC_LEN ==
	      len);
	CHECK((pkt.payload + pkt.pad) % 4 == 0);
	CHECK(info->flags & PAVO_OPF_PAYLOAD || !pkt.payload);

	std::memcpy(expected, bytes, info->hdr_len);
	clear_ignored_bits(expected, info);
	CHECK(pavo_build(built, &pkt) == info->hdr_len);
	CHECK(!std::memcmp(built, expected, info->hdr_len));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input input(data, size);
	auto surplus = input.take<uint32_t>();
	size_t avail = input.left();
	auto bytes = input.block(avail);
	auto len = static_cast<unsigned int>(avail) + surplus;
	pavo_pkt pkt{};

	switch (pavo_parse(&pkt, bytes.get(), static_cast<unsigned int>(avail),
			   len)) {
	case PAVO_PARSE_OK:
		check_accepted(pkt, bytes.get(), avail, len);
		break;
	case PAVO_PARSE_VERSION:
		CHECK(bytes[1] & 0x0f);
		break;
	case PAVO_PARSE_OPCODE:
		CHECK(!pavo_opcode_get_info(bytes[0]));
		break;
	case PAVO_PARSE_SURPLUS:
		CHECK(!(pavo_opcode_get_info(bytes[0])->flags &
			PAVO_OPF_PAYLOAD));
		CHECK(len > pavo_opcode_get_info(bytes[0])->hdr_len + 4u);
		break;
	case PAVO_PARSE_SHORT:
		break;
	default:
		CHECK(!"a status of pavo_parse()");
	}
	return 0;
}
