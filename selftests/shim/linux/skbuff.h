/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * skbuff.h - packets: one buffer each, which clones share. A packet has no fragments, so
 * payload is always copied into it.
 */
#ifndef PAVO_SHIM_SKBUFF_H
#define PAVO_SHIM_SKBUFF_H

#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

struct net_device;
struct page;

/* The buffer, and how many packets have it. */
struct engine_buffer {
	refcount_t users;
	u8 bytes[];
};

struct sk_buff {
	struct list_head list;
	struct net_device *dev;
	struct engine_buffer *buffer;
	u8 *network_header;
	u8 *data;
	unsigned int len;
	unsigned int truesize;
	unsigned int tailroom; /* free bytes behind the packet */
	u32 priority;
	char cb[48];
	/* Of a packet with deferred ICRC; the engine has none. */
	unsigned int inner_protocol_type;
	__be16 inner_protocol;
};

struct sk_buff_head {
	struct list_head list;
	unsigned int count;
	spinlock_t lock;
};

typedef struct {
	struct page *page;
	unsigned int size, offset;
} skb_frag_t;

struct skb_shared_info {
	unsigned int gso_size, gso_type;
	unsigned int nr_frags;
	skb_frag_t frags[1];
};

enum {
	SKB_GSO_UDP_TUNNEL = 1 << 0,
	SKB_GSO_SCTP = 1 << 1,
	SKB_GSO_ESP = 1 << 2,
	SKB_GSO_TCP_FIXEDID = 1 << 3,
	ENCAP_TYPE_ETHER = 0,
};

extern const struct skb_shared_info engine_no_frags;
/* Packets that a queue seems to have beside its own (engine.h). */
extern unsigned int engine_backlog;

#define skb_shinfo(skb) ((void)(skb), &engine_no_frags)
#define skb_frag_size(frag) ((frag)->size)
#define skb_frag_off(frag) ((frag)->offset)
#define skb_frag_page(frag) ((frag)->page)
#define skb_frag_foreach_page(frag, at, size, page, page_at, page_size, done) \
	for ((page) = skb_frag_page(frag), (page_at) = (at),                  \
	    (page_size) = (size), (done) = 0;                                 \
	     !(done); (done) = (size))
#define skb_walk_frags(skb, next) for ((next) = NULL; (next);)
#define skb_has_frag_list(skb) false
#define skb_is_gso(skb) (skb_shinfo(skb)->gso_size > 0)
#define skb_headlen(skb) ((skb)->len)
#define skb_tailroom(skb) ((skb)->tailroom)
#define pskb_may_pull(skb, size) ((size) <= (skb)->len)
#define skb_network_header(skb) ((skb)->network_header)
#define skb_dst_drop(skb) ((void)(skb))

/* Make a packet of no bytes; NULL without memory. */
struct sk_buff *engine_skb(unsigned int headroom, unsigned int tailroom);
struct sk_buff *skb_clone(struct sk_buff *skb, gfp_t flags);
bool skb_cloned(const struct sk_buff *skb);
void kfree_skb(struct sk_buff *skb);
int skb_copy_bits(const struct sk_buff *skb, int offset, void *to, int len);
void *skb_put(struct sk_buff *skb, unsigned int len);
void skb_put_data(struct sk_buff *skb, const void *data, unsigned int len);
void skb_put_zero(struct sk_buff *skb, unsigned int len);
void skb_trim(struct sk_buff *skb, unsigned int len);

#define consume_skb kfree_skb
#define napi_consume_skb(skb, budget) kfree_skb(skb)

void skb_queue_head_init(struct sk_buff_head *queue);
void skb_queue_tail(struct sk_buff_head *queue, struct sk_buff *skb);
void skb_queue_head(struct sk_buff_head *queue, struct sk_buff *skb);
struct sk_buff *skb_dequeue(struct sk_buff_head *queue);
struct sk_buff *skb_peek(struct sk_buff_head *queue);
void skb_unlink(struct sk_buff *skb, struct sk_buff_head *queue);
struct sk_buff *skb_peek_tail(struct sk_buff_head *queue);
/* A queue that one owner uses needs no lock. */
void __skb_queue_head_init(struct sk_buff_head *queue);
void __skb_queue_after(struct sk_buff_head *queue, struct sk_buff *before,
		       struct sk_buff *skb);
/* Their callers hold the queue's lock. */
void __skb_queue_tail(struct sk_buff_head *queue, struct sk_buff *skb);
void __skb_unlink(struct sk_buff *skb, struct sk_buff_head *queue);
void skb_queue_purge(struct sk_buff_head *queue);

#define skb_queue_len(queue) ((queue)->count)
#define skb_queue_empty(queue) (!(queue)->count)
/* Behind the loop @skb stands for the beginning of the queue, as the kernel's does. */
#define skb_queue_reverse_walk(queue, skb) \
	list_for_each_entry_reverse (skb, &(queue)->list, list)
#define skb_queue_walk(queue, skb) \
	list_for_each_entry (skb, &(queue)->list, list)
#define skb_queue_empty_lockless(queue) (!(queue)->count)
#define skb_queue_len_lockless(queue) ((queue)->count + engine_backlog)

#endif /* PAVO_SHIM_SKBUFF_H */
