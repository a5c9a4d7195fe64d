/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi-window.h - windows: the memory that a process shares with an adapter, and RDMA
 * between windows. Included by pavo-abi.h.
 */
#ifndef PAVO_ABI_WINDOW_H
#define PAVO_ABI_WINDOW_H

#include <linux/types.h>

/* --------------------------------------------------------------- windows */

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

/*
 * Id of an rCxt: its index in the adapter's pool, and above that the pool's key, which changes
 * with every recovery.
 */
#define PAVO_RCXT_INDEX_BITS 20
/*
 * Most rCxts that one call takes, returns or cancels; EINVAL: more, none, or no whole number of
 * ids. A call to take them that fails takes none: ENOSPC: the adapter has fewer left (parameter
 * max_rcxts); EDQUOT: the user has as many as it may (share_per_user, rcxts_per_user); ENOMEM;
 * ESHUTDOWN: the window is disabled. The other calls stop at the first rCxt that fails: EINVAL:
 * it is not the window's; return: EBUSY: it has data to send. Those before it are done.
 */
#define PAVO_RCXTS_AT_ONCE 1024u

/*
 * Handlers of events (sources.md#windows-interrupt). A window has up to PAVO_HANDLERS, each an
 * eventfd that the process registered. Events are those of the receive FIFO. Ready handlers are
 * served round-robin: each event goes to one of them, which is not ready from then on, until
 * its next command HANDLER_READY. If none is ready, the adapter keeps one event, however many
 * there were, for the next handler that becomes ready. If a handler is removed after an event
 * and before its next HANDLER_READY, the event goes to another one. The FIFO may change between
 * an event and the time when its handler polls: there may be more frames, or none. Every event
 * also raises the eventfd recv_event with which a window was opened.
 *
 * Two more events go the same way: the first violation by a peer (struct pavo_lmt), and a recovery
 * of the adapter, which is also an asynchronous event of the device (IBV_EVENT_CLIENT_REREGISTER).
 *
 * The end of a window wakes all handlers, ready or not: when it is dead, disabled or closed,
 * and when its adapter is removed, the adapter raises every handler's eventfd, recv_event and
 * send_event. From then on a handler that becomes ready gets an event at once.
 */
#define PAVO_HANDLERS 16u

/*
 * Handlers of an adapter are objects of a context. They get the events of all windows of the
 * context, beside those windows' own eventfds and handlers: each event goes to one handler that is
 * ready, round-robin, else one event is kept, as above. The adapter notes which windows had events.
 * PAVO_METHOD_HANDLER_TAKE takes the ids of such windows: call it until there is a 0 in the array,
 * then look at each window, and then call PAVO_METHOD_HANDLER_READY. No other handler gets an id
 * that was taken, also if the handler that took it ends before it has looked. The end of a window
 * is an event like others; a window that is closed has none. The end of the handler itself, as by
 * the removal of its adapter, raises its eventfd.
 *
 * PAVO_METHOD_HANDLER_OPEN: errors: EBADF, EINVAL: no eventfd; ENOSPC: the context has
 * PAVO_ADAPTER_HANDLERS; ENOMEM.
 */
#define PAVO_ADAPTER_HANDLERS 64u
/* Most ids of one call; EINVAL: more, none, or no whole number of ids. */
#define PAVO_HANDLER_WINDOWS 64u

enum pavo_handler_method {
	PAVO_METHOD_HANDLER_OPEN = PAVO_UVERBS_FIRST,
	PAVO_METHOD_HANDLER_CLOSE,
	PAVO_METHOD_HANDLER_READY,
	PAVO_METHOD_HANDLER_TAKE,
};

enum pavo_handler_attr {
	PAVO_ATTR_HANDLER_HANDLE = PAVO_UVERBS_FIRST,
	PAVO_ATTR_HANDLER_EVENT, /* in: __s32, an eventfd */
	PAVO_ATTR_HANDLER_WINDOWS, /* out: __u32 each, ids of windows; 0: no more */
};

/*
 * Commands: 64 bits in the ring of the command page, the operation in bits 63..56, its argument
 * in 31..0, the rest 0. The adapter takes them when it is called (PAVO_METHOD_WINDOW_KICK), all
 * the time while the context has a doorbell worker that is awake, and before it drops a packet
 * because the receive FIFO is full.
 */
#define PAVO_WCMD_OP_SHIFT 56

enum pavo_window_command {
	PAVO_WCMD_START_TRANSMIT =
		1, /* argument: number of frames that are ready to be sent */
	PAVO_WCMD_RETURN_SLOTS =
		2, /* number of arrived frames that were consumed */
	/*
	 * Event when the n-th frame from now has arrived, or was sent. 0 and numbers above
	 * 2^31 - 1, so all ones: none.
	 */
	PAVO_WCMD_RECV_THRESHOLD = 3,
	PAVO_WCMD_SEND_THRESHOLD = 4,
	/*
	 * In place of RECV_THRESHOLD: event as soon as the n-th frame has its slot, before it
	 * is visible. A handler that gets the event polls the header for a while. Frames that
	 * were being written at the command count, so the event may be early by a frame that
	 * was visible already, but never too late.
	 */
	PAVO_WCMD_RECV_THRESHOLD_EARLY = 5,
	PAVO_WCMD_HANDLER_READY = 6, /* argument: number of the handler */
};

#define PAVO_WCMD_RING 256u /* entries */

/* Bits of pavo_command_page.flags; the bit of PAVO_DB_NEED_KICK. */
#define PAVO_WCMD_NEED_KICK 0x1u /* no worker polls: the process calls */

/**
 * struct pavo_command_page - shared with the process.
 * @producer: commands written so far, the process's
 * @reserved: 0
 * @consumer: taken so far, the adapter's
 * @flags:    PAVO_WCMD_*, the adapter's; a process reads it after it has written @producer and
 *            a full barrier. A doorbell worker (PAVO_METHOD_DOORBELLS_POLL) serves 64 windows
 *            of its context; the flags of others stay set
 * @recoveries: as in struct pavo_lmt, the adapter's. It counts before the event of a recovery is
 *            raised, so that a process that wakes up sees it without a call
 * @reserved2: 0
 * @ring:     command n is in entry n % PAVO_WCMD_RING
 */
struct pavo_command_page {
	__u32 producer;
	__u32 reserved[15];
	__u32 consumer;
	__u32 flags;
	__u32 recoveries;
	__u32 reserved2[13];
	__aligned_u64 ring[PAVO_WCMD_RING];
};

enum pavo_window_method {
	PAVO_METHOD_WINDOW_OPEN = PAVO_UVERBS_FIRST,
	PAVO_METHOD_WINDOW_CLOSE,
	PAVO_METHOD_WINDOW_NODE,
	PAVO_METHOD_WINDOW_KICK,
	PAVO_METHOD_WINDOW_QUERY,
	PAVO_METHOD_WINDOW_TAKE_RCXTS,
	PAVO_METHOD_WINDOW_RETURN_RCXTS,
	PAVO_METHOD_WINDOW_CANCEL,
};

/* An object has no more than eight methods: these are PAVO_OBJECT_WINDOW_MORE's. */
enum pavo_window_more_method {
	PAVO_METHOD_WINDOW_ADD_HANDLER = PAVO_UVERBS_FIRST,
	PAVO_METHOD_WINDOW_REMOVE_HANDLER,
	PAVO_METHOD_WINDOW_DISABLE,
	PAVO_METHOD_WINDOW_SNAPSHOT,
	PAVO_METHOD_WINDOW_JOIN,
	PAVO_METHOD_WINDOW_LEAVE,
	PAVO_METHOD_WINDOW_BIND,
	PAVO_METHOD_WINDOW_UNBIND,
};

enum pavo_window_attr {
	PAVO_ATTR_WINDOW_HANDLE = PAVO_UVERBS_FIRST,
	PAVO_ATTR_WINDOW_JOB, /* handle of its job */
	PAVO_ATTR_WINDOW_ARGS, /* in: struct pavo_window_args */
	PAVO_ATTR_WINDOW_RESP, /* out: struct pavo_window_resp */
	PAVO_ATTR_WINDOW_NODE_ARGS, /* in: struct pavo_window_node_args */
	PAVO_ATTR_WINDOW_LMT, /* out: struct pavo_lmt */
	PAVO_ATTR_WINDOW_RCXTS_TAKEN, /* out: __u32 each, all or none */
	PAVO_ATTR_WINDOW_RCXTS, /* in: __u32 each */
	PAVO_ATTR_WINDOW_EVENT, /* in: __s32, an eventfd */
	PAVO_ATTR_WINDOW_HANDLER_MADE, /* out: __u32, number of a handler */
	PAVO_ATTR_WINDOW_HANDLER, /* in: __u32, likewise */
	/*
	 * out: __u32, number of CPUs that may still use the window as it was before it was
	 * disabled; once 0 it stays 0.
	 */
	PAVO_ATTR_WINDOW_AT_WORK,
	PAVO_ATTR_WINDOW_JOIN_ARGS, /* in: struct pavo_group_join_args */
	PAVO_ATTR_WINDOW_GROUP, /* in: __u32, number of a group */
	PAVO_ATTR_WINDOW_BIND_ARGS, /* in: struct pavo_group_bind_args */
	PAVO_ATTR_WINDOW_UNBIND_ARGS, /* in: struct pavo_group_unbind_args */
};

/* pavo_window_args.flags */
enum pavo_window_flag {
	/*
	 * The window may send to multicast groups: a node may have a group's address. It
	 * receives what is sent to a group after it has joined it, with or without this flag.
	 */
	PAVO_WINDOW_BROADCAST = 0x1,
	PAVO_WINDOW_FLAGS = 0x1,
};

/**
 * struct pavo_window_args - a window to be opened.
 * @send_frames: of its send FIFO
 * @recv_frames: of its receive FIFO
 * @nodes:      nodes to which it may have routes, 1 to 65536
 * @node:       id of this machine in the job
 * @sgid_index: the adapter's address that it uses
 * @recv_event: an eventfd, or -1
 * @send_event: an eventfd, or -1
 * @flags:      enum pavo_window_flag
 *
 * Errors: EINVAL; ENOSPC: the adapter has as many as it may (parameter max_windows);
 * EDQUOT: the user has as many as it may (share_per_user);
 * ENOMEM: more memory than may be locked, or none left; EBADF: no eventfd; EMSGSIZE: the
 * interface's MTU is too small for a packet with more than 128 bytes.
 */
struct pavo_window_args {
	__u32 send_frames;
	__u32 recv_frames;
	__u32 nodes;
	__u16 node;
	__u16 sgid_index;
	__s32 recv_event;
	__s32 send_event;
	__u32 flags;
};

/**
 * struct pavo_window_resp - a window that was opened.
 * @send:        its send FIFO
 * @recv:        its receive FIFO
 * @commands:    its command page
 * @window:      its id, 24 bits
 * @max_payload: of a frame, so that its packet fits the interface
 */
struct pavo_window_resp {
	struct pavo_mmap_info send;
	struct pavo_mmap_info recv;
	struct pavo_mmap_info commands;
	__u32 window;
	__u32 max_payload;
};

/* Most routes of a window to a node, and source ports of one call. */
#define PAVO_ROUTES_MOST 64u
#define PAVO_ROUTE_PORTS_MOST 16u

enum pavo_node_flag {
	PAVO_NODE_ADD = 0x1, /* add to the node's routes; else replace them */
	PAVO_NODE_SGID = 0x2, /* from @sgid_index, not from the window's */
	PAVO_NODE_FLAGS = 0x3,
};

/**
 * struct pavo_window_node_args - routes to a node (sources.md#windows-striping).
 * Packets take all of a node's routes, round-robin.
 * @gid:        an address of the node
 * @node:       its id
 * @flags:      enum pavo_node_flag
 * @ports:      number of UDP source ports, each a route, by which switches and receivers
 *              distinguish flows. 1 to PAVO_ROUTE_PORTS_MOST; 0: 4
 * @sgid_index: an address of this adapter, with PAVO_NODE_SGID; else 0
 * @reserved:   0
 *
 * Errors: EINVAL: unknown node, address or flag; a multicast group's address, without
 * PAVO_WINDOW_BROADCAST, or where the node has another address; the broadcast address of a subnet,
 * or the limited one: no adapter sends to these; ENOSPC: more routes than PAVO_ROUTES_MOST;
 * ENOMEM. After an error the routes are as before.
 */
struct pavo_window_node_args {
	__u8 gid[16];
	__u32 node;
	__u16 flags;
	__u16 ports;
	__u16 sgid_index;
	__u16 reserved[3];
};

/**
 * struct pavo_group_join_args - a group that the window joins, and its adapter's interface with
 * it (IGMP, MLD). Calls about groups count for the user that the job counts for.
 * @gid:      a multicast address, of IPv4 as ::ffff:a.b.c.d
 * @group:    number of the group, PAVO_WINDOW_GROUP and any lower bits
 * @reserved: 0
 *
 * Errors: EINVAL; EEXIST: the window is in the group, or others of the job are in it with another
 * address; ENOSPC: the group has PAVO_GROUP_WINDOWS windows of the adapter, the window
 * PAVO_WINDOW_GROUPS groups, or the adapter too many memberships; EDQUOT: the user has as many as
 * it may (share_per_user); EADDRNOTAVAIL, EAFNOSUPPORT: the interface has no addresses of that
 * family; ENODEV: the interface is gone; ESHUTDOWN: the window is disabled; ENOMEM.
 *
 * PAVO_METHOD_WINDOW_LEAVE takes the number, and ends the window's bindings of the group. When it
 * returns no data of the group is written any more. Errors: EINVAL: the window is not in it.
 */
struct pavo_group_join_args {
	__u8 gid[16];
	__u32 group;
	__u32 reserved;
};

/**
 * struct pavo_group_bind_args - memory of the window's job for a group rCxt.
 * @group:  number of a group that the window is in
 * @rcxt:   group rCxt, below PAVO_GROUP_RCXTS
 * @pvo:    first byte
 * @length: bytes, not 0
 * @tid:    attempts with this tid or a lower one are of the past: they are dropped
 *
 * Errors: EINVAL: also where the window is not in the group; EEXIST: the group rCxt is bound;
 * EFAULT: the first or the last byte is not memory of the job; ENOMEM; ESHUTDOWN. Recoveries of
 * the adapter do not end a binding.
 */
struct pavo_group_bind_args {
	__u32 group;
	__u32 rcxt;
	__aligned_u64 pvo;
	__aligned_u64 length;
	__aligned_u64 tid;
};

/**
 * struct pavo_group_unbind_args - a binding to be ended. When the call returns no data is written
 * by it. Errors: EINVAL: there is none.
 * @group: number of the group
 * @rcxt:  group rCxt
 */
struct pavo_group_unbind_args {
	__u32 group;
	__u32 rcxt;
};

/* pavo_lmt.events */
enum pavo_lmt_event {
	PAVO_LMT_RECV_EVENT = 0x1,
	PAVO_LMT_SEND_EVENT = 0x2,
};

/**
 * struct pavo_lmt - local mapping table of a window (sources.md#windows-lmt), as its
 * process reads it; root reads those of all windows in debugfs.
 * @state:        1: valid; 2: dead, after a request named memory that is not its
 *                job's; 3: disabled
 * @window:       id of the window
 * @job:          JOBID of its job
 * @recv_frames:  size of the receive FIFO
 * @recv_count:   frames that have arrived, the slot of the next one is that modulo
 *                @recv_frames
 * @recv_free:    slots for frames that may arrive
 * @recv_threshold: frames until the event; 0: none
 * @send_frames:  size of the send FIFO
 * @send_count:   frames that were sent, likewise
 * @send_ready:   frames that are ready to be sent; not those of the quantum being sent
 * @send_threshold: frames until the event; 0: none
 * @quantum:      frames of it that are sent before the next window's
 * @rcxts:        queued to send
 * @rcxt_head:    the first of them; 0 if there are none
 * @rcxt_tail:    the last of them; 0 if there are none
 * @fatal_rcxt:   of the request after which the window was dead
 * @rcxts_owned:  taken from the adapter's pool
 * @recoveries:   of the adapter: each revoked all rCxts
 * @flags:        with which it was opened
 * @recv_early:   frames until the early event; 0: none
 * @handlers:     that are registered, a bit for each number
 * @handlers_ready: those of them that are ready
 * @event_kept:   1: an event is kept for the next handler that becomes ready
 * @quantum_left: frames, then packets of RDMA, that are left of the window's present quantum,
 *                1 to @quantum; 0: no worker serves the window
 * @node:         id of this machine in the job
 * @events:       eventfds with which it was opened, enum pavo_lmt_event.
 *                sources.md#windows-lmt has interrupt vector data in their place, of which
 *                an eventfd has none. A fatal error raises these and @handlers, too
 * @key:          in packets of the window, and required of packets for it; 0 for readers
 *                without CAP_NET_ADMIN
 * @recv_offset:  address of the receive FIFO: the offset for mmap() of the window's uverbs
 *                file. The kernel reveals its own addresses to no process
 * @send_offset:  likewise of the send FIFO
 * @violations:   packets of peers that named memory of this end which is not the job's: they were
 *                dropped, and the peers were notified as they had requested. The first one raises
 *                an event, and after that the first one since the process read this table
 * @violation_rcxt: rCxt of this window that the last of them named
 * @violation_node: node that sent it
 * @violation_window: window that sent it
 */
struct pavo_lmt {
	__u32 state;
	__u32 window;
	__u32 job;
	__u32 recv_frames;
	__u32 recv_count;
	__u32 recv_free;
	__u32 recv_threshold;
	__u32 send_frames;
	__u32 send_count;
	__u32 send_ready;
	__u32 send_threshold;
	__u32 quantum;
	__u32 rcxts;
	__u32 rcxt_head;
	__u32 rcxt_tail;
	__u32 fatal_rcxt;
	__u32 rcxts_owned;
	__u32 recoveries;
	__u32 flags;
	__u32 recv_early;
	__u32 handlers;
	__u32 handlers_ready;
	__u32 event_kept;
	__u32 quantum_left;
	__u32 node;
	__u32 events;
	__aligned_u64 key;
	__aligned_u64 recv_offset;
	__aligned_u64 send_offset;
	__u32 violations;
	__u32 violation_rcxt;
	__u32 violation_node;
	__u32 violation_window;
};

#endif /* PAVO_ABI_WINDOW_H */
