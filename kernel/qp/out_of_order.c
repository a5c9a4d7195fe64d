// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * out_of_order.c - packets behind a gap (out_of_order.h).
 */
#include "qp/out_of_order.h"
#include <linux/udp.h>
#include "accounting.h"
#include "net/net.h"
#include "qp/qp.h"
#include "qp/side.h"
#include "wire/layout.h"
#include "wire/psn.h"
#include "wire/bytes.h"

/* First PSN of a received packet, whose headers are in its linear part. */
static u32 get_first_psn(const struct sk_buff *skb)
{
	return pavo_get_be24(skb->data + sizeof(struct udphdr) + PAVO_BTH_PSN);
}

/* The packet is no longer held. */
static void uncharge_bytes(struct pavo_qp *qp, struct pavo_side *side,
			   const struct sk_buff *skb)
{
	side->held_bytes -= skb->truesize;
	atomic_sub(skb->truesize, &qp->dev->held_bytes);
}

static int charge_held(struct pavo_qp *qp, struct pavo_side *side,
		       const struct sk_buff *skb)
{
	int err = -ENOBUFS;

	side->held_bytes += skb->truesize;
	if (atomic_add_return(skb->truesize, &qp->dev->held_bytes) <=
		    PAVO_HELD_OF_ADAPTER &&
	    side->held_bytes <= PAVO_HELD_BYTES)
		err = pavo_user_charge_packet(qp->user);
	if (err)
		uncharge_bytes(qp, side, skb);
	return err;
}

static void drop_held(struct pavo_qp *qp, struct pavo_side *side,
		      struct sk_buff *skb)
{
	__skb_unlink(skb, &side->held);
	uncharge_bytes(qp, side, skb);
	pavo_user_uncharge_packet(qp->user);
	kfree_skb(skb);
}

int pavo_held_add(struct pavo_qp *qp, struct pavo_side *side,
		  const struct pavo_rx *rx, u32 psn, u32 *dropped)
{
	struct sk_buff *before;
	bool farthest;
	s32 ahead;
	int err;

	*dropped = PAVO_PSN_NONE;
	if (rx->index || pavo_psn_diff(rx->pkt.psn, psn) >= PAVO_HELD_PSNS)
		return -ERANGE;
	skb_queue_reverse_walk(&side->held, before)
	{
		ahead = pavo_psn_diff(rx->pkt.psn, get_first_psn(before));
		if (!ahead)
			return -EEXIST;
		if (ahead > 0)
			break;
	}
	farthest = skb_queue_empty(&side->held) ||
		   before == skb_peek_tail(&side->held);
	err = charge_held(qp, side, rx->skb);
	if (err && !farthest) {
		*dropped = get_first_psn(skb_peek_tail(&side->held));
		drop_held(qp, side, skb_peek_tail(&side->held));
		pavo_count(qp, rx_drop_out_of_sequence);
		err = charge_held(qp, side, rx->skb);
	}
	if (err)
		return err;
	__skb_queue_after(&side->held, before, rx->skb);
	pavo_count(qp, rx_held);
	return 0;
}

void pavo_held_release(struct pavo_qp *qp, struct pavo_side *side, u32 psn)
{
	struct sk_buff *skb = skb_peek(&side->held);

	if (pavo_psn_diff(get_first_psn(skb), psn) > 0)
		return;
	__skb_unlink(skb, &side->held);
	uncharge_bytes(qp, side, skb);
	/* The user's charge stays: the backlog has it now. */
	skb_queue_head(&side->backlog, skb);
	side->released = skb;
}

void pavo_held_forget(struct pavo_qp *qp, struct pavo_side *side)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&side->held))) {
		drop_held(qp, side, skb);
		pavo_count(qp, rx_drop_state);
	}
}
