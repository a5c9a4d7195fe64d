// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * frame.c - frames between a process and the operations of its window: parses the frames that
 * request operations, and fills in those that the process receives. See operation.h. Pure.
 */
#include "window/binding.h"

/* ---------------------------------------------------- frames that are sent */

/* A counter may be named only if this end learns of the end of the operation. */
static bool is_counter_valid(u8 counter, bool learns)
{
	return !counter || (counter <= PAVO_WINDOW_COUNTERS && learns);
}

static u32 check_request(const struct pavo_frame_hdr *hdr,
			 const struct pavo_rdma_request *request)
{
	/* A write from the FIFO is pieces only, without a request. */
	const u32 not_of_writes =
		hdr->type == PAVO_FRAME_RDMA_WRITE ? PAVO_RDMA_FROM_FIFO : 0;

	if (hdr->length != sizeof(*request))
		return PAVO_FRAME_BAD_LENGTH;
	if (request->flags & (~PAVO_RDMA_FLAGS | not_of_writes) ||
	    !is_counter_valid(request->counter,
			      hdr->type != PAVO_FRAME_RDMA_WRITE ||
				      request->flags & PAVO_RDMA_NOTIFY_SOURCE))
		return PAVO_FRAME_BAD_REQUEST;
	if (hdr->window & ~PAVO_QPN_MASK)
		return PAVO_FRAME_BAD_WINDOW;
	if (hdr->window & PAVO_WINDOW_GROUP)
		return pavo_group_get_request_state(hdr->type, request);
	return PAVO_FRAME_EMPTY;
}

u32 pavo_frame_parse_request(struct pavo_frame_request *req,
			     const struct pavo_frame_hdr *hdr,
			     const struct pavo_rdma_request *request,
			     u32 number)
{
	*req = (struct pavo_frame_request){
		.type = hdr->type,
		.rcxt = request->local_rcxt,
		.control = {
			.node = hdr->node,
			.window = hdr->window,
			.wreth = {
				.rcxt = request->remote_rcxt,
				.peer_rcxt = request->local_rcxt,
				.tid = request->tid,
				.pvo = request->remote_pvo,
				.back_pvo = request->local_pvo,
				.total = request->length,
				.tag = request->tag,
				.attempts = request->attempts,
				.flags = request->flags,
			},
		},
		.local = request->local_pvo,
		.cookie = request->cookie,
		.frame = number,
		.counter = request->counter,
	};
	return check_request(hdr, request);
}

static u32 check_piece(const struct pavo_frame_hdr *hdr,
		       const struct pavo_rdma_piece *piece, u32 most)
{
	if (hdr->length < sizeof(*piece) || hdr->length > most)
		return PAVO_FRAME_BAD_LENGTH;
	if (piece->flags & ~(PAVO_RDMA_FLAGS & ~PAVO_RDMA_FROM_FIFO) ||
	    piece->reserved2 ||
	    !is_counter_valid(piece->counter,
			      piece->flags & PAVO_RDMA_NOTIFY_SOURCE))
		return PAVO_FRAME_BAD_REQUEST;
	if (hdr->window & ~PAVO_QPN_MASK)
		return PAVO_FRAME_BAD_WINDOW;
	if (hdr->window & PAVO_WINDOW_GROUP)
		return PAVO_FRAME_BAD_REQUEST;
	return PAVO_FRAME_EMPTY;
}

u32 pavo_frame_parse_piece(struct pavo_frame_request *req,
			   const struct pavo_frame_hdr *hdr,
			   const struct pavo_rdma_piece *piece, u32 most)
{
	*req = (struct pavo_frame_request){
		.type = hdr->type,
		.rcxt = piece->local_rcxt,
		.control = {
			.node = hdr->node,
			.window = hdr->window,
			.wreth = {
				.rcxt = piece->remote_rcxt,
				.peer_rcxt = piece->local_rcxt,
				.tid = piece->tid,
				.pvo = piece->pvo,
				.total = piece->total,
				.fragment = piece->fragment,
				.tag = piece->tag,
				.attempts = piece->attempts,
				.flags = piece->flags,
			},
		},
		.cookie = piece->cookie,
		.counter = piece->counter,
	};
	return check_piece(hdr, piece, most);
}

/* ----------------------------------------------------- frames that arrive */

struct pavo_rdma_done
pavo_operation_done_frame(const struct pavo_operation *op,
			  const struct pavo_transition *tr)
{
	return (struct pavo_rdma_done){
		.rcxt = op->id,
		.peer_rcxt = op->peer.rcxt,
		.tid = op->now.tid,
		.length = op->total,
		.tag = op->tag,
		.cookie = op->cookie,
		.status = tr->status,
		.target = tr->target,
		.attempts = op->attempts,
	};
}

struct pavo_rdma_piece
pavo_operation_piece_frame(const struct pavo_operation *op,
			   const struct pavo_transition *tr)
{
	const struct pavo_wreth *wreth = &tr->pkt->rdma;

	return (struct pavo_rdma_piece){
		.local_rcxt = wreth->rcxt,
		.remote_rcxt = wreth->peer_rcxt,
		.tid = op->now.tid,
		.pvo = wreth->pvo,
		.total = op->total,
		.fragment = wreth->fragment,
		.tag = op->tag,
		.attempts = op->attempts,
		.flags = op->flags & ~PAVO_RDMA_FROM_FIFO,
		.cookie = op->cookie,
	};
}

struct pavo_rdma_request
pavo_operation_read_frame(const struct pavo_transition *tr)
{
	const struct pavo_wreth *wreth = &tr->pkt->rdma;

	return (struct pavo_rdma_request){
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
}
