/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * third.h - third-party RDMA between windows (sources.md#windows-third-party): the process of one
 * window, the controller, has a second one, the source, send data to a third, the target.
 *
 * The source takes the request as it takes a read, and sends to the target. The target takes the
 * data as that of a write, of which the controller is the peer: its identity is in each packet,
 * and it alone is notified of the end. See operation.h. Pure.
 */
#ifndef PAVO_WINDOW_THIRD_H
#define PAVO_WINDOW_THIRD_H

#include "window/operation.h"

/**
 * struct pavo_data_ends - the ends of an operation, as a packet with data names them.
 * @role:  PAVO_THIRD_TARGET: it has three; PAVO_THIRD_NONE
 * @peer:  the end that is notified: the source, or the controller
 * @third: the source, if there is a controller; else all 0
 */
struct pavo_data_ends {
	enum pavo_third_role role;
	struct pavo_rdma_peer peer;
	struct pavo_rdma_peer third;
};

/** pavo_packet_get_sender - the window and rCxt that sent @pkt. */
static inline struct pavo_rdma_peer
pavo_packet_get_sender(const struct pavo_pkt *pkt)
{
	return (struct pavo_rdma_peer){
		.window = pkt->src_window,
		.rcxt = pkt->rdma.peer_rcxt,
		.node = pkt->src_node,
	};
}

/** pavo_third_get_requester - the end whose process began the operation, if it is a peer's. */
static inline const struct pavo_rdma_peer *
pavo_third_get_requester(const struct pavo_operation *op)
{
	return op->role == PAVO_THIRD_SOURCE ? &op->third : &op->peer;
}

/** pavo_third_data_ends - the ends that a packet with data names. */
struct pavo_data_ends pavo_third_data_ends(const struct pavo_pkt *pkt);
/** pavo_third_reader - the end to which the data goes that a packet requests. */
struct pavo_rdma_peer pavo_third_reader(const struct pavo_pkt *pkt);
/** pavo_third_names_group - does @pkt name a group as one of the ends that it comes from? */
bool pavo_third_names_group(const struct pavo_pkt *pkt);
/** pavo_third_become_source - note the controller, which sent the request @pkt. */
void pavo_third_become_source(struct pavo_operation *op,
			      const struct pavo_pkt *pkt);
/** pavo_third_may_end - may the sender of @pkt report the end of the operation? */
bool pavo_third_may_end(const struct pavo_operation *op,
			const struct pavo_pkt *pkt);
/** pavo_third_name_controller - complete the header of a packet that the source sends. */
void pavo_third_name_controller(const struct pavo_operation *op,
				struct pavo_fragment *fragment);
/** pavo_third_address_controller - let the header of such a packet go to the controller. */
void pavo_third_address_controller(struct pavo_rdma_control *control);

/**
 * pavo_third_parse - check and parse a frame RDMA_THIRD.
 * @req:    set
 * @hdr:    copy of the frame's header
 * @third:  copy of its payload
 * @number: index of the frame
 *
 * Return: as pavo_frame_parse_request().
 */
u32 pavo_third_parse(struct pavo_frame_request *req,
		     const struct pavo_frame_hdr *hdr,
		     const struct pavo_rdma_third *third, u32 number);

/** pavo_operation_third - begin the third-party operation of @tr->req, as its controller. */
void pavo_operation_third(struct pavo_operation *op,
			  struct pavo_transition *tr);

#endif /* PAVO_WINDOW_THIRD_H */
