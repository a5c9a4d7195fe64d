// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * conn.c - connections, and pairs: two queue pairs of this machine that are each other's peers.
 *
 * Two queue pairs are a pair if each one has the other as its peer, by addresses and QPNs. They
 * exchange packets with deferred ICRC (deferred_icrc.c), whose authentic metadata name the
 * sender. So neither accepts a packet of another sender on this machine, which may belong to any
 * process.
 *
 * Two namespaces may have one address. So the queue pair with the address and QPN of a peer may
 * belong to a tenant, while the true peer is on another machine, whose packets have no metadata. A
 * queue pair refuses these only if packets to that address are known to reach its pair: one of them
 * has arrived there, or both are in one namespace. An authentic packet of another queue pair that
 * fits makes that one the pair, until then.
 *
 * A queue pair whose peer has another one, or none yet, is no pair, and any user can make it. Its
 * packets to a queue pair of this machine name it as the sender, too, so they are refused there.
 * If one was, it sends none without metadata any more.
 *
 * A packet that is sent with an ICRC has no metadata: after a loss, or if it was segmented for a
 * device on the path. The sender records the time, and whether such a packet still waits in a queue
 * of this machine. For a while after that its peer accepts packets without metadata, too.
 *
 * Pairs change under pairs_lock; packets read them under RCU. A queue pair leaves its pair a grace
 * period before it is freed.
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

/* Queue pairs that have a path, by their own end. */
static DEFINE_HASHTABLE(connected, 14);
static DEFINE_SPINLOCK(pairs_lock);
unsigned long pavo_conn_changes = 1;

/* Hash address and QPN of an end, with a secret, because users choose some of them. */
static u32 hash_end(const struct in6_addr *addr, u32 qpn)
{
	static siphash_key_t secret;
	struct {
		struct in6_addr addr;
		u32 qpn, zero;
	} end = { *addr, qpn, 0 };

	get_random_once(&secret, sizeof(secret));
	return siphash(&end, sizeof(end), &secret);
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
	struct pavo_conn *peer;

	hash_for_each_possible(connected, peer, node, conn->to)
		if (!rcu_access_pointer(peer->peer) && is_peer(peer, conn))
			return peer;
	return NULL;
}

/* True if packets of @conn to its peer's address go to the namespace of both. */
static bool is_same_net(const struct pavo_conn *conn,
			const struct pavo_conn *peer)
{
	const struct net_device *own, *other;
	bool same;

	rcu_read_lock();
	own = rcu_dereference(conn->flow->port->ndev);
	other = rcu_dereference(peer->flow->port->ndev);
	same = conn->flow->local && own && other &&
	       net_eq(dev_net(own), dev_net(other));
	rcu_read_unlock();
	return same;
}

/* Make two queue pairs a pair; both have none. Lock held. */
static void join_pair(struct pavo_conn *conn, struct pavo_conn *peer)
{
	WRITE_ONCE(conn->same_net, is_same_net(conn, peer));
	WRITE_ONCE(peer->same_net, is_same_net(peer, conn));
	rcu_assign_pointer(conn->peer, peer);
	rcu_assign_pointer(peer->peer, conn);
}

/* End the pair of a queue pair, and forget what was known of their path. Lock held. */
static void split_pair(struct pavo_conn *conn)
{
	struct pavo_conn *peer;

	peer = rcu_dereference_protected(conn->peer,
					 lockdep_is_held(&pairs_lock));
	if (peer) {
		RCU_INIT_POINTER(peer->peer, NULL);
		WRITE_ONCE(peer->arrives, false);
	}
	RCU_INIT_POINTER(conn->peer, NULL);
	WRITE_ONCE(conn->arrives, false);
}

/* Have senders look again. Lock held. */
static void note_change(void)
{
	/* Pairs with the acquire in pavo_conn_find_stranger(). */
	smp_store_release(&pavo_conn_changes, pavo_conn_changes + 1);
}

void pavo_conn_enter(struct pavo_conn *conn, bool sent)
{
	struct pavo_conn *peer;

	if (!conn->port)
		return;
	spin_lock_bh(&pairs_lock);
	WRITE_ONCE(conn->end, hash_end(&conn->flow->saddr, conn->qpn));
	WRITE_ONCE(conn->to, hash_end(&conn->flow->daddr, conn->dqpn));
	hash_add_rcu(connected, &conn->node, conn->end);
	note_change();
	if (sent)
		pavo_conn_note_plain(conn);
	peer = find_peer(conn);
	if (peer)
		join_pair(conn, peer);
	spin_unlock_bh(&pairs_lock);
}

void pavo_conn_leave(struct pavo_conn *conn)
{
	spin_lock_bh(&pairs_lock);
	if (hash_hashed(&conn->node)) {
		hash_del_rcu(&conn->node);
		note_change();
	}
	split_pair(conn);
	WRITE_ONCE(conn->named, false);
	WRITE_ONCE(conn->refused, false);
	conn->plain_until = 0;
	spin_unlock_bh(&pairs_lock);
}

/* True if a queue pair has the address and QPN of a peer; by their hash. RCU read side. */
static bool is_at(u32 end)
{
	const struct pavo_conn *conn;

	hash_for_each_possible_rcu(connected, conn, node, end)
		if (READ_ONCE(conn->end) == end)
			return true;
	return false;
}

bool pavo_conn_find_stranger(struct pavo_conn *conn, bool retransmit)
{
	/* Pairs with the release in note_change(). */
	unsigned long changes = smp_load_acquire(&pavo_conn_changes);

	if (!is_at(READ_ONCE(conn->to))) {
		WRITE_ONCE(conn->named, false);
		WRITE_ONCE(conn->refused, false);
		WRITE_ONCE(conn->none_at, changes);
		return false;
	}
	if (retransmit && READ_ONCE(conn->named) && !READ_ONCE(conn->refused))
		return false;
	WRITE_ONCE(conn->named, true);
	return true;
}

/* Note that packets of @peer arrive at @conn, if they are a pair still. */
static void note_arrival(struct pavo_conn *conn, struct pavo_conn *peer)
{
	spin_lock_bh(&pairs_lock);
	if (rcu_access_pointer(conn->peer) == peer)
		WRITE_ONCE(peer->arrives, true);
	spin_unlock_bh(&pairs_lock);
}

/*
 * An authentic packet of a queue pair that is not the pair of @conn has arrived. Make that one the
 * pair if the two have each other as peers, and no packet of @conn has arrived elsewhere.
 * Return: 0; -EBUSY.
 */
static int change_pair(struct pavo_conn *conn, struct pavo_conn *from)
{
	bool fits;

	if (READ_ONCE(conn->arrives))
		return -EBUSY;
	spin_lock_bh(&pairs_lock);
	fits = hash_hashed(&conn->node) && hash_hashed(&from->node) &&
	       is_peer(from, conn) && !conn->arrives;
	if (fits) {
		split_pair(conn);
		split_pair(from);
		join_pair(conn, from);
		WRITE_ONCE(from->arrives, true);
	}
	spin_unlock_bh(&pairs_lock);
	return fits ? 0 : -EBUSY;
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

/* As pavo_conn_accepts(), for a packet with authentic metadata that does not name @peer. */
static bool accepts_other(struct pavo_conn *conn, const struct pavo_rx *rx)
{
	struct pavo_conn *from = pavo_conn_find(rx->meta.port, rx->meta.qpn);

	if (!from)
		return false;
	if (!change_pair(conn, from))
		return true;
	WRITE_ONCE(from->refused, true);
	return false;
}

/* As pavo_conn_accepts(), for a packet with authentic metadata. */
static bool accepts_sender(struct pavo_conn *conn, struct pavo_conn *peer,
			   const struct pavo_rx *rx)
{
	if (unlikely(!peer || peer->qpn != rx->meta.qpn ||
		     peer->port != rx->meta.port))
		return accepts_other(conn, rx);
	if (unlikely(!READ_ONCE(peer->arrives)))
		note_arrival(conn, peer);
	return true;
}

bool pavo_conn_accepts(struct pavo_conn *conn, const struct pavo_rx *rx)
{
	struct pavo_conn *peer = rcu_dereference(conn->peer);

	if (unlikely(!comes_from_peer(conn->flow, rx)))
		return false;
	if (rx->meta.port)
		return accepts_sender(conn, peer, rx);
	if (likely(!peer) ||
	    !(READ_ONCE(conn->arrives) || READ_ONCE(conn->same_net)))
		return true;
	return time_before64(get_jiffies_64(), READ_ONCE(peer->plain_until));
}
