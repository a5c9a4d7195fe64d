// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * status.c - the table that maps a status for consumers and peers; see status.h. Constant data
 * only.
 */
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "status.h"
#include "wire/wire.h"

/* A key does not allow it: a protection error for a WQE, an access error for the peer. */
#define KEY(error)                                                      \
	{                                                               \
		PAVO_VE_##error, IB_WC_LOC_PROT_ERR, IB_WC_MW_BIND_ERR, \
			PAVO_NAK_REM_ACCESS                             \
	}

/* A WQE failed with @status. A peer that caused it gets a remote operational error. */
#define WQE(error, status)                                       \
	{                                                        \
		PAVO_VE_##error, IB_WC_##status, IB_WC_##status, \
			PAVO_NAK_REM_OP                          \
	}

/* No WQE fails, or one that has completed already. */
#define PEER(syndrome)                                                       \
	{                                                                    \
		PAVO_VE_NONE, IB_WC_GENERAL_ERR, IB_WC_GENERAL_ERR, syndrome \
	}

static const struct pavo_status_codes codes[] = {
	[PAVO_ST_OK] = { PAVO_VE_NONE, IB_WC_SUCCESS, IB_WC_SUCCESS,
			 PAVO_AETH_ACK },

	[PAVO_ST_RANGE] = KEY(LKEY_RANGE),
	[PAVO_ST_KEY] = KEY(LKEY),
	[PAVO_ST_ACCESS] = KEY(LKEY_ACCESS),
	[PAVO_ST_PD] = KEY(LKEY_PD),
	[PAVO_ST_STATE] = KEY(KEY_STATE),
	[PAVO_ST_QP] = KEY(LKEY),
	[PAVO_ST_MW_BIND] = WQE(MW_BIND, MW_BIND_ERR),
	[PAVO_ST_IO] = WQE(DIRECT_IO, LOC_QP_OP_ERR),
	[PAVO_ST_MW_RANGE] = WQE(MW_RANGE, MW_BIND_ERR),

	[PAVO_ST_WQE_OFFSET] = WQE(WQE_OFFSET, LOC_QP_OP_ERR),
	[PAVO_ST_WQE_SIZE] = WQE(WQE_SIZE, LOC_QP_OP_ERR),
	[PAVO_ST_WQE_OPCODE] = WQE(WQE_OPCODE, LOC_QP_OP_ERR),
	[PAVO_ST_WQE_FLAGS] = WQE(WQE_FLAGS, LOC_QP_OP_ERR),
	[PAVO_ST_WQE_SEGMENT] = WQE(WQE_SEGMENT, LOC_QP_OP_ERR),
	[PAVO_ST_WQE_LENGTH] = WQE(WQE_LENGTH, LOC_LEN_ERR),
	[PAVO_ST_AV] = WQE(AV, LOC_QP_OP_ERR),

	[PAVO_ST_BAD_RESPONSE] = WQE(BAD_RESPONSE, BAD_RESP_ERR),
	[PAVO_ST_RETRY] = WQE(RETRY, RETRY_EXC_ERR),
	[PAVO_ST_RNR_RETRY] = WQE(RNR_RETRY, RNR_RETRY_EXC_ERR),
	[PAVO_ST_PEER_INVALID] = WQE(REMOTE_NAK, REM_INV_REQ_ERR),
	[PAVO_ST_PEER_ACCESS] = WQE(REMOTE_NAK, REM_ACCESS_ERR),
	[PAVO_ST_PEER_OPERATION] = WQE(REMOTE_NAK, REM_OP_ERR),
	[PAVO_ST_FLUSHED] = WQE(FLUSHED, WR_FLUSH_ERR),

	[PAVO_ST_INVALID] = PEER(PAVO_NAK_INV_REQ),
	[PAVO_ST_FAILED] = PEER(PAVO_NAK_REM_OP),
	[PAVO_ST_RQ_LENGTH] = { PAVO_VE_RQ_LENGTH, IB_WC_LOC_LEN_ERR,
				IB_WC_LOC_LEN_ERR, PAVO_NAK_INV_REQ },
};

const struct pavo_status_codes *pavo_status_codes(enum pavo_status status)
{
	static const struct pavo_status_codes none = PEER(PAVO_NAK_REM_OP);

	if (WARN_ON_ONCE(status >= ARRAY_SIZE(codes)))
		return &none;
	return &codes[status];
}
