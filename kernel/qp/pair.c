// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pair.c - pairs: two queue pairs of this machine that are connected with each other.
 *
 * Two queue pairs are a pair if each one has the other as its peer, by addresses and QPNs. They
 * exchange packets with deferred ICRC (net/deferred_icrc.c), whose authentic metadata name the
 * sender. So neither accepts a packet of another sender on this machine, which may belong to any
 * process.
 *
 * A packet that is sent with an ICRC has no metadata: after a loss, or if it was segmented for a
 * device on the path. The sender records the time, and whether such a packet still waits in a queue
 * of this machine. For a while after that its peer accepts packets without metadata, too.
 *
 * Pairs change under modify_mutex of their queue pairs; packets read them under RCU. A queue pair
 * leaves its pair a grace period before it is freed.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/once.h>
#include <linux/siphash.h>
#include <net/ipv6.h>
#include "memory/memory.h"
#include "qp/qp.h"

/* Longest time that a packet may take from its sender to its receiver. */
#define PLAIN_LIFETIME (4 * HZ)

/* Queue pairs that have a path, by the addresses and QPNs of both ends. */
static DEFINE_HASHTABLE(connected, 14);
static DEFINE_SPINLOCK(pairs_lock);

/* Hash addresses and QPNs, with a secret, because users choose some of them. */
static u32 hash_ends(const struct in6_addr *saddr, u32 qpn,
		     const struct in6_addr *daddr, u32 dqpn)
{
	static siphash_key_t secret;
	struct {
		struct in6_addr saddr, daddr;
		u32 qpn, dqpn;
	} ends = { *saddr, *daddr, qpn, dqpn };

	get_random_once(&secret, sizeof(secret));
	return siphash(&ends, sizeof(ends), &secret);
}

static bool is_peer(const struct pavo_qp *qp, const struct pavo_qp *of)
{
	return qp->ib.qp_num == of->attr.dest_qpn &&
	       qp->pair.dqpn == of->ib.qp_num &&
	       qp->ib.qp_type == pavo_peer_type(of) &&
	       ipv6_addr_equal(&qp->flow.saddr, &of->flow.daddr) &&
	       ipv6_addr_equal(&qp->flow.daddr, &of->flow.saddr);
}

/* Find the queue pair that has @qp as its peer, and no pair yet. Lock held. */
static struct pavo_qp *find_peer(const struct pavo_qp *qp)
{
	u32 hash = hash_ends(&qp->flow.daddr, qp->attr.dest_qpn,
			     &qp->flow.saddr, qp->ib.qp_num);
	struct pavo_qp *peer;

	hash_for_each_possible(connected, peer, pair.node, hash)
		if (!rcu_access_pointer(peer->pair.peer) && is_peer(peer, qp))
			return peer;
	return NULL;
}

/* Record that packets of @qp without metadata may be on the path. */
static void record_plain(struct pavo_qp *qp)
{
	WRITE_ONCE(qp->pair.plain_until, get_jiffies_64() + PLAIN_LIFETIME);
}

void pavo_pair_enter(struct pavo_qp *qp)
{
	struct pavo_qp *peer;

	if (!qp->dev->port.number)
		return;
	spin_lock_bh(&pairs_lock);
	qp->pair.dqpn = qp->attr.dest_qpn;
	hash_add(connected, &qp->pair.node,
		 hash_ends(&qp->flow.saddr, qp->ib.qp_num, &qp->flow.daddr,
			   qp->pair.dqpn));
	peer = find_peer(qp);
	if (peer) {
		/* Either may have sent packets before. */
		if (pavo_qp_state(peer) >= IB_QPS_RTS)
			record_plain(peer);
		if (pavo_qp_state(qp) >= IB_QPS_RTS)
			record_plain(qp);
		rcu_assign_pointer(qp->pair.peer, peer);
		rcu_assign_pointer(peer->pair.peer, qp);
	}
	spin_unlock_bh(&pairs_lock);
}

void pavo_pair_leave(struct pavo_qp *qp)
{
	struct pavo_qp *peer;

	spin_lock_bh(&pairs_lock);
	if (hash_hashed(&qp->pair.node))
		hash_del(&qp->pair.node);
	peer = rcu_dereference_protected(qp->pair.peer,
					 lockdep_is_held(&pairs_lock));
	if (peer)
		RCU_INIT_POINTER(peer->pair.peer, NULL);
	RCU_INIT_POINTER(qp->pair.peer, NULL);
	qp->pair.plain_until = 0;
	spin_unlock_bh(&pairs_lock);
}

void pavo_pair_sent_plain(struct pavo_qp *qp)
{
	if (unlikely(rcu_access_pointer(qp->pair.peer)))
		record_plain(qp);
}

bool pavo_pair_accepts(const struct pavo_qp *qp, const struct pavo_rx *rx)
{
	const struct pavo_qp *peer = rcu_dereference(qp->pair.peer);

	if (rx->meta.port)
		return peer && peer->ib.qp_num == rx->meta.qpn &&
		       peer->dev->port.number == rx->meta.port;
	return likely(!peer) ||
	       time_before64(get_jiffies_64(),
			     READ_ONCE(peer->pair.plain_until));
}

/* True if the request at @psn was posted, and has not completed. */
static bool is_outstanding(const struct pavo_qp *qp, u32 psn)
{
	int state = pavo_qp_state(qp);

	if (state != IB_QPS_RTS && state != IB_QPS_SQD)
		return false;
	return pavo_psn_diff(psn, READ_ONCE(qp->req.recovery.upsn)) >= 0;
}

/* Find the sender of a packet; NULL: it was destroyed. */
static struct pavo_qp *find_sender(const struct pavo_meta *meta)
{
	struct pavo_port *port = pavo_port_numbered(meta->port);

	return port ? pavo_qp_find(pavo_dev_of(port), meta->qpn) : NULL;
}

/* True if memory of @qp that is attached to a packet may be read. */
static bool may_read_attached(const struct pavo_qp *qp,
			      const struct pavo_meta *meta, u32 psn)
{
	return qp && is_outstanding(qp, psn) &&
	       pavo_key_means(qp->dev, meta->lkey, meta->token);
}

bool pavo_may_read_attached(const struct pavo_meta *meta, u32 psn)
{
	return !(meta->flags & PAVO_META_ATTACHED) ||
	       may_read_attached(find_sender(meta), meta, psn);
}

bool pavo_pair_leaves(const struct pavo_meta *meta, u32 psn)
{
	struct pavo_qp *qp;

	if (!meta->port)
		return true;
	qp = find_sender(meta);
	if (qp)
		pavo_pair_sent_plain(qp);
	return !(meta->flags & PAVO_META_ATTACHED) ||
	       may_read_attached(qp, meta, psn);
}
