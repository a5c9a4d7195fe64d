// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * restrack.c - details of pavo's objects for `rdma -dd resource show`.
 *
 * Called by rdma core, which holds a reference to the object. Reads without locks: each value
 * is valid, but two values may be of different moments.
 */
#include <linux/capability.h>
#include <net/netlink.h>
#include <net/sock.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>
#include "memory/memory.h"
#include "qp/qp.h"
#include "verbs/verbs.h"

/* @secret: shown to administrators only: it helps to forge packets, or reveals addresses. */
struct detail {
	const char *name;
	u64 value;
	bool secret;
};

/*
 * May the reader see secrets? As for keys in rdma core: the reader must be an administrator of
 * the initial namespace, and so must the opener of the socket of a dump.
 */
static bool is_admin(const struct sk_buff *msg)
{
	if (msg->sk && !sk_capable(msg->sk, CAP_NET_ADMIN))
		return false;
	return ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
}

static int put_details(struct sk_buff *msg, const struct detail *detail,
		       unsigned int count)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	bool admin = is_admin(msg);
	unsigned int i;

	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < count; i++) {
		if (detail[i].secret && !admin)
			continue;
		if (rdma_nl_put_driver_u64(msg, detail[i].name,
					   detail[i].value)) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, table);
	return 0;
}

/* Round trips, which are measured where the peer sends SACKs; else zeros. */
static struct pavo_rack get_rack(const struct pavo_recovery *r)
{
	struct pavo_rack none = {};

	return r->board && READ_ONCE(r->sacks) ? r->board->rack : none;
}

/*
 * sq_*: WQEs counted since RESET, so taken - completed are outstanding.
 * cwnd, in_flight: packets; *rtt_us, reordering_us: units of 1,024 ns.
 * far_requests: requests since RESET whose PSN is too far ahead to follow a loss.
 * rq_*: the same for a receive queue of the QP's own; rq_posted is written by the process.
 */
int pavo_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	const struct pavo_qp *qp = to_pavo_qp(ibqp);
	const struct pavo_requester *req = &qp->req;
	const struct pavo_recovery *rec = &req->recovery;
	const struct pavo_responder *resp = &qp->resp;
	const struct pavo_rq *rq = &resp->own;
	const struct pavo_rack rack = get_rack(rec);
	const struct detail detail[] = {
		{ "sq_size", req->count },
		{ "sq_taken", READ_ONCE(req->head) },
		{ "sq_numbered", READ_ONCE(req->numbered) },
		{ "sq_completed", READ_ONCE(req->tail) },
		{ "next_psn", READ_ONCE(rec->npsn), true },
		{ "unacked_psn", READ_ONCE(rec->upsn), true },
		{ "reads_out", READ_ONCE(rec->reads_out) },
		{ "cwnd", READ_ONCE(rec->cwnd.size) },
		{ "in_flight",
		  pavo_psn_diff(READ_ONCE(rec->sent), READ_ONCE(rec->upsn)) },
		{ "peer_sacks", READ_ONCE(rec->sacks) },
		{ "rtt_us", rack.srtt },
		{ "min_rtt_us", rack.min_rtt },
		{ "reordering_us", pavo_rack_get_window(&rack, 0) },
		{ "retries_left", READ_ONCE(rec->timer.retries) },
		{ "rnr_retries_left", READ_ONCE(rec->timer.rnr_retries) },
		{ "rq_size", rq->ring ? rq->count : 0 },
		{ "rq_posted", rq->ring ? READ_ONCE(rq->ring->prod) : 0 },
		{ "rq_taken", READ_ONCE(rq->head) },
		{ "expected_psn", READ_ONCE(resp->expected.psn), true },
		{ "msn", READ_ONCE(resp->msn), true },
		{ "far_requests", READ_ONCE(resp->expected.far) },
	};

	return put_details(msg, detail, ARRAY_SIZE(detail));
}

int pavo_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	const struct detail detail[] = {
		{ "size", READ_ONCE(cq->count) },
		{ "written", READ_ONCE(cq->prod) },
		{ "consumed", pavo_cq_consumed(cq) },
		{ "armed", READ_ONCE(cq->armed) },
		{ "overrun", READ_ONCE(cq->dead) },
		{ "moderate_count", READ_ONCE(cq->moderate_count) },
		{ "moderate_us", READ_ONCE(cq->moderate_us) },
	};

	return put_details(msg, detail, ARRAY_SIZE(detail));
}

int pavo_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct pavo_mr *mr = to_pavo_mr(ibmr);
	const struct pavo_region *region;
	struct detail detail[4] = {};

	/* the meaning of the key may change meanwhile; RCU keeps the old one */
	rcu_read_lock();
	region = READ_ONCE(mr->region);
	detail[0] = (struct detail){ "valid", region->valid };
	detail[1] = (struct detail){ "iova", region->iova, true };
	detail[2] = (struct detail){ "access", region->access };
	detail[3] = (struct detail){ "windows", READ_ONCE(mr->windows) };
	rcu_read_unlock();
	return put_details(msg, detail, ARRAY_SIZE(detail));
}
