/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * netif_private.h - an interface over a window, as the files of netif/ share it.
 *
 * Locks: RTNL for the list of interfaces and their life. @tx_lock, then that of @bulk, then that of
 * the window. The window calls with an rCxt's lock held, which is before that of @bulk; so nothing
 * that locks an rCxt is called with either held.
 */
#ifndef PAVO_NETIF_PRIVATE_H
#define PAVO_NETIF_PRIVATE_H

#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include "compat.h"
#include "netif/ether.h"
#include "netif/ipfrag.h"
#include "netif/netif.h"
#include "window/kernel_window.h"

struct pavo_dev;
struct pavo_job;
struct pavo_kernel_mapping;

/* Frames of the send FIFO, and how many of them are sent until a stopped queue goes on. */
#define PAVO_NETIF_FRAMES 256u
#define PAVO_NETIF_WAKE 64u
/* Buffers for packets longer than a frame, in each direction. */
#define PAVO_NETIF_BUFFERS 16u
#define PAVO_NETIF_BUFFER 65536u
/* Offers of peers that wait for a buffer, of all nodes and of one. */
#define PAVO_NETIF_OFFERS 256u
#define PAVO_NETIF_OFFERS_OF_NODE 32u

/* Counters of an interface, as `ethtool -S` shows them; docs/windows.md says what each counts. */
#define PAVO_NETIF_COUNTERS(C) \
	C(tx_split)            \
	C(tx_fragments)        \
	C(tx_rdma)             \
	C(tx_rdma_retries)     \
	C(tx_stops)            \
	C(tx_drop_node)        \
	C(tx_drop_too_long)    \
	C(tx_drop_not_sent)    \
	C(tx_drop_rdma)        \
	C(rx_rdma)             \
	C(rx_rdma_retries)     \
	C(rx_drop_duplicate)   \
	C(rx_drop_length)      \
	C(rx_drop_node)        \
	C(rx_drop_source)      \
	C(rx_drop_destination) \
	C(rx_drop_truncated)   \
	C(rx_drop_kind)        \
	C(rx_drop_offer)       \
	C(rx_drop_no_buffer)   \
	C(rx_drop_rdma)        \
	C(rx_drop_no_memory)   \
	C(rx_drop_backlog)     \
	C(rx_drop_down)

enum pavo_netif_counter {
#define PAVO_NETIF_ENUM(name) PAVO_NETIF_##name,
	PAVO_NETIF_COUNTERS(PAVO_NETIF_ENUM)
#undef PAVO_NETIF_ENUM
	PAVO_NETIF_COUNTS
};

/* Messages of kind PAVO_MESSAGE_NETIF_OFFER: packet @length is at @pvo; read it by @rcxt. */
struct pavo_netif_offer {
	__le64 tid; /* lowest that the reader may use */
	__le64 pvo;
	__le32 rcxt;
	__le32 length;
};

/* An offer of a peer. */
struct pavo_offered {
	u64 tid;
	u64 pvo;
	u32 rcxt;
	u32 length;
	u16 node;
	u32 window;
};

enum pavo_bulk_state {
	PAVO_BULK_STALE, /* needs an rCxt, which may take the place of an old one */
	PAVO_BULK_FREE,
	PAVO_BULK_REQUEST, /* a frame is to be sent: an offer, or the request of a read */
	PAVO_BULK_WAIT, /* it was sent */
	PAVO_BULK_ARRIVED, /* in only: the packet is there */
};

/**
 * struct pavo_bulk_buffer - place for a packet, in one direction.
 * @data:  its memory
 * @pvo:   likewise
 * @rcxt:  of its reads; 0: none
 * @tid:   of the present read; out: the lowest of the next one
 * @state: enum pavo_bulk_state
 * @tries: frames that were sent for it
 * @due:   when the next one is, in jiffies
 * @of:    in: the offer; out: node, window and length only
 */
struct pavo_bulk_buffer {
	void *data;
	u64 pvo;
	u32 rcxt;
	u64 tid;
	u8 state;
	u8 tries;
	unsigned long due;
	struct pavo_offered of;
};

/**
 * struct pavo_bulk - packets that are longer than a frame, by RDMA.
 * @lock:    all but @area and @mapping; BH
 * @area:    memory of all buffers
 * @mapping: of @area
 * @out:     packets to peers
 * @in:      packets from peers
 * @offers:  ring of offers that wait for a buffer
 * @first:   the first of these
 * @waiting: their number
 * @last:    offers that were taken before, the latest PAVO_NETIF_BUFFERS
 * @taken:   counts them
 * @recoveries: of the adapter when the rCxts were taken
 * @running: the interface is up
 * @tick:    repeats frames that were lost, and renews rCxts
 */
struct pavo_bulk {
	spinlock_t lock; /* all but the memory */
	void *area;
	struct pavo_kernel_mapping *mapping;
	struct pavo_bulk_buffer out[PAVO_NETIF_BUFFERS];
	struct pavo_bulk_buffer in[PAVO_NETIF_BUFFERS];
	struct pavo_offered offers[PAVO_NETIF_OFFERS];
	u32 first;
	u32 waiting;
	struct pavo_offered last[PAVO_NETIF_BUFFERS];
	u32 taken;
	u32 recoveries;
	bool running;
	struct delayed_work tick;
};

/**
 * struct pavo_netif_packet - the packet that is being written to frames.
 * @skb:   the packet; NULL: none
 * @many:  it is for all nodes; else for @node
 * @split: it is split by @frag, and @piece is its present fragment
 * @node:  the next node that gets the present fragment, or the packet
 * @frag:  its state, if it is split
 * @piece: its present fragment, likewise
 * @rest:  the present fragment is not written to all nodes yet
 */
struct pavo_netif_packet {
	struct sk_buff *skb;
	bool many;
	bool split;
	bool rest;
	u32 node;
	struct pavo_ipfrag frag;
	struct pavo_ipfrag_piece piece;
};

/**
 * struct pavo_netif - an interface over a window; private part of its net_device.
 * @dev:     its net_device
 * @list:    in the list of all interfaces
 * @adapter: the adapter
 * @job:     its job, of which it is a member
 * @jobid:   that job's id
 * @window:  its window; NULL: it is not registered
 * @wanted:  id of the window that was requested; 0: any
 * @events:  of the adapter's port
 * @node:    id of this machine in the job
 * @sgid_index: see struct pavo_window_args
 * @nodes:   number of nodes in @peers
 * @peers:   window of each node; 0: unknown
 * @groups:  hashes of the multicast addresses that it receives
 * @napi:    receives packets by RDMA, and goes on sending
 * @tx_lock: @head, @tail, @packet; BH
 * @head:    frames that were written
 * @tail:    frames of these that were marked
 * @packet:  see there
 * @bulk:    likewise
 * @counts:  by enum pavo_netif_counter
 */
struct pavo_netif {
	struct net_device *dev;
	struct list_head list;
	struct pavo_dev *adapter;
	struct pavo_job *job;
	u32 jobid;
	struct pavo_fifo_window *window;
	u32 wanted;
	struct ib_event_handler events;
	u16 node;
	u16 sgid_index;
	u32 nodes;
	u32 *peers;
	u64 groups;
	struct napi_struct napi;
	spinlock_t tx_lock; /* sending */
	u32 head;
	u32 tail;
	struct pavo_netif_packet packet;
	struct pavo_bulk bulk;
	atomic64_t counts[PAVO_NETIF_COUNTS];
};

#define pavo_netif_count(netif, name) \
	atomic64_inc(&(netif)->counts[PAVO_NETIF_##name])

/** pavo_netif_peer - the window of @node; 0: the table has none, or it is this node. */
u32 pavo_netif_peer(const struct pavo_netif *netif, u32 node);

/* netif.c */
/**
 * pavo_netif_add - make an interface.
 * @adapter: the adapter
 * @args:    from user space, not checked yet
 * @nodes:   likewise
 * @n:       number of these
 * @info:    set
 *
 * Return: 0, or an error listed at struct pavo_interface_args. Context: process, no RTNL.
 */
int pavo_netif_add(struct pavo_dev *adapter,
		   const struct pavo_interface_args *args,
		   const struct pavo_interface_node *nodes, u32 n,
		   struct pavo_interface_info *info);
/** pavo_netif_describe - set @info. RTNL is held. */
void pavo_netif_describe(const struct pavo_netif *netif,
			 struct pavo_interface_info *info);
/** pavo_netif_set_node - errors as listed at struct pavo_interface_node. RTNL is held. */
int pavo_netif_set_node(struct pavo_netif *netif,
			const struct pavo_interface_node *node);
/** pavo_netif_find - the interface of @adapter with the lowest ifindex from @from on. RTNL. */
struct pavo_netif *pavo_netif_find(struct pavo_dev *adapter, u32 from);
void pavo_netif_delete(struct net_device *dev, struct list_head *head);
u32 pavo_netif_hash(const u8 *address);

/* netif_tx.c */
netdev_tx_t pavo_netif_xmit(struct sk_buff *skb, struct net_device *dev);
/** pavo_netif_slot - the next frame of the send FIFO; NULL: it is full. @tx_lock held. */
struct pavo_frame_hdr *pavo_netif_slot(struct pavo_netif *netif);
/** pavo_netif_start - send that frame, for @node; its payload is written. @tx_lock held. */
void pavo_netif_start(struct pavo_netif *netif, struct pavo_frame_hdr *frame,
		      u32 node, u8 type, u8 kind, u32 length);
/** pavo_netif_send - write and send the frames and the packet that wait. BH disabled. */
void pavo_netif_send(struct pavo_netif *netif);
/** pavo_netif_drop - drop the packet that is being sent. BH disabled. */
void pavo_netif_drop(struct pavo_netif *netif);

/* netif_rx.c: a packet or another frame from a peer: calls of the window */
int pavo_netif_receive(void *owner, const struct pavo_put *put);
/** pavo_netif_accepts - is the packet with this beginning a valid one for the interface? Counts. */
bool pavo_netif_accepts(struct pavo_netif *netif, const u8 *head, u32 length,
			u32 node, u32 window);
int pavo_netif_poll(struct napi_struct *napi, int budget);

/* bulk.c */
int pavo_bulk_init(struct pavo_netif *netif);
void pavo_bulk_free(struct pavo_netif *netif);
/** pavo_bulk_start - the interface is up; pavo_bulk_stop(): it is down. Both sleep. */
void pavo_bulk_start(struct pavo_netif *netif);
void pavo_bulk_stop(struct pavo_netif *netif);
/**
 * pavo_bulk_send - copy a packet to a buffer, which is then offered to a node.
 * @netif: the interface, with its @tx_lock held
 * @skb:   the packet, which stays the caller's
 * @node:  the node; the table has it
 *
 * Return: 0; -EAGAIN: all buffers are in use; -ENODEV: none can be used. Context: BH disabled.
 */
int pavo_bulk_send(struct pavo_netif *netif, const struct sk_buff *skb,
		   u32 node);
/** pavo_bulk_request - write the frames that are due. @tx_lock held. Return: 0; -ENOSPC. */
int pavo_bulk_request(struct pavo_netif *netif);
/** pavo_bulk_offered - take an offer of a peer, of which @put->node is known. BH disabled. */
void pavo_bulk_offered(struct pavo_netif *netif, const struct pavo_put *put);
/** pavo_bulk_done - take the end of a read. An rCxt is locked. */
void pavo_bulk_done(struct pavo_netif *netif, const struct pavo_put *put);
/** pavo_bulk_poll - pass up to @budget packets on that have arrived. Return: their number. */
int pavo_bulk_poll(struct pavo_netif *netif, int budget);

#endif /* PAVO_NETIF_PRIVATE_H */
