/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mcast.h - multicast groups: queue pairs that get a copy of a datagram.
 */
#ifndef PAVO_MCAST_H
#define PAVO_MCAST_H

#include <linux/types.h>

struct in6_addr;
struct pavo_dev;
struct pavo_qp;
struct pavo_rx;

/**
 * pavo_mcast_attach - attach a QP to a group, so that it gets a copy of each datagram to it. May
 * sleep.
 * @qp:  the QP
 * @gid: multicast GID, an IPv4 group as ::ffff:a.b.c.d
 *
 * Return: 0; -EEXIST: it is attached already; -ENOSPC: a limit is reached; -EDQUOT: the share of
 * the user is used up; -ENOMEM; or an errno of pavo_net_join().
 */
int pavo_mcast_attach(struct pavo_qp *qp, const struct in6_addr *gid);

/** pavo_mcast_detach - detach a QP from a group; -EINVAL: it is not attached. */
int pavo_mcast_detach(struct pavo_qp *qp, const struct in6_addr *gid);

/**
 * pavo_mcast_for_each - call a function for each member of a group.
 * @dev:  the adapter
 * @gid:  the group
 * @take: called for each member with @rx; does not consume it
 * @rx:   the packet
 *
 * Context: RCU read side.
 * Return: number of members; 0: no such group.
 */
u32 pavo_mcast_for_each(struct pavo_dev *dev, const struct in6_addr *gid,
			void (*take)(struct pavo_qp *, const struct pavo_rx *),
			const struct pavo_rx *rx);

#endif /* PAVO_MCAST_H */
