/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * provider.h - the objects of the provider and its operations.
 *
 * Owns: struct layouts shared by the provider's files. Every object begins with
 * the structure that libibverbs knows, so that a cast leads from one to the
 * other. Private to userspace/provider; the outside sees pavo_dv.h.
 *
 * Locks, in the order they are taken: Context::qp_mutex (life of QPs), CQ locks
 * (by address if two), queue locks, the lock of the doorbell ring.
 */
#ifndef PAVO_PROVIDER_H
#define PAVO_PROVIDER_H

#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "abi.h"
#include "doorbell.h"
#include "doorbell_worker.h"
#include "own.h"
#include "pavo_dv.h"
#include "qp_table.h"
#include "queue.h"
#include "sync.h"

namespace pavo {

/** A region the module lets us map; unmaps itself. */
class Mapping {
public:
	Mapping() = default;
	Mapping(const Mapping &) = delete;
	Mapping &operator=(const Mapping &) = delete;
	~Mapping();

	/**
	 * Maps the region that @info announces. False with errno set if that
	 * fails, or if the region has fewer bytes than @needed.
	 */
	bool map(int fd, const pavo_mmap_info &info, uint64_t needed);

	void swap(Mapping &other)
	{
		std::swap(data_, other.data_);
		std::swap(size_, other.size_);
	}

	void *data() const { return data_; }
	size_t size() const { return size_; }

private:
	void *data_ = nullptr;
	size_t size_ = 0;
};

/** The provider's part of a context, beside the part that libibverbs allocates. */
struct ContextState {
	/** Takes over the mapping of the doorbell page. */
	ContextState(Mapping &mapped, OwnRing ring, bool shared)
		: doorbells(std::move(ring)), shared(shared)
	{
		page.swap(mapped);
	}

	Mapping page;
	OwnRing doorbells;
	QpTable qps;
	std::mutex qp_mutex;
	std::atomic<int> xrc_srqs{0};
	std::atomic<bool> write_refused{false}; /* see kick.cpp */
	DoorbellWorker
		worker; /* first to go: its file is open, and its page mapped */
	bool shared; /* several threads may use the context */
};

struct Context {
	verbs_context verbs;
	ContextState *state; /* adopted when the context is closed */
};

struct Device {
	verbs_device verbs;
};

/** A thread domain: its user promises to be single-threaded. */
struct ThreadDomain {
	ibv_td td;
	std::atomic<int> users;
};

/** A PD, or a parent domain made of one. */
struct Pd {
	ibv_pd pd;
	Pd *parent_of; /* parent domain: the real PD */
	ThreadDomain *domain;
	Allocator allocator;
	std::atomic<int> users; /* parent domains, or CQs, on it */
};

struct Cq {
	verbs_cq verbs;
	Mapping ring;
	pavo_cq_header *header = nullptr;
	pavo_cqe *entries = nullptr;
	uint32_t count = 0;
	Lock lock;
	Pd *parent = nullptr; /* the parent domain it was made with */
	/* Between start_poll and end_poll: where it began, what is current. */
	uint32_t begun = 0;
	pavo_cqe current = {};
	ibv_wc wc = {};

	explicit Cq(bool shared) : verbs(), lock(shared) {}
};

class SendBuilder;

struct Qp {
	verbs_qp verbs;
	Mapping sq_map;
	Mapping rq_map;
	WorkQueue sq;
	WorkQueue rq;
	pavo_rq_header *rq_header; /* null without an RQ */
	uint32_t always_flags; /* PAVO_WQE_SIGNALED if all are */
	std::unique_ptr<SendBuilder> builder; /* if made for ibv_wr_* */
	std::atomic<pavodv_peer> peer{PAVODV_PEER_UNKNOWN};

	explicit Qp(bool shared);
	~Qp();
};

/** A shared receive queue; its completions do not come back to it. */
struct Srq {
	verbs_srq verbs;
	Mapping map;
	WorkQueue rq;
	pavo_rq_header *header;

	explicit Srq(bool shared) : verbs(), rq(shared), header() {}
};

struct Ah {
	ibv_ah ah;
	pavo_ud_seg av; /* all but what the work request brings */
};

/* Casts from the objects of libibverbs; all are the first member. */
static_assert(std::is_standard_layout_v<Context>);

inline Context *to_context(ibv_context *context)
{
	/* verbs_context ends in the ibv_context that applications see. */
	return reinterpret_cast<Context *>(verbs_get_ctx(context));
}

inline Pd *to_pd(ibv_pd *pd)
{
	return reinterpret_cast<Pd *>(pd);
}
inline Cq *to_cq(ibv_cq *cq)
{
	return reinterpret_cast<Cq *>(cq);
}
inline Qp *to_qp(ibv_qp *qp)
{
	return reinterpret_cast<Qp *>(qp);
}
inline Srq *to_srq(ibv_srq *srq)
{
	return reinterpret_cast<Srq *>(srq);
}
inline verbs_xrcd *to_xrcd(ibv_xrcd *xrcd)
{
	return reinterpret_cast<verbs_xrcd *>(xrcd);
}
inline Ah *to_ah(ibv_ah *ah)
{
	return reinterpret_cast<Ah *>(ah);
}

inline ThreadDomain *to_domain(ibv_td *td)
{
	return reinterpret_cast<ThreadDomain *>(td);
}

/* device.cpp */
bool is_pavo(const ibv_context *context);

/* context.cpp */
verbs_context *alloc_context(ibv_device *device, int cmd_fd, void *);

/* pd.cpp */
ibv_pd *alloc_pd(ibv_context *context);
int dealloc_pd(ibv_pd *pd);
ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *attr);
int dealloc_td(ibv_td *td);
ibv_pd *alloc_parent_domain(ibv_context *context,
			    ibv_parent_domain_init_attr *attr);

/* memory.cpp */
ibv_mr *reg_mr(ibv_pd *pd, void *addr, size_t length, uint64_t iova,
	       int access);
ibv_mr *reg_dmabuf_mr(ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
		      int fd, int access);
int rereg_mr(verbs_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length,
	     int access);
int dereg_mr(verbs_mr *mr);
ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type);
int dealloc_mw(ibv_mw *mw);
int bind_mw(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *bind);

/* ah.cpp */
ibv_ah *create_ah(ibv_pd *pd, ibv_ah_attr *attr);
int destroy_ah(ibv_ah *ah);

/* cq.cpp */
ibv_cq *create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel,
		  int comp_vector);
int destroy_cq(ibv_cq *cq);
int resize_cq(ibv_cq *cq, int cqe);
int modify_cq(ibv_cq *cq, ibv_modify_cq_attr *attr);
int poll_cq(ibv_cq *cq, int num_entries, ibv_wc *wc);
/** A CQ and its ring; null with errno set. @shared: by several threads. */
std::unique_ptr<Cq> make_cq(ibv_context *context, int cqe,
			    ibv_comp_channel *channel, int comp_vector,
			    bool shared);
/**
 * Takes entries until one is the application's, and sets @cqe and @wc to it. True if there was
 * one. @begun: @cq's consumer index when polling began. Its lock is held.
 */
bool poll_one(Context *context, Cq *cq, uint32_t begun, pavo_cqe *cqe,
	      ibv_wc *wc);
/**
 * The number of entries of @cq that the process has taken, free running. It is in the mapped
 * header, next to the published consumer index, so that a process and its child share it after
 * fork().
 */
inline uint32_t &taken(const Cq *cq)
{
	return cq->header->own;
}
/** Publishes the consumer index of @cq: the module may reuse the entries before it. */
void publish_cons(Cq *cq);
/** Makes poll_cq() skip the entries of @qpn in @cq; its lock is held. */
void forget_qp(Cq *cq, uint32_t qpn);

/* cq_ex.cpp */
ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr);
int query_rt_values(ibv_context *context, ibv_values_ex *values);

/* qp.cpp */
ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *attr);
ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr);
int query_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask,
	     ibv_qp_init_attr *init_attr);
int modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask);
int destroy_qp(ibv_qp *qp);

/** Maps the ring of a queue that was made; false with errno set. */
bool map_queue(Mapping *map, WorkQueue *queue, int fd,
	       const pavo_mmap_info &info, uint32_t header, uint32_t count,
	       const WqeLimits &limits);

/* xrc.cpp */
#if PAVO_VERBS_ABI >= 65
ibv_comp_cntr *create_comp_cntr(ibv_context *context,
				ibv_comp_cntr_init_attr *attr);
int destroy_comp_cntr(ibv_comp_cntr *counter);
#endif

ibv_xrcd *open_xrcd(ibv_context *context, ibv_xrcd_init_attr *attr);
int close_xrcd(ibv_xrcd *xrcd);
ibv_qp *open_qp(ibv_context *context, ibv_qp_open_attr *attr);

/* srq.cpp */
ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *attr);
ibv_srq *create_srq_ex(ibv_context *context, ibv_srq_init_attr_ex *attr);
int modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask);
int query_srq(ibv_srq *srq, ibv_srq_attr *attr);
int destroy_srq(ibv_srq *srq);
int get_srq_num(ibv_srq *srq, uint32_t *number);

/* post_send.cpp, post_recv.cpp, kick.cpp */
int post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad_wr);
int post_recv(ibv_qp *qp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);
int post_srq_recv(ibv_srq *srq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);
/** Calls the module to drain the context's doorbell ring; 0 or errno. */
int kick_send(const ibv_qp *qp);
/** In a child of fork(): passes a doorbell to the module; 0 or errno. */
int ring_by_call(const ibv_context *context, uint64_t doorbell);
/** Calls the module to flush the QP's receive queue; 0 or errno. */
int kick_recv(const ibv_qp *qp);

} // namespace pavo

#endif /* PAVO_PROVIDER_H */
