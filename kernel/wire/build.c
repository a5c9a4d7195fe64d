// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * build.c - writes the headers of a struct pavo_pkt as bytes (IBA 9.2, 9.3).
 *
 * Called by requester/, responder/ and window/ for every packet sent. Accesses only its arguments;
 * the inverse of parse.c.
 */
#include <linux/string.h>
#include "bytes.h"
#include "layout.h"
#include "wire.h"

static void build_bth(u8 *p, const struct pavo_pkt *pkt)
{
	p[PAVO_BTH_OPCODE] = pkt->opcode;
	p[PAVO_BTH_FLAGS] =
		(u8)((pkt->solicited ? PAVO_BTH_SE : 0) | PAVO_BTH_MIGREQ |
		     (pkt->pad & PAVO_BTH_PAD_MASK) << PAVO_BTH_PAD_SHIFT);
	pavo_put_be16(p + PAVO_BTH_PKEY, pkt->pkey);
	p[PAVO_BTH_MARKS] = (u8)((pkt->fecn ? PAVO_BTH_FECN : 0) |
				 (pkt->becn ? PAVO_BTH_BECN : 0));
	pavo_put_be24(p + PAVO_BTH_DQPN, pkt->dqpn);
	p[PAVO_BTH_ACK] = pkt->ack_req ? PAVO_BTH_ACKREQ : 0;
	pavo_put_be24(p + PAVO_BTH_PSN, pkt->psn);
}

static u8 *build_xrceth(u8 *p, const struct pavo_pkt *pkt)
{
	/* one byte reserved, then 24 bits: a word with zeros on top */
	pavo_put_be32(p + PAVO_XRCETH_SRQN - 1, pkt->srqn & PAVO_QPN_MASK);
	return p + PAVO_XRCETH_LEN;
}

static u8 *build_reth(u8 *p, const struct pavo_pkt *pkt)
{
	pavo_put_be64(p + PAVO_RETH_VA, pkt->va);
	pavo_put_be32(p + PAVO_RETH_RKEY, pkt->rkey);
	pavo_put_be32(p + PAVO_RETH_DMA_LEN, pkt->dma_len);
	return p + PAVO_RETH_LEN;
}

static u8 *build_atomiceth(u8 *p, const struct pavo_pkt *pkt)
{
	pavo_put_be64(p + PAVO_ATOMICETH_VA, pkt->va);
	pavo_put_be32(p + PAVO_ATOMICETH_RKEY, pkt->rkey);
	pavo_put_be64(p + PAVO_ATOMICETH_SWAP_ADD, pkt->swap_add);
	pavo_put_be64(p + PAVO_ATOMICETH_COMPARE, pkt->compare);
	return p + PAVO_ATOMICETH_LEN;
}

static u8 *build_extatomiceth(u8 *p, const struct pavo_pkt *pkt)
{
	/* 28 bits reserved: a word with zeros on top */
	pavo_put_be32(p, pkt->aop & 0xf);
	pavo_put_be32(p + PAVO_EXTATOMICETH_ID, pkt->request_id);
	pavo_put_be32(p + PAVO_EXTATOMICETH_RKEY, pkt->rkey);
	pavo_put_be64(p + PAVO_EXTATOMICETH_VA, pkt->va);
	pavo_put_be64(p + PAVO_EXTATOMICETH_SWAP_ADD, pkt->swap_add);
	pavo_put_be64(p + PAVO_EXTATOMICETH_SWAP_ADD_MASK, pkt->swap_add_mask);
	pavo_put_be64(p + PAVO_EXTATOMICETH_COMPARE, pkt->compare);
	pavo_put_be64(p + PAVO_EXTATOMICETH_COMPARE_MASK, pkt->compare_mask);
	return p + PAVO_EXTATOMICETH_LEN;
}

static void build_extatomicack(u8 *p, const struct pavo_pkt *pkt)
{
	pavo_put_be32(p + PAVO_EXTATOMICACK_ID, pkt->request_id);
	pavo_put_be64(p + PAVO_EXTATOMICACK_ORIG, pkt->atomic_orig);
}

static u8 *build_aeth(u8 *p, const struct pavo_pkt *pkt)
{
	p[PAVO_AETH_SYNDROME] = pkt->syndrome;
	pavo_put_be24(p + PAVO_AETH_MSN, pkt->msn);
	return p + PAVO_AETH_LEN;
}

static u8 *build_deth(u8 *p, const struct pavo_pkt *pkt)
{
	pavo_put_be32(p + PAVO_DETH_QKEY, pkt->qkey);
	/* one byte reserved, then 24 bits: a word with zeros on top */
	pavo_put_be32(p + PAVO_DETH_SQPN - 1, pkt->sqpn & PAVO_QPN_MASK);
	return p + PAVO_DETH_LEN;
}

static u8 *build_weth(u8 *p, const struct pavo_pkt *pkt)
{
	pavo_put_be64(p + PAVO_WETH_KEY, pkt->window_key);
	pavo_put_be16(p + PAVO_WETH_NODE, pkt->src_node);
	p[PAVO_WETH_KIND] = pkt->kind;
	p[PAVO_WETH_KIND + 1] = 0; /* reserved, as the byte after it */
	pavo_put_be32(p + PAVO_WETH_WINDOW - 1,
		      pkt->src_window & PAVO_QPN_MASK);
	return p + PAVO_WETH_LEN;
}

static u8 *build_wreth(u8 *p, const struct pavo_wreth *rdma)
{
	pavo_put_be32(p + PAVO_WRETH_RCXT, rdma->rcxt);
	pavo_put_be32(p + PAVO_WRETH_PEER_RCXT, rdma->peer_rcxt);
	pavo_put_be64(p + PAVO_WRETH_TID, rdma->tid);
	pavo_put_be64(p + PAVO_WRETH_PVO, rdma->pvo);
	pavo_put_be32(p + PAVO_WRETH_TOTAL, rdma->total);
	pavo_put_be32(p + PAVO_WRETH_FRAGMENT, rdma->fragment);
	pavo_put_be32(p + PAVO_WRETH_TAG, rdma->tag);
	pavo_put_be16(p + PAVO_WRETH_ATTEMPTS, rdma->attempts);
	p[PAVO_WRETH_FLAGS] = rdma->flags;
	p[PAVO_WRETH_STATUS] = rdma->status;
	return p + PAVO_WRETH_LEN;
}

unsigned int pavo_build(u8 *hdr, const struct pavo_pkt *pkt)
{
	const struct pavo_op_info *info = pavo_op_info(pkt->opcode);
	u8 *p = hdr + PAVO_BTH_LEN;
	unsigned int flags;

	if (!info)
		return 0;

	flags = info->flags;
	build_bth(hdr, pkt);
	/* The order of the tests is the order of the headers in a packet. */
	if (flags & PAVO_OPF_XRCETH)
		p = build_xrceth(p, pkt);
	if (flags & PAVO_OPF_DETH)
		p = build_deth(p, pkt);
	if (flags & PAVO_OPF_WETH)
		p = build_weth(p, pkt);
	if (flags & PAVO_OPF_WRETH)
		p = build_wreth(p, &pkt->rdma);
	if (flags & PAVO_OPF_RETH)
		p = build_reth(p, pkt);
	if (flags & PAVO_OPF_ATOMICETH)
		p = build_atomiceth(p, pkt);
	if (flags & PAVO_OPF_EXTATOMICETH)
		p = build_extatomiceth(p, pkt);
	if (flags & PAVO_OPF_AETH)
		p = build_aeth(p, pkt);
	if (flags & PAVO_OPF_ATOMICACK)
		pavo_put_be64(p, pkt->atomic_orig);
	if (flags & PAVO_OPF_EXTATOMICACK)
		build_extatomicack(p, pkt);
	if (flags & PAVO_OPF_PVO)
		pavo_put_be64(p, pkt->rdma.back_pvo);
	if (flags & PAVO_OPF_IMM)
		memcpy(p, &pkt->imm, sizeof(pkt->imm));
	if (flags & PAVO_OPF_IETH)
		pavo_put_be32(p, pkt->inv_rkey);
	return info->hdr_len;
}
