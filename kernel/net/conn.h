/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * conn.h - connected queue pairs, as net/ knows them (conn.c).
 */
#ifndef PAVO_CONN_H
#define PAVO_CONN_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct pavo_flow;
struct pavo_rx;

/**
 * struct pavo_conn - a connected queue pair.
 * @node: in the table of queue pairs that have a path
 * @flow: its path
 * @port: number of its port; 0: none
 * @qpn:  its QPN
 * @dqpn: QPN of its peer
 * @type: type of queue pair
 * @peer_type: type that its peer has
 * @peer: the peer, under RCU; NULL: not on this machine
 * @arrives: a packet of it has arrived at @peer, so those to this address are known to reach it
 * @same_net: likewise, for both are in the namespace that has the address
 * @end: hash of its own address and QPN
 * @to:  hash of its peer's
 * @none_at: no queue pair of this machine had the peer's address and QPN, when so many had entered
 * @named: packets to such a queue pair, which has another peer, have named their sender
 * @refused: one of these was refused
 * @plain_until: jiffies; packets that were sent without metadata have arrived by then
 */
struct pavo_conn {
	struct hlist_node node;
	const struct pavo_flow *flow;
	u32 port;
	u32 qpn;
	u32 dqpn;
	int type;
	int peer_type;
	struct pavo_conn __rcu *peer;
	bool arrives;
	bool same_net;
	u32 end;
	u32 to;
	unsigned long none_at;
	bool named;
	bool refused;
	u64 plain_until;
};

/**
 * pavo_conn_enter - enter a queue pair that has a path, and find its peer on this machine.
 * @conn: its port, QPNs, types and flow are set
 * @sent: it may have sent packets before
 */
void pavo_conn_enter(struct pavo_conn *conn, bool sent);
/** pavo_conn_leave - remove a queue pair from the table. */
void pavo_conn_leave(struct pavo_conn *conn);

/** pavo_conn_has_peer - true if the peer is a queue pair of this machine. */
static inline bool pavo_conn_has_peer(const struct pavo_conn *conn)
{
	return rcu_access_pointer(conn->peer);
}

/* Number of times that a queue pair has entered or left the table. */
extern unsigned long pavo_conn_changes;

/* pavo_conn_find_stranger - the part of pavo_conn_is_stranger() that is seldom. */
bool pavo_conn_find_stranger(struct pavo_conn *conn, bool retransmit);

/**
 * pavo_conn_is_stranger - true if packets may arrive at a queue pair of this machine that has
 * another peer. They need authentic metadata, by which it knows that they are not its peer's.
 * @conn:       the sender
 * @retransmit: the packet was sent before. It may be that none arrived there, but elsewhere, where
 *              metadata are not known; then false
 *
 * Context: BH disabled, RCU read side.
 */
static inline bool pavo_conn_is_stranger(struct pavo_conn *conn,
					 bool retransmit)
{
	if (likely(READ_ONCE(conn->none_at) == READ_ONCE(pavo_conn_changes)) ||
	    pavo_conn_has_peer(conn))
		return false;
	return pavo_conn_find_stranger(conn, retransmit);
}

/* Longest time that a packet may take from its sender to its receiver. */
#define PAVO_PLAIN_LIFETIME (4 * HZ)

/** pavo_conn_note_plain - record that a packet was sent without metadata. */
static inline void pavo_conn_note_plain(struct pavo_conn *conn)
{
	WRITE_ONCE(conn->plain_until, get_jiffies_64() + PAVO_PLAIN_LIFETIME);
}

/**
 * pavo_conn_accepts - false if a packet is not from the address of the peer, or is known to be from
 * another sender there. Notes what it shows of the path. RCU read side.
 * @conn: a connected queue pair
 * @rx:   the packet
 */
bool pavo_conn_accepts(struct pavo_conn *conn, const struct pavo_rx *rx);

#endif /* PAVO_CONN_H */
