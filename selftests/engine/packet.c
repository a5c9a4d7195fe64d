// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * packet.c - packets (skbuff.h) of the engine, and queues of them.
 */
#include <linux/skbuff.h>

const struct skb_shared_info engine_no_frags;

struct sk_buff *engine_skb(unsigned int headroom, unsigned int tailroom)
{
	struct sk_buff *skb = engine_alloc(sizeof(*skb), GFP_ATOMIC);

	if (!skb)
		return NULL;
	skb->buffer = engine_alloc(sizeof(*skb->buffer) + headroom + tailroom,
				   GFP_ATOMIC);
	if (!skb->buffer) {
		kfree(skb);
		return NULL;
	}
	refcount_set(&skb->buffer->users, 1);
	INIT_LIST_HEAD(&skb->list);
	skb->data = skb->buffer->bytes + headroom;
	skb->tailroom = tailroom;
	skb->truesize = sizeof(*skb) + headroom + tailroom;
	return skb;
}

void *skb_put(struct sk_buff *skb, unsigned int len)
{
	u8 *end = skb->data + skb->len;

	ENGINE_MUST(len <= skb->tailroom);
	skb->len += len;
	skb->tailroom -= len;
	return end;
}

struct sk_buff *skb_clone(struct sk_buff *skb, gfp_t flags)
{
	struct sk_buff *clone = kmemdup(skb, sizeof(*skb), flags);

	if (!clone)
		return NULL;
	refcount_inc(&skb->buffer->users);
	INIT_LIST_HEAD(&clone->list);
	return clone;
}

bool skb_cloned(const struct sk_buff *skb)
{
	return skb->buffer->users.count > 1;
}

void kfree_skb(struct sk_buff *skb)
{
	ENGINE_MUST(list_empty(&skb->list));
	if (refcount_dec_and_test(&skb->buffer->users))
		kfree(skb->buffer);
	kfree(skb);
}

void skb_put_data(struct sk_buff *skb, const void *data, unsigned int len)
{
	memcpy(skb_put(skb, len), data, len);
}

void skb_put_zero(struct sk_buff *skb, unsigned int len)
{
	memset(skb_put(skb, len), 0, len);
}

void skb_trim(struct sk_buff *skb, unsigned int len)
{
	skb->tailroom += skb->len - len;
	skb->len = len;
}

int skb_copy_bits(const struct sk_buff *skb, int offset, void *to, int len)
{
	if (offset < 0 || len < 0 || (u64)offset + len > skb->len)
		return -EFAULT;
	memcpy(to, skb->data + offset, len);
	return 0;
}

void skb_queue_head_init(struct sk_buff_head *queue)
{
	INIT_LIST_HEAD(&queue->list);
	queue->count = 0;
	spin_lock_init(&queue->lock);
}

void __skb_queue_head_init(struct sk_buff_head *queue)
{
	INIT_LIST_HEAD(&queue->list);
	queue->count = 0;
}

void __skb_queue_after(struct sk_buff_head *queue, struct sk_buff *before,
		       struct sk_buff *skb)
{
	list_add(&skb->list, &before->list);
	queue->count++;
}

void __skb_queue_tail(struct sk_buff_head *queue, struct sk_buff *skb)
{
	ENGINE_MUST(queue->lock.held);
	list_add_tail(&skb->list, &queue->list);
	queue->count++;
}

void skb_queue_tail(struct sk_buff_head *queue, struct sk_buff *skb)
{
	spin_lock(&queue->lock);
	__skb_queue_tail(queue, skb);
	spin_unlock(&queue->lock);
}

void skb_queue_head(struct sk_buff_head *queue, struct sk_buff *skb)
{
	spin_lock(&queue->lock);
	list_add(&skb->list, &queue->list);
	queue->count++;
	spin_unlock(&queue->lock);
}

struct sk_buff *skb_peek(struct sk_buff_head *queue)
{
	return list_first_entry_or_null(&queue->list, struct sk_buff, list);
}

struct sk_buff *skb_peek_tail(struct sk_buff_head *queue)
{
	return queue->count ?
		       list_entry(queue->list.prev, struct sk_buff, list) :
		       NULL;
}

void __skb_unlink(struct sk_buff *skb, struct sk_buff_head *queue)
{
	list_del_init(&skb->list);
	queue->count--;
}

void skb_unlink(struct sk_buff *skb, struct sk_buff_head *queue)
{
	spin_lock(&queue->lock);
	__skb_unlink(skb, queue);
	spin_unlock(&queue->lock);
}

struct sk_buff *skb_dequeue(struct sk_buff_head *queue)
{
	struct sk_buff *skb;

	spin_lock(&queue->lock);
	skb = skb_peek(queue);
	if (skb)
		__skb_unlink(skb, queue);
	spin_unlock(&queue->lock);
	return skb;
}

void skb_queue_purge(struct sk_buff_head *queue)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(queue)))
		kfree_skb(skb);
}
