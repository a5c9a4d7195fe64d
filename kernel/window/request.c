// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * request.c - RDMA between windows: from frames of send FIFOs to operations on rCxts.
 *
 * Called by send.c, whose worker has the window for itself. A write is put into the window's
 * list of rCxts with something to send (rdma.c). For a read, a packet requests the data from
 * the other end. A piece is sent at once: its data is in the frame (sources.md#windows-half).
 * The state machine decides (operation.c).
 */
#include "window/rdma.h"
#include "window/third.h"

/*
 * Give the frame of @tr->req to the operation of its rCxt. @take: pavo_operation_request() or
 * pavo_operation_piece(). Return: as @tr->state.
 */
static u32
take_frame(struct pavo_fifo_window *window, struct pavo_transition *tr,
	   void (*take)(struct pavo_operation *op, struct pavo_transition *tr))
{
	const struct pavo_frame_request *req = tr->req;
	struct pavo_rcxt *rcxt;

	if (!pavo_window_has_route(window, req->control.node,
				   req->control.window))
		return pavo_window_no_route(window, req->control.node);
	rcxt = pavo_rcxt_find(window, req->rcxt);
	if (!rcxt)
		return PAVO_FRAME_BAD_RCXT;
	spin_lock(&rcxt->lock);
	if (pavo_rcxt_owned(window, rcxt, req->rcxt)) {
		take(&rcxt->op, tr);
		pavo_rdma_carry_out(window, rcxt, tr, NULL);
	} else {
		tr->state = PAVO_FRAME_BAD_RCXT;
	}
	spin_unlock(&rcxt->lock);
	return tr->state;
}

/* As take_frame(); then send the packet that it requests, if any. */
static u32 take_and_send(struct pavo_fifo_window *window,
			 struct pavo_transition *tr,
			 void (*take)(struct pavo_operation *op,
				      struct pavo_transition *tr))
{
	u32 state = take_frame(window, tr, take);

	pavo_held_refused(window, tr->req->counter, state);
	if (!tr->control_opcode)
		return state;
	return pavo_rdma_send_control(window, tr->control_opcode,
				      &tr->control) ?
		       PAVO_FRAME_NOT_SENT :
		       PAVO_FRAME_SENT;
}

u32 pavo_rdma_request(struct pavo_fifo_window *window,
		      const struct pavo_frame_line *line, u32 number)
{
	struct pavo_rdma_request request;
	struct pavo_frame_request req;
	struct pavo_transition tr = { .req = &req };
	u32 state;

	BUILD_BUG_ON(sizeof(request) != sizeof(line->payload));
	memcpy(&request, line->payload, sizeof(request));
	state = pavo_frame_parse_request(&req, &line->hdr, &request, number);
	if (!state)
		return take_and_send(window, &tr, pavo_operation_request);
	pavo_held_refused(window, req.counter, state);
	return state;
}

u32 pavo_rdma_third(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, u32 number)
{
	const size_t first = sizeof(line->payload);
	const void *frame = pavo_fifo_get_frame(&window->send, number);
	struct pavo_rdma_third third;
	struct pavo_frame_request req;
	struct pavo_transition tr = { .req = &req };
	u32 state;

	BUILD_BUG_ON(sizeof(third) <= sizeof(line->payload));
	memcpy(&third, line->payload, first);
	memcpy((void *)&third + first, frame + PAVO_FRAME_LINE,
	       sizeof(third) - first);
	/* The checks below use the copy, not the frame. */
	barrier();
	state = pavo_third_parse(&req, &line->hdr, &third, number);
	if (!state)
		return take_and_send(window, &tr, pavo_operation_third);
	pavo_held_refused(window, req.counter, state);
	return state;
}

u32 pavo_rdma_piece(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, u32 number)
{
	const void *frame = pavo_fifo_get_frame(&window->send, number);
	struct pavo_rdma_piece piece;
	struct pavo_frame_request req;
	struct pavo_transition tr = { .req = &req };
	u32 state;

	BUILD_BUG_ON(sizeof(piece) != sizeof(line->payload));
	memcpy(&piece, line->payload, sizeof(piece));
	state = pavo_frame_parse_piece(&req, &line->hdr, &piece,
				       window->max_payload);
	if (!state)
		state = take_frame(window, &tr, pavo_operation_piece);
	pavo_held_refused(window, req.counter, state);
	if (state)
		return state;
	return pavo_rdma_send_bytes(window, &req.control,
				    frame + PAVO_FRAME_LINE,
				    line->hdr.length - sizeof(piece)) ?
		       PAVO_FRAME_NOT_SENT :
		       PAVO_FRAME_SENT;
}
