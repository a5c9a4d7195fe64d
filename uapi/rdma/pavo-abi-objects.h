/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi-objects.h - objects of pavo's own and their methods: jobs, mappings, watches,
 * windows. Included by pavo-abi.h; pavo-abi-window.h has the memory that a window shares
 * with its process.
 */
#ifndef PAVO_ABI_OBJECTS_H
#define PAVO_ABI_OBJECTS_H

#include <linux/types.h>

/* ------------------------------------------------------------------ jobs */

/*
 * Objects of pavo's own have methods of the uverbs file (RDMA_VERBS_IOCTL). The first id of
 * each kind is that of UVERBS_ID_NS_SHIFT, where the ids of drivers begin.
 *
 * A job (sources.md#windows-tce) owns TCE tables of the machine; a mapping is a buffer in them,
 * named by its PVO.
 */
#define PAVO_UVERBS_FIRST 0x1000u

enum pavo_uverbs_object {
	PAVO_OBJECT_JOB = PAVO_UVERBS_FIRST,
	PAVO_OBJECT_MAPPING,
	PAVO_OBJECT_WATCH,
	PAVO_OBJECT_WINDOW,
	PAVO_OBJECT_WINDOW_MORE, /* no object; more methods of windows */
	PAVO_OBJECT_DOORBELLS, /* no object; methods of the context */
	PAVO_OBJECT_DIRECT, /* pavo-abi-direct.h */
	PAVO_OBJECT_HANDLER, /* of an adapter, pavo-abi-window.h */
	PAVO_OBJECT_INTERFACE, /* no object; network interfaces over windows */
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

/* pavo_job_open_args.flags: make the job; without the flag: join an existing job */
#define PAVO_JOB_RESERVE 0x1u

/**
 * struct pavo_job_open_args - names a job.
 * @id:    JOBID, the same on all machines of the job; not 0
 * @flags: PAVO_JOB_RESERVE or 0
 * @key:   secret of the job's members
 * @limit: when reserving: bytes that may be mapped at a time; 0: no limit
 *
 * Errors: EINVAL; reserving: EEXIST, ENOSPC (no slot free), EDQUOT (the user has as many as
 * a user may have); joining: ENOENT, EACCES (wrong key, or another user's).
 */
struct pavo_job_open_args {
	__u32 id;
	__u32 flags;
	__aligned_u64 key;
	__aligned_u64 limit;
};

/**
 * struct pavo_job_info - the state of a job on this machine at present.
 * @id:       JOBID
 * @slot:     job slot
 * @members:  opens that have not been closed
 * @reserved: 0
 * @limit:    bytes that may be mapped at a time; 0: no limit
 * @pinned:   bytes
 * @buffers:  pinned and mapped, each once
 * @mappings: uses of them
 * @shared:   number of times that a buffer was mapped already
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

/** Results of the use of a PVO by a window of the job, in the order of checks. */
enum pavo_pvo_result {
	PAVO_PVO_OK = 0,
	PAVO_PVO_TABLE = 1, /* the table does not exist, or belongs to no job */
	PAVO_PVO_JOB = 2, /* the table belongs to another job */
	PAVO_PVO_RANGE = 3, /* beyond the end of the table */
	PAVO_PVO_KEY = 4, /* the page is not, or not any more, of that region */
};

/** struct pavo_job_check_args - the range to check: @length bytes from @pvo on. */
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
 * struct pavo_map_resp - the mapping.
 * @pvo:       Protocol Virtual Offset of the first byte: region key in bits 63..47, table
 *             in 46..42, offset in the table in 41..0. Byte offsets may be added.
 * @page_size: bytes of a page of the table: protection is per page
 * @shared:    not 0: the pages were mapped already
 */
struct pavo_map_resp {
	__aligned_u64 pvo;
	__u32 page_size;
	__u32 shared;
};

/* --------------------------------------------------------------- watches */

/*
 * A watch has slots; each may watch memory of the process that sets it. A process that keeps
 * memory registered after use reads the slot's word, a __u32 in the mapped area. The word is
 * not 0 when the pages may be others: it is 0 until the memory is unmapped, replaced, moved,
 * protected or marked copy-on-write (as by fork()), and not 0 when the call that did so
 * returns. The word of a slot that watches no memory is not 0, either. A kernel without
 * CONFIG_MMU_NOTIFIER has no watches.
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
 * struct pavo_watch_set_args - let @slot watch the pages of this range instead of those of
 * before.
 * @start:    first byte of the range
 * @length:   bytes; 0: the slot watches no memory
 * @slot:     index of the slot
 * @reserved: 0
 */
struct pavo_watch_set_args {
	__aligned_u64 start;
	__aligned_u64 length;
	__u32 slot;
	__u32 reserved;
};

/* -------------------------------------------------------------- doorbells */

/*
 * Methods of a context, for its page of doorbells (struct pavo_doorbell_page) and the command
 * pages of its windows.
 *
 * A kick is a call without attributes. It takes all doorbells in the caller's context.
 *
 * PAVO_METHOD_DOORBELLS_RING passes a doorbell without the page, and kicks: for processes that
 * share the context with the one that writes the page, as after fork(). Errors: EINVAL: the
 * doorbell is of no queue pair of the context that may send; nothing is posted then.
 *
 * A doorbell worker is a thread of the process that is in the call PAVO_METHOD_DOORBELLS_POLL.
 * It polls for doorbells and commands, so that no process has to kick: the flags
 * PAVO_DB_NEED_KICK and PAVO_WCMD_NEED_KICK are clear. After the idle limit without any it sets
 * the flags and sleeps. The next kick wakes it. Its CPU time, its affinity and its cgroups are
 * those of its process, and it ends with the process.
 *
 * PAVO_METHOD_DOORBELLS_IDLE sets the idle limit, and with that allows a worker. Errors: EPERM:
 * the administrator allows none (parameter poll_idle_max of the module is 0).
 *
 * PAVO_METHOD_DOORBELLS_POLL returns 0 when the idle limit is 0, also if it was never set.
 * Errors: EBUSY: the context has a worker; EPERM: the administrator allows none any more; EINTR:
 * the thread got a signal, and may repeat the call; EIO: the adapter was removed.
 */
enum pavo_doorbells_method {
	PAVO_METHOD_DOORBELLS_KICK = PAVO_UVERBS_FIRST,
	PAVO_METHOD_DOORBELLS_IDLE,
	PAVO_METHOD_DOORBELLS_POLL,
	PAVO_METHOD_DOORBELLS_RING,
};

enum pavo_doorbells_attr {
	/*
	 * in: __u32, idle limit in microseconds, at most the parameter poll_idle_max; 0: the
	 * worker ends, and none begins.
	 */
	PAVO_ATTR_DOORBELLS_IDLE = PAVO_UVERBS_FIRST,
	PAVO_ATTR_DOORBELLS_BELL, /* in: __u64, the doorbell */
};

/* ------------------------------------------------------------- interfaces */

/*
 * A network interface over a window of a job (sources.md#windows-fragmentation). A call of a
 * process makes it, and it stays when the process has ended, so it is no object of the uverbs file:
 * methods name it by ifindex. It is in the network namespace of the adapter's interface, and ends
 * with the adapter, with that namespace, or by the method or `ip link delete`. All methods need
 * CAP_NET_ADMIN there (EPERM).
 *
 * Its hardware address is 02, two bytes of the node, and three of the window. It sends to the nodes
 * that it knows, and receives from these.
 */
#define PAVO_INTERFACE_NAME 16u /* IFNAMSIZ */
/* Nodes of an interface, and those of one call. */
#define PAVO_INTERFACE_NODES 1024u

enum pavo_interface_method {
	PAVO_METHOD_INTERFACE_ADD = PAVO_UVERBS_FIRST,
	PAVO_METHOD_INTERFACE_DELETE,
	PAVO_METHOD_INTERFACE_NODE,
	PAVO_METHOD_INTERFACE_QUERY,
};

enum pavo_interface_attr {
	/* in: struct pavo_interface_args */
	PAVO_ATTR_INTERFACE_ARGS = PAVO_UVERBS_FIRST,
	/* in: struct pavo_interface_node each; may be left out */
	PAVO_ATTR_INTERFACE_NODES,
	PAVO_ATTR_INTERFACE_INFO, /* out: struct pavo_interface_info */
	/* in: __u32, ifindex. QUERY: the first interface of the adapter from there on */
	PAVO_ATTR_INTERFACE_INDEX,
	PAVO_ATTR_INTERFACE_NODE, /* in: struct pavo_interface_node */
};

/**
 * struct pavo_interface_args - an interface to be made.
 * @key:        of the job
 * @job:        JOBID. The caller's user joins it; if this machine does not have it, the call
 *              reserves it. Processes of the job can reach the interface's buffers by RDMA
 * @window:     id that its window gets; 0: any. Peers have to know it
 * @nodes:      number of the job's nodes, 1 to PAVO_INTERFACE_NODES
 * @node:       id of this machine in the job
 * @sgid_index: the adapter's address that it uses
 * @name:       of the interface; empty: pavo%d
 *
 * Errors: EINVAL; EEXIST: there is an interface of that name; EBUSY: another window has the id;
 * ENODEV: the adapter's interface is gone; those of joining or reserving a job, of a mapping, and
 * of opening a window.
 */
struct pavo_interface_args {
	__aligned_u64 key;
	__u32 job;
	__u32 window;
	__u32 nodes;
	__u16 node;
	__u16 sgid_index;
	char name[PAVO_INTERFACE_NAME];
};

/**
 * struct pavo_interface_node - a node that an interface is to know.
 * @gid:      its address
 * @window:   window of its interface; 0: forget the node
 * @node:     its id
 * @reserved: 0
 *
 * Errors: EINVAL: unknown id or address, or this node's id; ENOENT: there is no such interface;
 * ENOMEM.
 */
struct pavo_interface_node {
	__u8 gid[16];
	__u32 window;
	__u16 node;
	__u16 reserved;
};

/**
 * struct pavo_interface_info - an interface.
 * @ifindex: in the adapter's network namespace
 * @job:     JOBID
 * @window:  id of its window
 * @nodes:   number of the job's nodes
 * @known:   nodes that it knows
 * @frame:   longest packet that goes by one frame, with its Ethernet header
 * @node:    id of this machine
 * @reserved: 0
 * @name:    of the interface
 */
struct pavo_interface_info {
	__u32 ifindex;
	__u32 job;
	__u32 window;
	__u32 nodes;
	__u32 known;
	__u32 frame;
	__u16 node;
	__u16 reserved[3];
	char name[PAVO_INTERFACE_NAME];
};

#endif /* PAVO_ABI_OBJECTS_H */
