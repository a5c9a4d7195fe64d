/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * binding.h - RDMA to a group: what differs from RDMA to a window (sources.md#windows-broadcast).
 * Pure.
 *
 * A binding is an rCxt of a group, made by a member's process: its number is agreed, not of the
 * pool, and the PVO of a packet is an offset in the memory that is bound to it.
 */
#ifndef PAVO_WINDOW_BINDING_H
#define PAVO_WINDOW_BINDING_H

#include "window/operation.h"

/** pavo_group_get_request_state - return the mark of a refused frame for a group; else EMPTY. */
static inline u32
pavo_group_get_request_state(u8 type, const struct pavo_rdma_request *request)
{
	/* Nothing that each member would answer to the source, or send to it. */
	if (type != PAVO_FRAME_RDMA_WRITE ||
	    request->flags & ~PAVO_RDMA_NOTIFY_TARGET ||
	    request->remote_rcxt >= PAVO_GROUP_RCXTS)
		return PAVO_FRAME_BAD_REQUEST;
	return PAVO_FRAME_EMPTY;
}

/**
 * pavo_group_check_packet - check a packet of RDMA for a group, also that it is no read and no end.
 * @pkt: the packet, as pavo_arrival_check() left it
 *
 * Return: 0: it is in order; else the counter (enum pavo_counter) of the reason to drop it.
 */
static inline u32 pavo_group_check_packet(const struct pavo_pkt *pkt)
{
	if (pkt->opcode != PAVO_OP_WINDOW_DATA ||
	    pkt->rdma.flags & ~PAVO_RDMA_NOTIFY_TARGET)
		return PAVO_CNT_rx_drop_rdma_invalid;
	return 0;
}

/**
 * pavo_binding_check_data - check data for a binding before the operation takes it.
 * @op:  the binding's operation
 * @pkt: the packet
 *
 * One operation at a time: another window waits until that one's data is complete. A process ends
 * the binding if it never is.
 *
 * Return: as pavo_group_check_packet().
 */
static inline u32 pavo_binding_check_data(const struct pavo_operation *op,
					  const struct pavo_pkt *pkt)
{
	const struct pavo_rdma_peer from = {
		.window = pkt->src_window,
		.node = pkt->src_node,
	};

	if (op->now.placing && !pavo_rdma_is_same_window(&op->peer, &from))
		return PAVO_CNT_rx_drop_rcxt_busy;
	return 0;
}

/**
 * pavo_operation_place - the place of a packet's data.
 * @op:  the operation; of a binding, the packet has an offset
 * @pkt: the packet
 * @pvo: set
 *
 * Return: PAVO_PVO_OK; PAVO_PVO_RANGE: not all of it is in the binding.
 */
static inline enum pavo_pvo_result
pavo_operation_place(const struct pavo_operation *op,
		     const struct pavo_pkt *pkt, u64 *pvo)
{
	const u64 at = pkt->rdma.pvo;

	*pvo = at;
	if (!op->group)
		return PAVO_PVO_OK;
	*pvo = op->base + at;
	return at <= op->bound_length && pkt->payload <= op->bound_length - at ?
		       PAVO_PVO_OK :
		       PAVO_PVO_RANGE;
}

/** pavo_binding_get_done_frame - the payload of a frame RDMA_BROADCAST. */
static inline struct pavo_group_done
pavo_binding_get_done_frame(const struct pavo_operation *op,
			    const struct pavo_transition *tr)
{
	return (struct pavo_group_done){
		.group = op->group,
		.rcxt = op->id,
		.peer_rcxt = op->peer.rcxt,
		.length = op->total,
		.tid = op->now.tid,
		.tag = op->tag,
		.attempts = op->attempts,
		.status = tr->status,
	};
}

#endif /* PAVO_WINDOW_BINDING_H */
