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

u32 pavo_held_get_space(struct pavo_qp *qp, const struct pavo_side *side)
{
	int left = PAVO_HELD_OF_ADAPTER - atomic_read(&qp->dev->held_bytes);
	u32 bytes = min(PAVO_HELD_BYTES - side->held_bytes, (u32)max(left, 0));

	return min(bytes / PAVO_HELD_EACH,
		   pavo_user_get_packet_space(qp->user));
}

static void drop_held(struct pavo_qp *qp, struct pavo_side *side,
		      struct sk_buff *skb)
{
	xa_erase_bh(&side->held, get_first_psn(skb));
	uncharge_bytes(qp, side, skb);
	pavo_user_uncharge_packet(qp->user);
	kfree_skb(skb);
}

/* The first packet from @psn on, less than @n PSNs away; NULL: there is none. PSNs wrap. */
static struct sk_buff *find_held(struct pavo_side *side, u32 psn, u32 n)
{
	unsigned long at = psn;
	struct sk_buff *skb;

	skb = xa_find(&side->held, &at, min(psn + n - 1, PAVO_PSN_MASK),
		      XA_PRESENT);
	if (skb || psn + n - 1 <= PAVO_PSN_MASK)
		return skb;
	at = 0;
	return xa_find(&side->held, &at, psn + n - 2 - PAVO_PSN_MASK,
		       XA_PRESENT);
}

/* The last packet behind @psn; there is one. */
static struct sk_buff *find_farthest(struct pavo_side *side, u32 psn)
{
	struct sk_buff *skb = find_held(side, psn, PAVO_HELD_PSNS), *next;
	u32 from = pavo_psn_diff(get_first_psn(skb), psn) + 1;
	u32 until = PAVO_HELD_PSNS, middle;

	/* Halves: at most thirteen times. */
	while (from < until) {
		middle = from + (until - from) / 2;
		next = find_held(side, pavo_psn_add(psn, middle),
				 until - middle);
		if (next) {
			skb = next;
			from = pavo_psn_diff(get_first_psn(skb), psn) + 1;
		} else {
			until = middle;
		}
	}
	return skb;
}

int pavo_held_add(struct pavo_qp *qp, struct pavo_side *side,
		  const struct pavo_rx *rx, u32 psn, u32 *dropped)
{
	s32 ahead = pavo_psn_diff(rx->pkt.psn, psn);
	struct sk_buff *last;
	int err;

	*dropped = PAVO_PSN_NONE;
	if (rx->index || ahead >= (s32)PAVO_HELD_PSNS)
		return -ERANGE;
	err = xa_insert_bh(&side->held, rx->pkt.psn, rx->skb, GFP_ATOMIC);
	if (err)
		return err == -EBUSY ? -EEXIST : -ENOBUFS;
	err = charge_held(qp, side, rx->skb);
	if (unlikely(err)) {
		last = find_farthest(side, psn);
		if (last != rx->skb) {
			*dropped = get_first_psn(last);
			drop_held(qp, side, last);
			pavo_count(qp, rx_drop_out_of_sequence);
			err = charge_held(qp, side, rx->skb);
		}
	}
	if (unlikely(err)) {
		xa_erase_bh(&side->held, rx->pkt.psn);
		return err;
	}
	if (unlikely(side->held_searched != PAVO_PSN_NONE &&
		     pavo_psn_diff(rx->pkt.psn, side->held_searched) <= 0))
		side->held_searched = PAVO_PSN_NONE;
	pavo_count(qp, rx_held);
	return 0;
}

/*
 * Remove the packet that begins at @psn, or an earlier one, which may end behind it. NULL: there is
 * none, which is noted: it is asked for again with each packet behind the gap.
 */
static struct sk_buff *take_held(struct pavo_side *side, u32 psn)
{
	struct sk_buff *skb;

	if (psn == side->held_searched)
		return NULL;
	skb = xa_erase_bh(&side->held, psn);
	if (likely(skb))
		return skb;
	skb = find_held(side, pavo_psn_add(psn, -(s32)PAVO_HELD_PSNS),
			PAVO_HELD_PSNS);
	if (skb)
		xa_erase_bh(&side->held, get_first_psn(skb));
	else
		side->held_searched = psn;
	return skb;
}

void pavo_held_release(struct pavo_qp *qp, struct pavo_side *side, u32 psn)
{
	struct sk_buff *skb = take_held(side, psn);

	if (!skb)
		return;
	uncharge_bytes(qp, side, skb);
	/* The user's charge stays: the backlog has it now. */
	skb_queue_head(&side->backlog, skb);
	side->released = skb;
}

void pavo_held_drop_from(struct pavo_qp *qp, struct pavo_side *side, u32 psn)
{
	struct sk_buff *skb;

	while ((skb = find_held(side, psn, PAVO_HELD_PSNS))) {
		drop_held(qp, side, skb);
		pavo_count(qp, rx_drop_out_of_sequence);
	}
}

void pavo_held_forget(struct pavo_qp *qp, struct pavo_side *side)
{
	struct sk_buff *skb;

	while ((skb = find_held(side, 0, PAVO_PSN_MASK + 1))) {
		drop_held(qp, side, skb);
		pavo_count(qp, rx_drop_state);
	}
	/* Insertions that lacked memory may have left nodes without a packet. */
	xa_destroy(&side->held);
}
