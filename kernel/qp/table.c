// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table.c - the QP table: numbers to QPs, and arriving packets to sides.
 *
 * Owns dev->qps. Called by verbs/qp.c when QPs come and go, by net/ with every
 * packet and by requester/ with every doorbell.
 *
 * Callers look a QP up and use it in one RCU section: it is freed a grace period after its
 * removal.
 */
#include <linux/if_vlan.h>
#include "qp/qp.h"
#include "device.h"
#include "number.h"
#include "pavo_trace.h"

/* 0 and 1 are the management QPs (IBA 10.2.4.1); some more numbers stay unused */
#define PAVO_GSI_QPN 1
#define PAVO_FIRST_QPN 17
/* addresses a multicast group */
#define PAVO_MCAST_QPN 0xffffff
#define PAVO_LAST_QPN 0xfffffe

struct pavo_qp *pavo_qp_find(struct pavo_dev *dev, u32 qpn)
{
	return xa_load(&dev->qps, qpn);
}

static int give_number(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;
	u32 qpn = PAVO_GSI_QPN;
	int err;

	if (qp->ib.qp_type == IB_QPT_GSI) {
		qp->ib.qp_num = qpn;
		return xa_insert(&dev->qps, qpn, qp, GFP_KERNEL);
	}

	/* The number must be in the QP before the QP is in the table. */
	err = pavo_number_reserve(&dev->qps, PAVO_FIRST_QPN, PAVO_LAST_QPN,
				  &qpn);
	if (err)
		return err;
	qp->ib.qp_num = qpn;
	return xa_err(xa_store(&dev->qps, qpn, qp, GFP_KERNEL));
}

int pavo_qp_number(struct pavo_qp *qp)
{
	int err = give_number(qp);

	if (!err)
		pavo_rkm_add(qp);
	return err;
}

void pavo_qp_remove(struct pavo_qp *qp)
{
	xa_erase(&qp->dev->qps, qp->ib.qp_num);
	mutex_lock(&qp->modify_mutex);
	pavo_qp_reset(qp);
	mutex_unlock(&qp->modify_mutex);
	/* The reset has emptied its remote-key slots. */
	pavo_rkm_remove(qp);
	synchronize_rcu_expedited();
	/* Timers first: they queue the works. */
	hrtimer_cancel(&qp->req.hrtimer);
	hrtimer_cancel(&qp->resp.pause);
	cancel_work_sync(&qp->end_work);
	cancel_work_sync(&qp->work);
}

static bool pavo_service_ok(const struct pavo_qp *qp, u8 opcode,
			    const struct pavo_op_info *info)
{
	bool request = info->flags & PAVO_OPF_REQUEST;

	if (pavo_opcode_service(opcode) != pavo_service(qp))
		return false;
	return request ? !pavo_is_xrc_initiator(qp) : !pavo_is_xrc_target(qp);
}

/*
 * Does a side take packets in the present state? The acquire makes visible what was set up
 * for the state.
 */
static bool pavo_state_takes(const struct pavo_qp *qp, bool request)
{
	/* pairs with the atomic in pavo_qp_enter() */
	int state = smp_load_acquire(&qp->state);

	switch (state) {
	case IB_QPS_RTR:
		return request;
	case IB_QPS_RTS:
	case IB_QPS_SQD:
	case IB_QPS_SQE:
		return true;
	default:
		return false;
	}
}

/*
 * Keep the VLAN of a datagram in its skb, for its completion: the VLAN's interface may be gone
 * when a backlog is drained.
 */
static void pavo_keep_vlan(struct sk_buff *skb)
{
	if (is_vlan_dev(skb->dev))
		__vlan_hwaccel_put_tag(skb, vlan_dev_vlan_proto(skb->dev),
				       vlan_dev_vlan_id(skb->dev));
}

bool pavo_rx_accept(struct pavo_qp *qp, const struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	bool to_group;

	if (unlikely(!pavo_service_ok(qp, pkt->opcode, pkt->info))) {
		pavo_count(qp, rx_drop_service);
		return false;
	}
	if (unlikely(!pavo_pkey_ok(pkt->pkey, PAVO_PKEY_DEFAULT))) {
		pavo_count(qp, rx_drop_pkey);
		pavo_violation(&qp->dev->bad_pkeys);
		return false;
	}
	if (unlikely(!pavo_state_takes(qp,
				       pkt->info->flags & PAVO_OPF_REQUEST))) {
		pavo_count(qp, rx_drop_state);
		return false;
	}
	if (qp->has_flow && unlikely(!pavo_flow_match(&qp->flow, rx))) {
		pavo_count(qp, rx_drop_address);
		return false;
	}
	if (!pavo_is_datagram(qp))
		return true;
	/* a packet to a group has QPN 0xffffff, and no other packet has a group's address */
	to_group = pkt->dqpn == PAVO_MCAST_QPN;
	if (unlikely(pavo_rx_multicast(rx) != to_group)) {
		pavo_count(qp, rx_drop_qpn);
		return false;
	}
	pavo_keep_vlan(rx->skb);
	return true;
}

static void count_packet(const struct pavo_tally *tally,
			 const struct pavo_rx *rx)
{
	pavo_tally_add(tally, rx_packets, 1);
	pavo_tally_add(tally, rx_bytes, rx->skb->len - sizeof(struct udphdr));
}

/**
 * pavo_rx_deliver - hand a packet to the window, or to the side of the QP, that it names.
 * @rx: parsed packet with a good ICRC; the skb is consumed
 *
 * Context: softirq; RCU is read-locked here.
 */
void pavo_rx_deliver(struct pavo_rx *rx)
{
	struct pavo_qp *qp;

	rcu_read_lock();
	if (rx->pkt.info->flags & PAVO_OPF_WETH) {
		count_packet(&rx->dev->tally, rx);
		pavo_window_receive(rx);
		goto out;
	}
	if (unlikely(rx->pkt.dqpn == PAVO_MCAST_QPN)) {
		count_packet(&rx->dev->tally, rx);
		pavo_mcast_deliver(rx);
		goto out;
	}
	qp = pavo_qp_find(rx->dev, rx->pkt.dqpn);
	count_packet(qp ? &qp->tally : &rx->dev->tally, rx);
	if (qp)
		trace_pavo_receive(qp, &rx->pkt, rx->pkt.payload);
	if (unlikely(!qp)) {
		pavo_count(rx->dev, rx_drop_qpn);
		kfree_skb(rx->skb);
	} else if (unlikely(!pavo_rx_accept(qp, rx))) {
		kfree_skb(rx->skb);
	} else if (rx->pkt.info->flags & PAVO_OPF_REQUEST) {
		pavo_responder_receive(qp, rx);
	} else {
		pavo_requester_receive(qp, rx);
	}
out:
	rcu_read_unlock();
}
