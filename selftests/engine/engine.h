/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * engine.h - interface of the engine: an adapter made of the module's own C files, with one
 * process, one interface and one CPU. The caller owns the wire and the clock.
 *
 * The adapter may play both ends of a connection: each pair of its addresses stands for a peer.
 *
 * Each call acts as a system call or an arriving packet. Before it returns, the works that
 * it has queued are done and grace periods are over, unless engine_in_a_row is set; timers fire only
 * in engine_pass(). A program has one engine; a misuse of locks, RCU or tables aborts it. In C, for C
 * and C++.
 */
#ifndef PAVO_ENGINE_H
#define PAVO_ENGINE_H

#include <linux/types.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/pavo-abi.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct engine_host - functions of the caller that the engine calls.
 * @share:      return zeroed memory that the process can map at *offset
 * @sent:       take an IP packet that the adapter sends
 * @completion: take a completion event of the CQ that the process names @user
 * @event:      take an asynchronous event of the object that the process names @user
 * @late:       return by how much a timer fires too late, ns. NULL: never
 * @paging:     return how long missing pages of an on-demand region take to come, ns. NULL: 0
 */
struct engine_host {
	void *(*share)(size_t size, __u64 *offset);
	void (*sent)(const void *packet, size_t size);
	void (*completion)(int channel, __u64 user);
	void (*event)(int type, __u64 user);
	__u64 (*late)(void);
	__u64 (*paging)(void);
};

/* Addresses of the interface, as GIDs: even indices are IPv4 addresses, odd ones IPv6. */
#define ENGINE_ADDRESSES 4
extern const __u8 engine_address[ENGINE_ADDRESSES][16];

/**
 * struct engine_policy - properties of the adapter that engine_start() makes.
 * @seed:    of its random numbers
 * @quantum: DRR quantum, packets
 * @sends:   credits of packets; 0: no limit
 * @reads:   credits of reads and atomics, likewise
 */
struct engine_policy {
	__u64 seed;
	__u32 quantum, sends, reads;
};

extern struct engine_policy engine_policy;

/** engine_start - load the module and make the adapter. */
void engine_start(const struct engine_host *host);
/** engine_stop - remove the adapter; aborts if it has objects, works or timers. */
void engine_stop(void);

/**
 * engine_gso - true: the ICRC of new packets is deferred, and they are GSO super-packets or
 * coalesced. The engine segments them as a device does. False at first.
 */
extern bool engine_gso;
/** engine_single - true: packets from that address are sent singly all the same. */
extern bool engine_single[ENGINE_ADDRESSES];

/**
 * engine_in_a_row - true: packets that arrive in a row are handled before works that they queue, which
 * run in the next call of another kind. False at first.
 */
extern bool engine_in_a_row;

/** engine_refused - packets, from the next one on, that the interface refuses: its queue is full. */
extern unsigned int engine_refused;

/** engine_settle - run queued works until there are none, then end the grace period. */
void engine_settle(void);
/** engine_now - time of the clock, ns. */
__u64 engine_now(void);
/**
 * engine_pass - move the clock on to the next timer, but not beyond @until, and fire it.
 * @until: time, ns
 */
void engine_pass(__u64 until);
/** engine_idle - true if no work and no timer is queued. */
bool engine_idle(void);
/**
 * engine_receive - let an IP packet arrive at the interface. In engine_host.sent() it comes as on
 * another CPU while this one sends, so a side that is busy leaves it on its backlog.
 */
void engine_receive(const void *packet, size_t size);
/** engine_backlog - packets that each queue of packets seems to have beside its own. */
extern unsigned int engine_backlog;
/** engine_page_out - take pages of on-demand regions away: those for which @chooses returns true. */
void engine_page_out(bool (*chooses)(void));
/** engine_credits - credits that queue pairs of the adapter hold. */
__u32 engine_credits(void);

/**
 * engine_fingerprint - return a hash of all that decides what the queue pairs do next, but memory of
 * the process and packets under way.
 */
__u64 engine_fingerprint(void);

/**
 * engine_set_parameter - set a parameter of the module that has a range (kernel/parameter.h).
 * @name:  its name
 * @value: the new value, or the present one if the range does not have it
 *
 * Return: the former value. Aborts if no file of the engine has that parameter.
 */
int engine_set_parameter(const char *name, int value);

/** engine_counter - read a counter of the adapter. Return: false if none has that name. */
bool engine_counter(const char *name, __u64 *value);
/** engine_fail_allocation - let the @n-th allocation from now on fail; 0: none. */
void engine_fail_allocation(unsigned int n);
/** engine_allocations - memory of the module that is allocated, in pieces. */
long engine_allocations(void);

/*
 * System calls of the process. Objects have handles. Return: 0 or a negative errno.
 */
int engine_open(struct pavo_alloc_ucontext_resp *resp);
int engine_close(void);
int engine_alloc_pd(__u32 *handle);
int engine_dealloc_pd(__u32 handle);
int engine_reg_mr(__u32 pd, const struct ib_uverbs_reg_mr *cmd, __u32 *handle,
		  __u32 *key);
int engine_dereg_mr(__u32 handle);
int engine_create_cq(__u32 cqe, __u64 user, int channel, __u32 *handle,
		     struct pavo_create_cq_resp *resp);
int engine_destroy_cq(__u32 handle);
int engine_arm_cq(__u32 handle, bool solicited);
int engine_open_xrcd(__u32 *handle);
int engine_close_xrcd(__u32 handle);

/**
 * struct engine_srq_init - parameters of a new shared receive queue.
 * @pd:      handle; so are @cq and @xrcd, which are 0 if the queue is not for XRC
 * @user:    the process's name for it
 * @max_wr:  WQEs
 * @max_sge: entries of each
 */
struct engine_srq_init {
	__u32 pd, cq, xrcd;
	__u64 user;
	__u32 max_wr, max_sge;
};

int engine_create_srq(const struct engine_srq_init *init, __u32 *handle,
		      struct pavo_create_srq_resp *resp);
int engine_destroy_srq(__u32 handle);

/**
 * struct engine_qp_init - parameters of a new queue pair.
 * @type:       enum ib_qp_type
 * @pd:         handle, as the next three; 0: none
 * @user:       the process's name for it
 * @signal_all: each request completes with a CQE
 * @max_send_wr: sizes, this and the next four; set to what the queue pair has
 */
struct engine_qp_init {
	int type;
	__u32 pd, send_cq, recv_cq, srq, xrcd;
	__u64 user;
	bool signal_all;
	__u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
	__u32 max_inline_data;
};

int engine_create_qp(struct engine_qp_init *init, __u32 *handle, __u32 *qpn,
		     struct pavo_create_qp_resp *resp);
int engine_modify_qp(const struct ib_uverbs_modify_qp *cmd);
int engine_query_qp(__u32 handle, struct ib_uverbs_query_qp_resp *resp);
int engine_destroy_qp(__u32 handle);
/* Kicks: for doorbells; for receives that were posted in Error. */
int engine_kick_doorbells(void);
int engine_kick_send(__u32 handle);
int engine_kick_recv(__u32 handle);

#ifdef __cplusplus
}
#endif

#endif /* PAVO_ENGINE_H */
