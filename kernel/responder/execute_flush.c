// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute_flush.c - execute a flush (IBA 1.6): bytes that the peer wrote before become visible, or
 * persistent.
 *
 * The responder executes the requests of a QP in order, and its CPU copies their bytes. So they
 * are in the caches of this machine already, which show all its CPUs and devices the same. A
 * barrier is all that is left to do: it also empties the buffers in which a CPU combines writes to
 * memory of devices. Bytes for persistent memory are there as soon as they are written
 * (memory/persistent.h).
 */
#include "responder_private.h"
#include "compat.h"

/* Rights that the placement types of a FETH need, of the QP and of the region. */
static int get_flush_access(u8 feth)
{
	int access = 0;

	if (feth & PAVO_FETH_GLOBAL)
		access |= PAVO_ACCESS_FLUSH_GLOBAL;
	if (feth & PAVO_FETH_PERSISTENT)
		access |= PAVO_ACCESS_FLUSH_PERSISTENT;
	return access;
}

/* The key is checked even for a flush of no bytes: the whole region has no range in the packet. */
static enum pavo_status check_flush_key(struct pavo_qp *qp,
					const struct pavo_pkt *pkt)
{
	int access = get_flush_access(pkt->feth);

	if (pkt->feth & PAVO_FETH_REGION)
		return pavo_check_remote_key(&qp->key_state, pkt->rkey, access);
	return pavo_check_remote_range(&qp->key_state, pkt->rkey, pkt->va,
				       pkt->dma_len, access);
}

/*
 * pavo_execute_flush - make all that the QP wrote before visible and persistent, and answer.
 *
 * A duplicate is answered and needs no other barrier: what it asks for was done before the first
 * answer.
 */
enum pavo_status pavo_execute_flush(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_resource *res;
	enum pavo_status status;

	if (!pavo_feth_is_valid(pkt->feth) ||
	    get_flush_access(pkt->feth) & ~READ_ONCE(qp->attr.access) ||
	    !qp->attr.max_dest_rd_atomic || !pavo_resource_is_free(qp))
		return PAVO_ST_INVALID;
	status = check_flush_key(qp, pkt);
	if (status)
		return status;
	/* Not smp_wmb(): devices look, too. */
	wmb();
	res = pavo_resource_new(qp, pkt);
	pavo_request_answer(qp, pkt, res, 1);
	return PAVO_ST_OK;
}
