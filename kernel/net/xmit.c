// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * xmit.c - sends packets of the sides of queue pairs (xmit.h): decides how, once for each skb.
 *
 * Called by requester/ and responder/ with the side owned. tx.c makes and sends what was decided
 * here, coalesced.c packets of several messages.
 */
#include "net/tx.h"
#include "net/xmit.h"
#include "stats.h"

/* Payload up to this is copied into the packet; beyond, pages are attached. */
#define COPYBREAK 256

void pavo_tx_init(struct pavo_tx *tx, const struct pavo_stats *stats,
		  struct pavo_flow *flow, struct pavo_conn *conn)
{
	*tx = (struct pavo_tx){
		.stats = stats,
		.flow = flow,
		.conn = conn,
	};
}

void pavo_tx_reset(struct pavo_tx *tx)
{
	pavo_tx_forget(tx);
	tx->backoff = (struct pavo_gso_backoff){};
}

void pavo_tx_free_clone(struct pavo_tx *tx)
{
	consume_skb(tx->retransmit);
	tx->retransmit = NULL;
}

void pavo_tx_lost(struct pavo_tx *tx)
{
	pavo_gso_backoff_lost(&tx->backoff, pavo_conn_has_peer(tx->conn));
}

static bool clone_is_queued(const struct pavo_tx *tx)
{
	return tx->retransmit && skb_cloned(tx->retransmit);
}

bool pavo_tx_is_queued(struct pavo_tx *tx)
{
	if (!clone_is_queued(tx))
		return false;
	/* It is still on its way, and has no metadata. */
	pavo_conn_note_plain(tx->conn);
	return true;
}

/* The route of the packets, looked up once. NULL: none. */
static struct dst_entry *find_xmit_route(struct pavo_xmit *x)
{
	if (!x->routed)
		x->dst = pavo_flow_get_route(x->flow);
	x->routed = true;
	return x->dst;
}

/* Pass the route on, with its reference. */
static struct dst_entry *take_xmit_route(struct pavo_xmit *x)
{
	struct dst_entry *dst = find_xmit_route(x);

	x->routed = false;
	return dst;
}

/*
 * Decide which packets may have their ICRC deferred. A retransmitted packet gets it at once, in
 * case the path drops packets with a deferred one; on loopback there is no path. Those of a
 * stranger have to name their sender.
 */
static __always_inline enum pavo_icrc_defer find_icrc_defer(struct pavo_xmit *x)
{
	struct pavo_tx *tx = x->tx;

	if (!READ_ONCE(pavo_deferred_icrc) || x->flow != tx->flow)
		return PAVO_ICRC_DEFER_NONE;
	if (unlikely(pavo_conn_is_stranger(tx->conn, x->retransmit)))
		return PAVO_ICRC_DEFER_ALL;
	if (unlikely(x->retransmit)) {
		if (likely(!x->flow->local) ||
		    !pavo_flow_loops(find_xmit_route(x)))
			return PAVO_ICRC_DEFER_NONE;
		return PAVO_ICRC_DEFER_ALL;
	}
	if (pavo_gso_backoff_is_over(&tx->backoff,
				     pavo_conn_has_peer(tx->conn)))
		return PAVO_ICRC_DEFER_ALL;
	return pavo_icrc_may_defer(x->flow, find_xmit_route(x), &tx->backoff);
}

/* True if the packet may be added to others that wait: it needs no decision of its own. */
static __always_inline bool may_join_coalesced(const struct pavo_xmit *x)
{
	return x->tx->coalesced.skb && x->flow == x->tx->flow &&
	       likely(!x->retransmit);
}

static __always_inline enum pavo_icrc_defer decide_icrc(struct pavo_xmit *x)
{
	if (!x->decided)
		x->defer = may_join_coalesced(x) ? x->tx->defer :
						   find_icrc_defer(x);
	x->decided = true;
	return x->defer;
}

bool pavo_xmit_is_paced(struct pavo_xmit *x)
{
	const struct dst_entry *dst;

	/* Those leave together, and only where a peer is on this machine. */
	if (x->tx->coalesced.skb)
		return false;
	dst = find_xmit_route(x);
	return dst && pavo_tx_is_paced(dst);
}

u32 pavo_xmit_most(struct pavo_xmit *x)
{
	return decide_icrc(x) ? PAVO_GSO_BYTES / x->mtu : 1;
}

/* True if the ICRC of these packets is deferred. UC has no GSO super-packets. */
static bool defers_icrc(struct pavo_xmit *x, const struct pavo_pkt *pkt)
{
	enum pavo_icrc_defer defer = decide_icrc(x);

	return defer == PAVO_ICRC_DEFER_ALL || (defer && pkt->npkts > 1);
}

/*
 * True if pages of the process are attached. Payload of a retransmitted packet with an ICRC is
 * copied: the process may reuse its memory by now, and a page that changes between ICRC and wire
 * would have the packet dropped once more. The metadata of a packet with a deferred ICRC names the
 * memory, if it names a sender.
 */
static bool attaches_pages(struct pavo_xmit *x, u32 len)
{
	if (x->deferred ? !x->meta.port : x->retransmit)
		return false;
	switch (x->pages) {
	case PAVO_PAGES_COPY:
		return false;
	case PAVO_PAGES_LOOSE:
		return !x->deferred && len > COPYBREAK;
	case PAVO_PAGES_HELD:
		return len > COPYBREAK &&
		       pavo_flow_attaches(x->flow, find_xmit_route(x));
	case PAVO_PAGES_CONSTANT:
		return len;
	}
	return false;
}

/* Allocate the skb. Payload of which @x->skb gets a copy is in its head if it is short. */
static enum pavo_status alloc_xmit(struct pavo_xmit *x,
				   const struct pavo_pkt *pkt, u32 len)
{
	u32 head = x->attach || len > COPYBREAK ? 0 : len;

	x->skb = pavo_tx_alloc(x->tx->stats, x->flow, pkt, head);
	return likely(x->skb) ? PAVO_ST_OK : PAVO_ST_BUSY;
}

/* Metadata with the queue pair as the sender. */
static void begin_meta(struct pavo_xmit *x)
{
	x->named = false;
	x->meta = (struct pavo_meta){
		.port = x->tx->conn->port,
		.qpn = x->tx->conn->qpn,
	};
}

static enum pavo_status get_net_status(int err)
{
	if (likely(!err))
		return PAVO_ST_OK;
	return err == -ENOMEM || err == -ENOBUFS ? PAVO_ST_BUSY : PAVO_ST_LOST;
}

/* ------------------------------------------------------- coalesced packets */

/*
 * True if the packet may be coalesced: it is a short message, and not the only one to send.
 */
static __always_inline bool may_coalesce(struct pavo_xmit *x,
					 const struct pavo_pkt *pkt, u32 len)
{
	return len <= COPYBREAK && x->pages != PAVO_PAGES_CONSTANT &&
	       (x->tx->coalesced.skb || x->messages > 1) &&
	       pavo_coalesced_is_allowed(pkt->opcode);
}

enum pavo_status pavo_xmit_flush(struct pavo_tx *tx)
{
	enum pavo_status status;
	struct pavo_meta meta;
	int err;

	if (likely(!tx->coalesced.skb))
		return PAVO_ST_OK;
	if (unlikely(!tx->coalesced.count)) {
		kfree_skb(tx->coalesced.skb);
		tx->coalesced.skb = NULL;
		return PAVO_ST_OK;
	}
	meta = (struct pavo_meta){
		.port = tx->conn->port,
		.qpn = tx->conn->qpn,
	};
	err = pavo_coalesced_send(tx->stats, tx->flow,
				  pavo_flow_get_route(tx->flow), &tx->coalesced,
				  &meta);
	status = get_net_status(err);
	if (unlikely(status == PAVO_ST_BUSY)) {
		/* A device queue may be too short for any coalesced packets. */
		pavo_tx_lost(tx);
		tx->refused = true;
		tx->unsent = tx->coalesced.first;
	}
	return status;
}

/* Have an skb of coalesced packets with @len free bytes: send a full one, begin a new one. */
static enum pavo_status prepare_coalesced(struct pavo_xmit *x, u32 psn, u32 len)
{
	u32 more = min_t(u32, x->messages, PAVO_COALESCED_PACKETS);
	struct pavo_tx *tx = x->tx;

	if (tx->coalesced.skb && !pavo_coalesced_fits(&tx->coalesced, len) &&
	    pavo_xmit_flush(tx) == PAVO_ST_BUSY)
		return PAVO_ST_BUSY;
	if (tx->coalesced.skb)
		return PAVO_ST_OK;
	if (pavo_coalesced_begin(tx->stats, tx->flow, &tx->coalesced,
				 min_t(u32, more * len, PAVO_COALESCED_BYTES)))
		return PAVO_ST_BUSY;
	tx->coalesced.first = psn;
	tx->defer = x->defer;
	return PAVO_ST_OK;
}

/* Begin a packet behind the other coalesced ones. */
static enum pavo_status begin_coalesced(struct pavo_xmit *x,
					const struct pavo_pkt *pkt, u32 len)
{
	unsigned int hdr_len = pavo_opcode_get_info(pkt->opcode)->hdr_len;
	enum pavo_status status;

	x->coalesced = true;
	x->deferred = true;
	x->attach = false;
	/* Each of them goes by the route of all. */
	pavo_xmit_drop(x);
	status = prepare_coalesced(x, pkt->psn, hdr_len + len + pkt->pad);
	if (unlikely(status))
		return status;
	x->skb = x->tx->coalesced.skb;
	x->begin = x->skb->len;
	pavo_build(skb_put(x->skb, hdr_len), pkt);
	return PAVO_ST_OK;
}

static enum pavo_status end_coalesced(struct pavo_xmit *x,
				      const struct pavo_pkt *pkt)
{
	struct pavo_coalesced *coalesced = &x->tx->coalesced;

	x->departure = 0;
	if (pkt->pad)
		skb_put_zero(x->skb, pkt->pad);
	coalesced->len[coalesced->count++] = x->skb->len - x->begin;
	return PAVO_ST_OK;
}

/* ------------------------------------------------------------ each packet */

/* The packets are not sent now. A device queue, or memory, may be too short for super-packets. */
static enum pavo_status refuse_xmit(struct pavo_xmit *x,
				    const struct pavo_pkt *pkt,
				    enum pavo_status status)
{
	if (status == PAVO_ST_BUSY && pkt->npkts > 1)
		pavo_tx_lost(x->tx);
	pavo_xmit_drop(x);
	return status;
}

enum pavo_status pavo_xmit_begin(struct pavo_xmit *x, struct pavo_pkt *pkt,
				 u32 len)
{
	enum pavo_status status;

	pkt->pad = -len & 3;
	x->coalesced = false;
	if (decide_icrc(x) && may_coalesce(x, pkt, len))
		return begin_coalesced(x, pkt, len);
	status = pavo_xmit_flush(x->tx);
	if (unlikely(status == PAVO_ST_BUSY))
		return refuse_xmit(x, pkt, status);
	x->deferred = defers_icrc(x, pkt);
	if (x->deferred)
		begin_meta(x);
	x->attach = attaches_pages(x, len);
	status = alloc_xmit(x, pkt, len);
	return likely(!status) ? status : refuse_xmit(x, pkt, status);
}

bool pavo_xmit_retry(struct pavo_xmit *x, const struct pavo_pkt *pkt, u32 len,
		     enum pavo_status *status)
{
	if (x->coalesced)
		skb_trim(x->skb, x->begin);
	else
		kfree_skb(x->skb);
	if (*status == PAVO_ST_FRAGMENTS && x->attach) {
		/* Copy what cannot be attached. */
		x->attach = false;
		if (x->deferred)
			begin_meta(x);
		*status = alloc_xmit(x, pkt, len);
		if (likely(!*status))
			return true;
	}
	if (*status == PAVO_ST_FRAGMENTS) {
		pavo_stats_add(x->tx->stats, tx_drop_no_memory, 1);
		*status = PAVO_ST_BUSY;
	}
	refuse_xmit(x, pkt, *status);
	return false;
}

/* Retransmit a packet, and keep a clone of the oldest one that is still queued. */
static int send_retransmit(struct pavo_xmit *x, unsigned int pad)
{
	struct pavo_tx *tx = x->tx;
	int err = pavo_tx_finish(tx->stats, x->flow, take_xmit_route(x), x->skb,
				 pad);

	if (err)
		return err;
	if (!clone_is_queued(tx)) {
		pavo_tx_forget(tx);
		tx->retransmit = skb_clone(x->skb, GFP_ATOMIC | __GFP_NOWARN);
	}
	/* The clone must not hold the route, since it may exist for long. */
	if (tx->retransmit)
		skb_dst_drop(tx->retransmit);
	return pavo_tx_send_finished(tx->stats, x->flow, x->skb);
}

/* Send a packet with its ICRC. */
static int send_plain(struct pavo_xmit *x, unsigned int pad)
{
	struct pavo_tx *tx = x->tx;
	int err;

	pavo_conn_note_plain(tx->conn);
	if (unlikely(x->retransmit))
		return send_retransmit(x, pad);
	err = pavo_tx_finish(tx->stats, x->flow, take_xmit_route(x), x->skb,
			     pad);
	return err ?: pavo_tx_send_finished(tx->stats, x->flow, x->skb);
}

enum pavo_status pavo_xmit_end(struct pavo_xmit *x, const struct pavo_pkt *pkt)
{
	enum pavo_status status;
	int err;

	if (x->coalesced)
		return end_coalesced(x, pkt);
	if (unlikely(x->departure))
		pavo_tx_set_departure(x->skb, x->departure);
	if (x->deferred)
		err = pavo_tx_send_deferred(x->tx->stats, x->flow,
					    take_xmit_route(x), x->skb, pkt,
					    x->mtu, &x->meta);
	else
		err = send_plain(x, pkt->pad);
	status = get_net_status(err);
	return likely(!status) ? status : refuse_xmit(x, pkt, status);
}
