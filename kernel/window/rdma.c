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
#include "window/rdma.h"

/* ---------------------------------------------------------------- packets */

static struct pavo_pkt
make_packet_header(const struct pavo_fifo_window *window,
		   enum pavo_window_op op,
		   const struct pavo_rdma_control *control, u32 length)
{
	return (struct pavo_pkt){
		.opcode = op,
		.pad = -length & 3,
		.pkey = PAVO_PKEY_DEFAULT,
		.dqpn = control->window,
		.window_key = window->key,
		.src_node = window->node,
		.src_window = window->id,
		.rdma = control->wreth,
	};
}

/* Send a packet with a copy of @length bytes at @data. */
static int send_copy(struct pavo_fifo_window *window, enum pavo_window_op op,
		     const struct pavo_rdma_control *control, const void *data,
		     u32 length)
{
	struct pavo_flow *flow =
		pavo_window_flow(window, control->node, control->window);
	struct pavo_pkt pkt = make_packet_header(window, op, control, length);
	struct sk_buff *skb;
	void *payload;

	if (!flow) {
		pavo_count(window->dev, tx_drop_node);
		return -EHOSTUNREACH;
	}
	skb = pavo_window_packet(window, flow, &pkt, length, &payload);
	if (!skb)
		return -ENOBUFS;
	memcpy(payload, data, length);
	return pavo_tx_send(&window->dev->stats, flow, skb, pkt.pad);
}

int pavo_rdma_send_control(struct pavo_fifo_window *window,
			   enum pavo_window_op op,
			   const struct pavo_rdma_control *control)
{
	return send_copy(window, op, control, NULL, 0);
}

int pavo_rdma_send_bytes(struct pavo_fifo_window *window,
			 const struct pavo_rdma_control *control,
			 const void *data, u32 length)
{
	int err = send_copy(window, PAVO_OP_WINDOW_DATA, control, data, length);

	if (!err)
		pavo_count(window->dev, tx_rdma_packets);
	return err;
}

/* The next packet of an rCxt: @skb is set once it is made. */
struct piece {
	struct pavo_fragment fragment;
	struct pavo_flow *flow;
	struct sk_buff *skb;
};

/* Make the packet, up to its ICRC. Return: 0; a negative errno; enum pavo_pvo_result. */
static int make_packet(struct pavo_fifo_window *window, struct piece *piece)
{
	const struct pavo_fragment *fragment = &piece->fragment;
	const struct pavo_wreth *wreth = &fragment->control.wreth;
	/* The same packet of the next attempt takes the next route. */
	u32 route = (u32)wreth->tid + wreth->fragment;
	const struct pavo_stats *stats = &window->dev->stats;
	struct sk_buff *skb;
	struct pavo_pkt pkt;
	int err;

	piece->flow = pavo_window_flow_of(window, &fragment->control, route);
	if (!piece->flow)
		return -EHOSTUNREACH;
	pkt = make_packet_header(window, fragment->opcode, &fragment->control,
				 fragment->length);
	skb = pavo_tx_alloc(stats, piece->flow, &pkt,
			    pavo_job_head(fragment->length));
	if (!skb)
		return -ENOBUFS;
	err = pavo_job_to_skb(window->job, fragment->from, skb,
			      fragment->length);
	if (err) {
		kfree_skb(skb);
		return err < 0 ? -ENOBUFS : err;
	}
	err = pavo_tx_finish_icrc(stats, piece->flow, skb, pkt.pad);
	if (!err)
		piece->skb = skb;
	return err;
}

/*
 * Make the next packet of @rcxt. Return: as make_packet(); -ENOENT: there is none; -ENODEV:
 * the window is dead.
 */
static int make_next_packet(struct pavo_fifo_window *window,
			    struct pavo_rcxt *rcxt, struct piece *piece)
{
	int err = -ENOENT;

	spin_lock(&rcxt->lock);
	if (rcxt->window == window &&
	    !pavo_operation_next(&rcxt->op, window->rdma_payload,
				 &piece->fragment))
		err = READ_ONCE(window->dead) ? -ENODEV :
						make_packet(window, piece);
	spin_unlock(&rcxt->lock);
	return err;
}

/*
 * Make and send the next packet of @rcxt. Return: as make_next_packet(), or as
 * pavo_tx_send_finished().
 */
static int send_piece(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		      struct piece *piece)
{
	const struct pavo_stats *stats = &window->dev->stats;
	int err = make_next_packet(window, rcxt, piece);

	if (err)
		return err;
	err = pavo_tx_send_finished(stats, piece->flow, piece->skb);
	if (!err)
		pavo_count(window->dev, tx_rdma_packets);
	return err;
}

/* The window is dead: end the sending of @rcxt. */
static void give_up_sending(struct pavo_fifo_window *window,
			    struct pavo_rcxt *rcxt,
			    const struct pavo_fragment *fragment)
{
	struct pavo_transition tr = {};

	spin_lock(&rcxt->lock);
	pavo_operation_give_up(&rcxt->op, fragment, PAVO_FRAME_DEAD, &tr);
	pavo_rdma_carry_out(window, rcxt, &tr, NULL);
	spin_unlock(&rcxt->lock);
}

/* The data to be sent is not memory of the job. */
static void fail_without_memory(struct pavo_fifo_window *window,
				struct pavo_rcxt *rcxt,
				const struct pavo_fragment *fragment,
				enum pavo_pvo_result result)
{
	struct pavo_transition tr = {};

	spin_lock(&rcxt->lock);
	pavo_operation_no_memory(&rcxt->op, fragment, result, &tr);
	pavo_rdma_carry_out(window, rcxt, &tr, NULL);
	spin_unlock(&rcxt->lock);
	if (tr.control_opcode)
		pavo_rdma_send_control(window, tr.control_opcode, &tr.control);
}

/* Note that a packet was sent, or lost on its way. Return: true: there is more to send. */
static bool finish_piece(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt,
			 const struct pavo_fragment *fragment)
{
	struct pavo_transition tr = {};
	bool more;

	spin_lock(&rcxt->lock);
	more = pavo_operation_sent(&rcxt->op, fragment, &tr);
	pavo_rdma_carry_out(window, rcxt, &tr, NULL);
	spin_unlock(&rcxt->lock);
	return more;
}

/* Take the first rCxt of the window's list, and move it to the end. */
static struct pavo_rcxt *rotate_rcxts(struct pavo_fifo_window *window)
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

int pavo_rdma_send(struct pavo_fifo_window *window, u32 *budget)
{
	struct pavo_rcxt *rcxt = rotate_rcxts(window);
	struct piece piece;
	int err;

	if (!rcxt)
		return 0;
	for (; *budget; --*budget) {
		WRITE_ONCE(window->quantum_left, *budget);
		err = send_piece(window, rcxt, &piece);
		if (err == -ENOENT)
			break;
		if (err == -ENODEV) {
			give_up_sending(window, rcxt, &piece.fragment);
			break;
		}
		if (err == -ENOBUFS)
			return -ENOBUFS;
		if (err > 0) {
			fail_without_memory(window, rcxt, &piece.fragment, err);
			break;
		}
		/* A packet without a route counts as sent and lost, as on any network. */
		if (!finish_piece(window, rcxt, &piece.fragment))
			break;
	}
	return 0;
}

int pavo_window_cancel(struct pavo_fifo_window *window, u32 id)
{
	struct pavo_rcxt *rcxt = pavo_rcxt_find(window, id);
	bool owned;

	if (!rcxt)
		return -EINVAL;
	spin_lock_bh(&rcxt->lock);
	owned = pavo_rcxt_owned(window, rcxt, id);
	if (owned)
		pavo_rdma_end(window, rcxt, PAVO_FRAME_CANCELLED);
	spin_unlock_bh(&rcxt->lock);
	if (owned)
		pavo_held_cancel(window, id);
	return owned ? 0 : -EINVAL;
}
