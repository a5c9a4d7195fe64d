// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * parse.c - header parser: bytes of a packet to struct pavo_pkt (IBA 9.2, 9.3).
 *
 * Called by net/ for every received packet, before any other check. Accesses only its arguments,
 * and no byte behind @avail.
 */
#include <linux/string.h>
#include "bytes.h"
#include "layout.h"
#include "wire.h"

u32 pavo_peek_qpn(const u8 *bth)
{
	return pavo_get_be24(bth + PAVO_BTH_DQPN);
}

static void parse_bth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->solicited = p[PAVO_BTH_FLAGS] & PAVO_BTH_SE;
	pkt->pad = (p[PAVO_BTH_FLAGS] >> PAVO_BTH_PAD_SHIFT) &
		   PAVO_BTH_PAD_MASK;
	pkt->pkey = pavo_get_be16(p + PAVO_BTH_PKEY);
	pkt->fecn = p[PAVO_BTH_MARKS] & PAVO_BTH_FECN;
	pkt->becn = p[PAVO_BTH_MARKS] & PAVO_BTH_BECN;
	pkt->dqpn = pavo_get_be24(p + PAVO_BTH_DQPN);
	pkt->ack_req = p[PAVO_BTH_ACK] & PAVO_BTH_ACKREQ;
	pkt->psn = pavo_get_be24(p + PAVO_BTH_PSN);
}

static const u8 *parse_xrceth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->srqn = pavo_get_be24(p + PAVO_XRCETH_SRQN);
	return p + PAVO_XRCETH_LEN;
}

static const u8 *parse_reth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->va = pavo_get_be64(p + PAVO_RETH_VA);
	pkt->rkey = pavo_get_be32(p + PAVO_RETH_RKEY);
	pkt->dma_len = pavo_get_be32(p + PAVO_RETH_DMA_LEN);
	return p + PAVO_RETH_LEN;
}

static const u8 *parse_atomiceth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->va = pavo_get_be64(p + PAVO_ATOMICETH_VA);
	pkt->rkey = pavo_get_be32(p + PAVO_ATOMICETH_RKEY);
	pkt->swap_add = pavo_get_be64(p + PAVO_ATOMICETH_SWAP_ADD);
	pkt->compare = pavo_get_be64(p + PAVO_ATOMICETH_COMPARE);
	return p + PAVO_ATOMICETH_LEN;
}

static const u8 *parse_extatomiceth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->aop = p[PAVO_EXTATOMICETH_AOP] & 0xf;
	pkt->request_id = pavo_get_be32(p + PAVO_EXTATOMICETH_ID);
	pkt->rkey = pavo_get_be32(p + PAVO_EXTATOMICETH_RKEY);
	pkt->va = pavo_get_be64(p + PAVO_EXTATOMICETH_VA);
	pkt->swap_add = pavo_get_be64(p + PAVO_EXTATOMICETH_SWAP_ADD);
	pkt->swap_add_mask = pavo_get_be64(p + PAVO_EXTATOMICETH_SWAP_ADD_MASK);
	pkt->compare = pavo_get_be64(p + PAVO_EXTATOMICETH_COMPARE);
	pkt->compare_mask = pavo_get_be64(p + PAVO_EXTATOMICETH_COMPARE_MASK);
	return p + PAVO_EXTATOMICETH_LEN;
}

static void parse_extatomicack(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->request_id = pavo_get_be32(p + PAVO_EXTATOMICACK_ID);
	pkt->atomic_orig = pavo_get_be64(p + PAVO_EXTATOMICACK_ORIG);
}

static const u8 *parse_aeth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->syndrome = p[PAVO_AETH_SYNDROME];
	pkt->msn = pavo_get_be24(p + PAVO_AETH_MSN);
	return p + PAVO_AETH_LEN;
}

static const u8 *parse_deth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->qkey = pavo_get_be32(p + PAVO_DETH_QKEY);
	pkt->sqpn = pavo_get_be24(p + PAVO_DETH_SQPN);
	return p + PAVO_DETH_LEN;
}

static const u8 *parse_weth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->window_key = pavo_get_be64(p + PAVO_WETH_KEY);
	pkt->src_node = pavo_get_be16(p + PAVO_WETH_NODE);
	pkt->kind = p[PAVO_WETH_KIND];
	pkt->src_window = pavo_get_be24(p + PAVO_WETH_WINDOW);
	return p + PAVO_WETH_LEN;
}

static const u8 *parse_wreth(struct pavo_wreth *rdma, const u8 *p)
{
	rdma->rcxt = pavo_get_be32(p + PAVO_WRETH_RCXT);
	rdma->peer_rcxt = pavo_get_be32(p + PAVO_WRETH_PEER_RCXT);
	rdma->tid = pavo_get_be64(p + PAVO_WRETH_TID);
	rdma->pvo = pavo_get_be64(p + PAVO_WRETH_PVO);
	rdma->total = pavo_get_be32(p + PAVO_WRETH_TOTAL);
	rdma->fragment = pavo_get_be32(p + PAVO_WRETH_FRAGMENT);
	rdma->tag = pavo_get_be32(p + PAVO_WRETH_TAG);
	rdma->attempts = pavo_get_be16(p + PAVO_WRETH_ATTEMPTS);
	rdma->flags = p[PAVO_WRETH_FLAGS];
	rdma->status = p[PAVO_WRETH_STATUS];
	return p + PAVO_WRETH_LEN;
}

/* The order of the tests is the order of the headers in a packet. */
static void parse_extensions(struct pavo_pkt *pkt, unsigned int flags,
			     const u8 *p)
{
	if (flags & PAVO_OPF_XRCETH)
		p = parse_xrceth(pkt, p);
	if (flags & PAVO_OPF_DETH)
		p = parse_deth(pkt, p);
	if (flags & PAVO_OPF_WETH)
		p = parse_weth(pkt, p);
	if (flags & PAVO_OPF_WRETH)
		p = parse_wreth(&pkt->rdma, p);
	if (flags & PAVO_OPF_RETH)
		p = parse_reth(pkt, p);
	if (flags & PAVO_OPF_ATOMICETH)
		p = parse_atomiceth(pkt, p);
	if (flags & PAVO_OPF_EXTATOMICETH)
		p = parse_extatomiceth(pkt, p);
	if (flags & PAVO_OPF_AETH)
		p = parse_aeth(pkt, p);
	if (flags & PAVO_OPF_ATOMICACK)
		pkt->atomic_orig = pavo_get_be64(p);
	if (flags & PAVO_OPF_EXTATOMICACK)
		parse_extatomicack(pkt, p);
	if (flags & PAVO_OPF_PVO)
		pkt->rdma.back_pvo = pavo_get_be64(p);
	if (flags & PAVO_OPF_IMM)
		memcpy(&pkt->imm, p, sizeof(pkt->imm));
	if (flags & PAVO_OPF_IETH)
		pkt->inv_rkey = pavo_get_be32(p);
}

enum pavo_parse_status pavo_parse(struct pavo_pkt *pkt, const u8 *hdr,
				  unsigned int avail, unsigned int len)
{
	const struct pavo_op_info *info;
	unsigned int hdr_len;
	unsigned int rest;

	/*
	 * The pad makes the length of every packet a multiple of four. A packet of
	 * another length ends inside its pad.
	 */
	if (len < PAVO_BTH_LEN + PAVO_ICRC_LEN || len % 4 ||
	    avail < PAVO_BTH_LEN)
		return PAVO_PARSE_SHORT;
	if (hdr[PAVO_BTH_FLAGS] & PAVO_BTH_TVER)
		return PAVO_PARSE_VERSION;

	info = pavo_op_info(hdr[PAVO_BTH_OPCODE]);
	if (!info)
		return PAVO_PARSE_OPCODE;
	hdr_len = info->hdr_len;
	if (len < hdr_len + PAVO_ICRC_LEN || avail < hdr_len)
		return PAVO_PARSE_SHORT;

	pkt->info = info;
	pkt->opcode = hdr[PAVO_BTH_OPCODE];
	parse_bth(pkt, hdr);
	rest = len - hdr_len - PAVO_ICRC_LEN;
	if (rest < pkt->pad)
		return PAVO_PARSE_SHORT;
	if (rest && !(info->flags & PAVO_OPF_PAYLOAD))
		return PAVO_PARSE_SURPLUS;
	pkt->payload = rest - pkt->pad;
	pkt->npkts = 1;

	parse_extensions(pkt, info->flags, hdr + PAVO_BTH_LEN);
	return PAVO_PARSE_OK;
}
