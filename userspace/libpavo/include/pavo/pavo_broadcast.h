/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_broadcast.h - groups of windows for C programs: messages to many, and RDMA from one window
 * to the memory of many, exactly once. pavo_broadcast(3) has more.
 *
 * Calls that return int return 0 on success or a negative errno. Lengths are in bytes. A group has
 * a multicast address, as 16 bytes (IPv4: ::ffff:a.b.c.d), and a number with the bit
 * PAVO_WINDOW_GROUP; all windows of the job have agreed on both.
 */
#ifndef PAVO_PAVO_BROADCAST_H
#define PAVO_PAVO_BROADCAST_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/pavo-abi.h>

#include <pavo/pavo.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

struct pavo_broadcast;
struct pavo_broadcast_target;

/* ------------------------------------------------------------------- windows */

/**
 * pavo_window_join - join a group, so that the window gets messages that others send to it.
 * @gid:   address of the group
 * @group: its number
 *
 * Return: 0; -EINVAL: @gid is no multicast address, or @group lacks PAVO_WINDOW_GROUP; -EEXIST: it
 * is in the group, or others of the job are in it with another
 * address; -ENOSPC: 64 windows of the adapter are in it, this window is in 16 groups, or the adapter
 * in too many; -EDQUOT: the user has its share of memberships; -EADDRNOTAVAIL, -EAFNOSUPPORT: the
 * interface has no addresses of that family; -ENOMEM; -ESHUTDOWN; -EIO: the adapter is gone.
 */
int pavo_window_join(struct pavo_window *window, const uint8_t *gid,
		     uint32_t group);
/**
 * pavo_window_leave - leave a group, and end its bindings.
 * @group: its number
 *
 * Return: 0; -EINVAL: the window is not in it; -EIO: the adapter is gone.
 */
int pavo_window_leave(struct pavo_window *window, uint32_t group);
/**
 * pavo_window_bind - bind memory of the job to a group context.
 * @group: the window is in it
 * @rcxt:  group context, below PAVO_GROUP_RCXTS
 * @pvo:   of the first byte; PVOs of packets are offsets from it
 * @bytes: length
 * @tid:   attempts up to it are of the past
 *
 * Return: 0; -EINVAL: @rcxt or @bytes, or the window is not in the group; -EEXIST: it is bound;
 * -EFAULT: not memory of the job; -ENOMEM; -ESHUTDOWN: the window is disabled; -EIO: the adapter is
 * gone.
 */
int pavo_window_bind(struct pavo_window *window, uint32_t group, uint32_t rcxt,
		     uint64_t pvo, uint64_t bytes, uint64_t tid);
/**
 * pavo_window_unbind - end a binding.
 * @group, @rcxt: as pavo_window_bind()'s
 *
 * Return: 0; -EINVAL: there is none; -EIO: the adapter is gone.
 */
int pavo_window_unbind(struct pavo_window *window, uint32_t group,
		       uint32_t rcxt);

/* ---------------------------------------------------------------- the source */

/**
 * struct pavo_broadcast_options - a group, and how operations are retried
 * @gid:         address of the group
 * @group:       its number
 * @contexts:    group contexts, as all members have them, 2 to PAVO_GROUP_RCXTS; 0: 5
 * @node:        number of no machine, by which the window sends to the group
 * @piece:       bytes requested at a time; 0: 65,536
 * @timeout:     microseconds until the first retry of a piece, then doubled each time; 0: 20,000
 * @max_timeout: microseconds, up to which it doubles; 0: 1,000,000
 * @attempts:    before an operation fails with -ETIMEDOUT, up to 512; 0: 64
 */
struct pavo_broadcast_options {
	uint8_t gid[16];
	uint32_t group;
	uint32_t contexts;
	uint16_t node;
	uint32_t piece;
	uint32_t timeout;
	uint32_t max_timeout;
	uint32_t attempts;
};

/**
 * pavo_broadcast_open - send to a group by the window of a struct pavo_rdma.
 * @rdma: has to stay open longer; its window was opened with @broadcast
 *
 * Return: the object, or NULL with errno EINVAL: @options, or the window may not send to many;
 * EOPNOTSUPP: PAVO_JOB_RDMA=0 turned off RDMA; or one of pavo_rdma_take_rcxts().
 */
struct pavo_broadcast *
pavo_broadcast_open(struct pavo_rdma *rdma,
		    const struct pavo_broadcast_options *options);
/** pavo_broadcast_close - cancel what is pending, without its @done. */
void pavo_broadcast_close(struct pavo_broadcast *broadcast);
/**
 * pavo_broadcast_add - wait for this member, too, from now on.
 * @node, @window: address of its window
 *
 * Return: 0; -EEXIST; -EINVAL: there are 4096 members; -ENOMEM.
 */
int pavo_broadcast_add(struct pavo_broadcast *broadcast, uint16_t node,
		       uint32_t window);
/**
 * pavo_broadcast_remove - wait for a member no more.
 * @node, @window: address of its window
 *
 * Return: 0; -EINVAL: it is no member.
 */
int pavo_broadcast_remove(struct pavo_broadcast *broadcast, uint16_t node,
			  uint32_t window);
/**
 * pavo_broadcast_put - begin to move bytes from here to all members.
 * @local_pvo: memory of this process
 * @offset:    of the first byte, in the memory that members have bound
 * @bytes:     length
 * @tag:       for pavo_broadcast_arrival_call at each member
 * @done:      called once, if this returns 0: with 0 when all members have all bytes; -ETIMEDOUT: a
 *             member is silent; -EFAULT: the bytes are not in the memory of a member;
 *             -EOWNERDEAD: @local_pvo names no memory
 * @context:   of @done
 *
 * Return: 0; -EINVAL: there is no member; -ENOMEM.
 */
int pavo_broadcast_put(struct pavo_broadcast *broadcast, uint64_t local_pvo,
		       uint64_t offset, uint32_t bytes, uint32_t tag,
		       pavo_done_call *done, void *context);
/**
 * pavo_broadcast_progress - as pavo_rdma_progress(), which it calls. Call it again and again while
 * operations are under way.
 *
 * Return: how much there was to do, 0: nothing; a negative errno as of pavo_rdma_progress().
 */
int pavo_broadcast_progress(struct pavo_broadcast *broadcast);
/** pavo_broadcast_pending - return the number of operations that are not over. */
size_t pavo_broadcast_pending(const struct pavo_broadcast *broadcast);
/**
 * pavo_broadcast_due - return the microseconds until pavo_broadcast_progress() has to be called
 * though nothing arrives; 0: now; -1: never.
 */
int64_t pavo_broadcast_due(const struct pavo_broadcast *broadcast);
/** pavo_broadcast_retries - return the number of retries, each to one machine. */
uint64_t pavo_broadcast_retries(const struct pavo_broadcast *broadcast);

/* ------------------------------------------------------------------ a member */

/** pavo_broadcast_arrival_call - called for an operation of the group that is complete here. */
typedef void pavo_broadcast_arrival_call(void *context, uint16_t node,
					 uint32_t window, uint32_t tag);

/**
 * pavo_broadcast_target_open - join a group, and bind memory for it. Goes on in
 * pavo_rdma_progress().
 * @rdma:     has to stay open longer
 * @options:  of which it uses @gid, @group and @contexts
 * @pvo:      memory of this process, of @bytes
 * @arrival:  NULL: nothing is called
 * @context:  of @arrival
 *
 * Return: the object, or NULL with errno EINVAL, EOPNOTSUPP as of pavo_broadcast_open(), or one of
 * pavo_window_join(), pavo_window_bind().
 */
struct pavo_broadcast_target *
pavo_broadcast_target_open(struct pavo_rdma *rdma,
			   const struct pavo_broadcast_options *options,
			   uint64_t pvo, uint64_t bytes,
			   pavo_broadcast_arrival_call *arrival, void *context);
/** pavo_broadcast_target_close - leave the group: nothing is written to the memory any more. */
void pavo_broadcast_target_close(struct pavo_broadcast_target *target);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* PAVO_PAVO_BROADCAST_H */
