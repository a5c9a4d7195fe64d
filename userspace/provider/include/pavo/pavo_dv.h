/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_dv.h - direct access to the memory that the provider shares with the
 * module.
 *
 * For applications: operations that verbs do not have, at the end of this file.
 * For tests and tools: where the doorbell page and the rings of a context, a CQ
 * or a QP are, and the calls into the module without anything around them. A
 * process that writes into these regions competes with the provider itself; no
 * lock protects them.
 *
 * Exported by libpavo-rdmavNN.so, usable from C.
 */
#ifndef PAVO_DV_H
#define PAVO_DV_H

#include <infiniband/verbs.h>
#include <rdma/pavo-abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum pavodv_resource - kinds of memory that the functions of a parent domain
 * allocate
 *
 * The lower half of their resource_type; pavo has no vendor id in the upper one.
 * @PAVODV_RES_WR_IDS: the indices of a queue and a wr_id for every slot
 * @PAVODV_RES_REQUEST: the request that ibv_wr_*() calls put together
 */
enum pavodv_resource {
	PAVODV_RES_WR_IDS = 1,
	PAVODV_RES_REQUEST = 2,
};

/**
 * struct pavodv_context - the mapped memory of an open device
 * @doorbell: the mapped doorbell page
 * @doorbell_size: its bytes
 * @abi_version: PAVO_ABI_VERSION of the provider
 */
struct pavodv_context {
	struct pavo_doorbell_page *doorbell;
	size_t doorbell_size;
	uint32_t abi_version;
};

/**
 * struct pavodv_cq - a completion queue
 * @header: the mapped region, which the header begins
 * @size: its bytes
 * @entries: the ring in it
 * @count: its entries
 */
struct pavodv_cq {
	struct pavo_cq_header *header;
	size_t size;
	struct pavo_cqe *entries;
	uint32_t count;
};

/**
 * struct pavodv_qp - a queue pair
 * @sq: the mapped send queue
 * @sq_size: its bytes
 * @sq_wqe_size: bytes of a slot
 * @sq_wqe_cnt: its slots
 * @sq_head: WQEs posted through the provider since RESET
 * @rq: the mapped receive queue with its header; null if none
 * @rq_size: its bytes
 * @rq_slots: its first slot
 * @rq_wqe_size: bytes of a slot
 * @rq_wqe_cnt: its slots
 * @rq_head: as sq_head
 * @qpn: its QPN on the wire
 * @handle: its handle in uverbs
 */
struct pavodv_qp {
	void *sq;
	size_t sq_size;
	uint32_t sq_wqe_size;
	uint32_t sq_wqe_cnt;
	uint32_t sq_head;
	struct pavo_rq_header *rq;
	size_t rq_size;
	void *rq_slots;
	uint32_t rq_wqe_size;
	uint32_t rq_wqe_cnt;
	uint32_t rq_head;
	uint32_t qpn;
	uint32_t handle;
};

/**
 * struct pavodv_srq - a shared receive queue
 * @rq: the mapped ring with its header
 * @size: its bytes
 * @slots: its first slot
 * @wqe_size: bytes of a slot
 * @wqe_cnt: its slots
 * @head: WQEs posted through the provider
 */
struct pavodv_srq {
	struct pavo_rq_header *rq;
	size_t size;
	void *slots;
	uint32_t wqe_size;
	uint32_t wqe_cnt;
	uint32_t head;
};

/** Returns whether @context is a device of pavo's, opened through this copy of the provider. */
bool pavodv_is_supported(struct ibv_context *context);

/**
 * pavodv_query_context - query where the doorbell ring of a context is.
 * @context: an open device
 * @out:     set
 *
 * Returns 0; EOPNOTSUPP: the device is not one of pavo's.
 */
int pavodv_query_context(struct ibv_context *context,
			 struct pavodv_context *out);
/** pavodv_query_cq - query where the ring of a completion queue is. As pavodv_query_context(). */
int pavodv_query_cq(struct ibv_cq *cq, struct pavodv_cq *out);
/** pavodv_query_qp - query where the rings of a queue pair are. As pavodv_query_context(). */
int pavodv_query_qp(struct ibv_qp *qp, struct pavodv_qp *out);
/** pavodv_query_srq - query where the ring of an SRQ is. As pavodv_query_context(). */
int pavodv_query_srq(struct ibv_srq *srq, struct pavodv_srq *out);

/**
 * pavodv_ring - put 64 bits into the context's doorbell ring, unchecked
 * @context:  an open device
 * @doorbell: the bits
 *
 * Does not kick. A child of fork() has no ring: the module takes the bits at once.
 *
 * Returns 0; EAGAIN: the ring is full; EINVAL: in a child of fork(), the bits name no queue pair
 * that may send; EOPNOTSUPP.
 */
int pavodv_ring(struct ibv_context *context, uint64_t doorbell);

/** Calls the module to drain the context's ring. Returns 0 or the error of the call. */
int pavodv_kick_send(struct ibv_qp *qp);

/**
 * pavodv_poll - start a thread that polls the doorbells of a context, so that posting makes no
 * system calls
 * @context: an open device
 * @idle:    microseconds without doorbells after which the thread sleeps until the next one,
 *           whose post then makes a system call; at most the module's parameter poll_idle_max.
 *           0: ends the thread
 *
 * The thread is one of the calling process and uses its CPU time: it is for processes that post
 * all the time on machines with an idle CPU. Further calls change the limit. In a child of
 * fork() the thread is the parent's, and the call changes the limit of that.
 *
 * Returns 0; EPERM: the administrator allows no polling; EAGAIN: no thread could be made; EIO:
 * the device was removed; EOPNOTSUPP.
 */
int pavodv_poll(struct ibv_context *context, uint32_t idle);

/**
 * Calls the module to flush the QP's receive queue if the QP is in Error. Returns 0 or the error
 * of the call.
 */
int pavodv_kick_recv(struct ibv_qp *qp);

/**
 * pavodv_skip_send - count WQEs as posted that the caller wrote itself
 * @qp:    a queue pair
 * @count: number of WQEs
 * @wr_id: of the first of them
 *
 * ibv_poll_cq() then returns their completions, with a wr_id of @wr_id + n for the n-th.
 *
 * Returns 0; ENOMEM: the queue has fewer free slots; EOPNOTSUPP.
 */
int pavodv_skip_send(struct ibv_qp *qp, uint32_t count, uint64_t wr_id);

/*
 * Extended operations: masked atomics, swap, and immediate data of eight bytes
 * (docs/sources.md#ext), between queue pairs of RC or XRC. They are posted like those of ibv_wr_*(3):
 * between ibv_wr_start() and ibv_wr_complete(), with wr_id and wr_flags set before, on a
 * queue pair made by ibv_create_qp_ex() with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS. On others
 * ibv_wr_complete() returns EINVAL.
 *
 * After an atomic, set the memory for the eight bytes that it returns: ibv_wr_set_sge(). On XRC,
 * set the peer's shared receive queue after each: ibv_wr_set_xrc_srqn(). IBV_SEND_SOLICITED of
 * immediate data raises a solicited event at the peer.
 */

/**
 * pavodv_wr_ext_fetch_add - add to fields of a word.
 * @qp:     a queue pair, between ibv_wr_start() and ibv_wr_complete()
 * @rkey:   the peer's key
 * @remote: eight bytes of the peer's memory, aligned
 * @add:    added field by field
 * @tops:   a set bit is the highest of a field; 0: all 64 bits are one field
 */
void pavodv_wr_ext_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey,
			     uint64_t remote, uint64_t add, uint64_t tops);

/** pavodv_wr_ext_swap - replace a word by @value. See pavodv_wr_ext_fetch_add(). */
void pavodv_wr_ext_swap(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote,
			uint64_t value);

/**
 * pavodv_wr_ext_cmp_swap - compare bits of a word, and replace bits of it.
 * @qp:           see pavodv_wr_ext_fetch_add()
 * @rkey:         the peer's key
 * @remote:       eight bytes of the peer's memory, aligned
 * @compare:      value of the bits that have to be equal
 * @compare_mask: these bits
 * @swap:         value of the bits that are replaced then
 * @swap_mask:    these bits
 */
void pavodv_wr_ext_cmp_swap(struct ibv_qp_ex *qp, uint32_t rkey,
			    uint64_t remote, uint64_t compare,
			    uint64_t compare_mask, uint64_t swap,
			    uint64_t swap_mask);

/**
 * pavodv_wr_imm64 - send eight bytes of immediate data.
 * @qp:  see pavodv_wr_ext_fetch_add()
 * @imm: the eight bytes
 *
 * They consume a receive request, whose memory is not written. The peer reads them with
 * pavodv_wc_read_imm64().
 */
void pavodv_wr_imm64(struct ibv_qp_ex *qp, __be64 imm);

/**
 * pavodv_wc_read_imm64 - read the eight bytes of immediate data of @cq's current completion.
 * @cq:  an extended completion queue
 * @imm: set to the eight bytes
 *
 * Between ibv_start_poll() and ibv_end_poll(). Other ways to poll show such a completion as
 * IBV_WC_RECV of eight bytes, without immediate data.
 *
 * Return: true; false: the completion has none.
 */
bool pavodv_wc_read_imm64(struct ibv_cq_ex *cq, __be64 *imm);

/**
 * Of verbs since rdma-core 45, for programs that are built with an older one: the opcode of a
 * flush's completion, the flag of the queue pair for struct ibv_qp_init_attr_ex, and the right of
 * queue pairs and regions to be flushed by peers for global visibility and for persistence.
 */
#define PAVODV_WC_FLUSH ((enum ibv_wc_opcode)8)
#define PAVODV_QP_EX_WITH_FLUSH (1 << 11)
#define PAVODV_ACCESS_FLUSH_GLOBAL (1 << 8)
#define PAVODV_ACCESS_FLUSH_PERSISTENT (1 << 9)

/**
 * pavodv_wr_flush - make what the requests before wrote at the peer visible there (RDMA FLUSH, IBA
 * 1.6): ibv_wr_flush(3), which libibverbs has since rdma-core 45, with any release.
 * @qp:     see pavodv_wr_ext_fetch_add()
 * @rkey:   the peer's key
 * @remote: first byte of the range
 * @length: bytes of the range
 * @flags:  PAVO_FLUSH_*: placement types, and whether the whole region is meant instead of the
 *          range
 *
 * It completes when all that the queue pair wrote is visible, and counts as a read. The queue pair
 * needs no flag for this call.
 */
void pavodv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote,
		     size_t length, uint32_t flags);

/** Bits of pavodv_query_ext(). */
enum pavodv_ext {
	PAVODV_EXT_FETCH_ADD = 1 << 0,
	PAVODV_EXT_SWAP = 1 << 1,
	PAVODV_EXT_CMP_SWAP = 1 << 2,
	PAVODV_EXT_IMM64 = 1 << 3,
};

/**
 * pavodv_query_ext - extended operations of the device. Returns bits of enum pavodv_ext; 0 if it
 * is not pavo's.
 */
uint32_t pavodv_query_ext(struct ibv_context *context);

/**
 * enum pavodv_peer - whether the peer of a queue pair supports extended operations
 * @PAVODV_PEER_UNKNOWN: none has ended since RESET
 * @PAVODV_PEER_KNOWS:   it supports them: it has acknowledged one
 * @PAVODV_PEER_SILENT:  it has acknowledged none, and one ended with IBV_WC_RETRY_EXC_ERR: the
 *                       peer supports none, or it is unreachable
 */
enum pavodv_peer {
	PAVODV_PEER_UNKNOWN = 0,
	PAVODV_PEER_KNOWS = 1,
	PAVODV_PEER_SILENT = 2,
};

/** pavodv_query_peer - set @peer. Returns 0, or EOPNOTSUPP if @qp is not pavo's. */
int pavodv_query_peer(struct ibv_qp *qp, enum pavodv_peer *peer);

#ifdef __cplusplus
}
#endif

#endif /* PAVO_DV_H */
