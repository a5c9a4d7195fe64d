/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * out_of_order.h - packets behind a gap, which a side holds until the gap closes, as TCP's
 * out-of-order queue.
 *
 * Each is a whole skb, found by its first PSN. When the packet before it has been handled it moves
 * to the front of the backlog, so it is handled as one that arrives then; a part that has been
 * executed meanwhile is skipped (pavo_rx_skip()). At most one copy of a PSN is held.
 *
 * The bytes of a side and of an adapter have bounds, and a packet counts in its user's share of
 * those that wait. Beyond a bound the farthest one is dropped: it would have to wait longest.
 * Called by the owner of the side.
 *
 * A packet that a stranger has forged may be executed in place of the peer's. So the distance is
 * small, and a side that has received one of an implausible PSN (pavo_psn_is_far()) holds none
 * until the QP is reset: who guesses PSNs names such a one first (docs/security.md).
 */
#ifndef PAVO_OUT_OF_ORDER_H
#define PAVO_OUT_OF_ORDER_H

#include <linux/skbuff.h>
#include <linux/types.h>
#include "wire/psn.h"

struct pavo_qp;
struct pavo_side;
struct pavo_rx;

/** How far behind the gap a held packet may begin, in PSNs; so a side holds fewer packets. */
#define PAVO_HELD_PSNS PAVO_PSN_WINDOW
/** Most bytes (truesize) that a side holds: PAVO_HELD_PSNS packets of 4 KiB, and as much again. */
#define PAVO_HELD_BYTES (64 << 20)
/** Most bytes of a held packet, in the mean: so PAVO_HELD_PSNS of them have space. */
#define PAVO_HELD_EACH (PAVO_HELD_BYTES / PAVO_HELD_PSNS)
/** Most bytes that all sides of an adapter hold. */
#define PAVO_HELD_OF_ADAPTER (256 << 20)

/**
 * pavo_held_add - hold a packet.
 * @qp:   the QP
 * @side: one of its sides, which takes the skb over
 * @rx:   the packet
 * @psn:  the expected PSN, before that of @rx
 * @dropped: set to the first PSN of what was dropped for this packet; PAVO_PSN_NONE: nothing was
 *
 * Return: 0; -ERANGE: it is too far behind, or inside of a coalesced packet; -EEXIST: one of this
 * PSN is held; -ENOBUFS: it is the farthest, and the side or the adapter holds too many bytes;
 * -EDQUOT: likewise, too many packets of its user wait.
 */
int pavo_held_add(struct pavo_qp *qp, struct pavo_side *side,
		  const struct pavo_rx *rx, u32 psn, u32 *dropped);

/** pavo_held_get_space - packets that @side could hold besides those that it does. */
u32 pavo_held_get_space(struct pavo_qp *qp, const struct pavo_side *side);

/** pavo_held_release - part of pavo_side_close_gap() that is seldom: a packet is held. */
void pavo_held_release(struct pavo_qp *qp, struct pavo_side *side, u32 psn);

/** pavo_held_drop_from - drop those from @psn on. */
void pavo_held_drop_from(struct pavo_qp *qp, struct pavo_side *side, u32 psn);

/** pavo_held_forget - drop all. */
void pavo_held_forget(struct pavo_qp *qp, struct pavo_side *side);

#endif /* PAVO_OUT_OF_ORDER_H */
