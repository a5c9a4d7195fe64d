/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp.h - the door of qp/ (CxtMgt): QP table, state machine and
 * attributes. Called by verbs/qp.c; packets enter through pavo_rx_deliver().
 */
#ifndef PAVO_QP_H
#define PAVO_QP_H

#include <rdma/ib_verbs.h>

struct in6_addr;
struct pavo_dev;
struct pavo_qp;
struct pavo_rx;

/** pavo_qp_context_init - a new QP, in RESET and in no table. */
void pavo_qp_context_init(struct pavo_qp *qp);

/** pavo_qp_number - give @qp a QPN (1 for GSI) and enter it in the table. */
int pavo_qp_number(struct pavo_qp *qp);

/**
 * pavo_qp_remove - take @qp out of the table; when it returns no packet,
 * timer or work can be using it, and it is in RESET. May sleep.
 */
void pavo_qp_remove(struct pavo_qp *qp);

/** pavo_qp_modify - check and apply attributes and state; may sleep. */
int pavo_qp_modify(struct pavo_qp *qp, struct ib_qp_attr *attr, int mask);

/**
 * pavo_qp_query - report attributes and capabilities; PSNs only where @mask asks for them.
 */
void pavo_qp_query(struct pavo_qp *qp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);

/**
 * pavo_mcast_attach - @qp gets a copy of all datagrams to a group; may sleep.
 * @gid: multicast GID, an IPv4 group as ::ffff:a.b.c.d
 *
 * Return: 0; -EEXIST if it does already, -ENOSPC beyond a limit, or why the
 * interface cannot join the group.
 */
int pavo_mcast_attach(struct pavo_qp *qp, const struct in6_addr *gid);

/** pavo_mcast_detach - undo that; -EINVAL if @qp is not attached. */
int pavo_mcast_detach(struct pavo_qp *qp, const struct in6_addr *gid);

/** pavo_mcast_leave - the interface leaves, and all its groups before; RTNL. */
void pavo_mcast_leave(struct pavo_dev *dev);

/* The rest is the inside of qp/. */

/** pavo_mcast_deliver - a packet to QPN 0xffffff; RCU; mcast.c */
void pavo_mcast_deliver(struct pavo_rx *rx);

/** pavo_rx_accept - is the packet one for @qp? If not it was counted; table.c */
bool pavo_rx_accept(struct pavo_qp *qp, const struct pavo_rx *rx);

/** pavo_qp_reset - to RESET, from any state; state.c. */
void pavo_qp_reset(struct pavo_qp *qp);

/** pavo_attr_check - are the attributes of @mask within limits? attr.c */
int pavo_attr_check(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		    int mask);

/** pavo_attr_apply - take the attributes of @mask over; attr.c */
void pavo_attr_apply(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		     int mask);

#endif /* PAVO_QP_H */
