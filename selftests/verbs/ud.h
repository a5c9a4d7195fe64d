/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ud.h - queue pairs for datagrams, what goes between them and what has to arrive.
 * Used by: mcast_tests.cpp, nomem_tests.cpp, ud_tests.cpp.
 */
#pragma once

#include "link.h"
#include "manager.h"

namespace pv::ud {

constexpr uint32_t grh = 40; /* bytes in front of every datagram received */
constexpr uint32_t qkey = 0x12345678;
constexpr uint32_t slot = 8192; /* room for one datagram */

/* Is an interface of this namespace in that group of the IP layer? */
bool is_joined(const ibv_gid &group);
/* Ready to send and receive, if given from a shared receive queue. */
Side make_ud(Host &host, const HostInfo &info, Handle srq = 0,
	     uint32_t max_send_wr = 128);
Handle must_ah(Host &host, const ibv_gid &gid);
SendWr datagram(const Mr &out, uint32_t length, Handle ah, uint32_t qpn);
/* Number `id` of the receives in `in`. */
RecvWr receive(const Mr &in, uint64_t id);
/* The next that arrives is that one, every byte and its GRH. */
void check_received(Env &env, Side &from, Side &to, const Mr &in, uint64_t id,
		    const SendWr &wr, uint32_t length, uint64_t seed,
		    const ibv_gid &dest);
/* Nothing of what was sent before arrives: a later datagram comes alone. */
void nothing_but_marker(Env &env, Side &from, Side &to, const Mr &in,
			uint64_t id);
/* Reading a counter takes its time, see Moved. */
void wait_moved(Env &env, const Moved &counter, uint64_t count);

} // namespace pv::ud
