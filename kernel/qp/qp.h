/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp.h - a queue pair: its two sides, its attributes, its state and its failure.
 *
 * Writers of the parts of a QP: control/ writes the attributes (struct pavo_qp_attrs) under
 * modify_mutex; requester/ and responder/ write their side under its lock. All code may read the
 * state with READ_ONCE(). Field by field, as sources.md#engine-7-3: docs/locks.md, "Fields of a
 * queue pair".
 *
 * References: packets find a QP in the table under RCU, and use it only in that RCU section; timers
 * and works of a QP are stopped before it is freed.
 */
#ifndef PAVO_QP_H
#define PAVO_QP_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include "adapter.h"
#include "budget.h"
#include "memory/key_state.h"
#include "memory/pd.h"
#include "net/conn.h"
#include "net/xmit.h"
#include "qp/requester_side.h"
#include "qp/responder_side.h"
#include "rings/cq_ring.h"

/**
 * struct pavo_qp_attrs - attributes that modify_qp has set (control/attr.c is the writer).
 * @mtu:       path MTU, bytes
 * @mtu_code:  path MTU, enum ib_mtu
 * @dest_qpn:  QPN of the peer
 * @qkey:      Q_Key of datagrams
 * @pkey_index: always 0
 * @access:    IB_ACCESS_* that the peer may use
 * @sq_psn:    first PSN to send
 * @rq_psn:    first PSN to expect
 * @timeout:   4.096 us * 2^timeout until the loss timer expires; 0: never
 * @retry_cnt: attempts after a loss
 * @rnr_retry: attempts after an RNR NAK; 7: no limit
 * @min_rnr_timer: code of the delay in RNR NAKs (IBA 9.7.5.2.8)
 * @max_rd_atomic: most unanswered reads and atomics
 * @max_dest_rd_atomic: most unanswered reads and atomics of the peer
 * @ah:        path to the peer
 */
struct pavo_qp_attrs {
	u32 mtu;
	enum ib_mtu mtu_code;
	u32 dest_qpn;
	u32 qkey;
	u16 pkey_index;
	int access;
	u32 sq_psn;
	u32 rq_psn;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr_timer;
	u8 max_rd_atomic;
	u8 max_dest_rd_atomic;
	struct rdma_ah_attr ah;
};

/* Operations of completion counters: bit numbers of enum ib_qp_attach_comp_cntr_op. */
enum pavo_comp_op {
	PAVO_COMP_SEND,
	PAVO_COMP_RECV,
	PAVO_COMP_READ,
	PAVO_COMP_REMOTE_READ,
	PAVO_COMP_WRITE,
	PAVO_COMP_REMOTE_WRITE,
	PAVO_COMP_OPS,
	PAVO_COMP_NONE = PAVO_COMP_OPS, /* in no counter */
};

struct pavo_comp_cntr;

/**
 * struct pavo_qp - queue pair.
 * @ib:      the object of rdma core, first
 * @dev:     its adapter
 * @stats:   its counters
 * @key_state: the QP's key state: keys that its operations use (memory/key_state.h)
 * @send_cq: NULL: the type of QP has no send completions
 * @recv_cq: NULL: the type of QP has no receive completions
 * @of_send_cq: in the list of @send_cq
 * @of_recv_cq: in the list of @recv_cq
 * @comp_cntrs: completion counters by operation (qp/comp_cntr.h); NULL: none is attached. That of
 *           PAVO_COMP_NONE is always NULL
 * @srq:     NULL: it has a receive queue of its own
 * @uctx:    of the process; NULL: a kernel consumer's
 * @user:    account that its packets are charged to; NULL: the kernel
 * @cap:     sizes of its queues
 * @sacks:   it is reliable, and offers SACKs to its peer
 * @ecn:     it is reliable. Its packets to a peer that offers SACKs may be marked, and marks and
 *           CNPs count as congestion
 * @sq_sig_all: all requests complete with a CQE
 * @state:   enum ib_qp_state. Written under modify_mutex, or by pavo_qp_error() and
 *           pavo_qp_send_error(), which write only Error and SQE
 * @modify_mutex: protects @attr and transitions of @state
 * @attr:    attributes
 * @flow:    path to the peer, from RTR on; not of datagram QPs. Changed under both side locks
 * @has_flow: @flow is valid
 * @conn:    what net/ knows of it and its peer
 * @cnp_at:  when it has sent a CNP last, ns
 * @req:     the requester
 * @resp:    the responder
 * @events:  bits by enum ib_event_type, which @end_work raises
 * @end_work: raises @events and flushes both sides. On any CPU, because a consumer may spin on the
 *           CPU of the error until it sees the flush
 */
struct pavo_qp {
	struct ib_qp ib;
	struct pavo_dev *dev;
	struct pavo_stats stats;
	struct pavo_key_state key_state;
	struct pavo_cq *send_cq;
	struct pavo_cq *recv_cq;
	struct list_head of_send_cq;
	struct list_head of_recv_cq;
	struct pavo_comp_cntr *comp_cntrs[PAVO_COMP_OPS + 1];
	struct pavo_srq *srq;
	struct pavo_ucontext *uctx;
	struct pavo_user *user;
	struct ib_qp_cap cap;
	bool sacks;
	bool ecn;
	bool sq_sig_all;
	int state;
	struct mutex modify_mutex; /* attr, and transitions of state */
	struct pavo_qp_attrs attr;
	struct pavo_flow flow;
	bool has_flow;
	struct pavo_conn conn;
	u64 cnp_at;
	struct pavo_requester req;
	struct pavo_responder resp;
	unsigned long events;
	struct work_struct end_work;
};

static inline struct pavo_qp *to_pavo_qp(struct ib_qp *ib)
{
	return container_of(ib, struct pavo_qp, ib);
}

static inline int pavo_qp_get_state(const struct pavo_qp *qp)
{
	return READ_ONCE(qp->state);
}

/* True for QPs whose work requests have one packet and an address handle each. */
static inline bool pavo_is_datagram(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_UD || qp->ib.qp_type == IB_QPT_GSI;
}

/* True for UC: connected, without acknowledgments. A request completes when it is sent. */
static inline bool pavo_is_unreliable(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_UC;
}

/* True for RC and XRC: acknowledged, and retransmitted after a loss. */
static inline bool pavo_is_reliable(const struct pavo_qp *qp)
{
	return !pavo_is_datagram(qp) && !pavo_is_unreliable(qp);
}

/* The ends of an XRC connection: the initiator sends requests, the target responses. */
static inline bool pavo_is_xrc_target(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_XRC_TGT;
}

static inline bool pavo_is_xrc_initiator(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_XRC_INI;
}

/* Return the type of the peer of a connected QP. */
static inline enum ib_qp_type pavo_qp_get_peer_type(const struct pavo_qp *qp)
{
	if (pavo_is_xrc_target(qp))
		return IB_QPT_XRC_INI;
	return pavo_is_xrc_initiator(qp) ? IB_QPT_XRC_TGT : qp->ib.qp_type;
}

/* Return the upper three bits of the opcodes of a QP's packets. */
static inline u8 pavo_qp_get_service(const struct pavo_qp *qp)
{
	switch (qp->ib.qp_type) {
	case IB_QPT_UC:
		return PAVO_SVC_UC;
	case IB_QPT_UD:
	case IB_QPT_GSI:
		return PAVO_SVC_UD;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return PAVO_SVC_XRC;
	default:
		return PAVO_SVC_RC;
	}
}

/* table.c */

/** pavo_qp_reserve_qpn - assign a QPN (1 for GSI), and enter @qp in the table. 0 or an errno. */
int pavo_qp_reserve_qpn(struct pavo_qp *qp);

/** pavo_qp_forget - remove @qp from the table; packets may use it for a grace period. */
void pavo_qp_forget(struct pavo_qp *qp);

/** pavo_qp_find - find a QP by its QPN; NULL: none. RCU read side. */
static inline struct pavo_qp *pavo_qp_find(struct pavo_dev *dev, u32 qpn)
{
	struct pavo_qp *qp = pavo_lookup_cache_find(&dev->qp_cache, qpn);

	return likely(qp && qp->key_state.number == qpn) ?
		       qp :
		       xa_load(&dev->qps, qpn);
}

/* attached.c */

/**
 * pavo_qp_may_read - true if memory that is attached to a packet may be read. RCU read side.
 * @port:  number of the sender's port
 * @qpn:   QPN of the sender
 * @psn:   of the packet
 * @lkey:  key of the memory
 * @token: token of the key's registration
 */
bool pavo_qp_may_read(u32 port, u32 qpn, u32 psn, u32 lkey, u32 token);

/** pavo_qp_conn - find the pair of a queue pair likewise; NULL: none. RCU read side. */
struct pavo_conn *pavo_qp_conn(u32 port, u32 qpn);

/* failure.c */

/** pavo_qp_to_error - move @qp from @from to Error. -EAGAIN: another CPU has changed the state. */
int pavo_qp_to_error(struct pavo_qp *qp, int from);

/**
 * pavo_qp_error - move a QP to Error after an unrecoverable error; both sides flush.
 * @qp:    the QP
 * @event: IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR, IB_EVENT_QP_ACCESS_ERR to raise; -1: none
 *
 * Context: any. A side that is locked flushes when its owner drops the lock.
 */
void pavo_qp_error(struct pavo_qp *qp, int event);

/**
 * pavo_qp_drained - raise SQ_DRAINED for a QP in SQD whose last request has completed.
 * @qp: the QP
 *
 * Context: the requester side is locked.
 */
void pavo_qp_drained(struct pavo_qp *qp);

/**
 * pavo_qp_send_error - handle a send WQE that cannot be executed. Moves a QP of a reliable service
 * to Error, UC and datagram QPs to SQE: the send queue flushes and the receive queue works, until
 * modify_qp moves the QP back to RTS (IBA 10.3.1).
 * @qp: the QP
 *
 * Context: the requester side is locked.
 */
void pavo_qp_send_error(struct pavo_qp *qp);

/** pavo_qp_end - queue end_work, which raises events, and flushes the sides of a QP in Error. */
static inline void pavo_qp_end(struct pavo_qp *qp)
{
	queue_work(qp->dev->end_wq, &qp->end_work);
}

/* Most expired timers of queue pairs that a CPU handles in softirqs of a tick. */
#define PAVO_TIMERS_A_TICK 16

/*
 * pavo_qp_admit_timer - count a timer of @qp that has expired. The timers of thousands of queue
 * pairs may expire in one softirq: if this CPU has handled too many in this tick, queue the work.
 * Return: 0: the caller handles the timer; -EBUSY: the work does.
 */
static inline int pavo_qp_admit_timer(struct pavo_qp *qp)
{
	if (likely(!pavo_budget_check_tick(PAVO_LOOP_TIMERS,
					   PAVO_TIMERS_A_TICK))) {
		pavo_budget_add(PAVO_LOOP_TIMERS, 1);
		return 0;
	}
	pavo_key_state_continue(&qp->key_state, smp_processor_id());
	return -EBUSY;
}

#endif /* PAVO_QP_H */
