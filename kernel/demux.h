/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * demux.h - where packets come in.
 */
#ifndef PAVO_DEMUX_H
#define PAVO_DEMUX_H

struct pavo_dev;
struct sk_buff;
struct sock;

/**
 * pavo_demux_receive - take a datagram to the RoCEv2 port.
 * @sk:  the socket that it came to
 * @skb: the datagram; consumed
 *
 * Context: softirq, RCU read side.
 * Return: 0, which tells the socket that the datagram was taken.
 */
int pavo_demux_receive(struct sock *sk, struct sk_buff *skb);

/**
 * pavo_demux_loopback - take a datagram whose sender is in the same namespace.
 * @skb: the datagram; consumed
 *
 * Context: BH disabled, RCU read side; no side is locked.
 */
void pavo_demux_loopback(struct sk_buff *skb);

/** pavo_demux_prepare - make an adapter able to deliver packets. */
void pavo_demux_prepare(struct pavo_dev *dev);

/** pavo_demux_forget - drop packets that wait. No more come, and the adapter's works are over. */
void pavo_demux_forget(struct pavo_dev *dev);

#endif /* PAVO_DEMUX_H */
