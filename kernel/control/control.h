/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * control.h - the door of control/ (CxtMgt): state machine and attributes of queue pairs,
 * above both sides. Called by verbs/qp.c.
 */
#ifndef PAVO_CONTROL_H
#define PAVO_CONTROL_H

#include <rdma/ib_verbs.h>

struct pavo_qp;

/** pavo_qp_context_init - a new QP, in RESET and in no table. */
void pavo_qp_context_init(struct pavo_qp *qp);

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

/* The rest is the inside of control/. */

/** pavo_qp_reset - to RESET, from any state; state.c. */
void pavo_qp_reset(struct pavo_qp *qp);

/** pavo_attr_check - are the attributes of @mask within limits? attr.c */
int pavo_attr_check(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		    int mask);

/** pavo_attr_apply - take the attributes of @mask over; attr.c */
void pavo_attr_apply(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		     int mask);

#endif /* PAVO_CONTROL_H */
