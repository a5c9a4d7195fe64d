/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tunnel.h - packets of C's tunnel, which a rule of tc turns into packets of RoCE: what the
 * rule writes (rules.cpp), and what their sender has to know of that (tunnel.cpp).
 */
#ifndef PAVO_CALLFUZZ_TUNNEL_H
#define PAVO_CALLFUZZ_TUNNEL_H

#include <cstdint>

namespace callfuzz {

/* UDP source port; identification and "don't fragment" of the IP header. */
constexpr unsigned tunnel_port = 0xc123;
constexpr uint32_t tunnel_identification = 0x00014000;

/* The first two words of a BTH. */
constexpr uint32_t bth_opcode(uint64_t opcode)
{
	return uint32_t(opcode & 0xff) << 24 | 0xffff;
}

constexpr uint32_t bth_qpn(uint64_t qpn)
{
	return uint32_t(qpn & 0xffffff);
}

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_TUNNEL_H */
