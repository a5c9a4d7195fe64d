/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * xmit.h - interface of net/ for the sides of queue pairs: one call sends packets on a flow.
 *
 * pavo_xmit() makes one skb of headers and payload, and passes it on. Here net/ decides, and only
 * net/: whether payload is copied or its pages are attached, whether packets go singly, as a GSO
 * super-packet or in a coalesced packet, by the network stack or by loopback, and whether the ICRC
 * is computed now or deferred. The route is looked up once for all of that.
 */
#ifndef PAVO_XMIT_H
#define PAVO_XMIT_H

#include <net/dst.h>
#include "net/gso_backoff.h"
#include "net/net.h"
#include "net/conn.h"
#include "status.h"

/*
 * Most bytes of payload in a GSO super-packet. Headers and payload must fit an IP packet, and the
 * pages of the payload must fit an skb.
 */
#define PAVO_GSO_BYTES (15 * 4096)

/** Most packets in a coalesced packet, and most bytes of all of them. */
#define PAVO_COALESCED_PACKETS 32
#define PAVO_COALESCED_BYTES 3072

/**
 * struct pavo_coalesced - a coalesced packet: short packets for one peer, sent in one skb.
 * @skb:   the packets in a row, each from its BTH to its pad; NULL: no packet
 * @first: PSN of the first packet
 * @count: number of packets
 * @len:   length of each, bytes
 */
struct pavo_coalesced {
	struct sk_buff *skb;
	u32 first;
	u16 count;
	u16 len[PAVO_COALESCED_PACKETS];
};

/**
 * struct pavo_loopback_mark - the position behind a sender's last packet in the queue of a CPU.
 * @cpu:  the CPU on which it sent last
 * @sent: packets that were queued there by then (free running)
 */
struct pavo_loopback_mark {
	int cpu;
	u32 sent;
};

/**
 * pavo_loopback_mark - return the position at the end of this CPU's queue. Context: BH disabled.
 */
struct pavo_loopback_mark pavo_loopback_mark(void);

/**
 * pavo_loopback_is_behind - true if packets before @mark wait on another CPU. Packets that are sent
 * on this CPU would overtake them.
 * @mark: position behind the sender's last packet
 *
 * Context: BH disabled.
 */
bool pavo_loopback_is_behind(const struct pavo_loopback_mark *mark);

/** enum pavo_icrc_defer - the packets of a flow whose ICRC may be deferred. */
enum pavo_icrc_defer {
	PAVO_ICRC_DEFER_NONE,
	/* GSO super-packets and coalesced packets, which are segmented for the first device */
	PAVO_ICRC_DEFER_GSO,
	PAVO_ICRC_DEFER_ALL, /* all: a same-host peer, or loopback */
};

/**
 * struct pavo_tx - a sender: one side of a queue pair. Its owner alone accesses it.
 * @stats:      counters of the queue pair
 * @flow:       path to the peer
 * @conn:       the queue pair as one end of a conn
 * @backoff:    losses, and packets of the peer, which decide whether ICRCs are deferred
 * @mark:       position behind its packets that are looped back
 * @coalesced:  short packets that count as sent, while the side collects more
 * @defer:      what was decided for these; it holds for those that are added
 * @refused:    the interface refused coalesced packets; @unsent is the PSN of the first one
 * @unsent:     see @refused
 * @retransmit: clone of a packet that was retransmitted. The two share data until the packet has
 *              left the queues of this machine; NULL: none
 */
struct pavo_tx {
	const struct pavo_stats *stats;
	struct pavo_flow *flow;
	struct pavo_conn *conn;
	struct pavo_gso_backoff backoff;
	struct pavo_loopback_mark mark;
	struct pavo_coalesced coalesced;
	enum pavo_icrc_defer defer;
	bool refused;
	u32 unsent;
	struct sk_buff *retransmit;
};

/** enum pavo_pages - whether pages of the payload may be attached to a packet. */
enum pavo_pages {
	PAVO_PAGES_COPY, /* no */
	/* Only if the ICRC is computed at once, so that a change makes it wrong. */
	PAVO_PAGES_LOOSE,
	/* Where no other process sees a change: the request completes after the read. */
	PAVO_PAGES_HELD,
	PAVO_PAGES_CONSTANT, /* always: they do not change while a packet has them */
};

/**
 * struct pavo_xmit - packets that a sender is about to send.
 * @tx:         the sender
 * @flow:       the path, that of @tx or of a datagram
 * @pages:      whether its pages may be attached
 * @retransmit: they were sent before
 * @departure:  when they leave, ns, if pavo_xmit_is_paced(); 0: at once
 * @messages:   number of messages that the sender has now, this one included
 * @mtu:        path MTU
 * @skb:        the packet that payload goes to
 * @attach:     attach pages to it; else copy
 * @dst:        its route, if @routed. This and all that follows are of net/ alone
 * @routed:     @dst was looked up
 * @decided:    @defer is valid
 * @defer:      packets of the flow whose ICRC may be deferred
 * @deferred:   the ICRC of this packet is deferred
 * @coalesced:  it is added to others, and begins at @begin
 * @named:      @meta names the key of attached memory
 * @begin:      offset in @skb
 * @meta:       metadata, if @deferred
 */
struct pavo_xmit {
	struct pavo_tx *tx;
	struct pavo_flow *flow;
	enum pavo_pages pages;
	bool retransmit;
	u64 departure;
	u32 messages;
	u32 mtu;
	struct sk_buff *skb;
	bool attach;

	struct dst_entry *dst;
	bool routed;
	bool decided;
	enum pavo_icrc_defer defer;
	bool deferred;
	bool coalesced;
	bool named;
	unsigned int begin;
	struct pavo_meta meta;
};

/** pavo_tx_init - initialize the sender of a queue pair's side. */
void pavo_tx_init(struct pavo_tx *tx, const struct pavo_stats *stats,
		  struct pavo_flow *flow, struct pavo_conn *conn);

/** pavo_tx_reset - forget losses and clones; the queue pair is reset. */
void pavo_tx_reset(struct pavo_tx *tx);

/* pavo_tx_free_clone - the part of pavo_tx_forget() that is seldom. */
void pavo_tx_free_clone(struct pavo_tx *tx);

/** pavo_tx_forget - free the clone of a retransmitted packet, if there is one. */
static inline void pavo_tx_forget(struct pavo_tx *tx)
{
	if (unlikely(tx->retransmit))
		pavo_tx_free_clone(tx);
}

/** pavo_tx_seen - note that a packet of the peer has arrived. */
static inline void pavo_tx_seen(struct pavo_tx *tx)
{
	pavo_gso_backoff_seen(&tx->backoff);
}

/** pavo_tx_lost - note that a packet, or the answer to it, was lost. */
void pavo_tx_lost(struct pavo_tx *tx);

/**
 * pavo_tx_is_queued - true if the retransmitted packet is still in a queue of this machine.
 * @tx: the sender
 *
 * As long as it is, it shares its data with the clone. An skb destructor would not do: a packet may
 * be in a queue when the module is gone. The packet has no metadata, which is noted for the peer.
 */
bool pavo_tx_is_queued(struct pavo_tx *tx);

/**
 * pavo_tx_is_elsewhere - true if packets of the sender wait on another CPU. Packets that are sent
 * on this one would overtake them.
 * @tx:  the sender
 * @cpu: set then: the other CPU
 *
 * Context: BH disabled.
 */
static inline bool pavo_tx_is_elsewhere(const struct pavo_tx *tx, int *cpu)
{
	if (likely(!tx->flow->local) || !pavo_loopback_is_behind(&tx->mark))
		return false;
	*cpu = tx->mark.cpu;
	return true;
}

/** pavo_tx_leave - note that the sender has sent on this CPU; before its side is unlocked. */
static inline void pavo_tx_leave(struct pavo_tx *tx)
{
	if (unlikely(tx->flow->local))
		tx->mark = pavo_loopback_mark();
}

/** pavo_xmit_init - begin to send packets; pavo_xmit_end() or pavo_xmit_drop() follows. */
static inline void pavo_xmit_init(struct pavo_xmit *x, struct pavo_tx *tx,
				  struct pavo_flow *flow, u32 mtu)
{
	x->tx = tx;
	x->flow = flow;
	x->pages = PAVO_PAGES_COPY;
	x->retransmit = false;
	x->departure = 0;
	x->messages = 1;
	x->mtu = mtu;
	x->dst = NULL;
	x->routed = false;
	x->decided = false;
}

/** pavo_xmit_drop - release what was looked up for packets that are not sent now. */
static inline void pavo_xmit_drop(struct pavo_xmit *x)
{
	if (x->routed)
		dst_release(x->dst);
	x->routed = false;
}

/**
 * pavo_xmit_is_paced - true if the interface of the route holds packets until their departure, as
 * sch_fq does.
 * @x: from pavo_xmit_init()
 *
 * Context: BH disabled, RCU read side.
 */
bool pavo_xmit_is_paced(struct pavo_xmit *x);

/** pavo_xmit_most - most packets of one message that one call may have, at least 1. BH disabled. */
u32 pavo_xmit_most(struct pavo_xmit *x);

/** pavo_xmit_put - append space for payload. NULL: none; see pavo_xmit_get_full_status(). */
static inline void *pavo_xmit_put(struct pavo_xmit *x, unsigned int len)
{
	return pavo_tx_put(x->skb, len);
}

/**
 * pavo_xmit_attach - attach a part of a page.
 * @x:      the packet
 * @page:   the page
 * @offset: first byte in it
 * @len:    bytes
 *
 * Return: PAVO_ST_OK, or a status for the caller to pass on.
 */
static inline enum pavo_status pavo_xmit_attach(struct pavo_xmit *x,
						struct page *page,
						unsigned int offset,
						unsigned int len)
{
	return likely(!pavo_tx_add_page(x->skb, page, offset, len)) ?
		       PAVO_ST_OK :
		       PAVO_ST_FRAGMENTS;
}

/**
 * pavo_xmit_get_full_status - return the status to pass on where payload does not fit, or must not
 * be attached.
 */
static inline enum pavo_status pavo_xmit_get_full_status(void)
{
	return PAVO_ST_FRAGMENTS;
}

/**
 * pavo_xmit_set_key - name the key of memory that is to be attached.
 * @x:        the packet
 * @lkey:     the key
 * @token:    token of its registration
 * @constant: the memory does not change while a packet has it
 *
 * Return: PAVO_ST_OK, or a status to pass on: the metadata of a packet names one key.
 */
static inline enum pavo_status pavo_xmit_set_key(struct pavo_xmit *x, u32 lkey,
						 u32 token, bool constant)
{
	if (!x->deferred)
		return PAVO_ST_OK;
	if (!x->named) {
		x->named = true;
		x->meta.lkey = lkey;
		x->meta.token = token;
		if (likely(!constant))
			x->meta.flags |= PAVO_META_ATTACHED;
	}
	return lkey == x->meta.lkey && token == x->meta.token ?
		       PAVO_ST_OK :
		       PAVO_ST_FRAGMENTS;
}

/*
 * The parts of pavo_xmit(). pavo_xmit_begin() decides, and has an skb in @x->skb.
 * pavo_xmit_retry() is called when gathering has failed: true, to gather once more, or false with
 * the status to return. pavo_xmit_end() sends.
 */
enum pavo_status pavo_xmit_begin(struct pavo_xmit *x, struct pavo_pkt *pkt,
				 u32 len);
bool pavo_xmit_retry(struct pavo_xmit *x, const struct pavo_pkt *pkt, u32 len,
		     enum pavo_status *status);
enum pavo_status pavo_xmit_end(struct pavo_xmit *x, const struct pavo_pkt *pkt);

/**
 * typedef pavo_xmit_gather - put the payload into a packet: if @x->attach, by pavo_xmit_set_key()
 * and pavo_xmit_attach(), else by pavo_xmit_put().
 * @source: as for pavo_xmit()
 * @x:      the packet
 * @len:    bytes
 *
 * Return: PAVO_ST_OK; a status of these functions; or why the memory may not be read.
 */
typedef enum pavo_status pavo_xmit_gather(void *source, struct pavo_xmit *x,
					  u32 len);

/** pavo_xmit_gather_none - the function of a packet without payload. */
static inline enum pavo_status
pavo_xmit_gather_none(void *source, struct pavo_xmit *x, u32 len)
{
	return PAVO_ST_OK;
}

/**
 * pavo_xmit - send packets of one message.
 * @x:      from pavo_xmit_init()
 * @pkt:    headers of pkt->npkts packets, as those of one packet that has the payload of all; the
 *          pad count is set here
 * @len:    bytes of the payload
 * @gather: puts it into the packet; a constant, so that the call is a direct one. It is called
 *          again if the pages cannot be attached
 * @source: for @gather
 *
 * Packets may be kept, to be sent with those that follow: pavo_xmit_flush().
 *
 * Context: BH disabled, RCU read side.
 * Return: PAVO_ST_OK; PAVO_ST_LOST: no route, filtered or too long, which is counted; PAVO_ST_BUSY:
 * no memory, or the interface refused, see pavo_xmit_take_refused(); or the status of @gather.
 */
static __always_inline enum pavo_status pavo_xmit(struct pavo_xmit *x,
						  struct pavo_pkt *pkt, u32 len,
						  pavo_xmit_gather *gather,
						  void *source)
{
	enum pavo_status status = pavo_xmit_begin(x, pkt, len);

	if (unlikely(status))
		return status;
	for (;;) {
		status = gather(source, x, len);
		if (likely(!status))
			return pavo_xmit_end(x, pkt);
		if (!pavo_xmit_retry(x, pkt, len, &status))
			return status;
	}
}

/**
 * pavo_xmit_flush - send packets that were kept. PAVO_ST_BUSY: see pavo_xmit_take_refused().
 * @tx: the sender
 */
enum pavo_status pavo_xmit_flush(struct pavo_tx *tx);

/**
 * pavo_xmit_take_refused - true if packets that counted as sent were not, after PAVO_ST_BUSY.
 * @tx:  the sender
 * @psn: set then: the first of them; the caller sends these, and all behind them, again
 */
static inline bool pavo_xmit_take_refused(struct pavo_tx *tx, u32 *psn)
{
	if (likely(!tx->refused))
		return false;
	tx->refused = false;
	*psn = tx->unsent;
	return true;
}

#endif /* PAVO_XMIT_H */
