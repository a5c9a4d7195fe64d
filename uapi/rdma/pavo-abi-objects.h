/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi-objects.h - objects of pavo's own and what can be done with them: jobs,
 * mappings, watches, windows. Included by pavo-abi.h.
 */
#ifndef PAVO_ABI_OBJECTS_H
#define PAVO_ABI_OBJECTS_H

#include <linux/types.h>

/* ------------------------------------------------------------------ jobs */

/*
 * Objects of pavo's own and what can be done with them: methods of the uverbs file
 * (RDMA_VERBS_IOCTL). The first number of each kind is UVERBS_ID_NS_SHIFT's, where
 * those of drivers begin.
 *
 * A job (windows document, "Node Global TCE Tables") owns TCE tables of the machine;
 * a mapping is a buffer in them, to be named by its PVO.
 */
#define PAVO_UVERBS_FIRST 0x1000u

enum pavo_uverbs_object {
	PAVO_OBJECT_JOB = PAVO_UVERBS_FIRST,
	PAVO_OBJECT_MAPPING,
	PAVO_OBJECT_WATCH,
	PAVO_OBJECT_WINDOW,
};

enum pavo_job_method {
	PAVO_METHOD_JOB_OPEN = PAVO_UVERBS_FIRST,
	PAVO_METHOD_JOB_CLOSE,
	PAVO_METHOD_JOB_QUERY,
	PAVO_METHOD_JOB_CHECK,
};

enum pavo_job_attr {
	PAVO_ATTR_JOB_HANDLE = PAVO_UVERBS_FIRST,
	PAVO_ATTR_JOB_OPEN_ARGS, /* in: struct pavo_job_open_args */
	PAVO_ATTR_JOB_INFO, /* out: struct pavo_job_info */
	PAVO_ATTR_JOB_CHECK_ARGS, /* in: struct pavo_job_check_args */
	PAVO_ATTR_JOB_CHECK_RESULT, /* out: __u32, enum pavo_pvo_result */
};

enum pavo_mapping_method {
	PAVO_METHOD_MAPPING_MAP = PAVO_UVERBS_FIRST,
	PAVO_METHOD_MAPPING_UNMAP,
};

enum pavo_mapping_attr {
	PAVO_ATTR_MAPPING_HANDLE = PAVO_UVERBS_FIRST,
	PAVO_ATTR_MAPPING_JOB, /* handle of the job */
	PAVO_ATTR_MAPPING_ARGS, /* in: struct pavo_map_args */
	PAVO_ATTR_MAPPING_RESP, /* out: struct pavo_map_resp */
};

/* pavo_job_open_args.flags: make the job; without it: join the job that is there */
#define PAVO_JOB_RESERVE 0x1u

/**
 * struct pavo_job_open_args - which job.
 * @id:    JOBID, the same on all machines of the job; not 0
 * @flags: PAVO_JOB_RESERVE or 0
 * @key:   secret of the job's members
 * @limit: when reserving: bytes that may be mapped at a time; 0: no limit
 *
 * Errors: EINVAL; reserving: EEXIST, ENOSPC (no slot free), EDQUOT (the user has
 * as many as one may); joining: ENOENT, EACCES (wrong key, or another user's).
 */
struct pavo_job_open_args {
	__u32 id;
	__u32 flags;
	__aligned_u64 key;
	__aligned_u64 limit;
};

/**
 * struct pavo_job_info - what a job has on this machine at this moment.
 * @slot:     job slot
 * @members:  opens that have not been closed
 * @limit, @pinned: bytes
 * @buffers:  pinned and mapped, each once
 * @mappings: uses of them; @shared: how often one was found mapped already
 */
struct pavo_job_info {
	__u32 id;
	__u32 slot;
	__u32 members;
	__u32 reserved;
	__aligned_u64 limit;
	__aligned_u64 pinned;
	__aligned_u64 buffers;
	__aligned_u64 mappings;
	__aligned_u64 shared;
};

/** What becomes of a PVO that a window of the job uses, in the order of checks. */
enum pavo_pvo_result {
	PAVO_PVO_OK = 0,
	PAVO_PVO_TABLE = 1, /* no such table, or it belongs to no job */
	PAVO_PVO_JOB = 2, /* the table is another job's */
	PAVO_PVO_RANGE = 3, /* behind the end of the table */
	PAVO_PVO_KEY = 4, /* that page is not, or no more, of that region */
};

/** struct pavo_job_check_args - may @length bytes from @pvo on be touched? */
struct pavo_job_check_args {
	__aligned_u64 pvo;
	__aligned_u64 length;
};

/** struct pavo_map_args - memory of the calling process, which it may write to. */
struct pavo_map_args {
	__aligned_u64 start;
	__aligned_u64 length;
};

/**
 * struct pavo_map_resp - where it is now.
 * @pvo:       Protocol Virtual Offset of its first byte: region key in bits 63..47,
 *             table in 46..42, offset in the table in 41..0. Byte offsets may be added.
 * @page_size: bytes of a page of its table: protection is per page
 * @shared:    not 0: those pages were mapped already
 */
struct pavo_map_resp {
	__aligned_u64 pvo;
	__u32 page_size;
	__u32 shared;
};

/* --------------------------------------------------------------- watches */

/*
 * A watch has slots; each may watch memory of the process that sets it. Who keeps
 * memory registered after use learns from the slot's word, a __u32 in the area that
 * is mapped, that the pages there may be others now: it is 0 until the memory is
 * unmapped, replaced, moved, protected or marked copy-on-write (as by fork()), and
 * not 0 when the call that did it returns. Nor is that of a slot that watches nothing.
 * There are no watches where the kernel cannot
 * tell (CONFIG_MMU_NOTIFIER).
 */

/* Most slots of a watch. */
#define PAVO_WATCH_SLOTS 65536u

enum pavo_watch_method {
	PAVO_METHOD_WATCH_OPEN = PAVO_UVERBS_FIRST,
	PAVO_METHOD_WATCH_CLOSE,
	PAVO_METHOD_WATCH_SET,
};

enum pavo_watch_attr {
	PAVO_ATTR_WATCH_HANDLE = PAVO_UVERBS_FIRST,
	PAVO_ATTR_WATCH_SLOTS, /* in: __u32, 1 to PAVO_WATCH_SLOTS */
	PAVO_ATTR_WATCH_WORDS, /* out: struct pavo_mmap_info, one word for each */
	PAVO_ATTR_WATCH_SET_ARGS, /* in: struct pavo_watch_set_args */
};

/**
 * struct pavo_watch_set_args - from now on @slot watches the pages of this range,
 * and not what it watched before. @length 0: it watches nothing.
 */
struct pavo_watch_set_args {
	__aligned_u64 start;
	__aligned_u64 length;
	__u32 slot;
	__u32 reserved;
};

/* --------------------------------------------------------------- windows */

/*
 * A window (windows document, "FIFO queues") is a pair of FIFOs and a command page
 * that a process shares with an adapter. FIFOs are rings of frames. What is sent is a
 * packet for each frame, to a window of the same job; nothing is sent twice, and
 * packets may be lost and overtake each other.
 */
#define PAVO_FRAME_SIZE 2048u
#define PAVO_FRAME_HDR_SIZE 16u
/* Bytes of a frame that are written last, and which a consumer looks at. */
#define PAVO_FRAME_LINE 64u
#define PAVO_FRAME_PAYLOAD (PAVO_FRAME_SIZE - PAVO_FRAME_HDR_SIZE)

/* Frames of a FIFO: powers of two from and to. */
#define PAVO_FIFO_LEAST 16u
#define PAVO_FIFO_MOST 32768u

enum pavo_frame_type {
	PAVO_FRAME_MESSAGE = 1, /* @length bytes of payload follow the header */
};

/* pavo_frame_hdr.state */
enum pavo_frame_state {
	PAVO_FRAME_EMPTY = 0, /* nothing has arrived; or it was not sent yet */
	PAVO_FRAME_ARRIVED = 1,
	PAVO_FRAME_SENT = 2, /* the last one of the adapter, and those below */
	PAVO_FRAME_NOT_SENT = 3, /* the network stack did not take it: again? */
	PAVO_FRAME_BAD_TYPE = 4,
	PAVO_FRAME_BAD_LENGTH = 5, /* more than the window's max_payload */
	PAVO_FRAME_BAD_NODE = 6, /* the window knows no address of it */
	PAVO_FRAME_BAD_WINDOW = 7, /* not a number of 24 bits */
};

/**
 * struct pavo_frame_hdr - how a frame begins; payload follows.
 * @node:   destination; of an arrived frame: where it came from
 * @length: bytes of payload
 * @window: destination, or where it came from
 * @type:   enum pavo_frame_type
 * @state:  enum pavo_frame_state. A sender writes it as 0 and the adapter something
 *          else when it has dealt with the frame. In an arrived frame everything else
 *          is there when it is not 0; the consumer makes it 0 when it is done.
 */
struct pavo_frame_hdr {
	__u16 node;
	__u16 length;
	__u32 window;
	__u8 type;
	__u8 reserved[3];
	__u32 state;
};

/*
 * Commands: 64 bits in the ring of the command page, the operation in bits 63..56,
 * its argument in 31..0, the rest 0. The adapter looks for them when it is called
 * (PAVO_METHOD_WINDOW_KICK), and before it drops a packet because the receive FIFO is
 * full.
 */
#define PAVO_WCMD_OP_SHIFT 56

enum pavo_window_command {
	PAVO_WCMD_START_TRANSMIT =
		1, /* that many more frames are ready to be sent */
	PAVO_WCMD_RETURN_SLOTS = 2, /* that many arrived frames were consumed */
	/*
	 * Event when the n-th frame from now has arrived, or was sent. 0 and all
	 * ones: none.
	 */
	PAVO_WCMD_RECV_THRESHOLD = 3,
	PAVO_WCMD_SEND_THRESHOLD = 4,
};

#define PAVO_WCMD_RING 256u /* entries */

/**
 * struct pavo_command_page - shared with the process.
 * @producer: commands written so far, the process's
 * @consumer: taken so far, the adapter's
 * @ring:     command number n is in entry n % PAVO_WCMD_RING
 */
struct pavo_command_page {
	__u32 producer;
	__u32 reserved[15];
	__u32 consumer;
	__u32 reserved2[15];
	__aligned_u64 ring[PAVO_WCMD_RING];
};

enum pavo_window_method {
	PAVO_METHOD_WINDOW_OPEN = PAVO_UVERBS_FIRST,
	PAVO_METHOD_WINDOW_CLOSE,
	PAVO_METHOD_WINDOW_NODE,
	PAVO_METHOD_WINDOW_KICK,
	PAVO_METHOD_WINDOW_QUERY,
};

enum pavo_window_attr {
	PAVO_ATTR_WINDOW_HANDLE = PAVO_UVERBS_FIRST,
	PAVO_ATTR_WINDOW_JOB, /* handle of its job */
	PAVO_ATTR_WINDOW_ARGS, /* in: struct pavo_window_args */
	PAVO_ATTR_WINDOW_RESP, /* out: struct pavo_window_resp */
	PAVO_ATTR_WINDOW_NODE_ARGS, /* in: struct pavo_window_node_args */
	PAVO_ATTR_WINDOW_LMT, /* out: struct pavo_lmt */
};

/**
 * struct pavo_window_args - a window to be opened.
 * @send_frames, @recv_frames: of its FIFOs
 * @nodes:      addresses that it may know, 1 to 65536
 * @node:       what this machine is to the others of the job
 * @sgid_index: the adapter's address that it uses
 * @recv_event, @send_event: eventfds, or -1
 *
 * Errors: EINVAL; ENOSPC: the adapter has as many as it may (parameter max_windows);
 * ENOMEM: more memory than may be locked, or none left; EBADF: no eventfd.
 */
struct pavo_window_args {
	__u32 send_frames;
	__u32 recv_frames;
	__u32 nodes;
	__u16 node;
	__u16 sgid_index;
	__s32 recv_event;
	__s32 send_event;
};

/**
 * struct pavo_window_resp - @window: its number, 24 bits
 * @max_payload: of a frame, so that its packet fits the interface
 */
struct pavo_window_resp {
	struct pavo_mmap_info send;
	struct pavo_mmap_info recv;
	struct pavo_mmap_info commands;
	__u32 window;
	__u32 max_payload;
};

/** struct pavo_window_node_args - the address of a node, as a GID. */
struct pavo_window_node_args {
	__u8 gid[16];
	__u32 node;
	__u32 reserved;
};

/**
 * struct pavo_lmt - local mapping table of a window.
 * @state:        1: valid
 * @window, @job: numbers
 * @recv_frames, @send_frames: sizes of the FIFOs
 * @recv_count:   frames that have arrived, the slot of the next one is that modulo
 *                @recv_frames; @send_count likewise
 * @recv_free:    slots for frames that may arrive
 * @send_ready:   frames that are ready to be sent
 * @recv_threshold, @send_threshold: frames until the event; 0: none
 * @quantum:      frames of it that are sent in a turn
 * @rcxts:        queued to send (none yet)
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
	__u32 reserved;
};

#endif /* PAVO_ABI_OBJECTS_H */
