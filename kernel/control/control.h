/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * control.h - the door of control/ (CxtMgt): state machine and attributes of queue pairs,
 * above both sides. Called by verbs/qp_verbs.c.
 */
#ifndef PAVO_CONTROL_H
#define PAVO_CONTROL_H

#include <rdma/ib_verbs.h>

struct pavo_qp;

/** pavo_qp_context_init - set up the state of a new QP: in RESET and in no table. */
void pavo_qp_context_init(struct pavo_qp *qp);

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

/* The rest is the inside of control/. */

/** pavo_qp_reset - move a QP to RESET, from any state; state.c */
void pavo_qp_reset(struct pavo_qp *qp);

/** pavo_attr_check - are the attributes of @mask within limits? attr.c */
int pavo_attr_check(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		    int mask);

/** pavo_attr_apply - set the attributes of @mask; attr.c */
void pavo_attr_apply(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		     int mask);

#endif /* PAVO_CONTROL_H */
