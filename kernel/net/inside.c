// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * inside.c - packets that stay inside a network namespace: they go from the sending to the
 * receiving adapter without the network stack, as hardware loops them back.
 *
 * The sender's CPU has the receiver execute them, after the sender let go of its side: on one CPU a
 * side is not safe from its own owner. A packet that is sent meanwhile, like an answer or what a
 * completion handler posts, goes to the end of the queue: the stack stays flat.
 */
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include "net_private.h"

struct inside {
	struct sk_buff_head queue;
	bool busy; /* packets of the queue are being executed */
};

static DEFINE_PER_CPU(struct inside, insides);
/* Constant while the module is loaded. */
static void (*execute)(struct sk_buff *skb);

void pavo_inside_send(struct sk_buff *skb)
{
	__skb_queue_tail(&this_cpu_ptr(&insides)->queue, skb);
}

void pavo_inside_deliver(void)
{
	struct inside *in = this_cpu_ptr(&insides);
	struct sk_buff *skb;

	if (likely(skb_queue_empty(&in->queue)) || in->busy)
		return;
	in->busy = true;
	rcu_read_lock();
	while ((skb = __skb_dequeue(&in->queue)))
		execute(skb);
	rcu_read_unlock();
	in->busy = false;
}

void pavo_inside_init(void (*inside)(struct sk_buff *skb))
{
	int cpu;

	execute = inside;
	for_each_possible_cpu(cpu)
		__skb_queue_head_init(&per_cpu_ptr(&insides, cpu)->queue);
}
