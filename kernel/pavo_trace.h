/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_trace.h - tracepoints: /sys/kernel/tracing/events/pavo.
 *
 * They show packets and states of queue pairs, walks over keys, and each increment of a counter, so
 * also each drop with its reason. All are off by default, and cost one no-op instruction each then.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pavo

#if !defined(PAVO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PAVO_TRACE_H

#include <linux/tracepoint.h>
#include "qp/qp.h"

/* Declarations in the shape of calls. */
/* clang-format off */

#define PAVO_TRACE_STATES                                                   \
	{ IB_QPS_RESET, "RESET" }, { IB_QPS_INIT, "INIT" },                 \
	{ IB_QPS_RTR, "RTR" }, { IB_QPS_RTS, "RTS" }, { IB_QPS_SQD, "SQD" }, \
	{ IB_QPS_SQE, "SQE" }, { IB_QPS_ERR, "ERR" }

/* The requester has parsed a send WQE. */
TRACE_EVENT(pavo_post,
	TP_PROTO(const struct pavo_qp *qp, const struct pavo_swqe *wqe),
	TP_ARGS(qp, wqe),
	TP_STRUCT__entry(
		__string(dev, qp->dev->ib.name)
		__field(u32, qpn)
		__field(u32, number)
		__field(u32, length)
		__field(u8, op)
		__field(u8, flags)
		__field(u8, vendor_err)
	),
	TP_fast_assign(
		pavo_assign_str(dev, qp->dev->ib.name);
		__entry->qpn = qp->ib.qp_num;
		__entry->number = wqe->number;
		__entry->length = wqe->length;
		__entry->op = wqe->op;
		__entry->flags = wqe->flags;
		__entry->vendor_err = pavo_status_codes(wqe->status)->vendor;
	),
	TP_printk("%s qp %u wqe %u op %u length %u flags %#x error %u",
		  __get_str(dev), __entry->qpn, __entry->number, __entry->op,
		  __entry->length, __entry->flags, __entry->vendor_err)
);

/* A queue pair sends or receives a packet. */
DECLARE_EVENT_CLASS(pavo_packet,
	TP_PROTO(const struct pavo_qp *qp, const struct pavo_pkt *pkt,
		 u32 payload),
	TP_ARGS(qp, pkt, payload),
	TP_STRUCT__entry(
		__string(dev, qp->dev->ib.name)
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, payload)
		__field(u8, opcode)
		__field(bool, ack_req)
		__field(bool, solicited)
	),
	TP_fast_assign(
		pavo_assign_str(dev, qp->dev->ib.name);
		__entry->qpn = qp->ib.qp_num;
		__entry->psn = pkt->psn;
		__entry->payload = payload;
		__entry->opcode = pkt->opcode;
		__entry->ack_req = pkt->ack_req;
		__entry->solicited = pkt->solicited;
	),
	TP_printk("%s qp %u opcode %#04x psn %u payload %u%s%s",
		  __get_str(dev), __entry->qpn, __entry->opcode, __entry->psn,
		  __entry->payload, __entry->ack_req ? " ackreq" : "",
		  __entry->solicited ? " solicited" : "")
);

DEFINE_EVENT(pavo_packet, pavo_transmit,
	TP_PROTO(const struct pavo_qp *qp, const struct pavo_pkt *pkt,
		 u32 payload),
	TP_ARGS(qp, pkt, payload)
);

DEFINE_EVENT(pavo_packet, pavo_receive,
	TP_PROTO(const struct pavo_qp *qp, const struct pavo_pkt *pkt,
		 u32 payload),
	TP_ARGS(qp, pkt, payload)
);

/* The requester handles an acknowledgment. @syndrome: IBA 9.7.5.2 */
TRACE_EVENT(pavo_ack,
	TP_PROTO(const struct pavo_qp *qp, u32 psn, u8 syndrome),
	TP_ARGS(qp, psn, syndrome),
	TP_STRUCT__entry(
		__string(dev, qp->dev->ib.name)
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, unacked)
		__field(u32, next)
		__field(u8, syndrome)
	),
	TP_fast_assign(
		pavo_assign_str(dev, qp->dev->ib.name);
		__entry->qpn = qp->ib.qp_num;
		__entry->psn = psn;
		__entry->unacked = qp->req.recovery.upsn;
		__entry->next = qp->req.recovery.npsn;
		__entry->syndrome = syndrome;
	),
	TP_printk("%s qp %u psn %u syndrome %#04x unacked %u next %u",
		  __get_str(dev), __entry->qpn, __entry->psn,
		  __entry->syndrome, __entry->unacked, __entry->next)
);

/* The requester retransmits from the oldest unacknowledged packet on. */
TRACE_EVENT(pavo_retransmit,
	TP_PROTO(const struct pavo_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__string(dev, qp->dev->ib.name)
		__field(u32, qpn)
		__field(u32, unacked)
		__field(u32, sent)
		__field(u8, retries)
	),
	TP_fast_assign(
		pavo_assign_str(dev, qp->dev->ib.name);
		__entry->qpn = qp->ib.qp_num;
		__entry->unacked = qp->req.recovery.upsn;
		__entry->sent = qp->req.recovery.sent;
		__entry->retries = qp->req.recovery.timer.retries;
	),
	TP_printk("%s qp %u from psn %u of %u, retries left %u",
		  __get_str(dev), __entry->qpn, __entry->unacked,
		  __entry->sent, __entry->retries)
);

/*
 * The requester has handled a response: the cwnd, and what is known of the path. @held, @lost,
 * @resent: packets in flight; these, @rtt and @min_rtt (units of 1,024 ns) are 0 if the peer sends
 * no SACKs.
 */
TRACE_EVENT(pavo_cwnd,
	TP_PROTO(const struct pavo_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__string(dev, qp->dev->ib.name)
		__field(u32, qpn)
		__field(u32, cwnd)
		__field(u32, threshold)
		__field(u32, in_flight)
		__field(u32, rtt)
		__field(u32, min_rtt)
		__field(u32, held)
		__field(u32, lost)
		__field(u32, resent)
		__field(bool, delayed)
	),
	TP_fast_assign(
		const struct pavo_recovery *r = &qp->req.recovery;
		const struct pavo_scoreboard *b = r->sacks ? r->board : NULL;

		pavo_assign_str(dev, qp->dev->ib.name);
		__entry->qpn = qp->ib.qp_num;
		__entry->cwnd = r->cwnd.size;
		__entry->threshold = r->cwnd.threshold;
		__entry->in_flight = pavo_psn_diff(r->sent, r->upsn);
		__entry->rtt = b ? b->rack.srtt : 0;
		__entry->min_rtt = b ? b->rack.min_rtt : 0;
		__entry->held = b ? b->held.count + b->here.count : 0;
		__entry->lost = b ? b->lost.count : 0;
		__entry->resent = b ? b->resent.count : 0;
		__entry->delayed = b && b->rack.delayed;
	),
	TP_printk("%s qp %u cwnd %u threshold %u in flight %u rtt %u least %u held %u lost %u resent %u%s",
		  __get_str(dev), __entry->qpn, __entry->cwnd,
		  __entry->threshold, __entry->in_flight, __entry->rtt,
		  __entry->min_rtt, __entry->held, __entry->lost,
		  __entry->resent, __entry->delayed ? " delayed" : "")
);

/* A timer of a queue pair has expired. */
TRACE_EVENT(pavo_timer,
	TP_PROTO(const struct pavo_qp *qp, bool rnr),
	TP_ARGS(qp, rnr),
	TP_STRUCT__entry(
		__string(dev, qp->dev->ib.name)
		__field(u32, qpn)
		__field(bool, rnr)
	),
	TP_fast_assign(
		pavo_assign_str(dev, qp->dev->ib.name);
		__entry->qpn = qp->ib.qp_num;
		__entry->rnr = rnr;
	),
	TP_printk("%s qp %u %s", __get_str(dev), __entry->qpn,
		  __entry->rnr ? "rnr" : "loss")
);

TRACE_EVENT(pavo_state,
	TP_PROTO(const struct pavo_qp *qp, int from, int to),
	TP_ARGS(qp, from, to),
	TP_STRUCT__entry(
		__string(dev, qp->dev->ib.name)
		__field(u32, qpn)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		pavo_assign_str(dev, qp->dev->ib.name);
		__entry->qpn = qp->ib.qp_num;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s qp %u %s -> %s", __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->from, PAVO_TRACE_STATES),
		  __print_symbolic(__entry->to, PAVO_TRACE_STATES))
);

/*
 * A walk of the remote key manager has ended. It had @keys keys of @pd, the first is @key.
 * @pd_fail: queue pairs of another PD (rkm_full_walk); @compares: slots compared with a key.
 */
TRACE_EVENT(pavo_rkm,
	TP_PROTO(const struct pavo_dev *dev, const struct pavo_walk *walk,
		 u64 ns),
	TP_ARGS(dev, walk, ns),
	TP_STRUCT__entry(
		__string(dev, dev->ib.name)
		__field(u32, pd)
		__field(u32, key)
		__field(u32, keys)
		__field(u64, qps)
		__field(u64, pd_fail)
		__field(u64, compares)
		__field(u64, matches)
		__field(u64, stalls)
		__field(u64, ns)
	),
	TP_fast_assign(
		pavo_assign_str(dev, dev->ib.name);
		__entry->pd = walk->pd->ib.res.id;
		__entry->key = walk->key[0];
		__entry->keys = walk->count;
		__entry->qps = walk->qps;
		__entry->pd_fail = walk->pd_fail;
		__entry->compares = walk->keys;
		__entry->matches = walk->matches;
		__entry->stalls = walk->stalls;
		__entry->ns = ns;
	),
	TP_printk("%s pd %u key %08x keys %u qps %llu pd_fail %llu compares %llu matches %llu stalls %llu ns %llu",
		  __get_str(dev), __entry->pd, __entry->key, __entry->keys,
		  __entry->qps, __entry->pd_fail, __entry->compares,
		  __entry->matches, __entry->stalls, __entry->ns)
);

/* A counter was incremented; those of drops have _drop_ in their names. */
TRACE_EVENT(pavo_count,
	TP_PROTO(const struct pavo_dev *dev, const char *name),
	TP_ARGS(dev, name),
	TP_STRUCT__entry(
		__string(dev, dev->ib.name)
		__string(name, name)
	),
	TP_fast_assign(
		pavo_assign_str(dev, dev->ib.name);
		pavo_assign_str(name, name);
	),
	TP_printk("%s %s", __get_str(dev), __get_str(name))
);

/* clang-format on */

#endif /* PAVO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE pavo_trace
#include <trace/define_trace.h>
