/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * context.h - the door of context/ (CxtMgt): QP table, state machine and
 * attributes. Called by verbs/qp.c; packets enter through pavo_rx_deliver().
 */
#ifndef PAVO_CONTEXT_H
#define PAVO_CONTEXT_H

#include <rdma/ib_verbs.h>

struct pavo_dev;
struct pavo_qp;

/** pavo_qp_number - give @qp a QPN (1 for GSI) and enter it in the table. */
int pavo_qp_number(struct pavo_qp *qp);

/**
 * pavo_qp_remove - take @qp out of the table; when it returns no packet,
 * timer or work can be using it. May sleep.
 */
void pavo_qp_remove(struct pavo_qp *qp);

/** pavo_qp_modify - check and apply attributes and state; may sleep. */
int pavo_qp_modify(struct pavo_qp *qp, struct ib_qp_attr *attr, int mask);

/** pavo_qp_query - report attributes and capabilities. */
void pavo_qp_query(struct pavo_qp *qp, struct ib_qp_attr *attr,
		   struct ib_qp_init_attr *init);

#endif /* PAVO_CONTEXT_H */
