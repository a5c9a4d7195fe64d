/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi.h - everything the pavo module shares with user space.
 *
 * Owns: the formats of the doorbell page, of the work queues and of the
 * completion queue, and the driver part of the uverbs commands. Included by
 * the module and by the libibverbs provider; depends on nothing but types.
 *
 * All shared memory is in the byte order of the host. The module does not trust it: it reads
 * each word once, copies it, and checks the copy before use.
 *
 * Doorbells follow sources.md#engine-7-1-1, segments sources.md#engine-2-4-3, and
 * receive WQEs sources.md#engine-4-4-2.
 */
#ifndef PAVO_ABI_H
#define PAVO_ABI_H

#include <linux/types.h>

/* The operations of work requests. */
#include <rdma/pavo-abi-ops.h>

/** Version of this interface, reported as uverbs abi_version of the device. */
#define PAVO_ABI_VERSION 3

/** The only port of an adapter. */
#define PAVO_PORT 1

/** Offsets and sizes in work queues are in units of 16 bytes. */
#define PAVO_WQE_UNIT 16
/** Largest WQE: the size field of a doorbell has 8 bits. */
#define PAVO_WQE_MAX_SIZE (255 * PAVO_WQE_UNIT)

/* ------------------------------------------------------------------ mmap */

/**
 * struct pavo_mmap_info - a mappable region, as announced by the module.
 * @offset: the offset for mmap() of the uverbs file
 * @size:   bytes, a multiple of the page size; 0 means that there is no region
 * @reserved: 0
 */
struct pavo_mmap_info {
	__aligned_u64 offset;
	__u32 size;
	__u32 reserved;
};

/* -------------------------------------------------------------- doorbells */

/*
 * A doorbell is 64 bits, stored at once:
 *   bits  0..4   opcode   enum pavo_wqe_op of the WQE at @offset
 *   bit   5      F        fence
 *   bits  6..31  offset   of the WQE from the start of the SQ, 16-byte units
 *   bits 32..39  size     of the WQE, 16-byte units, 1..255
 *   bits 40..63  QPN
 * The low word without the QPN is also the "next" word of a NextSeg.
 */
#define PAVO_DB_OP_MASK 0x1fu
#define PAVO_DB_FENCE 0x20u
#define PAVO_DB_OFFSET_SHIFT 6
#define PAVO_DB_OFFSET_MAX 0x3ffffffu
#define PAVO_DB_SIZE_SHIFT 32
#define PAVO_DB_QPN_SHIFT 40

/** Entries of a ucontext's doorbell ring; a power of two. */
#define PAVO_DB_RING_ENTRIES 256

/* Bits of pavo_doorbell_page.flags, written by the module. */
#define PAVO_DB_NEED_KICK 0x1u /* no worker polls: ring, then call the kernel */

/**
 * struct pavo_doorbell_page - one per ucontext, one page, mapped read/write.
 * @prod:  entries written so far (free running); written by user space with
 *         release order after the entry
 * @pad0:  keeps @cons in another cache line
 * @cons:  entries taken so far (free running); written by the module
 * @flags: PAVO_DB_*
 * @pad1:  keeps @ring in another cache line
 * @ring:  entry i of the free-running count is at ring[i % ENTRIES]
 *
 * Several threads of a process share it and must exclude each other. A child of fork() does not
 * write it, and rings by PAVO_METHOD_DOORBELLS_RING. The kick is PAVO_METHOD_DOORBELLS_KICK: it
 * drains the whole ring in the caller's context. The uverbs POST_SEND command without work
 * requests, on any QP of the ucontext, does the same. While a doorbell worker is awake
 * (PAVO_METHOD_DOORBELLS_POLL) the module clears PAVO_DB_NEED_KICK. A process reads @flags after
 * it has written @prod and a full barrier.
 */
struct pavo_doorbell_page {
	__u32 prod;
	__u8 pad0[60];
	__u32 cons;
	__u32 flags;
	__u8 pad1[56];
	__aligned_u64 ring[PAVO_DB_RING_ENTRIES];
};

/* ------------------------------------------------- private area of a process */

/*
 * The slots of an SQ, RQ or shared receive queue are followed, in the same region, by an area
 * that the module zeroes when it makes the region and never reads. A provider keeps its indices
 * there, and a wr_id for each slot, so that a process and its children share them with the
 * queue. Older modules announce regions that are too short for this area.
 */
#define PAVO_QUEUE_OWN_SIZE(slots) (8 + 8 * (slots))

/* ------------------------------------------------------------ send queue */

/*
 * The SQ region is an array of WQEs in slots of a fixed stride
 * (pavo_create_qp_resp.sq_wqe_size); a WQE begins at a slot's start and
 * consists of segments, each a multiple of 16 bytes: NextSeg; UdSeg (UD only) or XrcSeg (XRC
 * initiators only, and not for operations that send nothing); then those of the operation, as
 * PAVO_WQE_OPS lists them, in the order of enum pavo_wqe_segment, where AtomicSeg, ExtAtomicSeg,
 * BindSeg and Imm64Seg have the same place. LOCAL_INV has the key in imm.
 * Slots are used in ring order: the n-th WQE of a QP since RESET is in slot
 * n % sq_wqe_cnt.
 */

/* Bits of pavo_next_seg.flags; any other bit is an error. */
#define PAVO_WQE_SIGNALED 0x1u
#define PAVO_WQE_SOLICITED 0x2u

/*
 * Bits of pavo_next_seg.imm of FLUSH, those of the FETH (IBA 1.6): placement types, at least one,
 * and the whole region instead of a range; any other bit is an error.
 */
#define PAVO_FLUSH_GLOBAL 0x1u /* visible to all of the peer's machine */
#define PAVO_FLUSH_PERSISTENT 0x2u
#define PAVO_FLUSH_REGION 0x10u

/**
 * struct pavo_next_seg - first segment of every WQE (NextSeg).
 * @next:  low doorbell word (opcode, F, offset) of the next WQE of the chain
 * @size:  size of the next WQE, 16-byte units; 0 ends the chain
 * @flags: PAVO_WQE_*
 * @imm:   *_IMM: immediate data in network byte order; SEND_INV, LOCAL_INV: key; FLUSH:
 *         PAVO_FLUSH_*
 */
struct pavo_next_seg {
	__u32 next;
	__u32 size;
	__u32 flags;
	__u32 imm;
};

/**
 * struct pavo_raddr_seg - the remote range (RaddrSeg).
 * @va:     remote virtual address
 * @rkey:   remote key
 * @length: bytes, must equal the sum of the local entries, but for FLUSH, which has none; < 2^31
 */
struct pavo_raddr_seg {
	__aligned_u64 va;
	__u32 rkey;
	__u32 length;
};

/**
 * struct pavo_atomic_seg - operands of an atomic operation (AtomicSeg).
 * @swap_add: value to swap in, or to add
 * @compare:  value to compare with; 0 for FETCH_ADD
 */
struct pavo_atomic_seg {
	__aligned_u64 swap_add;
	__aligned_u64 compare;
};

/**
 * struct pavo_ext_atomic_seg - operands of an extended atomic operation (ExtAtomicSeg;
 * sources.md#ext-request).
 * @swap_add:      value to swap in, or to add
 * @swap_add_mask: EXT_FETCH_ADD: a set bit is the highest of a field; EXT_CMP_SWAP: bits to
 *                 swap in; EXT_SWAP: all ones
 * @compare:       EXT_CMP_SWAP: value to compare with; else 0
 * @compare_mask:  EXT_CMP_SWAP: bits to compare; else all ones
 */
struct pavo_ext_atomic_seg {
	__aligned_u64 swap_add;
	__aligned_u64 swap_add_mask;
	__aligned_u64 compare;
	__aligned_u64 compare_mask;
};

/**
 * struct pavo_imm64_seg - the data of IMM64 (Imm64Seg; sources.md#ext-immediate).
 * @imm:      eight bytes, as on the wire and in the peer's completion
 * @reserved: 0
 */
struct pavo_imm64_seg {
	__be64 imm;
	__aligned_u64 reserved;
};

/* Service levels are 0 to this (IBA 3.5.8). */
#define PAVO_SL_MAX 15

/**
 * struct pavo_ud_seg - the destination of a datagram (UDSeg).
 * @dgid:       destination GID (an IPv4 address as ::ffff:a.b.c.d)
 * @dest_qpn:   destination QP, 24 bits
 * @qkey:       Q_Key; with the top bit set the QP's own is used (IBA 10.2.5)
 * @flow_label: 20 bits; the module ignores those above
 * @sgid_index: source GID index of the sending device
 * @hop_limit:  of the IP header
 * @traffic_class: of the IP header
 * @dmac:       destination MAC as resolved when the address handle was made
 * @port_num:   PAVO_PORT
 * @sl:         service level, 0 to PAVO_SL_MAX
 * @reserved:   0
 */
struct pavo_ud_seg {
	__u8 dgid[16];
	__u32 dest_qpn;
	__u32 qkey;
	__u32 flow_label;
	__u8 sgid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 port_num;
	__u8 dmac[6];
	__u8 sl;
	__u8 reserved[9];
};

/**
 * struct pavo_xrc_seg - the shared receive queue of a message (XRC, IBA annex A14).
 * @srqn: SRQN of the shared receive queue at the other end, 24 bits
 * @reserved: 0
 */
struct pavo_xrc_seg {
	__u32 srqn;
	__u32 reserved[3];
};

/* Top bit of the first word: this is an InlineSeg, not a DataSeg. */
#define PAVO_INLINE_SEG 0x80000000u

/**
 * struct pavo_inline_seg - data carried in the WQE (InlineSeg).
 * @byte_count: PAVO_INLINE_SEG | bytes of data that follow this word; the
 *              segment is padded to a multiple of 16 bytes. Only one, last.
 */
struct pavo_inline_seg {
	__u32 byte_count;
};

/**
 * struct pavo_data_seg - one scatter/gather entry (DataSeg).
 * @byte_count: bytes, < 2^31; 0 is an empty entry
 * @lkey:       local key
 * @va:         virtual address in the region
 */
struct pavo_data_seg {
	__u32 byte_count;
	__u32 lkey;
	__aligned_u64 va;
};

/**
 * struct pavo_bind_seg - a bind of a memory window (BIND_MW).
 * @va:     start of the memory window
 * @length: bytes
 * @mw_rkey: the memory window's present key
 * @new_rkey: its key after the bind
 * @mr_lkey: region to bind it to
 * @access: IB_ACCESS_* of the memory window
 */
struct pavo_bind_seg {
	__aligned_u64 va;
	__aligned_u64 length;
	__u32 mw_rkey;
	__u32 new_rkey;
	__u32 mr_lkey;
	__u32 access;
};

/* --------------------------------------------------------- receive queue */

/* Bits of pavo_rq_header.flags, written by the module. */
#define PAVO_RQ_NEED_KICK 0x1u /* QP in error: post, then call the kernel */

/**
 * struct pavo_rq_header - start of the RQ region; the slots follow it.
 * @prod:  WQEs posted since RESET (free running); written by user space with
 *         release order after the WQE
 * @pad0:  keeps @cons in another cache line
 * @cons:  WQEs taken since RESET; written by the module, a hint only
 * @flags: PAVO_RQ_*; the poster reads it after it has written @prod and a full barrier
 * @pad1:  keeps the slots in another cache line
 *
 * There is no receive doorbell: an arriving Send is the doorbell. A receive WQE is NextSeg,
 * DataSegs, and a terminator of 16 zero bytes, in slot n % rq_wqe_cnt at
 * PAVO_RQ_HEADER_SIZE + slot * rq_wqe_size. The kick is the uverbs POST_RECV command
 * without work requests.
 *
 * A shared receive queue has the same region. QPs take its WQEs in order but complete them in
 * any order, so a WQE has its wr_id in it: NextSeg is struct pavo_srq_seg there, and all zero
 * in the RQ of a QP. Its slot may be reused as soon as @cons has passed it.
 */
struct pavo_rq_header {
	__u32 prod;
	__u8 pad0[60];
	__u32 cons;
	__u32 flags;
	__u8 pad1[56];
};

#define PAVO_RQ_HEADER_SIZE 128

/**
 * struct pavo_srq_seg - first segment of a WQE of a shared receive queue.
 * @wr_id: copied to pavo_cqe.wr_id
 * @reserved: 0
 */
struct pavo_srq_seg {
	__aligned_u64 wr_id;
	__aligned_u64 reserved;
};

/* ------------------------------------------------------ completion queue */

/* Bits of pavo_cqe.flags. */
#define PAVO_CQE_OWNER 0x01u /* flips with every pass of the ring, see below */
#define PAVO_CQE_RECV 0x02u /* of the receive queue, else of the send queue */
#define PAVO_CQE_IMM 0x04u
#define PAVO_CQE_INV 0x08u
#define PAVO_CQE_GRH 0x10u
#define PAVO_CQE_SRQ 0x20u /* of an SRQ: wr_id names the WQE, not wqe */
#define PAVO_CQE_IMM64 0x40u

/* The header in the place of the GRH; the values of enum rdma_network_type. */
#define PAVO_NETWORK_IPV4 2
#define PAVO_NETWORK_IPV6 3

/* C++ has no anonymous structs; compilers that know this header's language have them. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

/**
 * struct pavo_cqe - completion queue entry, 64 bytes.
 * @timestamp: ns of CLOCK_MONOTONIC at which the entry was written
 * @qpn:       QP the entry belongs to
 * @wqe:       WQEs of that queue completed before this one since RESET (free
 *             running): the slot is wqe % count. Unsignalled send WQEs before
 *             it are completed with it.
 * @imm64:     with PAVO_CQE_IMM64: eight bytes of immediate data as on the wire, in the
 *             place of @vlan and @smac
 * @byte_len:  bytes received or read
 * @imm:       immediate data (network order) or invalidated key
 * @src_qp:    UD: sender's QPN
 * @vendor_err: reason in detail, enum pavo_vendor_err
 * @pkey_index: UD
 * @vlan:      UD: id of the VLAN that the packet came by; 0: none
 * @smac:      0
 * @status:    enum ib_wc_status / ibv_wc_status
 * @opcode:    enum pavo_wqe_op of a send WQE; for a receive one that is PAVO_WQE_RECEIVED
 * @sl:        0
 * @network_hdr_type: UD with GRH: PAVO_NETWORK_*
 * @reserved:  0
 * @wr_id:     with PAVO_CQE_SRQ: from the WQE
 * @flags:     PAVO_CQE_*; written last, with release order
 *
 * Entry n (free running) is at cqe[n % count]; it is valid once OWNER equals
 * ((n / count) & 1) ^ 1, so that a ring of zeros is empty.
 */
struct pavo_cqe {
	__aligned_u64 timestamp;
	__aligned_u64 wr_id;
	union {
		struct {
			__u16 vlan;
			__u8 smac[6];
		};
		__be64 imm64;
	};
	__u32 qpn;
	__u32 wqe;
	__u32 byte_len;
	__u32 imm;
	__u32 src_qp;
	__u32 vendor_err;
	__u16 pkey_index;
	__u8 status;
	__u8 opcode;
	__u8 sl;
	__u8 network_hdr_type;
	__u8 reserved[9];
	__u8 flags;
};

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/**
 * struct pavo_cq_header - start of the CQ region; the entries follow it.
 * @cons: entries consumed (free running), written by user space
 * @own:  for the process, 0 in a new ring; the module never reads it
 * @pad0: keeps @prod in another cache line
 * @prod: entries written (free running), written by the module, a hint only
 * @pad1: keeps the entries in another cache line
 */
struct pavo_cq_header {
	__u32 cons;
	__u32 own;
	__u8 pad0[56];
	__u32 prod;
	__u8 pad1[60];
};

#define PAVO_CQ_HEADER_SIZE 128

/* The detailed reason why a work request failed, in addition to its status. */
enum pavo_vendor_err {
	PAVO_VE_NONE = 0,
	PAVO_VE_FLUSHED = 1,
	PAVO_VE_WQE_OFFSET = 2, /* doorbell offset out of range or not a slot */
	PAVO_VE_WQE_SIZE =
		3, /* size 0, beyond the slot, or ends in a segment */
	PAVO_VE_WQE_OPCODE = 4, /* unknown, or not allowed for the service */
	PAVO_VE_WQE_FLAGS = 5, /* reserved bits set */
	PAVO_VE_WQE_SEGMENT = 6, /* segment missing, misplaced or surplus */
	PAVO_VE_WQE_LENGTH = 7, /* too long, or SGL and remote length differ */
	PAVO_VE_LKEY = 8,
	PAVO_VE_LKEY_PD = 9,
	PAVO_VE_LKEY_ACCESS = 10,
	PAVO_VE_LKEY_RANGE = 11,
	PAVO_VE_REMOTE_NAK = 12,
	PAVO_VE_RETRY = 13,
	PAVO_VE_RNR_RETRY = 14,
	PAVO_VE_BAD_RESPONSE = 15,
	PAVO_VE_AV = 16, /* address vector: impossible QPN or port */
	PAVO_VE_RQ_INDEX = 17, /* RQ producer index beyond the queue */
	PAVO_VE_RQ_LENGTH = 18, /* message longer than the receive WQE */
	PAVO_VE_KEY_STATE = 19, /* invalidated, or not yet valid */
	PAVO_VE_MW_BIND = 20, /* window, region, QP or PD do not match */
	PAVO_VE_MW_RANGE = 21, /* window beyond its region, or its rights */
	PAVO_VE_DIRECT_IO =
		22, /* the I/O of a range of a direct window failed */
};

/* -------------------------------------------------------- uverbs commands */

struct pavo_alloc_ucontext_resp {
	__u32 abi_version;
	__u32 reserved;
	struct pavo_mmap_info doorbell;
};

/**
 * struct pavo_create_cq_resp - the ring of a new CQ, or the new ring of one that was resized: it
 * has the entries that were not consumed yet, at their old free-running indices.
 * @ring:     region to map
 * @cqe_cnt:  entries, a power of two
 * @reserved: 0
 */
struct pavo_create_cq_resp {
	struct pavo_mmap_info ring;
	__u32 cqe_cnt;
	__u32 reserved;
};

/**
 * struct pavo_create_qp_resp - the queues of a new QP.
 * @sq:          region of the SQ to map
 * @rq:          region of the RQ to map
 * @sq_wqe_size: stride of a slot in bytes, a multiple of 16
 * @sq_wqe_cnt:  slots, a power of two
 * @rq_wqe_size: the same for the RQ
 * @rq_wqe_cnt:  the same for the RQ
 */
struct pavo_create_qp_resp {
	struct pavo_mmap_info sq;
	struct pavo_mmap_info rq;
	__u32 sq_wqe_size;
	__u32 sq_wqe_cnt;
	__u32 rq_wqe_size;
	__u32 rq_wqe_cnt;
};

/**
 * struct pavo_create_srq_resp - a new shared receive queue.
 * @rq: region to map, as that of a QP's RQ
 * @wqe_size: stride of a slot in bytes
 * @wqe_cnt: slots, a power of two
 * @srqn: SRQN for XRC, 24 bits
 * @reserved: 0
 */
struct pavo_create_srq_resp {
	struct pavo_mmap_info rq;
	__u32 wqe_size;
	__u32 wqe_cnt;
	__u32 srqn;
	__u32 reserved;
};

/* Objects and methods of pavo's own. */
#include <rdma/pavo-abi-objects.h>
#include <rdma/pavo-abi-frame.h>
#include <rdma/pavo-abi-window.h>
#include <rdma/pavo-abi-direct.h>

#endif /* PAVO_ABI_H */
