/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi-frame.h - frames of windows: messages, RDMA between windows, and conditional operations.
 * Included by pavo-abi.h.
 */
#ifndef PAVO_ABI_FRAME_H
#define PAVO_ABI_FRAME_H

#include <linux/types.h>

/* ---------------------------------------------------------------- frames */

/*
 * A window (sources.md#windows-window) is a pair of FIFOs and a command page that a process
 * shares with an adapter. FIFOs are rings of frames. The adapter sends a packet for each
 * frame, to a window of the same job. It retransmits no packet, and packets may be lost and
 * overtake each other.
 */
#define PAVO_FRAME_SIZE 2048u
#define PAVO_FRAME_HDR_SIZE 16u
/* Bytes of a frame that the adapter writes last, and that a consumer polls. */
#define PAVO_FRAME_LINE 64u
#define PAVO_FRAME_PAYLOAD (PAVO_FRAME_SIZE - PAVO_FRAME_HDR_SIZE)

/* Frames of a FIFO: powers of two from and to. */
#define PAVO_FIFO_LEAST 16u
#define PAVO_FIFO_MOST 32768u

enum pavo_frame_type {
	PAVO_FRAME_MESSAGE = 1, /* @length bytes of payload follow the header */
	PAVO_FRAME_RDMA_WRITE = 2, /* to be sent: struct pavo_rdma_request */
	PAVO_FRAME_RDMA_READ = 3, /* likewise; or arrived: send pieces of it */
	PAVO_FRAME_RDMA_DONE = 4, /* arrived: struct pavo_rdma_done */
	PAVO_FRAME_RDMA_PIECE = 5, /* struct pavo_rdma_piece, data follows */
	PAVO_FRAME_RDMA_THIRD = 6, /* to be sent: struct pavo_rdma_third */
	PAVO_FRAME_CONDITIONAL = 7, /* to be sent: struct pavo_conditional */
	PAVO_FRAME_COUNTER_SET = 8, /* likewise: struct pavo_counter_request */
	PAVO_FRAME_COUNTER_CLEAR = 9, /* likewise */
	PAVO_FRAME_COUNTER_QUERY = 10, /* likewise */
	PAVO_FRAME_COUNTER_VALUE = 11, /* arrived: struct pavo_counter_value */
	PAVO_FRAME_RDMA_BROADCAST = 12, /* arrived: struct pavo_group_done */
	/* to be sent: the adapter goes on to the next frame, and writes no state */
	PAVO_FRAME_PASSED = 13,
};

/*
 * pavo_frame_hdr.kind of messages: the part of the receiving process that they are for. The
 * adapter carries the kind and does not interpret it.
 */
enum pavo_message_kind {
	PAVO_MESSAGE_PLAIN = 0, /* of programs */
	/* of libraries to each other; 64 and above: of no library here */
	PAVO_MESSAGE_RDMA = 1,
	PAVO_MESSAGE_STRIPED = 2,
	PAVO_MESSAGE_BROADCAST = 3,
	PAVO_MESSAGE_FIFO = 6,
	/* of network interfaces over windows (PAVO_OBJECT_INTERFACE) to each other */
	PAVO_MESSAGE_NETIF = 7,
	PAVO_MESSAGE_NETIF_OFFER = 8,
};

/* pavo_frame_hdr.state */
enum pavo_frame_state {
	PAVO_FRAME_EMPTY = 0, /* no frame has arrived; or it was not sent yet */
	PAVO_FRAME_ARRIVED = 1,
	PAVO_FRAME_SENT = 2, /* the last one of the adapter, and those below */
	PAVO_FRAME_NOT_SENT =
		3, /* the network stack did not take it: send it once more */
	PAVO_FRAME_BAD_TYPE = 4,
	PAVO_FRAME_BAD_LENGTH = 5, /* more than the window's max_payload */
	PAVO_FRAME_BAD_NODE = 6, /* the window has no route to it */
	/* not an id of 24 bits; of a node that is a group's address: no group */
	PAVO_FRAME_BAD_WINDOW = 7,
	/* undefined flags; another peer than its operation's; not possible with a group */
	PAVO_FRAME_BAD_REQUEST = 8,
	PAVO_FRAME_BAD_RCXT =
		9, /* not this window's, or of before a recovery */
	PAVO_FRAME_BUSY = 10, /* the rCxt sends data of another operation */
	PAVO_FRAME_STALE = 11, /* tid not above that of the rCxt */
	PAVO_FRAME_BAD_PVO = 12, /* not the job's memory; the window is dead */
	PAVO_FRAME_CANCELLED = 13, /* before all of it was sent */
	PAVO_FRAME_DEAD = 14, /* the window is dead (pavo_lmt.state) */
	/*
	 * A request that waits for a counter (struct pavo_conditional). Another state follows.
	 */
	PAVO_FRAME_HELD = 15,
};

/**
 * struct pavo_frame_hdr - the beginning of a frame; payload follows.
 * @node:   destination; of an arrived frame: its source
 * @length: bytes of payload
 * @window: destination, or source
 * @type:   enum pavo_frame_type
 * @kind:   of a message, enum pavo_message_kind; else 0
 * @reserved: 0
 * @state:  enum pavo_frame_state. A sender writes 0, and the adapter another state when it
 *          has processed the frame. In an arrived frame all other bytes are valid when the
 *          state is not 0; the consumer sets it to 0 when it is done.
 */
struct pavo_frame_hdr {
	__u16 node;
	__u16 length;
	__u32 window;
	__u8 type;
	__u8 kind;
	__u8 reserved[2];
	__u32 state;
};

/*
 * RDMA (sources.md#windows-write, sources.md#windows-read). The packets of an operation each
 * have the place of their data, so they may arrive in any order. The state of an operation is
 * in two rCxts, one at each end, that the windows took from their adapters. The tid
 * distinguishes attempts: each request on an rCxt has a higher one than all before. The adapter
 * retransmits no packet: if the operation does not end in time, the process requests it once
 * more, with a higher tid.
 */
enum pavo_rdma_flag {
	PAVO_RDMA_NOTIFY_SOURCE =
		0x1, /* when all data has arrived, its source */
	PAVO_RDMA_NOTIFY_TARGET = 0x2, /* ... and its target */
	/*
	 * Half RDMA: memory at one end only, and the FIFO at the other. Data for the FIFO
	 * arrives as frames RDMA_PIECE in any order. In place of the target's PVO there is a
	 * byte offset, from a start that the process chose.
	 */
	PAVO_RDMA_TO_FIFO = 0x4,
	/*
	 * In a read: the source's process gets the request as a frame RDMA_READ and sends
	 * pieces.
	 */
	PAVO_RDMA_FROM_FIFO = 0x8,
	PAVO_RDMA_FLAGS = 0xf,
};

/**
 * struct pavo_rdma_request - payload of frames RDMA_WRITE and RDMA_READ. Their
 * pavo_frame_hdr has the other end's node and window, and the size of this structure as
 * length.
 * @local_rcxt:  of this window
 * @remote_rcxt: of the other
 * @tid:         higher than any before on either of them
 * @local_pvo:   memory of this job on this machine: source of a write, target of
 *               a read
 * @remote_pvo:  memory of the job at the other end
 * @length:      bytes; 0 is allowed
 * @tag:         for both ends, in struct pavo_rdma_done
 * @flags:       enum pavo_rdma_flag
 * @counter:     1 + number of the counter that its end with status 0 adds 1 to; 0: none. A write
 *               has PAVO_RDMA_NOTIFY_SOURCE then, without which its end is not known here
 * @attempts:    number of tids since the first attempt at the operation; 0: this is the first.
 *               The other end keeps the data that it has, and does not place the data of a
 *               complete operation once more.
 * @cookie:      for this end, in struct pavo_rdma_done
 *
 * The adapter marks the frame when it has sent the last packet, or the request of a read.
 * The mark does not say that packets have arrived. Packets in a queue of the interface refer
 * to the memory of a write: if a byte changes before its packet is sent, the receiver drops the
 * packet.
 */
struct pavo_rdma_request {
	__u32 local_rcxt;
	__u32 remote_rcxt;
	__aligned_u64 tid;
	__aligned_u64 local_pvo;
	__aligned_u64 remote_pvo;
	__u32 length;
	__u32 tag;
	__u8 flags;
	__u8 counter;
	__u16 attempts;
	__u32 cookie;
};

/*
 * In an arrived frame RDMA_READ @local_rcxt and @local_pvo are this end's. The other fields are
 * those of the requester, and are copied into the pieces; @cookie and @counter are 0.
 */

/**
 * struct pavo_rdma_third - payload of a frame RDMA_THIRD, a third-party request
 * (sources.md#windows-third-party): the window named in its pavo_frame_hdr, the source, is to send
 * data to a third window, the target. This process, the controller, alone is notified of the end.
 * @request:   as of a read, but for: @request.local_pvo is memory of the job at the target,
 *             @request.flags is 0. @request.tid is higher than any before on each of the three
 *             rCxts
 * @node:      of the target. The source needs a route to it, this window does not
 * @reserved:  0
 * @window:    of the target
 * @rcxt:      of the target
 * @reserved2: 0
 *
 * The frame RDMA_DONE of the end is as from the end that reported it: the target, or with
 * @status not 0 the source, if the memory there is not the job's. Its @target is 0. The
 * request names no memory of this window's job at this end, so a PVO that is wrong leaves this
 * window alive, and the other two as well.
 */
struct pavo_rdma_third {
	struct pavo_rdma_request request;
	__u16 node;
	__u16 reserved;
	__u32 window;
	__u32 rcxt;
	__u32 reserved2;
};

/**
 * struct pavo_rdma_piece - the beginning of the payload of a frame RDMA_PIECE. The rest is
 * data, up to PAVO_PIECE_DATA; a frame to be sent has no more than max_payload (struct
 * pavo_window_resp) with this structure.
 * @local_rcxt: as of a request, and so @remote_rcxt, @tid, @tag, @flags, @attempts and
 *            @cookie; all pieces of an operation have the same
 * @remote_rcxt: see @local_rcxt
 * @tid:      see @local_rcxt. A higher one than before begins an operation, unless a frame
 *            RDMA_READ with that tid did
 * @pvo:      the PVO of this piece, or for TO_FIFO the offset of its first byte
 * @total:    bytes of all pieces
 * @fragment: index from 0 on, in any order; every attempt is segmented in the same way
 * @tag:      see @local_rcxt
 * @attempts: see @local_rcxt
 * @flags:    see @local_rcxt; FROM_FIFO is not set
 * @counter:  as of a request; 0 in an arrived frame
 * @cookie:   see @local_rcxt
 * @reserved2: 0
 *
 * Adapters segment data for a FIFO at multiples of PAVO_PIECE_ALIGN.
 */
struct pavo_rdma_piece {
	__u32 local_rcxt;
	__u32 remote_rcxt;
	__aligned_u64 tid;
	__aligned_u64 pvo;
	__u32 total;
	__u32 fragment;
	__u32 tag;
	__u16 attempts;
	__u8 flags;
	__u8 counter;
	__u32 cookie;
	__u32 reserved2;
};

#define PAVO_PIECE_DATA (PAVO_FRAME_PAYLOAD - 48u)
#define PAVO_PIECE_ALIGN 64u

/**
 * struct pavo_rdma_done - payload of frames RDMA_DONE; all data is visible.
 * @rcxt:      of this window
 * @peer_rcxt: of the other end
 * @tid:       of the attempt; ignore attempts older than the last
 * @length:    as requested
 * @tag:       as requested
 * @cookie:    of this end's request, 0 if the other end made it
 * @status:    enum pavo_pvo_result; not 0: memory named by the request is not the job's, and
 *             the operation is over
 * @target:    1: this end is the data's target; 0: its source
 * @attempts:  as requested
 */
struct pavo_rdma_done {
	__u32 rcxt;
	__u32 peer_rcxt;
	__aligned_u64 tid;
	__u32 length;
	__u32 tag;
	__u32 cookie;
	__u8 status;
	__u8 target;
	__u16 attempts;
};

/*
 * Groups (sources.md#windows-broadcast, sources.md#windows-multicast). Windows of a job agree on
 * a group: a multicast address, and a number that has the bit PAVO_WINDOW_GROUP, which no id of a
 * window has. A window joins it with both. A window opened with PAVO_WINDOW_BROADCAST sends to all
 * members: to a node whose address is the group's, and to the group's number as window. The
 * window that sends gets no copy. A message becomes a frame at each member.
 *
 * A frame RDMA_WRITE to a group has as @remote_rcxt a number below PAVO_GROUP_RCXTS, on which the
 * windows agree, too: the group rCxt. Each member binds it to memory of its own. @remote_pvo is an
 * offset in that memory. At most NOTIFY_TARGET is in @flags; the adapter marks other frames of
 * RDMA to a group BAD_REQUEST. Members without the binding drop the packets. Each of the others
 * notifies its process by a frame RDMA_BROADCAST, and no adapter notifies the source: processes
 * acknowledge by messages. The source sends a further attempt, with a higher tid, to those that
 * were silent: to a node with an address of its own, and the group's number as window. An attempt
 * at an operation that is complete notifies the process there once more.
 *
 * A binding has one operation at a time: while its data is incomplete, that of other windows is
 * dropped. All windows that send by a group rCxt use one sequence of tids.
 */
#define PAVO_WINDOW_GROUP 0x800000u
#define PAVO_GROUP_RCXTS 64u
/* Most windows of an adapter in a group, and groups of a window. */
#define PAVO_GROUP_WINDOWS 64u
#define PAVO_WINDOW_GROUPS 16u

/**
 * struct pavo_group_done - payload of frames RDMA_BROADCAST; all data is visible. The frame's
 * header names the window that sent it.
 * @group:     number of the group
 * @rcxt:      group rCxt
 * @peer_rcxt: rCxt of the source
 * @length:    as requested
 * @tid:       of an attempt at the operation
 * @tag:       as requested
 * @attempts:  as requested, with @tid
 * @status:    enum pavo_pvo_result; not 0: the request named bytes beyond the binding, or the
 *             bound memory is not the job's any more, and the operation is over
 * @reserved:  0
 */
struct pavo_group_done {
	__u32 group;
	__u32 rcxt;
	__u32 peer_rcxt;
	__u32 length;
	__aligned_u64 tid;
	__u32 tag;
	__u16 attempts;
	__u8 status;
	__u8 reserved;
};

/*
 * Conditional operations (sources.md#windows-conditional). A window has counters. A counter adds 1
 * when an operation ends here with status 0 whose request names the counter, and when an
 * operation that a peer began on an rCxt bound to the counter ends so: all data of its write has
 * arrived, or its read, of which this end is notified, is over. However often an operation is
 * attempted, and its end is reported, it counts once (pavo_rdma_request.attempts).
 *
 * A frame CONDITIONAL holds the requests that follow it until a counter reaches a target. Their
 * frames are marked HELD, and the adapter, which has copied them, goes on to the frames after
 * them. When the counter has reached the target, the adapter carries the requests out, in order,
 * and marks their frames as usual.
 *
 * A slot whose frame is HELD is still in use. A process whose ring comes to such a slot passes
 * over it: it writes type PASSED to its header, nothing else, and counts it in START_TRANSMIT.
 *
 * A component of a counter fails if its operation ends with another status, is cancelled (also by
 * another operation on its rCxt), or ends by a recovery, or if its frame gets a mark BAD_*. Then
 * the counter has failed, until it is set or cleared: the requests that are held for it are marked
 * CANCELLED, those that come later as well, and the process gets a frame COUNTER_VALUE.
 * A recovery of the adapter fails all counters. An attempt that is not marked SENT for another
 * reason (NOT_SENT, BUSY, STALE) is no failure, since another may follow. Held requests are
 * marked DEAD when their window is dead or disabled.
 */
#define PAVO_WINDOW_COUNTERS \
	64u /* of a window, with numbers from 0 on; 0 at first */
/* Frames CONDITIONAL whose requests wait at a time; those above are marked BUSY. */
#define PAVO_CONDITIONS 256u

/**
 * struct pavo_conditional - payload of a frame CONDITIONAL. The header's node and window are not
 * used.
 * @counter:   number of the counter
 * @following: frames RDMA_WRITE and RDMA_READ that follow, 1 to the frames of the FIFO less 1
 * @target:    value of the counter at which they are carried out, not 0
 *
 * The frame is marked SENT when all of these are held. If it or one of them is invalid, none is
 * held: it and all of them are marked BAD_REQUEST, or the one by its error. If @following is
 * too large, as many frames as the FIFO has slots besides this one are refused.
 */
struct pavo_conditional {
	__u32 counter;
	__u32 following;
	__aligned_u64 target;
};

enum pavo_counter_flag {
	/*
	 * SET: bind @rcxt to the counter, for operations of the peer that begin from now on;
	 * CLEAR: unbind it. The counter's value is not changed.
	 */
	PAVO_COUNTER_BIND = 0x1,
	PAVO_COUNTER_CANCEL = 0x2, /* CLEAR: cancel the requests held for it */
	PAVO_COUNTER_FLAGS = 0x3,
};

/**
 * struct pavo_counter_request - payload of frames COUNTER_SET, COUNTER_CLEAR and COUNTER_QUERY.
 * The header's node and window are not used. SET and CLEAR also make a failed counter count
 * again.
 * @counter: number of the counter
 * @rcxt:    with PAVO_COUNTER_BIND, of this window (else the mark is BAD_RCXT); else 0
 * @value:   SET: the new value; 0 with PAVO_COUNTER_BIND. CLEAR and QUERY: 0
 * @cookie:  QUERY: for struct pavo_counter_value; else 0
 * @flags:   enum pavo_counter_flag
 *
 * If the receive FIFO is full, a QUERY is marked NOT_SENT.
 */
struct pavo_counter_request {
	__u32 counter;
	__u32 rcxt;
	__aligned_u64 value;
	__u32 cookie;
	__u32 flags;
};

/**
 * struct pavo_counter_value - payload of an arrived frame COUNTER_VALUE: the answer to a
 * QUERY; or requests that were held for a counter that failed were cancelled.
 * @counter:   number of the counter
 * @cookie:    of the QUERY; 0 if @cancelled
 * @value:     of the counter
 * @waiting:   frames CONDITIONAL whose requests wait for it
 * @failed:    1: the counter has failed
 * @cancelled: 1: no answer: requests were cancelled, whose frames are marked or will be soon
 * @reserved:  0
 */
struct pavo_counter_value {
	__u32 counter;
	__u32 cookie;
	__aligned_u64 value;
	__u32 waiting;
	__u8 failed;
	__u8 cancelled;
	__u8 reserved[2];
};

#endif /* PAVO_ABI_FRAME_H */
