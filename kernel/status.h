/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * status.h - result codes of translation, parsing and execution.
 *
 * The table of status.c maps a status for consumers and peers: complete.c and recv_queue.c make a
 * work completion of it, execute.c and respond.c a NAK.
 */
#ifndef PAVO_STATUS_H
#define PAVO_STATUS_H

#include <linux/types.h>

/** enum pavo_status - result codes. */
enum pavo_status {
	PAVO_ST_OK = 0,

	/* A key does not allow it (sources.md#engine-7-1-3); STATE and QP are pavo's own. */
	PAVO_ST_RANGE = 1, /* outside of the region */
	PAVO_ST_KEY = 2, /* no such key */
	PAVO_ST_ACCESS = 3, /* access not granted */
	PAVO_ST_PD = 4, /* of another protection domain */
	PAVO_ST_STATE, /* invalidated, or not yet valid */
	PAVO_ST_QP, /* a memory window that is bound to another QP */
	PAVO_ST_MW_BIND, /* memory window, region, QP or PD do not match */
	PAVO_ST_IO, /* the I/O of a direct window's range failed */
	PAVO_ST_MW_RANGE, /* the memory window exceeds its region or the region's rights */

	/* A send WQE cannot be executed. */
	PAVO_ST_WQE_OFFSET,
	PAVO_ST_WQE_SIZE,
	PAVO_ST_WQE_OPCODE,
	PAVO_ST_WQE_FLAGS,
	PAVO_ST_WQE_SEGMENT,
	PAVO_ST_WQE_LENGTH,
	PAVO_ST_AV,

	/* A request failed on the network or at the peer. */
	PAVO_ST_BAD_RESPONSE,
	PAVO_ST_RETRY,
	PAVO_ST_RNR_RETRY,
	PAVO_ST_PEER_INVALID,
	PAVO_ST_PEER_ACCESS,
	PAVO_ST_PEER_OPERATION,
	PAVO_ST_FLUSHED,

	/* The responder cannot execute a request of the peer. */
	PAVO_ST_INVALID, /* IBA does not allow the request here */
	PAVO_ST_FAILED, /* a local error of the responder */
	PAVO_ST_RQ_LENGTH, /* the message is longer than its receive WQE */
	PAVO_ST_NOT_READY, /* no receive WQE is posted */

	/* Neither success nor error: internal, without codes in the table. */
	PAVO_ST_WAIT, /* continue when pages are present, or a walk has ended */
	PAVO_ST_HELD, /* the side holds the packet until a gap closes */
	PAVO_ST_BUSY, /* retry after a pause: no memory, or the interface's queue is full */
	PAVO_ST_LOST, /* the packet has no route; the loss timer handles it */
	PAVO_ST_FAULT, /* allowed, but pages are not present: pavo_fault_request() */
	PAVO_ST_FRAGMENTS, /* the packet has no free fragment: copy */
};

/**
 * struct pavo_status_codes - codes of a status for consumers and peers.
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

/** pavo_status_codes - return the codes of @status. */
const struct pavo_status_codes *pavo_status_codes(enum pavo_status status);

#endif /* PAVO_STATUS_H */
