// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * loopback.c - loopback between adapters of one network namespace: packets go from sender to
 * receiver without the network stack, as in hardware.
 *
 * The sender queues packets, and delivers them after it has dropped the lock of its side, or this
 * CPU would enter that side again. A packet that is sent during delivery, such as a response or a
 * request that a completion handler posts, is queued behind them, so delivery does not recurse.
 *
 * Two queue pairs can answer each other without end, so a CPU delivers packets in slices
 * (budget.h). After a slice that was used up, the work of the queue and processes that send deliver
 * the rest, with a cond_resched() between slices. Softirqs do not deliver until the queue is empty.
 * The queue is in order at any time, whichever context takes its first packet.
 *
 * Only its own CPU accesses a queue, with bottom halves disabled. If a CPU goes offline, the work
 * of its queue moves the packets to the queue of another CPU.
 */
#include <linux/cpu.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/dst.h>
#include "compat.h"
#include "net_private.h"
#include "parameter.h"

/*
 * Most bytes (truesize) in a queue. The packets of all users with the same hash may have a quarter
 * of them.
 */
static unsigned int loopback_bytes = SZ_32M;
pavo_range_param(loopback_bytes, loopback_bytes, SZ_1M, SZ_256M, 0644);
MODULE_PARM_DESC(loopback_bytes,
		 "memory of the loopback packets of each CPU, bytes (33554432)");

/* Slices that a process delivers in a row before it leaves the rest to the work. */
#define OWN_SLICES 16

/**
 * struct loopback - the queue of a CPU.
 * @queue:    packets; skb->data is at the UDP header, and the route is the sender's
 * @bytes:    truesize of all packets
 * @shares:   truesize of packets by hash of the user
 * @sent:     packets that were queued so far (free running)
 * @executed: packets that were delivered so far (free running)
 * @budget:   rest of the slice that is being delivered
 * @busy:     a slice is being delivered
 * @left:     a slice was used up, and the queue has not been empty since
 * @work:     delivers the rest then
 * @cpu:      its CPU
 */
struct loopback {
	struct sk_buff_head queue;
	u32 bytes;
	u32 shares[PAVO_USER_SHARES];
	u32 sent;
	u32 executed;
	struct pavo_budget budget;
	bool busy;
	bool left;
	struct delayed_work work;
	int cpu;
};

/* Control block of a queued packet: its truesize, and the share that it counts in. */
struct loopback_cb {
	u32 bytes;
	u8 share;
};

static DEFINE_PER_CPU(struct loopback, loopbacks);
static struct workqueue_struct *loopback_wq;
/* Constant while the module is loaded. */
static void (*receive)(struct sk_buff *skb);

static struct loopback_cb *get_loopback_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct loopback_cb) > sizeof(skb->cb));
	return (struct loopback_cb *)skb->cb;
}

int pavo_local_send(struct sk_buff *skb, u8 share)
{
	struct loopback *in = this_cpu_ptr(&loopbacks);
	struct loopback_cb *cb = get_loopback_cb(skb);
	u32 most = READ_ONCE(loopback_bytes);

	if (unlikely(in->shares[share] >= most / 4 || in->bytes >= most)) {
		kfree_skb(skb);
		return -ENOBUFS;
	}
	__skb_pull(skb, skb_transport_offset(skb));
	cb->bytes = skb->truesize;
	cb->share = share;
	in->shares[share] += cb->bytes;
	in->bytes += cb->bytes;
	in->sent++;
	__skb_queue_tail(&in->queue, skb);
	return 0;
}

static struct sk_buff *dequeue_packet(struct loopback *in)
{
	struct sk_buff *skb = __skb_dequeue(&in->queue);
	const struct loopback_cb *cb;

	if (!skb)
		return NULL;
	cb = get_loopback_cb(skb);
	in->shares[cb->share] -= cb->bytes;
	in->bytes -= cb->bytes;
	return skb;
}

/*
 * Deliver a packet. Its route has kept the loopback interface until now. If the namespace has ended
 * since, the route leads to blackhole_netdev, which is in another namespace.
 */
static void deliver_loopback(struct sk_buff *skb)
{
	skb->dev = skb_dst(skb)->dev;
	skb_dst_drop(skb);
	if (likely(skb->dev != blackhole_netdev))
		receive(skb);
	else
		kfree_skb(skb);
}

/* True in process context, apart from the caller's own local_bh_disable(). */
static bool is_process(void)
{
	return softirq_count() == SOFTIRQ_DISABLE_OFFSET;
}

/*
 * Queue the work, on the CPU of the queue. A process delivers more itself, so the work waits a
 * tick: to alternate between two tasks would cost more.
 */
static void defer_to_work(struct loopback *in)
{
	bool own = is_process() && !(current->flags & PF_KTHREAD);

	in->left = true;
	pavo_budget_end(PAVO_LOOP_LOCAL, &in->budget);
	queue_delayed_work_on(in->cpu, loopback_wq, &in->work, own);
}

/* Deliver packets of this CPU's queue, until it is empty or the slice is used up. BH disabled. */
static void deliver_slice(struct loopback *in)
{
	struct sk_buff *skb;

	in->busy = true;
	in->budget = pavo_budget_begin_slice();
	rcu_read_lock();
	while (likely(pavo_budget_remains(&in->budget))) {
		skb = dequeue_packet(in);
		if (!skb)
			break;
		pavo_budget_spend(&in->budget, 1, skb->len);
		deliver_loopback(skb);
		WRITE_ONCE(in->executed, in->executed + 1);
	}
	rcu_read_unlock();
	in->busy = false;
	if (likely(skb_queue_empty(&in->queue)))
		in->left = false;
	else
		defer_to_work(in);
}

int pavo_net_deliver(const struct pavo_budget *left)
{
	struct loopback *in = this_cpu_ptr(&loopbacks);

	if (in->busy) {
		pavo_budget_spend(&in->budget,
				  PAVO_SLICE_PACKETS - left->packets,
				  PAVO_SLICE_BYTES - left->bytes);
		return 0;
	}
	if (likely(skb_queue_empty(&in->queue)))
		return 0;
	if (unlikely(in->left) && !is_process())
		return -EINPROGRESS;
	deliver_slice(in);
	return in->left ? -EINPROGRESS : 0;
}

bool pavo_net_delivers(void)
{
	return this_cpu_read(loopbacks.busy);
}

void pavo_net_continue(void)
{
	unsigned int slices = OWN_SLICES;
	struct loopback *in;
	bool left;

	if (likely(!raw_cpu_read(loopbacks.left)))
		return;
	do {
		cond_resched();
		local_bh_disable();
		in = this_cpu_ptr(&loopbacks);
		if (in->left)
			deliver_slice(in);
		left = in->left && --slices && !signal_pending(current);
		if (in->left && !left)
			mod_delayed_work_on(in->cpu, loopback_wq, &in->work, 0);
		local_bh_enable();
	} while (left);
}

struct pavo_loopback_mark pavo_loopback_mark(void)
{
	return (struct pavo_loopback_mark){
		.cpu = smp_processor_id(),
		.sent = this_cpu_read(loopbacks.sent),
	};
}

bool pavo_loopback_is_behind(const struct pavo_loopback_mark *mark)
{
	const struct loopback *in;

	if (likely(mark->cpu == smp_processor_id()))
		return false;
	in = per_cpu_ptr(&loopbacks, mark->cpu);
	return (s32)(READ_ONCE(in->executed) - mark->sent) < 0;
}

/* Move the packets of a CPU that is offline to this CPU's queue. Hotplug is locked. */
static void take_over_queue(struct loopback *from)
{
	struct sk_buff *skb;
	struct loopback *in;

	local_bh_disable();
	in = this_cpu_ptr(&loopbacks);
	if (!skb_queue_empty(&from->queue))
		pavo_budget_used_up(PAVO_LOOP_OFFLINE,
				    skb_queue_len(&from->queue), from->bytes);
	while ((skb = dequeue_packet(from))) {
		in->shares[get_loopback_cb(skb)->share] +=
			get_loopback_cb(skb)->bytes;
		in->bytes += get_loopback_cb(skb)->bytes;
		in->sent++;
		__skb_queue_tail(&in->queue, skb);
	}
	WRITE_ONCE(from->executed, from->sent);
	from->left = false;
	in->left = true;
	mod_delayed_work_on(in->cpu, loopback_wq, &in->work, 0);
	local_bh_enable();
}

/* Deliver a slice. The kernel schedules other tasks between two works. */
static void run_loopback_work(struct work_struct *work)
{
	struct loopback *in = container_of(work, struct loopback, work.work);
	bool here;

	local_bh_disable();
	here = in->cpu == smp_processor_id();
	if (likely(here) && in->left)
		deliver_slice(in);
	local_bh_enable();
	if (likely(here))
		return;
	cpus_read_lock();
	if (cpu_online(in->cpu))
		mod_delayed_work_on(in->cpu, loopback_wq, &in->work, 0);
	else
		take_over_queue(in);
	cpus_read_unlock();
}

int pavo_loopback_init(void (*loopback)(struct sk_buff *skb))
{
	struct loopback *in;
	int cpu;

	loopback_wq = alloc_workqueue("pavo_loopback",
				      WQ_MEM_RECLAIM | PAVO_WQ_PERCPU, 0);
	if (!loopback_wq)
		return -ENOMEM;
	receive = loopback;
	for_each_possible_cpu(cpu) {
		in = per_cpu_ptr(&loopbacks, cpu);
		__skb_queue_head_init(&in->queue);
		INIT_DELAYED_WORK(&in->work, run_loopback_work);
		in->cpu = cpu;
	}
	return 0;
}

void pavo_loopback_exit(void)
{
	int cpu;

	/* No queue pair sends any more. Run works that wait for a tick now. */
	for_each_possible_cpu(cpu)
		flush_delayed_work(&per_cpu_ptr(&loopbacks, cpu)->work);
	/* Waits for works that queue themselves again, too. */
	destroy_workqueue(loopback_wq);
}
