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

/** pavo_qp_context_init - set up the state of a new QP: in RESET and in no table. */
void pavo_qp_context_init(struct pavo_qp *qp);

/** pavo_qp_number - give @qp a QPN (1 for GSI) and enter it in the table. */
int pavo_qp_number(struct pavo_qp *qp);

/**
 * pavo_qp_remove - take a QP out of the table and reset it. When it returns, no packet,
 * timer or work uses the QP. May sleep.
 * @qp: the QP
 */
void pavo_qp_remove(struct pavo_qp *qp);

/** pavo_qp_modify - check and apply attributes and state; may sleep. */
int pavo_qp_modify(struct pavo_qp *qp, struct ib_qp_attr *attr, int mask);

/**
 * pavo_qp_query - report attributes and capabilities.
 * @qp:   the QP
 * @attr: set
 * @mask: PSNs are reported only if it asks for them
 * @init: set
 */
void pavo_qp_query(struct pavo_qp *qp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);

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

/* The rest is for qp/ only. */

/** pavo_mcast_deliver - deliver a packet to QPN 0xffffff; RCU; mcast.c */
void pavo_mcast_deliver(struct pavo_rx *rx);

/** pavo_rx_accept - may @qp take the packet? If not, that was counted; table.c */
bool pavo_rx_accept(struct pavo_qp *qp, const struct pavo_rx *rx);

/** pavo_qp_reset - move a QP to RESET, from any state; state.c */
void pavo_qp_reset(struct pavo_qp *qp);

/** pavo_attr_check - are the attributes of @mask within limits? attr.c */
int pavo_attr_check(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		    int mask);

/** pavo_attr_apply - set the attributes of @mask; attr.c */
void pavo_attr_apply(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		     int mask);

#endif /* PAVO_QP_H */
