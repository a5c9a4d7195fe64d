/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The invariant CRC of RoCEv2 packets (IBA annex A17.3.3).
 *
 * Owns: the CRC-32 table. Used by: frame.cpp and the self-test. Pure. It is
 * written independently of the module's, byte by byte and with the whole packet
 * in one buffer, so that each checks the other.
 */
#pragma once

#include "bytes.h"

namespace pw {

/*
 * The ICRC of `ip_packet`: IPv4 or IPv6 header, UDP header and transport bytes up
 * to, but not including, the ICRC itself. The result is what must follow, least
 * significant byte first.
 */
uint32_t icrc(View ip_packet);

} // namespace pw
