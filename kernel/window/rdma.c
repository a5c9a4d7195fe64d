// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma.c - RDMA between windows, the sending side: from rCxts with something to send to
 * packets.
 *
 * Called by send.c, whose worker has the window for itself. Each packet of data says
 * where it belongs, and the adapter forgets it once it is sent (sources.md#windows-write).
 * A process may cancel an rCxt at any moment. So a packet is made under the rCxt's lock, up to
 * its ICRC, and sent after that: no memory is read for the rCxt after a cancel returned.
 */
#include "jobs/job.h"
#include "payload.h"
#include "window/rdma.h"

/* ----------------------------------------------------- what is to be sent */

bool pavo_rdma_queue(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt)
{
	bool open;

	lockdep_assert_held(&rcxt->lock);
	spin_lock(&window->lock);
	open = !window->closed && !window->dead;
	if (open) {
		rcxt->now.sending = true;
		rcxt->sends++;
		list_add_tail(&rcxt->queued, &window->rcxts);
		window->nrcxts++;
		set_bit(window->id, window->dev->windows.active);
	}
	spin_unlock(&window->lock);
	return open;
}

static void mark_frame(struct pavo_fifo_window *window, u32 number,
		       enum pavo_frame_state state)
{
	struct pavo_frame_hdr *hdr = pavo_frame(&window->send, number);

	/* The process may use the FIFO slot again when it sees the state. */
	smp_store_release(&hdr->state, state);
	pavo_fifo_tell(&window->send);
}

void pavo_rdma_end(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		   enum pavo_frame_state state)
{
	lockdep_assert_held(&rcxt->lock);
	if (!rcxt->now.sending)
		return;
	rcxt->now.sending = false;
	spin_lock(&window->lock);
	list_del_init(&rcxt->queued);
	window->nrcxts--;
	spin_unlock(&window->lock);
	if (rcxt->own)
		mark_frame(window, rcxt->frame, state);
}

/*
 * Check the first and the last byte only: a buffer is mapped as a whole. Memory that a process
 * unmaps later is noticed when it is touched.
 */
bool pavo_rdma_mapped(const struct pavo_fifo_window *window, u64 pvo,
		      u32 length)
{
	return !length || (!pavo_job_check(window->job, pvo, 1) &&
			   !pavo_job_check(window->job, pvo + length - 1, 1));
}

void pavo_rdma_kill(struct pavo_fifo_window *window, u32 rcxt)
{
	spin_lock(&window->lock);
	window->dead = true;
	window->fatal_rcxt = rcxt;
	spin_unlock(&window->lock);
	pavo_window_over(window);
}

/* ---------------------------------------------------------------- packets */

static struct pavo_pkt packet_to(const struct pavo_fifo_window *window,
				 enum pavo_window_op op,
				 const struct pavo_rdma_told *told, u32 length)
{
	return (struct pavo_pkt){
		.opcode = op,
		.pad = -length & 3,
		.pkey = PAVO_PKEY_DEFAULT,
		.dqpn = told->window,
		.window_key = window->key,
		.src_node = window->node,
		.src_window = window->id,
		.rdma = told->wreth,
	};
}

/* Send a packet with a copy of @length bytes at @data. */
static int send_copy(struct pavo_fifo_window *window, enum pavo_window_op op,
		     const struct pavo_rdma_told *told, const void *data,
		     u32 length)
{
	struct pavo_flow *flow = pavo_window_flow(window, told->node);
	struct pavo_pkt pkt = packet_to(window, op, told, length);
	struct sk_buff *skb;
	void *room;

	if (!flow) {
		pavo_count(window->dev, tx_drop_node);
		return -EHOSTUNREACH;
	}
	skb = pavo_window_packet(window, flow, &pkt, length, &room);
	if (!skb)
		return -ENOBUFS;
	memcpy(room, data, length);
	return pavo_tx_send(&window->dev->tally, flow, skb, pkt.pad);
}

int pavo_rdma_tell(struct pavo_fifo_window *window, enum pavo_window_op op,
		   const struct pavo_rdma_told *told)
{
	return send_copy(window, op, told, NULL, 0);
}

int pavo_rdma_send_bytes(struct pavo_fifo_window *window,
			 const struct pavo_rdma_told *told, const void *data,
			 u32 length)
{
	int err = send_copy(window, PAVO_OP_WINDOW_DATA, told, data, length);

	if (!err)
		pavo_count(window->dev, tx_rdma_packets);
	return err;
}

/* The next packet of an rCxt: @sends is that of the rCxt, @skb is set once it is made. */
struct piece {
	struct pavo_pkt pkt;
	u64 sends;
	u32 node;
	u64 from;
	u32 length;
	bool copy; /* no page may be attached */
	struct pavo_flow *flow;
	struct sk_buff *skb;
};

/* Bytes of data in a packet; those of one that becomes a frame must fit the frame. */
static u32 room_of(const struct pavo_fifo_window *window, u8 flags)
{
	if (!(flags & PAVO_RDMA_TO_FIFO))
		return window->rdma_payload;
	return min(window->rdma_payload, PAVO_PIECE_DATA) &
	       ~(PAVO_PIECE_ALIGN - 1);
}

/* Fill @piece with the next packet of @rcxt, which is locked. */
static void describe(const struct pavo_fifo_window *window,
		     const struct pavo_rcxt *rcxt, struct piece *piece)
{
	struct pavo_rdma_told told = {
		.window = rcxt->peer.window,
		.wreth = {
			.rcxt = rcxt->peer.rcxt,
			.peer_rcxt = rcxt->id,
			.tid = rcxt->now.tid,
			.pvo = rcxt->to,
			.total = rcxt->total,
			.fragment = rcxt->fragment,
			.tag = rcxt->tag,
			.attempts = rcxt->attempts,
			.flags = rcxt->flags,
		},
	};

	piece->sends = rcxt->sends;
	piece->node = rcxt->peer.node;
	piece->from = rcxt->from;
	piece->length = min(rcxt->left, room_of(window, rcxt->flags));
	piece->copy = !rcxt->own && READ_ONCE(pavo_copy_reads);
	piece->pkt =
		packet_to(window, PAVO_OP_WINDOW_DATA, &told, piece->length);
}

/* Make the packet, up to its ICRC. Return: 0; a negative errno; enum pavo_pvo_result. */
static int make_packet(struct pavo_fifo_window *window, struct piece *piece)
{
	/* The same packet of the next attempt takes the next route. */
	u32 turn = (u32)piece->pkt.rdma.tid + piece->pkt.rdma.fragment;
	const struct pavo_tally *tally = &window->dev->tally;
	u8 hdr[PAVO_MAX_HDR_LEN];
	struct sk_buff *skb;
	int err;

	piece->flow = pavo_window_flow_of(window, piece->node, turn);
	if (!piece->flow)
		return -EHOSTUNREACH;
	skb = pavo_tx_alloc(tally, piece->flow, hdr,
			    pavo_build(hdr, &piece->pkt),
			    pavo_job_head(piece->length));
	if (!skb)
		return -ENOBUFS;
	err = pavo_job_to_skb(window->job, piece->from, skb, piece->length,
			      piece->copy);
	if (err) {
		kfree_skb(skb);
		return err < 0 ? -ENOBUFS : err;
	}
	err = pavo_tx_seal(tally, piece->flow, skb, piece->pkt.pad);
	if (!err)
		piece->skb = skb;
	return err;
}

/*
 * Make the next packet of @rcxt. Return: as make_packet(); -ENOENT: there is none; -ENODEV:
 * the window is dead.
 */
static int next_piece(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		      struct piece *piece)
{
	int err = -ENOENT;

	spin_lock(&rcxt->lock);
	if (rcxt->window == window && rcxt->now.sending) {
		describe(window, rcxt, piece);
		err = READ_ONCE(window->dead) ? -ENODEV :
						make_packet(window, piece);
	}
	spin_unlock(&rcxt->lock);
	return err;
}

/* Make and send the next packet of @rcxt. Return: as next_piece(), or of pavo_tx_sealed(). */
static int send_piece(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		      struct piece *piece)
{
	const struct pavo_tally *tally = &window->dev->tally;
	int err = next_piece(window, rcxt, piece);

	if (err)
		return err;
	err = pavo_tx_sealed(tally, piece->flow, piece->skb);
	if (!err)
		pavo_count(window->dev, tx_rdma_packets);
	return err;
}

/*
 * Is @rcxt, locked, still sending the operation of @piece? Since @piece was made, the rCxt may
 * have gone back to the pool and come to the same window again, even with the same number and
 * tid. Only @sends differs then.
 */
static bool still_sending(const struct pavo_rcxt *rcxt,
			  const struct piece *piece)
{
	return rcxt->now.sending && rcxt->sends == piece->sends;
}

/* End the sending of @rcxt. Return: did a frame of this process begin the operation? */
static bool give_up(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		    const struct piece *piece, enum pavo_frame_state state)
{
	bool own = false;

	spin_lock(&rcxt->lock);
	if (still_sending(rcxt, piece)) {
		own = rcxt->own;
		rcxt->told = false;
		pavo_rdma_end(window, rcxt, state);
	}
	spin_unlock(&rcxt->lock);
	return own;
}

/*
 * The data to be sent is not memory of the job. If this process asked for the operation, its
 * window is dead; else the peer is told.
 */
static void memory_is_gone(struct pavo_fifo_window *window,
			   struct pavo_rcxt *rcxt, const struct piece *piece,
			   enum pavo_pvo_result result)
{
	struct pavo_rdma_told told = {
		.node = piece->node,
		.window = piece->pkt.dqpn,
		.wreth = piece->pkt.rdma,
	};

	if (give_up(window, rcxt, piece, PAVO_FRAME_BAD_PVO)) {
		pavo_rdma_kill(window, piece->pkt.rdma.peer_rcxt);
		return;
	}
	told.wreth.status = result;
	pavo_count(window->dev, rx_drop_rdma_pvo);
	pavo_rdma_tell(window, PAVO_OP_WINDOW_DONE, &told);
}

/* Go on behind a packet that was sent, or lost on its way. Return: is there more to send? */
static bool piece_sent(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		       const struct piece *piece)
{
	bool more = false;

	spin_lock(&rcxt->lock);
	/* The process may have cancelled it meanwhile. */
	if (still_sending(rcxt, piece)) {
		rcxt->left -= piece->length;
		rcxt->from += piece->length;
		rcxt->to += piece->length;
		rcxt->fragment++;
		more = rcxt->left;
		if (!more)
			pavo_rdma_end(window, rcxt, PAVO_FRAME_SENT);
	}
	spin_unlock(&rcxt->lock);
	return more;
}

/* Take the first rCxt of the window's list and move it to the end. */
static struct pavo_rcxt *first_rcxt(struct pavo_fifo_window *window)
{
	struct pavo_rcxt *rcxt;

	spin_lock(&window->lock);
	rcxt = list_first_entry_or_null(&window->rcxts, struct pavo_rcxt,
					queued);
	if (rcxt)
		list_rotate_left(&window->rcxts);
	spin_unlock(&window->lock);
	return rcxt;
}

bool pavo_rdma_send(struct pavo_fifo_window *window, u32 budget)
{
	struct pavo_rcxt *rcxt = first_rcxt(window);
	struct piece piece;
	int err;

	if (!rcxt)
		return true;
	for (; budget; budget--) {
		WRITE_ONCE(window->quantum_left, budget);
		err = send_piece(window, rcxt, &piece);
		if (err == -ENOENT)
			break;
		if (err == -ENODEV) {
			give_up(window, rcxt, &piece, PAVO_FRAME_DEAD);
			break;
		}
		if (err == -ENOBUFS)
			return false;
		if (err > 0) {
			memory_is_gone(window, rcxt, &piece, err);
			break;
		}
		/* A packet without a route counts as sent and lost, as on any network. */
		if (!piece_sent(window, rcxt, &piece))
			break;
	}
	return true;
}

int pavo_window_cancel(struct pavo_fifo_window *window, u32 id)
{
	struct pavo_rcxt *rcxt = pavo_rcxt_find(window, id);
	bool owned;

	if (!rcxt)
		return -EINVAL;
	spin_lock_bh(&rcxt->lock);
	owned = pavo_rcxt_owned(window, rcxt, id);
	if (owned) {
		pavo_rdma_end(window, rcxt, PAVO_FRAME_CANCELLED);
		rcxt->now.placing = false;
		rcxt->now.feeding = false;
		rcxt->told = false;
	}
	spin_unlock_bh(&rcxt->lock);
	return owned ? 0 : -EINVAL;
}
