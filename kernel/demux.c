// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * demux.c - delivers a received packet to its multicast group or side of a queue pair, or to the
 * part of the module that receives packets for windows.
 *
 * Called by the network stack through the sockets of net/, which have checked the packet.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/udp.h>
#include "budget.h"
#include "demux.h"
#include "net/net.h"
#include "part.h"
#include "pavo_trace.h"
#include "qp/mcast.h"
#include "qp/qp.h"
#include "kcov.h"
#include "requester/requester.h"
#include "responder/responder.h"

/* Most copies for members of groups that a CPU makes in softirqs of a tick: some milliseconds. */
#define COPIES_A_TICK 4096
/* Most packets that wait for the work that makes copies beyond that. */
#define MOST_DEFERRED_PACKETS 256
/* Of them, those of senders with the same hash. */
#define MOST_DEFERRED_OF_SENDER (MOST_DEFERRED_PACKETS / 4)

/* Destination QPN of packets to a multicast group. */
#define PAVO_MCAST_QPN 0xffffff

static bool service_fits(const struct pavo_qp *qp, u8 opcode,
			 const struct pavo_op_info *info)
{
	bool request = info->flags & PAVO_OPF_REQUEST;

	if (info->kind == PAVO_KIND_CNP)
		return !pavo_is_xrc_target(qp);
	if (pavo_opcode_get_service(opcode) != pavo_qp_get_service(qp))
		return false;
	return request ? !pavo_is_xrc_initiator(qp) : !pavo_is_xrc_target(qp);
}

/* True if a side accepts packets in the present state; acquires what the state depends on. */
static bool state_takes(const struct pavo_qp *qp, bool request)
{
	/* pairs with the atomic in enter_state() of control/state.c */
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
 * The completion of a datagram reports its VLAN. The VLAN interface that has removed the tag may
 * have been unregistered when a backlog is drained, so put the tag back.
 */
static void keep_vlan(struct sk_buff *skb)
{
	if (is_vlan_dev(skb->dev))
		__vlan_hwaccel_put_tag(skb, vlan_dev_vlan_proto(skb->dev),
				       vlan_dev_vlan_id(skb->dev));
}

static bool accept_packet(struct pavo_qp *qp, const struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	bool to_group;

	if (unlikely(!service_fits(qp, pkt->opcode, pkt->info))) {
		pavo_count(qp, rx_drop_service);
		return false;
	}
	if (unlikely(!pavo_pkey_matches(pkt->pkey, PAVO_PKEY_DEFAULT))) {
		pavo_count(qp, rx_drop_pkey);
		pavo_count_violation(&qp->dev->bad_pkeys);
		return false;
	}
	if (unlikely(!state_takes(qp, pkt->info->flags & PAVO_OPF_REQUEST))) {
		pavo_count(qp, rx_drop_state);
		return false;
	}
	if (qp->has_flow && unlikely(!pavo_conn_accepts(&qp->conn, rx))) {
		pavo_count(qp, rx_drop_address);
		return false;
	}
	if (!pavo_is_datagram(qp))
		return true;
	/* a packet to a multicast address has that QPN, and a packet to a QP a unicast address */
	to_group = pkt->dqpn == PAVO_MCAST_QPN;
	if (unlikely(pavo_rx_multicast(rx) != to_group)) {
		pavo_count(qp, rx_drop_qpn);
		return false;
	}
	keep_vlan(rx->skb);
	return true;
}

static void count_packet(const struct pavo_stats *stats,
			 const struct pavo_rx *rx)
{
	pavo_stats_add_bh(stats, rx_packets, pavo_rx_get_packets(rx));
	pavo_stats_add_bh(stats, rx_bytes, pavo_rx_get_wire_bytes(rx));
}

/* Deliver one copy, which the responder handles like any packet. */
static void deliver_copy(struct pavo_qp *qp, const struct pavo_rx *rx)
{
	struct pavo_rx copy = *rx;

	trace_pavo_receive(qp, &rx->pkt, rx->pkt.payload);
	copy.skb = skb_clone(rx->skb, GFP_ATOMIC);
	if (!copy.skb)
		pavo_stats_add(rx->port->stats, rx_drop_no_memory, 1);
	else if (accept_packet(qp, &copy))
		pavo_responder_receive(qp, &copy);
	else
		kfree_skb(copy.skb);
}

static u32 drop_window_group_packet(const struct pavo_rx *rx)
{
	pavo_stats_add(rx->port->stats, rx_drop_window, 1);
	return 0;
}

static u32 (*window_group_receiver)(const struct pavo_rx *rx) =
	drop_window_group_packet;

static u32 deliver_qp_copies(struct pavo_dev *dev, const struct pavo_rx *rx)
{
	struct in6_addr gid;
	u32 copies;

	pavo_rx_dgid(rx, &gid);
	copies = pavo_mcast_for_each(dev, &gid, deliver_copy, rx);
	if (!copies)
		pavo_stats_add(rx->port->stats, rx_drop_qpn, 1);
	return copies;
}

static void deliver_copies(struct pavo_dev *dev, const struct pavo_rx *rx)
{
	u32 copies = rx->pkt.info->kind == PAVO_KIND_WINDOW ?
			     window_group_receiver(rx) :
			     deliver_qp_copies(dev, rx);

	pavo_budget_add(PAVO_LOOP_GROUPS, copies);
}

/* Hash the address of a packet's sender, and its QPN or window. */
static u32 hash_sender(const struct pavo_mcast *mcast, const struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	u32 number = pkt->info->kind == PAVO_KIND_WINDOW ? pkt->src_window :
							   pkt->sqpn;
	u32 hash;

	if (rx->ipv6)
		hash = jhash2((__force const u32 *)&ipv6_hdr(rx->skb)->saddr, 4,
			      mcast->seed ^ number);
	else
		hash = jhash_2words((__force u32)ip_hdr(rx->skb)->saddr, number,
				    mcast->seed);
	return hash % PAVO_GROUP_SENDERS;
}

/*
 * Queue a packet. The skb keeps the hash where it had its priority, which received packets need no
 * more. Return: 0; -ENOBUFS: too many packets, or too many of its sender, wait.
 */
static int queue_group_packet(struct pavo_mcast *mcast,
			      const struct pavo_rx *rx)
{
	u32 sender = hash_sender(mcast, rx);
	struct sk_buff *skb = rx->skb;
	unsigned long flags;
	bool queued;

	spin_lock_irqsave(&mcast->deferred.lock, flags);
	queued = skb_queue_len(&mcast->deferred) < MOST_DEFERRED_PACKETS &&
		 mcast->deferred_of[sender] < MOST_DEFERRED_OF_SENDER;
	if (queued) {
		keep_vlan(skb);
		skb->priority = sender;
		mcast->deferred_of[sender]++;
		__skb_queue_tail(&mcast->deferred, skb);
	}
	spin_unlock_irqrestore(&mcast->deferred.lock, flags);
	return queued ? 0 : -ENOBUFS;
}

/* Remove and free the first packet. */
static void free_group_packet(struct pavo_mcast *mcast, struct sk_buff *skb)
{
	unsigned long flags;

	spin_lock_irqsave(&mcast->deferred.lock, flags);
	mcast->deferred_of[skb->priority]--;
	__skb_unlink(skb, &mcast->deferred);
	spin_unlock_irqrestore(&mcast->deferred.lock, flags);
	consume_skb(skb);
}

/* Leave a packet to the adapter's work, in order; consumes it. */
static void defer_group_packet(struct pavo_dev *dev, struct pavo_rx *rx)
{
	if (!queue_group_packet(&dev->mcast, rx)) {
		queue_work(dev->wq, &dev->mcast.work);
		return;
	}
	pavo_stats_add(rx->port->stats, rx_drop_backlog, 1);
	kfree_skb(rx->skb);
}

static void deliver_to_group(struct pavo_rx *rx)
{
	struct pavo_dev *dev = pavo_port_to_dev(rx->port);

	if (unlikely(!skb_queue_empty_lockless(&dev->mcast.deferred) ||
		     pavo_budget_check_tick(PAVO_LOOP_GROUPS, COPIES_A_TICK))) {
		defer_group_packet(dev, rx);
		return;
	}
	deliver_copies(dev, rx);
	consume_skb(rx->skb);
}

/* Deliver the first deferred packet. Remove it after that, so that no other one overtakes it. */
static void deliver_deferred(struct pavo_dev *dev, struct sk_buff *skb)
{
	struct pavo_rx rx;

	rcu_read_lock();
	/* The receiving interface may be gone; the VLAN is in the packet. */
	skb->dev = rcu_dereference(dev->port.ndev);
	if (skb->dev) {
		pavo_rx_parse(&rx, &dev->port, skb);
		deliver_copies(dev, &rx);
	}
	rcu_read_unlock();
	free_group_packet(&dev->mcast, skb);
}

/* The kernel schedules other tasks between two works. */
static void run_deferred_packets(struct work_struct *work)
{
	struct pavo_dev *dev = container_of(work, struct pavo_dev, mcast.work);
	struct sk_buff *skb;

	local_bh_disable();
	skb = skb_peek(&dev->mcast.deferred);
	if (skb)
		deliver_deferred(dev, skb);
	local_bh_enable();
	if (!skb_queue_empty_lockless(&dev->mcast.deferred))
		queue_work(dev->wq, work);
}

void pavo_demux_prepare(struct pavo_dev *dev)
{
	skb_queue_head_init(&dev->mcast.deferred);
	dev->mcast.seed = get_random_u32();
	INIT_WORK(&dev->mcast.work, run_deferred_packets);
}

void pavo_demux_forget(struct pavo_dev *dev)
{
	skb_queue_purge(&dev->mcast.deferred);
}

static void drop_window_packet(struct pavo_rx *rx)
{
	pavo_stats_add(rx->port->stats, rx_drop_window, 1);
	kfree_skb(rx->skb);
}

static void (*window_receiver)(struct pavo_rx *rx) = drop_window_packet;

void pavo_demux_set_receiver(void (*receive)(struct pavo_rx *rx),
			     u32 (*receive_group)(const struct pavo_rx *rx))
{
	window_receiver = receive;
	window_group_receiver = receive_group;
}

/* Deliver a packet to a window, or to those of a group. */
static void deliver_window_packet(struct pavo_rx *rx)
{
	if (likely(!(rx->pkt.dqpn & PAVO_GROUP_DESTINATION))) {
		window_receiver(rx);
	} else if (pavo_rx_to_many(rx) && !pavo_rx_multicast(rx)) {
		/* A deferred packet has no input route any more: check it now. */
		pavo_stats_add(rx->port->stats, rx_drop_address, 1);
		kfree_skb(rx->skb);
	} else {
		deliver_to_group(rx);
	}
}

/* Deliver a checked packet to a window, to a group, or to a side of its destination QP. */
static void deliver_packet(struct pavo_rx *rx)
{
	const struct pavo_stats *stats = rx->port->stats;
	struct pavo_qp *qp;

	rcu_read_lock();
	if (rx->pkt.info->kind == PAVO_KIND_WINDOW) {
		count_packet(stats, rx);
		deliver_window_packet(rx);
		goto out;
	}
	if (unlikely(rx->pkt.dqpn == PAVO_MCAST_QPN)) {
		count_packet(stats, rx);
		deliver_to_group(rx);
		goto out;
	}
	qp = pavo_qp_find(pavo_port_to_dev(rx->port), rx->pkt.dqpn);
	count_packet(qp ? &qp->stats : stats, rx);
	if (qp)
		trace_pavo_receive(qp, &rx->pkt, rx->pkt.payload);
	if (unlikely(!qp)) {
		pavo_stats_add(stats, rx_drop_qpn, 1);
		kfree_skb(rx->skb);
	} else if (unlikely(!accept_packet(qp, rx))) {
		kfree_skb(rx->skb);
	} else if (rx->pkt.info->flags & PAVO_OPF_REQUEST) {
		pavo_responder_receive(qp, rx);
	} else {
		pavo_requester_receive(qp, rx);
	}
out:
	rcu_read_unlock();
}

void pavo_demux_local(struct sk_buff *skb)
{
	struct pavo_rx rx pavo_uncleared;

	if (!pavo_rx_take(&rx, skb, true))
		deliver_packet(&rx);
}

int pavo_demux_receive(struct sock *sk, struct sk_buff *skb)
{
	bool seen = pavo_kcov_begin();
	struct pavo_rx rx pavo_uncleared;

	if (!pavo_rx_take(&rx, skb, false))
		deliver_packet(&rx);
	pavo_kcov_end(seen);
	return 0;
}
