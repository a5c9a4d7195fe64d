/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mcast.h - multicast groups: which queue pairs get a copy of a datagram.
 */
#ifndef PAVO_MCAST_H
#define PAVO_MCAST_H

#include <linux/types.h>

struct in6_addr;
struct pavo_dev;
struct pavo_qp;
struct pavo_rx;

/**
 * pavo_mcast_attach - let a QP get a copy of all datagrams to a group; may sleep.
 * @qp:  the QP
 * @gid: multicast GID, an IPv4 group as ::ffff:a.b.c.d
 *
 * Return: 0; -EEXIST if it is attached already, -ENOSPC beyond a limit, or the errno with
 * which the interface could not join the group.
 */
int pavo_mcast_attach(struct pavo_qp *qp, const struct in6_addr *gid);

/** pavo_mcast_detach - balances pavo_mcast_attach(); -EINVAL if @qp is not attached. */
int pavo_mcast_detach(struct pavo_qp *qp, const struct in6_addr *gid);

/** pavo_mcast_leave - let an interface that is going away leave all groups; RTNL. */
void pavo_mcast_leave(struct pavo_dev *dev);

/**
 * pavo_mcast_for_each - hand a packet to each member of a group.
 * @dev:  the adapter
 * @gid:  the group
 * @take: called for each member with @rx, which stays the caller's
 * @rx:   the packet
 *
 * Context: RCU read side.
 * Return: number of members; 0 if there is no such group.
 */
u32 pavo_mcast_for_each(struct pavo_dev *dev, const struct in6_addr *gid,
			void (*take)(struct pavo_qp *, const struct pavo_rx *),
			const struct pavo_rx *rx);

#endif /* PAVO_MCAST_H */
