/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The envelope of a RoCEv2 packet: Ethernet, IPv4 or IPv6, UDP, and the ICRC
 * behind the transport bytes.
 *
 * Owns: their encoding, decoding and every check on them. Used by: the script
 * machine and the self-test. Pure.
 */
#pragma once

#include <array>
#include <optional>

#include "bytes.h"

namespace pw {

constexpr uint16_t roce_port = 4791;

using Mac = std::array<uint8_t, 6>;

/* An IP address as a GID has it: IPv4 as ::ffff:a.b.c.d. */
using Address = std::array<uint8_t, 16>;

Address parse_address(const std::string &text);
std::string print_address(const Address &address);
bool is_ip4(const Address &address);

struct Envelope {
	Mac smac{}, dmac{};
	Address src{}, dst{};
	uint16_t sport = 0xc000, dport = roce_port;
	uint8_t tos = 0, ttl = 64;
	uint16_t ip_id = 0;
};

/* The faults that a script wants of a frame; nothing set: a correct frame. */
struct Damage {
	std::optional<uint32_t> icrc; /* put in place of the right one */
	bool icrc_flip = false; /* the right one with a bit inverted */
	std::optional<size_t> cut; /* transport bytes kept, ICRC right */
	std::optional<size_t> truncate; /* UDP payload bytes kept, ICRC and all */
	size_t extra = 0; /* bytes added in front of the ICRC */
	std::optional<uint16_t> udp_len, ip_len;
	std::optional<uint16_t> udp_csum;
};

Bytes wrap(const Envelope &envelope, View transport, const Damage &damage = {});

struct Opened {
	Envelope envelope;
	Bytes transport; /* without ICRC, which was right */
};

/*
 * nullopt: not UDP to the RoCE port, none of our business. Throws Malformed if it
 * is but lengths, checksums or the ICRC are wrong. `udp_csum_done` false: the UDP
 * checksum was left for hardware to fill in and cannot be checked.
 */
std::optional<Opened> open(View frame, bool udp_csum_done);

} // namespace pw
