/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * status.h - what became of a step: the one status that translation, parsing and execution
 * pass on.
 *
 * Only the edge of the module translates a status, by the table of status.c: complete.c and
 * recv_queue.c into a work completion, execute.c and respond.c into a NAK.
 */
#ifndef PAVO_STATUS_H
#define PAVO_STATUS_H

#include <linux/types.h>

/** enum pavo_status - what became of a step. */
enum pavo_status {
	PAVO_ST_OK = 0,

	/* A key does not allow it (sources.md#engine-7-1-3); STATE and QP are pavo's own. */
	PAVO_ST_RANGE = 1, /* outside of the region */
	PAVO_ST_KEY = 2, /* no such key */
	PAVO_ST_ACCESS = 3, /* access not granted */
	PAVO_ST_PD = 4, /* of another protection domain */
	PAVO_ST_STATE, /* invalidated, or not yet valid */
	PAVO_ST_QP, /* a memory window that is bound to another QP */
	PAVO_ST_MW_BIND, /* memory window, region, QP or PD do not go together */
	PAVO_ST_MW_RANGE, /* the memory window exceeds its region or the region's rights */

	/* A send WQE cannot be executed. */
	PAVO_ST_WQE_OFFSET,
	PAVO_ST_WQE_SIZE,
	PAVO_ST_WQE_OPCODE,
	PAVO_ST_WQE_FLAGS,
	PAVO_ST_WQE_SEGMENT,
	PAVO_ST_WQE_LENGTH,
	PAVO_ST_AV,

	/* A request failed on its way or at the peer. */
	PAVO_ST_BAD_RESPONSE,
	PAVO_ST_RETRY,
	PAVO_ST_RNR_RETRY,
	PAVO_ST_PEER_INVALID,
	PAVO_ST_PEER_ACCESS,
	PAVO_ST_PEER_OPERATION,
	PAVO_ST_FLUSHED,

	/* The responder cannot carry out a request of the peer. */
	PAVO_ST_INVALID, /* the request is none that IBA allows here */
	PAVO_ST_FAILED, /* this end is at fault */
	PAVO_ST_RQ_LENGTH, /* the message is longer than its receive WQE */
	PAVO_ST_NOT_READY, /* no receive WQE is posted */

	/* Not over, and no error: none of them gets to the edge. */
	PAVO_ST_WAIT, /* go on when pages are there or a walk is over */
	PAVO_ST_BUSY, /* go on after a pause: no memory, or no room at the interface */
	PAVO_ST_LOST, /* the packet has no route; the loss timer finds out */
	PAVO_ST_FAULT, /* allowed, but pages are not there: pavo_fault_request() */
	PAVO_ST_FRAGMENTS, /* the packet has no room for more pages: copy */
};

/**
 * struct pavo_status_codes - how consumers and peers are told of a status.
 * @vendor: enum pavo_vendor_err, of the completion of a WQE
 * @wc:     enum ib_wc_status of that completion (IBA 11.6.2)
 * @wc_key: status instead, if the WQE, or the message that it receives, was to change a key
 * @nak:    AETH syndrome for the peer whose request failed (IBA 9.7.5.2.4)
 */
struct pavo_status_codes {
	u8 vendor;
	u8 wc;
	u8 wc_key;
	u8 nak;
};

/** pavo_status_codes - the codes of @status. */
const struct pavo_status_codes *pavo_status_codes(enum pavo_status status);

#endif /* PAVO_STATUS_H */
