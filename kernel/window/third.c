// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* third.c - third-party RDMA between windows: what is different with three ends. See third.h. */
#include "window/third.h"

/* ---------------------------------------------------------------- packets */

static struct pavo_rdma_peer get_third(const struct pavo_wreth *wreth)
{
	return (struct pavo_rdma_peer){
		.node = wreth->third_node,
		.window = wreth->third_window,
		.rcxt = wreth->third_rcxt,
	};
}

struct pavo_data_ends pavo_third_data_ends(const struct pavo_pkt *pkt)
{
	const struct pavo_rdma_peer sender = pavo_packet_get_sender(pkt);

	if (pkt->opcode != PAVO_OP_WINDOW_THIRD_DATA)
		return (struct pavo_data_ends){ .peer = sender };
	return (struct pavo_data_ends){
		.role = PAVO_THIRD_TARGET,
		.peer = get_third(&pkt->rdma),
		.third = sender,
	};
}

struct pavo_rdma_peer pavo_third_reader(const struct pavo_pkt *pkt)
{
	return pkt->opcode == PAVO_OP_WINDOW_THIRD_READ ?
		       get_third(&pkt->rdma) :
		       pavo_packet_get_sender(pkt);
}

void pavo_third_become_source(struct pavo_operation *op,
			      const struct pavo_pkt *pkt)
{
	op->role = PAVO_THIRD_SOURCE;
	op->third = pavo_packet_get_sender(pkt);
}

bool pavo_third_names_group(const struct pavo_pkt *pkt)
{
	u32 windows = pkt->src_window;

	if (pkt->opcode == PAVO_OP_WINDOW_THIRD_READ ||
	    pkt->opcode == PAVO_OP_WINDOW_THIRD_DATA)
		windows |= pkt->rdma.third_window;
	return windows & PAVO_WINDOW_GROUP;
}

/*
 * The target alone knows that all data has arrived. The source has only errors to report. No end
 * is reported to source and target.
 */
bool pavo_third_may_end(const struct pavo_operation *op,
			const struct pavo_pkt *pkt)
{
	const struct pavo_rdma_peer sender = pavo_packet_get_sender(pkt);

	if (op->role == PAVO_THIRD_CONTROLLER &&
	    pavo_rdma_is_same_peer(&op->third, &sender))
		return true;
	return (op->role == PAVO_THIRD_NONE ||
		(op->role == PAVO_THIRD_CONTROLLER && pkt->rdma.status)) &&
	       pavo_rdma_is_same_peer(&op->peer, &sender);
}

/* ---------------------------------------------------------------- sending */

void pavo_third_name_controller(const struct pavo_operation *op,
				struct pavo_fragment *fragment)
{
	struct pavo_wreth *wreth = &fragment->control.wreth;

	fragment->opcode = PAVO_OP_WINDOW_THIRD_DATA;
	wreth->third_node = op->third.node;
	wreth->third_window = op->third.window;
	wreth->third_rcxt = op->third.rcxt;
}

void pavo_third_address_controller(struct pavo_rdma_control *control)
{
	control->node = control->wreth.third_node;
	control->window = control->wreth.third_window;
	control->wreth.rcxt = control->wreth.third_rcxt;
}

/* ----------------------------------------------------------------- frames */

u32 pavo_third_parse(struct pavo_frame_request *req,
		     const struct pavo_frame_hdr *hdr,
		     const struct pavo_rdma_third *third, u32 number)
{
	struct pavo_frame_hdr of_request = *hdr;
	struct pavo_wreth *wreth = &req->control.wreth;
	u32 state;

	if (hdr->length != sizeof(*third))
		return PAVO_FRAME_BAD_LENGTH;
	of_request.length = sizeof(third->request);
	state = pavo_frame_parse_request(req, &of_request, &third->request,
					 number);
	if (state)
		return state;
	if (third->request.flags || third->reserved || third->reserved2)
		return PAVO_FRAME_BAD_REQUEST;
	if (third->window & ~PAVO_QPN_MASK)
		return PAVO_FRAME_BAD_WINDOW;
	if (third->window & PAVO_WINDOW_GROUP)
		return PAVO_FRAME_BAD_REQUEST;
	wreth->third_node = third->node;
	wreth->third_window = third->window;
	wreth->third_rcxt = third->rcxt;
	return PAVO_FRAME_EMPTY;
}

void pavo_operation_third(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;

	if (pavo_operation_begin_request(op, tr))
		return;
	op->role = PAVO_THIRD_CONTROLLER;
	op->third = get_third(&req->control.wreth);
	op->notify = true;
	tr->control_opcode = PAVO_OP_WINDOW_THIRD_READ;
	tr->control = req->control;
}
