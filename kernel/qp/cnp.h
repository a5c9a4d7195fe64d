/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cnp.h - congestion notification packets (CNP, annex A17.9.3): a queue pair reports to a peer
 * that routers mark its packets. Peers that understand SACKs get an echo in answers instead.
 */
#ifndef PAVO_CNP_H
#define PAVO_CNP_H

struct pavo_qp;
struct pavo_tx;

/**
 * pavo_cnp_send - a packet of the peer was marked: send a CNP, unless the last one is recent.
 * @qp: the queue pair, connected
 * @tx: sender of the side that has received the packet
 *
 * Context: BH disabled, RCU read side, the side is locked.
 */
void pavo_cnp_send(struct pavo_qp *qp, struct pavo_tx *tx);

#endif /* PAVO_CNP_H */
