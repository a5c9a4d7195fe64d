/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stats.h - the counters of an adapter. Each reason of a drop has a counter.
 *
 * Written from any context (per CPU, no lock), reported by hw_stats.c. A counter of mlx5 keeps its
 * name and meaning, for the tools that know it (docs/statistics.md). The name of other
 * counters of dropped packets is rx_drop_ or tx_drop_ and the reason.
 */
#ifndef PAVO_STATS_H
#define PAVO_STATS_H

#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/tracepoint-defs.h>
#include <linux/types.h>

struct pavo_dev;

/*
 * Counters of the port. rdma core reports all of them in one netlink message of a page, or none:
 * `make lint` checks that 20 more fit. Counters that few users need are those of the device, below.
 * X(name): the enumerator is PAVO_CNT_name, the visible name is "name".
 */
#define PAVO_COUNTERS(X)                                             \
	X(tx_packets)                                                \
	X(tx_bytes)                                                  \
	X(rx_packets)                                                \
	X(rx_bytes)                                                  \
	X(rx_write_requests) /* executed */                          \
	X(rx_read_requests)                                          \
	X(rx_atomic_requests)                                        \
	X(tx_acks)                                                   \
	X(rx_acks)                                                   \
	X(tx_naks)                                                   \
	X(rx_naks)                                                   \
	X(packet_seq_err) /* of them: gap at the peer */             \
	X(tx_rnr_naks)                                               \
	X(rnr_nak_retry_err)                                         \
	X(tx_retransmits) /* packets retransmitted */                \
	X(tx_drop_no_memory)                                         \
	X(tx_drop_no_route)                                          \
	X(tx_drop_congested) /* refused by the interface */          \
	X(tx_drop_filtered) /* refused by a packet filter */         \
	X(tx_drop_too_long) /* beyond the MTU of the route */        \
	X(local_ack_timeout_err)                                     \
	X(rnr_timer_expired)                                         \
	X(req_transport_retries_exceeded)                            \
	X(req_rnr_retries_exceeded)                                  \
	X(duplicate_request)                                         \
	X(out_of_sequence) /* gap seen by the responder */           \
	X(implied_nak_seq_err) /* read response lost */              \
	X(rx_drop_short) /* ends inside its headers */               \
	X(rx_drop_too_long) /* payload beyond the path MTU */        \
	X(rx_drop_version)                                           \
	X(rx_drop_opcode) /* unknown opcode */                       \
	X(rx_drop_surplus) /* payload, but opcode has none */        \
	X(rx_icrc_encapsulated)                                      \
	X(rx_drop_qpn) /* no such QP */                              \
	X(rx_drop_service) /* not the QP's service type */           \
	X(rx_drop_state) /* QP not ready to receive */               \
	X(rx_drop_pkey)                                              \
	X(rx_drop_qkey)                                              \
	X(rx_drop_address) /* not its peer; to many addresses */     \
	X(rx_drop_response) /* response to no request */             \
	X(rx_drop_old_response) /* to an answered request */         \
	X(rx_sacks)                                                  \
	X(np_ecn_marked_roce_packets) /* by routers, on their way */ \
	X(np_cnp_sent) /* for them, to peers without SACKs */        \
	X(rp_cnp_handled) /* the peer's: they counted */             \
	X(rp_cnp_ignored)                                            \
	X(rx_held) /* behind a gap: held until it closes */          \
	X(rx_drop_out_of_sequence) /* behind a gap, not held */      \
	X(rx_drop_duplicate_read) /* too old to be replayed */       \
	X(rx_drop_backlog) /* QP busy and backlog full */            \
	X(out_of_buffer) /* no receive is posted */                  \
	X(rx_drop_recv_length) /* UC, UD: the receive is shorter */  \
	X(rx_drop_invalid_request) /* UC: sequence, length */        \
	X(rx_drop_access) /* UC: memory may not be written */        \
	X(rx_drop_no_memory) /* no copy for a QP of a group */       \
	X(rx_nak_sent_invalid_request)                               \
	X(resp_remote_access_errors)                                 \
	X(rx_nak_sent_remote_operational)                            \
	X(resp_local_length_error) /* RC: the receive is shorter */  \
	X(resp_cqe_error) /* receives completed in error */          \
	X(resp_cqe_flush_error) /* of them: flushed */               \
	X(req_remote_access_errors) /* as the peer NAKed */          \
	X(req_remote_invalid_request)                                \
	X(req_cqe_error) /* send WQEs completed in error */          \
	X(req_cqe_flush_error) /* of them: flushed */                \
	X(wqe_errors) /* send WQEs refused */                        \
	X(odp_faults) /* requests to fault pages in */               \
	X(odp_fault_errors) /* faults that failed */                 \
	X(odp_invalidations) /* pages that the kernel unmapped */    \
	X(qp_errors) /* QPs moved to Error */                        \
	X(sq_errors) /* send queues of UC and UD moved to SQE */

/*
 * Counters of the device, /sys/class/infiniband/ADAPTER/hw_counters: of doorbells and CQs,
 * windows, the remote key manager, direct windows, and memory of PCI devices. A QP counts them in
 * its adapter's.
 */
#define PAVO_DEVICE_COUNTERS(X)                                  \
	X(db_ring_index) /* producer index beyond ring */        \
	X(db_bad_qpn) /* no such QP */                           \
	X(db_foreign_qp) /* QP of another ucontext */            \
	X(db_bad_state) /* QP before RTS */                      \
	X(db_overflow) /* more doorbells than WQEs */            \
	X(cq_overruns)                                           \
	X(cq_index_errors) /* CQ consumer index absurd */        \
	X(rq_index_errors) /* RQ producer index absurd */        \
	X(tx_drop_user_socket) /* a process sent to the port */  \
	X(loss_timer_put_off) /* packet is in a local queue */   \
	X(rx_drop_psn_ghost) /* ACK of nothing outstanding */    \
	X(rx_drop_syndrome) /* neither ACK nor a known NAK */    \
	X(rx_ecn_echoes) /* answers that echo a mark */          \
	X(rx_flush_requests) /* executed */                      \
	X(tx_sacks) /* ACKs that say what is held */             \
	X(tail_loss_probes) /* last packet repeated */           \
	X(tx_drop_node) /* the window has no route to it */      \
	X(rx_drop_window) /* no such window */                   \
	X(rx_drop_window_key) /* of another job */               \
	X(rx_drop_fifo_full) /* process consumes no frames */    \
	X(rx_drop_rcxt) /* not the window's */                   \
	X(rx_drop_rcxt_busy)                                     \
	X(rx_drop_tid) /* of an attempt that has ended */        \
	X(rx_drop_rdma_again) /* fragment is a duplicate */      \
	X(rx_drop_rdma_far) /* too many fragments ahead */       \
	X(rx_drop_rdma_length) /* more than announced */         \
	X(rx_drop_rdma_pvo) /* memory access not allowed */      \
	X(rx_drop_rdma_invalid) /* unknown flag or status */     \
	X(rx_drop_group) /* no window has joined it */           \
	X(rx_drop_binding) /* the member has not bound it */     \
	X(rx_frames) /* packets that became frames */            \
	X(tx_frames) /* and frames that became packets */        \
	X(tx_rdma_packets) /* data between windows */            \
	X(rx_rdma_packets)                                       \
	X(rdma_done) /* operations that are complete */          \
	X(rdma_repeats) /* attempts at complete operations */    \
	X(window_bad_commands) /* in a command page */           \
	X(window_events) /* receive events, and window ends */   \
	X(window_no_worker) /* all of them are busy */           \
	X(window_manager) /* runs of the work manager */         \
	X(window_held) /* requests, for a counter */             \
	X(window_held_cancelled) /* of these */                  \
	X(rkm_walks) /* over the keys in use */                  \
	X(rkm_requests) /* keys that walks searched */           \
	X(rkm_qps) /* QPs visited by walks */                    \
	X(rkm_pd_fail) /* of another protection domain */        \
	X(rkm_keys) /* slots compared with a key */              \
	X(rkm_matches) /* operations ended */                    \
	X(rkm_stalls) /* waits for a copy to end */              \
	X(rkm_walk_ns)                                           \
	X(direct_sent) /* ranges that work requests claimed */   \
	X(direct_copied) /* bytes copied to or from ranges */    \
	X(direct_refused) /* not the owner, or too many bytes */ \
	X(direct_busy) /* hand-overs that a device held up */    \
	X(direct_waits) /* for a buffer of the pool */           \
	X(direct_bounced) /* fallbacks without a buffer */       \
	X(direct_ios) /* I/Os of the module for ranges */        \
	X(direct_io_errors) /* of them: failed, or were short */ \
	X(device_pages) /* of PCI devices, in regions */         \
	X(device_atomics) /* refused: the word is in one */

enum pavo_counter {
#define PAVO_CNT_ENUM(name) PAVO_CNT_##name,
	PAVO_COUNTERS(PAVO_CNT_ENUM)
	/* so many has the port; the first of the device has the same value */
	PAVO_CNT_OF_PORT,
	PAVO_CNT_LAST_OF_PORT = PAVO_CNT_OF_PORT - 1,
	PAVO_DEVICE_COUNTERS(PAVO_CNT_ENUM)
#undef PAVO_CNT_ENUM
	PAVO_CNT_COUNT,
};

struct pavo_pcpu_stats {
	u64 counter[PAVO_CNT_COUNT];
};

/**
 * struct pavo_stats - the counters of an adapter or of a QP. A QP counts in those of its adapter
 * unless `rdma statistic qp bind` has given it others (verbs/counter.c).
 * @dev:   the adapter
 * @of_qp: the counters are those of a QP
 * @pcpu:  counters per CPU. Those of a QP may be replaced, and are freed a grace period later, so
 *         counting in a QP needs RCU read-locked, or preemption or BH disabled.
 */
struct pavo_stats {
	struct pavo_dev *dev;
	bool of_qp;
	struct pavo_pcpu_stats __percpu *pcpu;
};

DECLARE_TRACEPOINT(pavo_count);
void pavo_count_traced(const struct pavo_dev *dev, const char *name);

/* Warn if counters of a QP are written outside of RCU. */
static inline void pavo_stats_check(const struct pavo_stats *stats)
{
	RCU_LOCKDEP_WARN(stats->of_qp && !rcu_read_lock_any_held(),
			 "counters of a queue pair may be freed meanwhile");
}

#define pavo_stats_add_by(add, stats, name, n)                 \
	do {                                                   \
		const struct pavo_stats *_stats = (stats);     \
		struct pavo_pcpu_stats __percpu *_pcpu;        \
		pavo_stats_check(_stats);                      \
		_pcpu = READ_ONCE(_stats->pcpu);               \
		add(_pcpu->counter[PAVO_CNT_##name], (n));     \
		if (tracepoint_enabled(pavo_count))            \
			pavo_count_traced(_stats->dev, #name); \
	} while (0)

/* Add @n to the counter of that name: pavo_stats_add(stats, tx_bytes, len); */
#define pavo_stats_add(stats, name, n) \
	pavo_stats_add_by(this_cpu_add, stats, name, n)

/*
 * The same with BH disabled, for a counter that no hard interrupt writes. Only x86 adds to per-CPU
 * memory by one instruction; other CPUs disable interrupts, or need an atomic.
 */
#define pavo_stats_add_bh(stats, name, n)                       \
	do {                                                    \
		lockdep_assert_in_softirq();                    \
		pavo_stats_add_by(raw_cpu_add, stats, name, n); \
	} while (0)

/** pavo_stats_add_id - as pavo_stats_add(), for a counter that is known at run time only. */
void pavo_stats_add_id(const struct pavo_stats *stats,
		       enum pavo_counter counter, u64 n);

/* Count one for an adapter or a QP: pavo_count(qp, rx_drop_state); */
#define pavo_count(owner, name) pavo_stats_add(&(owner)->stats, name, 1)
/* The same with BH disabled. */
#define pavo_count_bh(owner, name) pavo_stats_add_bh(&(owner)->stats, name, 1)

#endif /* PAVO_STATS_H */
