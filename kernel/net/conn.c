// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * conn.c - connections, and pairs: two queue pairs of this machine that are each other's peers.
 *
 * Two queue pairs are a pair if each one has the other as its peer, by addresses and QPNs. They
 * exchange packets with deferred ICRC (deferred_icrc.c), whose authentic metadata name the
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
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ipv6.h>
#include "net/conn.h"
#include "net_private.h"

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

static bool is_peer(const struct pavo_conn *conn, const struct pavo_conn *of)
{
	return conn->qpn == of->dqpn && conn->dqpn == of->qpn &&
	       conn->type == of->peer_type &&
	       ipv6_addr_equal(&conn->flow->saddr, &of->flow->daddr) &&
	       ipv6_addr_equal(&conn->flow->daddr, &of->flow->saddr);
}

/* Find the queue pair that has @conn as its peer, and no pair yet. Lock held. */
static struct pavo_conn *find_peer(const struct pavo_conn *conn)
{
	u32 hash = hash_ends(&conn->flow->daddr, conn->dqpn, &conn->flow->saddr,
			     conn->qpn);
	struct pavo_conn *peer;

	hash_for_each_possible(connected, peer, node, hash)
		if (!rcu_access_pointer(peer->peer) && is_peer(peer, conn))
			return peer;
	return NULL;
}

void pavo_conn_enter(struct pavo_conn *conn, bool sent)
{
	struct pavo_conn *peer;

	if (!conn->port)
		return;
	spin_lock_bh(&pairs_lock);
	hash_add(connected, &conn->node,
		 hash_ends(&conn->flow->saddr, conn->qpn, &conn->flow->daddr,
			   conn->dqpn));
	if (sent)
		pavo_conn_sent_plain(conn);
	peer = find_peer(conn);
	if (peer) {
		rcu_assign_pointer(conn->peer, peer);
		rcu_assign_pointer(peer->peer, conn);
	}
	spin_unlock_bh(&pairs_lock);
}

void pavo_conn_leave(struct pavo_conn *conn)
{
	struct pavo_conn *peer;

	spin_lock_bh(&pairs_lock);
	if (hash_hashed(&conn->node))
		hash_del(&conn->node);
	peer = rcu_dereference_protected(conn->peer,
					 lockdep_is_held(&pairs_lock));
	if (peer)
		RCU_INIT_POINTER(peer->peer, NULL);
	RCU_INIT_POINTER(conn->peer, NULL);
	conn->plain_until = 0;
	spin_unlock_bh(&pairs_lock);
}

/* True if a packet comes from the flow's destination and is for its source. */
static bool comes_from_peer(const struct pavo_flow *flow,
			    const struct pavo_rx *rx)
{
	if (flow->ipv6 != rx->ipv6)
		return false;
	if (flow->ipv6) {
		const struct ipv6hdr *ip6 = ipv6_hdr(rx->skb);

		return ipv6_addr_equal(&ip6->saddr, &flow->daddr) &&
		       ipv6_addr_equal(&ip6->daddr, &flow->saddr);
	}
	return ip_hdr(rx->skb)->saddr == flow->daddr.s6_addr32[3] &&
	       ip_hdr(rx->skb)->daddr == flow->saddr.s6_addr32[3];
}

bool pavo_conn_accepts(const struct pavo_conn *conn, const struct pavo_rx *rx)
{
	const struct pavo_conn *peer = rcu_dereference(conn->peer);

	if (unlikely(!comes_from_peer(conn->flow, rx)))
		return false;
	if (rx->meta.port)
		return peer && peer->qpn == rx->meta.qpn &&
		       peer->port == rx->meta.port;
	return likely(!peer) ||
	       time_before64(get_jiffies_64(), READ_ONCE(peer->plain_until));
}
