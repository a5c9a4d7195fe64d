// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * place.c - RDMA between windows, the receiving side: data to memory in whatever
 * order it comes, requests for data, and the news that all has come.
 *
 * Called by receive.c for packets with the window's key. An rCxt is locked while one
 * packet of it is placed, so when the last byte is counted all are there, and when a
 * cancel or a higher tid has the lock none is on its way to memory any more. Packets of
 * other rCxts are placed at the same time by other CPUs.
 */
#include <linux/skbuff.h>
#include "translate/job.h"
#include "window/rdma.h"

/* A counter for each verdict that drops a packet. */
static void count_verdict(struct pavo_dev *dev, enum pavo_tid_verdict verdict)
{
	if (verdict == PAVO_TID_BUSY)
		pavo_count(dev, rx_drop_rcxt_busy);
	else
		pavo_count(dev, rx_drop_tid);
}

static bool from_peer(const struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt)
{
	return rcxt->node == pkt->src_node &&
	       rcxt->peer_window == pkt->src_window &&
	       rcxt->peer == pkt->rdma.peer_rcxt;
}

static void note_packet(struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt)
{
	const struct pavo_wreth *wreth = &pkt->rdma;

	rcxt->now.tid = wreth->tid;
	rcxt->now.first = pavo_tid_first(wreth->tid, wreth->attempts);
	rcxt->flags = wreth->flags & PAVO_RDMA_FLAGS;
	rcxt->attempts = wreth->attempts;
	rcxt->node = pkt->src_node;
	rcxt->peer_window = pkt->src_window;
	rcxt->peer = wreth->peer_rcxt;
	rcxt->tag = wreth->tag;
	rcxt->cookie = 0;
	rcxt->total = wreth->total;
	rcxt->left = wreth->total;
	rcxt->own = false;
}

/* What the source of the data is to hear. */
static struct pavo_rdma_told end_of(struct pavo_fifo_window *window,
				    const struct pavo_rcxt *rcxt, u64 tid,
				    enum pavo_pvo_result status)
{
	const struct pavo_rcxt_pool *pool = &window->dev->windows.rcxts;

	return (struct pavo_rdma_told){
		.node = rcxt->node,
		.window = rcxt->peer_window,
		.wreth = {
			.rcxt = rcxt->peer,
			.peer_rcxt = pavo_rcxt_id(pool, rcxt),
			.tid = tid,
			.total = rcxt->total,
			.tag = rcxt->tag,
			.attempts = rcxt->attempts,
			.flags = rcxt->flags,
			.status = status,
		},
	};
}

/* A frame for the process at this end. */
static bool put_done(struct pavo_fifo_window *window,
		     const struct pavo_rcxt *rcxt, bool target,
		     enum pavo_pvo_result status)
{
	struct pavo_rdma_done done = {
		.rcxt = pavo_rcxt_id(&window->dev->windows.rcxts, rcxt),
		.peer_rcxt = rcxt->peer,
		.tid = rcxt->now.tid,
		.length = rcxt->total,
		.tag = rcxt->tag,
		.cookie = rcxt->cookie,
		.status = status,
		.target = target,
		.attempts = rcxt->attempts,
	};

	struct pavo_put put = {
		.type = PAVO_FRAME_RDMA_DONE,
		.node = rcxt->node,
		.window = rcxt->peer_window,
		.head = &done,
		.head_len = sizeof(done),
	};

	return pavo_window_put(window, &put);
}

/*
 * All came, or it turned out that it cannot. This end hears of it first: where its
 * FIFO is full nobody does, and the operation counts as lost.
 */
static bool end_placing(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
			enum pavo_pvo_result status,
			struct pavo_rdma_told *told)
{
	rcxt->now.placing = false;
	rcxt->told = false;
	if (rcxt->flags & PAVO_RDMA_TELL_TARGET &&
	    !put_done(window, rcxt, true, status))
		return false;
	if (!status) {
		rcxt->now.complete = rcxt->now.tid;
		pavo_count(window->dev, rdma_done);
	}
	*told = end_of(window, rcxt, rcxt->now.tid, status);
	return rcxt->flags & PAVO_RDMA_TELL_SOURCE;
}

/* What is between a packet and memory; true: it may be placed. */
static bool check_piece(struct pavo_dev *dev, struct pavo_rcxt *rcxt,
			const struct pavo_pkt *pkt)
{
	if (pkt->rdma.total != rcxt->total || pkt->payload > rcxt->left ||
	    (!pkt->payload && rcxt->left)) {
		pavo_count(dev, rx_drop_rdma_length);
		return false;
	}
	switch (pavo_seen_fragment(rcxt->seen, pkt->rdma.fragment)) {
	case PAVO_SEEN_NEW:
		return true;
	case PAVO_SEEN_AGAIN:
		pavo_count(dev, rx_drop_rdma_again);
		break;
	case PAVO_SEEN_FAR:
		pavo_count(dev, rx_drop_rdma_far);
		break;
	}
	return false;
}

/* Return: whether it was placed. @tell: whether @told is to be sent. */
static bool place(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		  struct pavo_rx *rx, struct pavo_rdma_told *told, bool *tell)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	enum pavo_pvo_result result = PAVO_PVO_OK;

	if (!check_piece(window->dev, rcxt, pkt))
		return false;
	if (pkt->payload)
		result = pavo_job_from_skb(window->job, pkt->rdma.pvo, rx->skb,
					   rx->payload, pkt->payload);
	if (result) {
		pavo_count(window->dev, rx_drop_rdma_pvo);
		*tell = end_placing(window, rcxt, result, told);
		return false;
	}
	pavo_count(window->dev, rx_rdma_packets);
	rcxt->left -= pkt->payload;
	if (!rcxt->left)
		*tell = end_placing(window, rcxt, PAVO_PVO_OK, told);
	return true;
}

/* An attempt at what is here already: say so, once for each. */
static bool repeat(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		   const struct pavo_pkt *pkt, struct pavo_rdma_told *told)
{
	if (pkt->rdma.fragment || !from_peer(rcxt, pkt)) {
		pavo_count(window->dev, rx_drop_rdma_again);
		return false;
	}
	pavo_count(window->dev, rdma_repeats);
	*told = end_of(window, rcxt, pkt->rdma.tid, PAVO_PVO_OK);
	return rcxt->flags & PAVO_RDMA_TELL_SOURCE;
}

/* Another attempt goes on where the last one ended; anything else begins anew. */
static void begin_or_resume(struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt,
			    bool resume)
{
	if (resume && from_peer(rcxt, pkt) && rcxt->total == pkt->rdma.total) {
		rcxt->now.tid = pkt->rdma.tid;
		rcxt->attempts = pkt->rdma.attempts;
		return;
	}
	note_packet(rcxt, pkt);
	rcxt->told = false;
	rcxt->now.placing = true;
	memset(rcxt->seen, 0, sizeof(*rcxt->seen));
}

static bool receive_data(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt, struct pavo_rx *rx,
			 struct pavo_rdma_told *told, bool *tell)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	enum pavo_tid_verdict verdict =
		pavo_tid_data(&rcxt->now, pkt->rdma.tid, pkt->rdma.attempts);

	switch (verdict) {
	case PAVO_TID_BEGIN:
	case PAVO_TID_RESUME:
		begin_or_resume(rcxt, pkt, verdict == PAVO_TID_RESUME);
		return place(window, rcxt, rx, told, tell);
	case PAVO_TID_PART:
		if (from_peer(rcxt, pkt))
			return place(window, rcxt, rx, told, tell);
		verdict = PAVO_TID_STALE;
		break;
	case PAVO_TID_REPEAT:
		*tell = repeat(window, rcxt, pkt, told);
		return true;
	default:
		break;
	}
	count_verdict(window->dev, verdict);
	return false;
}

/* Return: whether it was used: there is something to be sent now. */
static bool receive_request(struct pavo_fifo_window *window,
			    struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt)
{
	enum pavo_tid_verdict verdict =
		pavo_tid_request(&rcxt->now, pkt->rdma.tid);

	if (verdict == PAVO_TID_BEGIN && rcxt->now.placing)
		verdict = PAVO_TID_BUSY;
	if (verdict != PAVO_TID_BEGIN) {
		count_verdict(window->dev, verdict);
		return false;
	}
	note_packet(rcxt, pkt);
	rcxt->told = rcxt->flags & PAVO_RDMA_TELL_SOURCE;
	rcxt->from = pkt->rdma.pvo;
	rcxt->to = pkt->rdma.back_pvo;
	rcxt->fragment = 0;
	return pavo_rdma_queue(window, rcxt);
}

/* Return: whether it was used. */
static bool receive_done(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt)
{
	u8 status = pkt->rdma.status;

	if (pkt->rdma.tid != rcxt->now.tid || !from_peer(rcxt, pkt)) {
		pavo_count(window->dev, rx_drop_tid);
		return false;
	}
	/* Data that still comes tells of its own end. */
	if (!status && rcxt->now.placing) {
		pavo_count(window->dev, rx_drop_tid);
		return false;
	}
	/* The other end cannot take it, or has nothing to give. */
	if (status)
		pavo_rdma_end(window, rcxt, PAVO_FRAME_CANCELLED);
	if (rcxt->told && put_done(window, rcxt, rcxt->now.placing, status))
		rcxt->told = false;
	rcxt->now.placing = false;
	return true;
}

/* On an rCxt that is locked. Return: whether the packet was used. */
static bool use(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		struct pavo_rx *rx, struct pavo_rdma_told *told, bool *tell)
{
	const struct pavo_pkt *pkt = &rx->pkt;

	if (!pavo_rcxt_owned(window, rcxt, pkt->rdma.rcxt)) {
		pavo_count(window->dev, rx_drop_rcxt);
		return false;
	}
	if (pkt->opcode == PAVO_OP_WINDOW_DATA)
		return receive_data(window, rcxt, rx, told, tell);
	if (pkt->opcode == PAVO_OP_WINDOW_READ)
		return receive_request(window, rcxt, pkt);
	return receive_done(window, rcxt, pkt);
}

bool pavo_rdma_receive(struct pavo_fifo_window *window, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_rdma_told told = {};
	bool tell = false, used;
	struct pavo_rcxt *rcxt;

	rcxt = pavo_rcxt_find(window, pkt->rdma.rcxt);
	if (!rcxt) {
		pavo_count(window->dev, rx_drop_rcxt);
		return false;
	}
	spin_lock(&rcxt->lock);
	used = use(window, rcxt, rx, &told, &tell);
	spin_unlock(&rcxt->lock);
	if (tell)
		pavo_rdma_tell(window, PAVO_OP_WINDOW_DONE, &told);
	if (used && pkt->opcode == PAVO_OP_WINDOW_READ)
		pavo_window_wake(&window->dev->windows);
	return used;
}
