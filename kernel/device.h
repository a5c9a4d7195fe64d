/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device.h - the objects that every room knows: adapter, context, PD, CQ, QP.
 *
 * Writers of the parts of a QP: qp/ the attributes (struct
 * pavo_qp_attrs) under modify_mutex; requester/ and responder/ their side
 * under its lock. Everybody may read state with READ_ONCE(). Field by field, as
 * sources.md#engine-7-3: docs/architecture.md, "Fields of a queue pair".
 *
 * References: packets find a QP in the table under RCU and use it only inside
 * that RCU section; timers and work of a QP are stopped before it is freed.
 */
#ifndef PAVO_DEVICE_H
#define PAVO_DEVICE_H

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "compat.h"
#include "net/net.h"
#include "parent.h"
#include "requester/requester.h"
#include "responder/responder.h"
#include "stats.h"
#include "translate/translate.h"
#include "window/window.h"

/* Limits as reported by query_device; limits.c lowers some when told to. */
#define PAVO_MAX_SGE 30
#define PAVO_MAX_INLINE 512
#define PAVO_MAX_QP_WR 16384
#define PAVO_MAX_CQE 1048576
#define PAVO_MAX_RD_ATOMIC PAVO_MAX_RESOURCES
#define PAVO_MAX_DATAGRAM 4096
#define PAVO_MAX_MSG_SIZE 0x7fffffffu
#define PAVO_MAX_QP 262144
#define PAVO_MAX_CQ 262144
#define PAVO_MAX_PD 65536
#define PAVO_MAX_AH 262144
#define PAVO_MAX_SRQ 65536
#define PAVO_MAX_SRQ_WR 32768
#define PAVO_MAX_XRCD 65536
/* An IPv6 group costs its namespace's socket memory that is scarce. */
#define PAVO_MAX_MCAST_GRP 256
/* Copies that one packet may cause. */
#define PAVO_MAX_MCAST_QP_ATTACH 256
#define PAVO_MAX_TOTAL_MCAST_QP_ATTACH 16384

/* Objects that are counted against their limit. */
enum pavo_object {
	PAVO_OBJ_QP,
	PAVO_OBJ_CQ,
	PAVO_OBJ_PD,
	PAVO_OBJ_AH,
	PAVO_OBJ_MR,
	PAVO_OBJ_MW,
	PAVO_OBJ_SRQ,
	PAVO_OBJ_XRCD,
	PAVO_OBJ_ATTACH, /* queue pairs to multicast groups */
	PAVO_OBJ_COUNT,
};

/**
 * struct pavo_mcast - multicast groups of an adapter (qp/mcast.c).
 * @groups: those that have members, by GID
 * @count:  of them
 */
struct pavo_mcast {
	struct hlist_head groups[64];
	u32 count;
};

/**
 * struct pavo_dev - an adapter: one RDMA device on one network interface.
 * @ndev:      the interface; set to NULL (RCU) when it goes away, and from
 *             then on @net may be gone, too
 * @net:       its namespace, whose sockets are held
 * @attached:  @ndev and @net are held (main.c)
 * @gone:      the interface was unregistered
 * @parent:    above it in sysfs; under adapters_lock of main.c
 * @port_up:   link state as last reported to users
 * @link_known: @speed and @width are those of the present link
 * @tally:     its counters
 * @bad_pkeys, @bad_qkeys: packets refused for these (PortInfo, IBA 14.2.5.6)
 * @qps:       QPN -> struct pavo_qp, read under RCU
 * @srqs:      number -> struct pavo_srq of XRC, read under RCU
 * @counters:  number -> counters of their own that QPs count in
 * @mcast:     multicast groups
 * @keys:      memory keys
 * @rkm:       keys in use by inbound operations, and their end
 * @windows:   of processes
 * @used:      objects in existence, by enum pavo_object (limits.c)
 * @wq:        work of the QPs' sides that must leave the softirq, bound to CPUs
 * @end_wq:    ends and events of objects, bound to none
 * @node:      in main.c's table of adapters
 * @list:      in main.c's lists of live and of dead adapters
 */
struct pavo_dev {
	struct ib_device ib;
	struct net_device __rcu *ndev;
	netdevice_tracker ndev_tracker;
	struct pavo_parent parent;
	struct net *net;
	bool attached;
	bool gone;
	bool port_up;
	bool link_known;
	u16 speed;
	u8 width;
	struct pavo_tally tally;
	atomic_t bad_pkeys;
	atomic_t bad_qkeys;
	struct xarray qps;
	struct xarray srqs;
	struct xarray counters;
	struct pavo_mcast mcast;
	struct pavo_key_table keys;
	struct pavo_rkm rkm;
	struct pavo_windows windows;
	atomic_t used[PAVO_OBJ_COUNT];
	struct workqueue_struct *wq;
	struct workqueue_struct *end_wq;
	struct hlist_node node;
	struct list_head list;
};

/* Violations of a port are counted in 16 bits and stay at the most there is. */
static inline void pavo_violation(atomic_t *count)
{
	atomic_add_unless(count, 1, U16_MAX);
}

/**
 * struct pavo_mmap - a vmalloc'ed area that user space may map.
 * @entry: rdma core's bookkeeping, first
 * @addr:  the area (vmalloc)
 * @refs:  @entry's, and of those who hold it
 */
struct pavo_mmap {
	struct rdma_user_mmap_entry entry;
	void *addr;
	refcount_t refs;
};

/**
 * struct pavo_ucontext - an open device file.
 * @page:    doorbell page, shared with the process
 * @db_lock: one drainer of the page at a time
 * @db_cons: doorbells taken; page->cons is only a copy for the process
 */
struct pavo_ucontext {
	struct ib_ucontext ib;
	struct pavo_mmap *page_mmap;
	struct pavo_doorbell_page *page;
	spinlock_t db_lock; /* db_cons, and taking from the page */
	u32 db_cons;
};

/**
 * struct pavo_pd - protection domain.
 * @charge: paid by the process's memory cgroup, as in other objects: see pavo_charge()
 * @rkm: its QPs, for the remote key manager
 */
struct pavo_pd {
	struct ib_pd ib;
	void *charge;
	struct pavo_rkm_list rkm;
};

struct pavo_ah {
	struct ib_ah ib;
	void *charge;
	struct pavo_ud_seg av;
};

/**
 * struct pavo_cq - completion queue.
 * @mmap, @ring, @cqes, @count: header and entries; mapped by user space, or
 *          private to the kernel. Replaced under @lock by resize.c.
 * @prod:   entries written, under @lock
 * @cons:   kernel CQs: entries polled, under @lock
 * @armed:  enum ib_cq_notify_flags asked for, 0 if not
 * @moderate_count: events come after so many completions,
 * @moderate_us: or so long after the first of them; either 0: at once
 * @held:   completions that shall wake the waiter and have not yet
 * @timer:  for @moderate_us
 * @event:  bits of cq.c: events that are owed, raised by pavo_cq_raise() outside of any side
 * @dead:   overrun happened, nothing is written any more
 * @work:   tells the users of a dead CQ, and of events that bring about each other
 */
struct pavo_cq {
	struct ib_cq ib;
	struct pavo_mmap *mmap;
	struct pavo_cq_header *ring;
	struct pavo_cqe *cqes;
	u32 count; /* a power of two */
	spinlock_t lock; /* all below, and writing entries */
	u32 prod;
	u32 cons;
	int armed;
	u16 moderate_count;
	u16 moderate_us;
	u32 held;
	struct hrtimer timer;
	unsigned long event;
	bool dead;
	struct work_struct work;
	struct mutex resize_mutex; /* one resize at a time */
};

struct pavo_xrcd {
	struct ib_xrcd ib;
	void *charge;
};

/**
 * struct pavo_srq - shared receive queue.
 * @limit:  fewer WQEs than this: an event, once; 0: none is asked for
 * @failed: the ring is none; nothing is taken from it any more
 * @events: bits by enum ib_event_type, to be raised by @work
 */
struct pavo_srq {
	struct ib_srq ib;
	struct pavo_rq rq;
	u32 limit;
	bool failed;
	unsigned long events;
	struct work_struct work;
};

/**
 * struct pavo_qp_attrs - what modify_qp set (qp/attr.c is the writer).
 * @mtu: bytes
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

/**
 * struct pavo_qp - queue pair.
 * @pd: NULL for XRC targets: each request brings that of its SRQ
 * @send_cq, @recv_cq: NULL where the type of QP completes nothing
 * @state: enum ib_qp_state. Written under modify_mutex, or by pavo_qp_error()
 *         and pavo_qp_send_error(), which only ever write Error and SQE.
 * @windows: memory windows of type 2 bound to it, under the key table's lock
 * @rkm:   slots of the keys that its peer uses
 * @flow:  valid from RTR on unless datagrams; changed under both side locks
 * @events: bits by enum ib_event_type, to be raised by @end_work
 * @work:  runs both sides in process context, on the CPU that began to send: when softirq
 *         time is used up, and when what they waited for is there
 * @end_work: raises @events and flushes both sides, on any CPU: the owner of the one
 *         that saw the error may spin until the flush is seen
 */
struct pavo_qp {
	struct ib_qp ib;
	struct pavo_dev *dev;
	struct pavo_tally tally;
	struct pavo_pd *pd;
	struct pavo_cq *send_cq;
	struct pavo_cq *recv_cq;
	struct pavo_srq *srq; /* NULL: it has a receive queue of its own */
	struct pavo_ucontext *uctx;
	struct pavo_user *user; /* NULL: the kernel */
	struct ib_qp_cap cap;
	bool sq_sig_all;
	struct list_head windows;
	struct pavo_rkm_qp rkm;
	int state;
	struct mutex modify_mutex; /* attr, and transitions of state */
	struct pavo_qp_attrs attr;
	struct pavo_flow flow;
	bool has_flow;
	struct pavo_requester req;
	struct pavo_responder resp;
	unsigned long events;
	struct work_struct work;
	struct work_struct end_work;
};

static inline struct pavo_dev *to_pavo_dev(struct ib_device *ib)
{
	return container_of(ib, struct pavo_dev, ib);
}

static inline struct pavo_ucontext *to_pavo_uctx(struct ib_ucontext *ib)
{
	return container_of(ib, struct pavo_ucontext, ib);
}

static inline struct pavo_pd *to_pavo_pd(struct ib_pd *ib)
{
	return container_of(ib, struct pavo_pd, ib);
}

static inline struct pavo_cq *to_pavo_cq(struct ib_cq *ib)
{
	return container_of(ib, struct pavo_cq, ib);
}

static inline struct pavo_qp *to_pavo_qp(struct ib_qp *ib)
{
	return container_of(ib, struct pavo_qp, ib);
}

static inline struct pavo_srq *to_pavo_srq(struct ib_srq *ib)
{
	return container_of(ib, struct pavo_srq, ib);
}

static inline struct pavo_xrcd *to_pavo_xrcd(struct ib_xrcd *ib)
{
	return container_of(ib, struct pavo_xrcd, ib);
}

static inline struct pavo_ah *to_pavo_ah(struct ib_ah *ib)
{
	return container_of(ib, struct pavo_ah, ib);
}

static inline struct pavo_mr *to_pavo_mr(struct ib_mr *ib)
{
	return container_of(ib, struct pavo_mr, ib);
}

static inline struct pavo_mw *to_pavo_mw(struct ib_mw *ib)
{
	return container_of(ib, struct pavo_mw, ib);
}

static inline int pavo_qp_state(const struct pavo_qp *qp)
{
	return READ_ONCE(qp->state);
}

/* Every message is one packet and brings its own address. */
static inline bool pavo_is_datagram(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_UD || qp->ib.qp_type == IB_QPT_GSI;
}

/* Connected, but nothing is acknowledged: what was sent is done. */
static inline bool pavo_is_unreliable(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_UC;
}

/* Acknowledged: what is lost is sent again. */
static inline bool pavo_is_reliable(const struct pavo_qp *qp)
{
	return !pavo_is_datagram(qp) && !pavo_is_unreliable(qp);
}

/* The ends of an XRC connection: one asks, the other answers. */
static inline bool pavo_is_xrc_target(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_XRC_TGT;
}

static inline bool pavo_is_xrc_initiator(const struct pavo_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_XRC_INI;
}

/*
 * Whose memory the peer may touch: the QP's own. XRC: that of the SRQ which the
 * request at hand names (annex A14).
 */
static inline struct pavo_pd *pavo_peer_pd(const struct pavo_qp *qp)
{
	return qp->pd ?: qp->resp.rq->pd;
}

/* Upper three bits of the opcodes of a QP's packets. */
static inline u8 pavo_service(const struct pavo_qp *qp)
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

/* main.c */

/** pavo_dev_find - the adapter on an interface, NULL if none; RCU read side. */
struct pavo_dev *pavo_dev_find(const struct net_device *ndev);

/** pavo_show_adapters - @show each adapter of this machine. Sleeps. */
void pavo_show_adapters(struct seq_file *file,
			void (*show)(struct seq_file *, struct pavo_dev *));

/* verbs/mmap.c: NULL without memory; @uctx is NULL for rings of the kernel */
struct pavo_mmap *pavo_mmap_create(struct ib_ucontext *uctx, size_t size,
				   struct pavo_mmap_info *info);
void pavo_mmap_destroy(struct pavo_mmap *mmap);
void pavo_mmap_hold(struct pavo_mmap *mmap);
void pavo_mmap_put(struct pavo_mmap *mmap);

/* verbs/cq.c: the engine's side of a completion queue */

/**
 * pavo_cq_push - write a completion; all fields of @cqe but owner are taken.
 * @solicited: wakes a waiter that asked for solicited events only; a status
 *             other than success does so as well
 *
 * Context: any, also with a side locked. An overrun kills the CQ and moves
 * its QPs to Error through an event (work).
 */
void pavo_cq_push(struct pavo_cq *cq, const struct pavo_cqe *cqe,
		  bool solicited);

/**
 * pavo_cq_raise - call the completion handler if a push owed it one. One caller at a time;
 * a handler that brings about another event is called again when it has returned.
 */
void pavo_cq_raise(struct pavo_cq *cq);

/* verbs/srq.c */

/** pavo_srq_raise - an event of an SRQ, to be told by its work; any context. */
void pavo_srq_raise(struct pavo_srq *srq, enum ib_event_type type);

/** pavo_srq_fail - nothing is taken from it any more; its lock is held. */
void pavo_srq_fail(struct pavo_srq *srq);

/* qp/ */

/** pavo_qp_find - QP by number; RCU read side. */
struct pavo_qp *pavo_qp_find(struct pavo_dev *dev, u32 qpn);

/**
 * pavo_qp_error - an unrecoverable error of a side: QP to Error, both sides
 * flush. @event: IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR,
 * IB_EVENT_QP_ACCESS_ERR to raise, or -1 for none.
 *
 * Context: any, also with a side locked (the flush happens when it is left).
 */
void pavo_qp_error(struct pavo_qp *qp, int event);

/**
 * pavo_qp_drained - QP in SQD: the last that was under way is done.
 *
 * Context: the requester side is locked.
 */
void pavo_qp_drained(struct pavo_qp *qp);

/**
 * pavo_qp_send_error - a send WQE cannot be executed. Reliable services: QP to
 * Error. UC and datagrams: to SQE, where the send queue flushes and the receive
 * queue goes on, until modify_qp takes the QP back to RTS (IBA 10.3.1).
 *
 * Context: the requester side is locked.
 */
void pavo_qp_send_error(struct pavo_qp *qp);

/**
 * pavo_qp_continue - let the work of @qp go on with what a side has to send.
 * @cpu: which sent the beginning: packets from two CPUs overtake each other
 */
static inline void pavo_qp_continue(struct pavo_qp *qp, int cpu)
{
	queue_work_on(cpu, qp->dev->wq, &qp->work);
}

/** pavo_qp_end - let events be raised, and sides of a QP in Error flushed. */
static inline void pavo_qp_end(struct pavo_qp *qp)
{
	queue_work(qp->dev->end_wq, &qp->end_work);
}

int pavo_limits_check(void);
int pavo_limit(enum pavo_object object);
bool pavo_object_take(struct pavo_dev *dev, enum pavo_object object);
void pavo_object_give(struct pavo_dev *dev, enum pavo_object object);

#endif /* PAVO_DEVICE_H */
