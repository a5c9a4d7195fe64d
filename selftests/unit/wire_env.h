/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wire_env.h - wire/ as the unit tests use it: bytes as vectors, packets with
 * all fields the same or random, and what they should be made of.
 */
#ifndef PAVO_UNIT_WIRE_ENV_H
#define PAVO_UNIT_WIRE_ENV_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "random.h"

extern "C" {
#include "wire/wire.h"
}

using Bytes = std::vector<uint8_t>;

/* "04 40 ffff" -> bytes; blanks are ignored, anything else throws. */
Bytes from_hex(std::string_view text);
std::string to_hex(const Bytes &bytes);

/* Every opcode that pavo knows. */
std::vector<uint8_t> known_opcodes();

/* Flags of an opcode that must be known. */
uint32_t flags_of(uint8_t opcode);

/* Where the ExtAtomicETH or FETH of an opcode begins: behind BTH and XRCETH. */
inline size_t behind_xrceth(uint8_t opcode)
{
	return PAVO_BTH_LEN + (flags_of(opcode) & PAVO_OPF_XRCETH ? 4 : 0);
}

/* A packet of @opcode with a random value in every field, pad included. */
pavo_pkt random_packet(Random &random, uint8_t opcode);

/* pavo_build() into a heap block that ends where the headers should end. */
Bytes build(const pavo_pkt &pkt);

/* A received packet and what pavo_parse() made of it. */
struct Parsed {
	pavo_parse_status status;
	pavo_pkt pkt;
};

/*
 * pavo_parse() of the UDP payload @udp, of which only as many bytes are
 * readable as the contract says.
 */
Parsed parse(const Bytes &udp);

/* The same with @avail readable bytes in a packet that claims @len. */
Parsed parse(const Bytes &readable, unsigned int len);

/* Headers of @pkt with @payload bytes behind, its pad, and an ICRC of zeros. */
Bytes packet(const pavo_pkt &pkt, unsigned int payload);

/* EXPECTs that all fields which the opcode of @expected has are equal. */
void expect_same_fields(const pavo_pkt &actual, const pavo_pkt &expected);

#endif /* PAVO_UNIT_WIRE_ENV_H */
