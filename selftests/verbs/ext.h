/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ext.h - a connection for extended operations: masked atomics, swap, and immediate data of
 * eight bytes (pavo_dv.h), of RC or XRC. Throws Skip where a device has none. A is local.
 */
#ifndef PAVO_VERBS_EXT_H
#define PAVO_VERBS_EXT_H

#include <cstdint>
#include <optional>

#include "link.h"

namespace pv {

/* A link with what is needed to post at A and to see eight bytes at B. */
struct ExtLink : Link {
	ibv_qp_ex *ex = nullptr;
	Handle xrcd = 0; /* XRC: the domain of B */
	Srq srq; /* XRC: the queue of B that the next requests name */
};

ExtLink connect_ext(Env &env, LinkSpec spec = {}, bool events = false);
ExtLink connect_ext_xrc(Env &env);
/* XRC: the request that was begun last is for the link's queue. */
void name_queue(ExtLink &link);

/* Begins a request at A; end_ext() posts all that were begun since start_ext(). */
void start_ext(ExtLink &link, uint64_t id, unsigned flags = IBV_SEND_SIGNALED);
void next_ext(ExtLink &link, uint64_t id, unsigned flags = IBV_SEND_SIGNALED);
/* Return: 0 or an error number. */
int end_ext(ExtLink &link);

/* The requests; the atomics leave the value of before in @out. */
void fetch_add(ExtLink &link, const Place &out, const Place &word, uint64_t add,
	       uint64_t tops = 0);
void swap(ExtLink &link, const Place &out, const Place &word, uint64_t value);
void cmp_swap(ExtLink &link, const Place &out, const Place &word,
	      uint64_t compare, uint64_t compare_mask, uint64_t value,
	      uint64_t mask);
void imm64(ExtLink &link, uint64_t value);

/* Takes one that is there at B. */
std::optional<Arrival> poll_arrival(ExtLink &link);
/* Waits for one; fails if none comes, or if it is none of success. */
Arrival wait_arrival(Env &env, ExtLink &link);

} // namespace pv

#endif /* PAVO_VERBS_EXT_H */
