// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * scheduler.c - WQEScheduler (sources.md#engine-2-4-2) and its indicator.
 *
 * Takes WQEs in posting order: those of the chain being followed first (the document's
 * Q2), then the next doorbell (Q1). Makes the private copy of each
 * and parses it. Fairness between QPs comes from the budget of a run.
 */
#include <rdma/ib_addr.h>
#include "requester_private.h"
#include "pavo_trace.h"

static u8 get_service_flag(const struct pavo_qp *qp)
{
	if (pavo_is_datagram(qp))
		return PAVO_FOR_UD;
	if (pavo_is_unreliable(qp))
		return PAVO_FOR_UC;
	return pavo_is_xrc_initiator(qp) ? PAVO_FOR_XRC : PAVO_FOR_RC;
}

/* Take the next chain link or doorbell. Return: 0; -ENOENT: there is none. */
static int take_next_link(struct pavo_requester *req, u64 *db)
{
	if (req->in_chain) {
		*db = req->chain;
		return 0;
	}
	/* Pairs with the release in push_doorbell(). */
	if (req->db_tail == smp_load_acquire(&req->db_head))
		return -ENOENT;
	*db = req->doorbells[req->db_tail & (req->count - 1)];
	WRITE_ONCE(req->db_tail, req->db_tail + 1);
	req->chained = 0;
	return 0;
}

/*
 * Note the next link of the chain. The chain ends after as many WQEs as the ring has slots at
 * the latest, so a chain in a circle ends, too.
 */
static void follow_chain(struct pavo_requester *req,
			 const struct pavo_swqe *wqe)
{
	req->in_chain = pavo_db_get_size(wqe->next) &&
			++req->chained < req->count;
	req->chain = wqe->next;
}

/* Replace a WQE that cannot be read by one that fails with @status. */
static void make_unreadable(struct pavo_swqe *wqe, enum pavo_status status)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->status = status;
	wqe->flags = PAVO_WQE_SIGNALED;
}

/*
 * Largest datagram in bytes: one packet of the port's present MTU. 0 if the interface's MTU is
 * below the smallest of IBA.
 */
static u32 get_datagram_max(struct pavo_dev *dev)
{
	struct net_device *ndev = rcu_dereference(dev->port.ndev);

	return ndev ? pavo_mtu_to_bytes(iboe_get_mtu(READ_ONCE(ndev->mtu))) : 0;
}

/*
 * Make the checks that the parser cannot make: local memory, and whether reads are allowed.
 * If an earlier WQE that is not carried out yet changes keys, the memory is checked when this
 * WQE begins.
 */
static enum pavo_status check_access(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_requester *req = &qp->req;

	if (pavo_op_is_local(wqe->op)) {
		req->last_local = req->head;
		return PAVO_ST_OK;
	}
	if (pavo_op_is_answered(wqe->op) && !qp->attr.max_rd_atomic)
		return PAVO_ST_WQE_OPCODE;
	if ((s32)(req->last_local - req->numbered) >= 0) {
		wqe->flags |= PAVO_SWQE_UNCHECKED;
		return PAVO_ST_OK;
	}
	return pavo_sgl_check(qp, wqe);
}

static void take_wqe(struct pavo_qp *qp, u64 db)
{
	const struct pavo_parser_limits limits = {
		.service = get_service_flag(qp),
		.kernel = !qp->uctx,
		.max_sge = qp->cap.max_send_sge,
		.max_len = pavo_is_datagram(qp) ? get_datagram_max(qp->dev) :
						  PAVO_MAX_MSG,
	};
	struct pavo_requester *req = &qp->req;
	struct pavo_swqe *wqe = pavo_get_swqe(req, req->head);
	u32 slot = (req->head & (req->count - 1)) * req->wqe_size;
	u32 size = pavo_db_get_size(db) * PAVO_WQE_UNIT;

	if ((u64)pavo_db_get_offset(db) * PAVO_WQE_UNIT != slot) {
		make_unreadable(wqe, PAVO_ST_WQE_OFFSET);
	} else if (!size || size > req->wqe_size) {
		make_unreadable(wqe, PAVO_ST_WQE_SIZE);
	} else {
		memcpy(wqe->raw, req->sq + slot, size);
		/* From here on use only the copy. */
		barrier();
		pavo_parse_wqe(wqe, db, size, &limits);
		if (!wqe->status)
			wqe->status = check_access(qp, wqe);
	}
	if (wqe->status)
		pavo_count(qp, wqe_errors);
	wqe->number = req->head;
	if (qp->sq_sig_all)
		wqe->flags |= PAVO_WQE_SIGNALED;
	trace_pavo_post(qp, wqe);
	follow_chain(req, wqe);
	req->head++;
}

/*
 * pavo_schedule - take WQEs as long as some are posted and slots for copies are free.
 *
 * Return: the rest of @budget, in WQEs.
 */
unsigned int pavo_schedule(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_requester *req = &qp->req;
	u64 db;

	while (budget && req->head - req->tail < req->count &&
	       !take_next_link(req, &db)) {
		take_wqe(qp, db);
		budget--;
	}
	return budget;
}
