/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi-window.h - windows: commands, events, and calls of a process; pavo-abi-frame.h has
 * what it shares with an adapter in FIFOs. Included by pavo-abi.h.
 */
#ifndef PAVO_ABI_WINDOW_H
#define PAVO_ABI_WINDOW_H

#include <linux/types.h>

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
 * @rdma_payload: bytes of memory in each packet of RDMA but the last; third-party RDMA has longer
 *               headers, and carries less
 * @reserved:    0
 */
struct pavo_window_resp {
	struct pavo_mmap_info send;
	struct pavo_mmap_info recv;
	struct pavo_mmap_info commands;
	__u32 window;
	__u32 max_payload;
	__u32 rdma_payload;
	__u32 reserved;
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
