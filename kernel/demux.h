/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * demux.h - entry points of received packets.
 */
#ifndef PAVO_DEMUX_H
#define PAVO_DEMUX_H

struct pavo_dev;
struct pavo_rx;
struct sk_buff;
struct sock;

/**
 * pavo_demux_receive - handle a datagram to the RoCEv2 port.
 * @sk:  the socket that received it
 * @skb: the datagram; consumed
 *
 * Context: softirq, RCU read side.
 * Return: 0: the socket must not queue the datagram.
 */
int pavo_demux_receive(struct sock *sk, struct sk_buff *skb);

/**
 * pavo_demux_local - handle a datagram of an adapter of the same namespace.
 * @skb: the datagram; consumed
 *
 * Context: BH disabled, RCU read side; no side is locked.
 */
void pavo_demux_local(struct sk_buff *skb);

/**
 * pavo_demux_set_receiver - set the function that receives packets of PAVO_KIND_WINDOW. Without one
 * they are dropped: there is no window. Called while the module is loaded.
 * @receive: consumes the skb. Softirq, RCU read side
 * @receive_group: for the windows of a group; see struct pavo_part
 */
void pavo_demux_set_receiver(void (*receive)(struct pavo_rx *rx),
			     u32 (*receive_group)(const struct pavo_rx *rx));

/** pavo_demux_prepare - initialize the queue of deferred packets of an adapter. */
void pavo_demux_prepare(struct pavo_dev *dev);

/** pavo_demux_forget - drop deferred packets. No packet arrives any more, and no work runs. */
void pavo_demux_forget(struct pavo_dev *dev);

#endif /* PAVO_DEMUX_H */
