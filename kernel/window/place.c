// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * place.c - RDMA between windows, the receiving side: data to memory or frames in
 * any order, requests for data, and ends of operations.
 *
 * Called by receive.c for packets with the window's key. An rCxt is locked while a packet of
 * it is placed. So all bytes are in place when the last one is counted, and a cancel or a
 * higher tid, which takes the lock, finds no byte on its way to memory. Other CPUs place
 * packets of other rCxts at the same time.
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

/* The window and rCxt that sent @pkt. */
static struct pavo_rdma_peer sender(const struct pavo_pkt *pkt)
{
	return (struct pavo_rdma_peer){
		.node = pkt->src_node,
		.window = pkt->src_window,
		.rcxt = pkt->rdma.peer_rcxt,
	};
}

static bool from_peer(const struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt)
{
	const struct pavo_rdma_peer peer = sender(pkt);

	return pavo_rdma_same_peer(&rcxt->peer, &peer);
}

/* A message to the source: its operation is over, or failed with @status. */
static struct pavo_rdma_told end_of(struct pavo_fifo_window *window,
				    const struct pavo_rcxt *rcxt, u64 tid,
				    enum pavo_pvo_result status)
{
	return (struct pavo_rdma_told){
		.node = rcxt->peer.node,
		.window = rcxt->peer.window,
		.wreth = {
			.rcxt = rcxt->peer.rcxt,
			.peer_rcxt = rcxt->id,
			.tid = tid,
			.total = rcxt->total,
			.tag = rcxt->tag,
			.attempts = rcxt->attempts,
			.flags = rcxt->flags,
			.status = status,
		},
	};
}

bool pavo_rdma_put_done(struct pavo_fifo_window *window,
			const struct pavo_rcxt *rcxt, bool target,
			enum pavo_pvo_result status)
{
	struct pavo_rdma_done done = {
		.rcxt = rcxt->id,
		.peer_rcxt = rcxt->peer.rcxt,
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
		.node = rcxt->peer.node,
		.window = rcxt->peer.window,
		.head = &done,
		.head_len = sizeof(done),
	};

	return pavo_window_put(window, &put);
}

/*
 * End an operation of which all data came, or whose data has no place (@status). This end's
 * process is told first. If its FIFO is full, neither end is told, and the next attempt at the
 * operation ends it, without placing anything again.
 *
 * Return: is @told to be sent to the source?
 */
static bool end_placing(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
			enum pavo_pvo_result status,
			struct pavo_rdma_told *told)
{
	const bool full = rcxt->flags & PAVO_RDMA_TELL_TARGET &&
			  !pavo_rdma_put_done(window, rcxt, true, status);

	if (full && !status)
		return false;
	rcxt->now.placing = false;
	rcxt->told = false;
	if (full)
		return false;
	if (!status) {
		rcxt->now.complete = rcxt->now.tid;
		pavo_count(window->dev, rdma_done);
	}
	*told = end_of(window, rcxt, rcxt->now.tid, status);
	return rcxt->flags & PAVO_RDMA_TELL_SOURCE;
}

/* Put the data into a frame of the FIFO. False: the FIFO is full. */
static bool put_piece(struct pavo_fifo_window *window,
		      const struct pavo_rcxt *rcxt, const struct pavo_rx *rx)
{
	const struct pavo_wreth *wreth = &rx->pkt.rdma;
	struct pavo_rdma_piece piece = {
		.local_rcxt = wreth->rcxt,
		.remote_rcxt = wreth->peer_rcxt,
		.tid = rcxt->now.tid,
		.pvo = wreth->pvo,
		.total = rcxt->total,
		.fragment = wreth->fragment,
		.tag = rcxt->tag,
		.attempts = rcxt->attempts,
		.flags = rcxt->flags & ~PAVO_RDMA_FROM_FIFO,
		.cookie = rcxt->cookie,
	};
	struct pavo_put put = {
		.type = PAVO_FRAME_RDMA_PIECE,
		.node = rcxt->peer.node,
		.window = rcxt->peer.window,
		.head = &piece,
		.head_len = sizeof(piece),
		.rx = rx,
	};

	return pavo_window_put(window, &put);
}

/* Put data into memory or the FIFO. False: not possible now; with @result set: never. */
static bool deliver(struct pavo_fifo_window *window,
		    const struct pavo_rcxt *rcxt, const struct pavo_rx *rx,
		    enum pavo_pvo_result *result)
{
	const struct pavo_pkt *pkt = &rx->pkt;

	if (!pkt->payload)
		return true;
	if (rcxt->flags & PAVO_RDMA_TO_FIFO)
		return put_piece(window, rcxt, rx);
	*result = pavo_job_from_skb(window->job, pkt->rdma.pvo, rx->skb,
				    rx->payload, pkt->payload);
	return !*result;
}

/* Do the bytes of a new packet fit the operation? */
static bool check_length(struct pavo_dev *dev, const struct pavo_rcxt *rcxt,
			 const struct pavo_pkt *pkt)
{
	if (pkt->payload > rcxt->left || (!pkt->payload && rcxt->left)) {
		pavo_count(dev, rx_drop_rdma_length);
		return false;
	}
	if (rcxt->flags & PAVO_RDMA_TO_FIFO && pkt->payload > PAVO_PIECE_DATA) {
		pavo_count(dev, rx_drop_too_long);
		return false;
	}
	return true;
}

/*
 * End an operation because some of its data has no place. If this process's own read named
 * memory that is not its job's, its window is dead. The memory of the request decides that, not
 * the PVO of the packet, which a peer may have invented.
 *
 * Return: is @told to be sent to the source?
 */
static bool refuse_place(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt, enum pavo_pvo_result status,
			 struct pavo_rdma_told *told)
{
	pavo_count(window->dev, rx_drop_rdma_pvo);
	if (!rcxt->reading || pavo_rdma_mapped(window, rcxt->to, rcxt->total))
		return end_placing(window, rcxt, status, told);
	pavo_rdma_kill(window, rcxt->id);
	rcxt->now.placing = false;
	rcxt->told = false;
	*told = end_of(window, rcxt, rcxt->now.tid, status);
	return rcxt->flags & PAVO_RDMA_TELL_SOURCE;
}

/* Place a new packet. Return: was it placed? @tell: set if @told is to be sent. */
static bool place(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		  struct pavo_rx *rx, struct pavo_rdma_told *told, bool *tell)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	enum pavo_pvo_result result = PAVO_PVO_OK;

	if (!check_length(window->dev, rcxt, pkt))
		return false;
	if (!deliver(window, rcxt, rx, &result)) {
		if (result)
			*tell = refuse_place(window, rcxt, result, told);
		return false;
	}
	pavo_seen_note(rcxt->seen, pkt->rdma.fragment);
	pavo_count(window->dev, rx_rdma_packets);
	rcxt->left -= pkt->payload;
	if (!rcxt->left)
		*tell = end_placing(window, rcxt, PAVO_PVO_OK, told);
	return true;
}

static bool receive_part(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt, struct pavo_rx *rx,
			 struct pavo_rdma_told *told, bool *tell)
{
	const struct pavo_pkt *pkt = &rx->pkt;

	if (pkt->rdma.total != rcxt->total) {
		pavo_count(window->dev, rx_drop_rdma_length);
		return false;
	}
	switch (pavo_seen_look(rcxt->seen, pkt->rdma.fragment)) {
	case PAVO_SEEN_NEW:
		return place(window, rcxt, rx, told, tell);
	case PAVO_SEEN_AGAIN:
		pavo_count(window->dev, rx_drop_rdma_again);
		/* All data has come, but the FIFO was full when the process was to be told. */
		if (!rcxt->left)
			*tell = end_placing(window, rcxt, PAVO_PVO_OK, told);
		break;
	case PAVO_SEEN_FAR:
		pavo_count(window->dev, rx_drop_rdma_far);
		break;
	}
	return false;
}

/* Answer an attempt at an operation that is complete, once for each attempt. */
static bool repeat(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		   const struct pavo_pkt *pkt, struct pavo_rdma_told *told)
{
	const struct pavo_rdma_peer peer = sender(pkt);

	if (!pavo_rdma_same_window(&rcxt->peer, &peer)) {
		pavo_count(window->dev, rx_drop_tid);
		return false;
	}
	if (pkt->rdma.fragment) {
		pavo_count(window->dev, rx_drop_rdma_again);
		return false;
	}
	pavo_count(window->dev, rdma_repeats);
	rcxt->peer = peer;
	*told = end_of(window, rcxt, pkt->rdma.tid, PAVO_PVO_OK);
	return rcxt->flags & PAVO_RDMA_TELL_SOURCE;
}

/* Resume the operation if @pkt is another attempt at it; else begin a new one. */
static void begin_or_resume(struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt,
			    bool resume)
{
	const struct pavo_rdma_peer peer = sender(pkt);

	if (resume && pavo_rdma_same_window(&rcxt->peer, &peer) &&
	    rcxt->total == pkt->rdma.total &&
	    rcxt->flags == (pkt->rdma.flags & PAVO_RDMA_FLAGS)) {
		rcxt->now.tid = pkt->rdma.tid;
		rcxt->attempts = pkt->rdma.attempts;
		rcxt->peer = peer;
		return;
	}
	pavo_rdma_begin(rcxt, &peer, &pkt->rdma);
	pavo_rdma_expect(rcxt);
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
		return receive_part(window, rcxt, rx, told, tell);
	case PAVO_TID_PART:
		if (from_peer(rcxt, pkt))
			return receive_part(window, rcxt, rx, told, tell);
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

/* Ask the process to send the data of a read. False: its FIFO is full. */
static bool put_request(struct pavo_fifo_window *window,
			const struct pavo_pkt *pkt)
{
	const struct pavo_wreth *wreth = &pkt->rdma;
	struct pavo_rdma_request request = {
		.local_rcxt = wreth->rcxt,
		.remote_rcxt = wreth->peer_rcxt,
		.tid = wreth->tid,
		.local_pvo = wreth->pvo,
		.remote_pvo = wreth->back_pvo,
		.length = wreth->total,
		.tag = wreth->tag,
		.flags = wreth->flags & PAVO_RDMA_FLAGS,
		.attempts = wreth->attempts,
	};
	struct pavo_put put = {
		.type = PAVO_FRAME_RDMA_READ,
		.node = pkt->src_node,
		.window = pkt->src_window,
		.head = &request,
		.head_len = sizeof(request),
	};

	return pavo_window_put(window, &put);
}

/* Take a peer's request for data. Return: true: this end has something to send now. */
static bool receive_request(struct pavo_fifo_window *window,
			    struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt)
{
	const bool from_fifo = pkt->rdma.flags & PAVO_RDMA_FROM_FIFO;
	const struct pavo_rdma_peer peer = sender(pkt);
	enum pavo_tid_verdict verdict =
		pavo_tid_request(&rcxt->now, pkt->rdma.tid);

	if (verdict == PAVO_TID_BEGIN && rcxt->now.placing)
		verdict = PAVO_TID_BUSY;
	if (verdict != PAVO_TID_BEGIN) {
		count_verdict(window->dev, verdict);
		return false;
	}
	/* A process that sends the data itself learns of a missing route by its own frames. */
	if (!from_fifo && !pavo_window_knows(window, pkt->src_node)) {
		pavo_count(window->dev, tx_drop_node);
		return false;
	}
	if (from_fifo && !put_request(window, pkt))
		return false;
	pavo_rdma_begin(rcxt, &peer, &pkt->rdma);
	rcxt->told = rcxt->flags & PAVO_RDMA_TELL_SOURCE;
	rcxt->now.feeding = from_fifo;
	if (from_fifo)
		return true;
	rcxt->from = pkt->rdma.pvo;
	rcxt->to = pkt->rdma.back_pvo;
	return pavo_rdma_queue(window, rcxt);
}

/* Is the operation of @rcxt open? Its end may have been told already, or not asked for. */
static bool open_end(const struct pavo_rcxt *rcxt)
{
	return rcxt->told || rcxt->now.sending || rcxt->now.placing ||
	       rcxt->now.feeding;
}

/* Take a packet that tells of an end. Return: was it used? */
static bool receive_done(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt, const struct pavo_pkt *pkt)
{
	u8 status = pkt->rdma.status;

	if (!pavo_tid_ends(&rcxt->now, pkt->rdma.tid, pkt->rdma.attempts) ||
	    !from_peer(rcxt, pkt) || !open_end(rcxt)) {
		pavo_count(window->dev, rx_drop_tid);
		return false;
	}
	/* An operation that takes data ends with its last byte, not with a packet. */
	if (!status && rcxt->now.placing) {
		pavo_count(window->dev, rx_drop_tid);
		return false;
	}
	/*
	 * The peer cannot take the data or has none to give, or it has all data. In each case
	 * stop sending: the process may reuse the memory.
	 */
	pavo_rdma_end(window, rcxt,
		      status ? PAVO_FRAME_CANCELLED : PAVO_FRAME_SENT);
	if (rcxt->told &&
	    pavo_rdma_put_done(window, rcxt, rcxt->now.placing, status))
		rcxt->told = false;
	rcxt->now.placing = false;
	rcxt->now.feeding = false;
	return true;
}

/* Use a packet on its rCxt, which is locked. Return: was it used? */
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

/* Has the packet only flags and a status that adapters send? */
static bool valid(const struct pavo_pkt *pkt)
{
	const u8 last = pkt->opcode == PAVO_OP_WINDOW_DONE ? PAVO_PVO_KEY :
							     PAVO_PVO_OK;

	return !(pkt->rdma.flags & ~PAVO_RDMA_FLAGS) &&
	       pkt->rdma.status <= last;
}

bool pavo_rdma_receive(struct pavo_fifo_window *window, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_rdma_told told = {};
	bool tell = false, used, wake;
	struct pavo_rcxt *rcxt;

	if (!valid(pkt)) {
		pavo_count(window->dev, rx_drop_rdma_invalid);
		return false;
	}
	rcxt = pavo_rcxt_find(window, pkt->rdma.rcxt);
	if (!rcxt) {
		pavo_count(window->dev, rx_drop_rcxt);
		return false;
	}
	spin_lock(&rcxt->lock);
	used = use(window, rcxt, rx, &told, &tell);
	wake = used && pkt->opcode == PAVO_OP_WINDOW_READ && rcxt->now.sending;
	spin_unlock(&rcxt->lock);
	if (tell)
		pavo_rdma_tell(window, PAVO_OP_WINDOW_DONE, &told);
	if (wake)
		pavo_window_wake(&window->dev->windows);
	return used;
}
