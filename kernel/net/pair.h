/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pair.h - pairs: two queue pairs of this machine that are connected with each other (pair.c).
 */
#ifndef PAVO_PAIR_H
#define PAVO_PAIR_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct pavo_flow;
struct pavo_rx;

/**
 * struct pavo_pair - a queue pair, as one end of a pair.
 * @node: in the table of queue pairs that have a path
 * @flow: its path, while it is in the table
 * @port: number of its port; 0: none
 * @qpn:  its QPN
 * @dqpn: QPN of its peer
 * @type: type of queue pair
 * @peer_type: type that its peer has
 * @peer: the peer, under RCU; NULL: not on this machine
 * @plain_until: jiffies; packets that were sent without metadata have arrived by then
 */
struct pavo_pair {
	struct hlist_node node;
	const struct pavo_flow *flow;
	u32 port;
	u32 qpn;
	u32 dqpn;
	int type;
	int peer_type;
	struct pavo_pair __rcu *peer;
	u64 plain_until;
};

/**
 * pavo_pair_enter - enter a queue pair that has a path, and make a pair of it and its peer.
 * @pair: its port, QPNs, types and flow are set
 * @sent: it may have sent packets before
 */
void pavo_pair_enter(struct pavo_pair *pair, bool sent);
/** pavo_pair_leave - end the pair, if there is one, and remove the queue pair from the table. */
void pavo_pair_leave(struct pavo_pair *pair);

/** pavo_pair_has_peer - true if the peer is a queue pair of this machine. */
static inline bool pavo_pair_has_peer(const struct pavo_pair *pair)
{
	return rcu_access_pointer(pair->peer);
}

/** pavo_pair_sent_plain - record that a packet was sent without metadata. */
void pavo_pair_sent_plain(struct pavo_pair *pair);

/**
 * pavo_pair_accepts - false if a packet is known to be from another sender than the peer. RCU read
 * side.
 * @pair: a connected queue pair
 * @rx:   the packet, from the peer's address
 */
bool pavo_pair_accepts(const struct pavo_pair *pair, const struct pavo_rx *rx);

#endif /* PAVO_PAIR_H */
