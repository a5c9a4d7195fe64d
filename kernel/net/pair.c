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
#include "net/pair.h"
#include "net_private.h"

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

static bool is_peer(const struct pavo_pair *pair, const struct pavo_pair *of)
{
	return pair->qpn == of->dqpn && pair->dqpn == of->qpn &&
	       pair->type == of->peer_type &&
	       ipv6_addr_equal(&pair->flow->saddr, &of->flow->daddr) &&
	       ipv6_addr_equal(&pair->flow->daddr, &of->flow->saddr);
}

/* Find the queue pair that has @pair as its peer, and no pair yet. Lock held. */
static struct pavo_pair *find_peer(const struct pavo_pair *pair)
{
	u32 hash = hash_ends(&pair->flow->daddr, pair->dqpn, &pair->flow->saddr,
			     pair->qpn);
	struct pavo_pair *peer;

	hash_for_each_possible(connected, peer, node, hash)
		if (!rcu_access_pointer(peer->peer) && is_peer(peer, pair))
			return peer;
	return NULL;
}

void pavo_pair_sent_plain(struct pavo_pair *pair)
{
	WRITE_ONCE(pair->plain_until, get_jiffies_64() + PLAIN_LIFETIME);
}

void pavo_pair_enter(struct pavo_pair *pair, bool sent)
{
	struct pavo_pair *peer;

	if (!pair->port)
		return;
	spin_lock_bh(&pairs_lock);
	hash_add(connected, &pair->node,
		 hash_ends(&pair->flow->saddr, pair->qpn, &pair->flow->daddr,
			   pair->dqpn));
	if (sent)
		pavo_pair_sent_plain(pair);
	peer = find_peer(pair);
	if (peer) {
		rcu_assign_pointer(pair->peer, peer);
		rcu_assign_pointer(peer->peer, pair);
	}
	spin_unlock_bh(&pairs_lock);
}

void pavo_pair_leave(struct pavo_pair *pair)
{
	struct pavo_pair *peer;

	spin_lock_bh(&pairs_lock);
	if (hash_hashed(&pair->node))
		hash_del(&pair->node);
	peer = rcu_dereference_protected(pair->peer,
					 lockdep_is_held(&pairs_lock));
	if (peer)
		RCU_INIT_POINTER(peer->peer, NULL);
	RCU_INIT_POINTER(pair->peer, NULL);
	pair->plain_until = 0;
	spin_unlock_bh(&pairs_lock);
}

bool pavo_pair_accepts(const struct pavo_pair *pair, const struct pavo_rx *rx)
{
	const struct pavo_pair *peer = rcu_dereference(pair->peer);

	if (rx->meta.port)
		return peer && peer->qpn == rx->meta.qpn &&
		       peer->port == rx->meta.port;
	return likely(!peer) ||
	       time_before64(get_jiffies_64(), READ_ONCE(peer->plain_until));
}
