// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * loopback.c - packets that stay inside a network namespace: they go from the sending to the
 * receiving adapter without the network stack, as hardware loops them back.
 *
 * The sender's CPU has the receiver execute them, after the sender let go of its side: on one CPU a
 * side is not safe from its own owner. A packet that is sent meanwhile, like an answer or what a
 * completion handler posts, goes to the end of the queue: the stack stays flat.
 *
 * Two queue pairs can answer each other for seconds, so a CPU executes packets in slices
 * (budget.h). Behind a slice that was used up the queue is left to its work, and to processes that
 * send: they go on between two chances for others to run. Softirqs leave it alone until it is
 * empty. The queue is in order all the time, whichever of them takes its first packet.
 *
 * The queue of a CPU is touched by that CPU only, with bottom halves disabled, but for the queue of
 * a CPU that went offline, whose work takes it to another one.
 */
#include <linux/cpu.h>
#include <linux/moduleparam.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/dst.h>
#include "compat.h"
#include "net_private.h"

/*
 * Bytes of memory (truesize) that a queue holds at most. A user's packets have a quarter of it, or
 * share that with other users of the same hash.
 */
static unsigned int inside_bytes = SZ_32M;

static int set_inside_bytes(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, SZ_1M, SZ_256M);
}

static const struct kernel_param_ops inside_bytes_ops = {
	.set = set_inside_bytes,
	.get = param_get_uint,
};
module_param_cb(inside_bytes, &inside_bytes_ops, &inside_bytes, 0644);
MODULE_PARM_DESC(inside_bytes,
		 "memory of a CPU's packets inside namespaces (33554432)");

/* Slices of a process in a row, before it leaves the rest to the work: some milliseconds. */
#define OWN_SLICES 16

/**
 * struct inside - the queue of a CPU.
 * @queue:    packets; skb->data is at the UDP header, and the route is the sender's
 * @bytes:    of memory, of all of them
 * @shares:   likewise, by hash of the user
 * @sent:     packets that were put in so far (free running)
 * @executed: packets that were taken out so far
 * @budget:   of the slice that is being executed
 * @busy:     a slice is being executed
 * @left:     a slice was used up, and the queue was not empty since
 * @work:     goes on with it then
 * @cpu:      its CPU
 */
struct loopback {
	struct sk_buff_head queue;
	u32 bytes;
	u32 shares[PAVO_LOOPBACK_SHARES];
	u32 sent;
	u32 executed;
	struct pavo_budget budget;
	bool busy;
	bool left;
	struct delayed_work work;
	int cpu;
};

/* A note of the queue to a packet, in its cb. */
struct loopback_note {
	u32 bytes;
	u8 share;
};

static DEFINE_PER_CPU(struct loopback, insides);
static struct workqueue_struct *loopback_wq;
/* Constant while the module is loaded. */
static void (*execute)(struct sk_buff *skb);

static struct loopback_note *note_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct loopback_note) > sizeof(skb->cb));
	return (struct loopback_note *)skb->cb;
}

int pavo_loopback_send(struct sk_buff *skb, u8 share)
{
	struct loopback *in = this_cpu_ptr(&insides);
	struct loopback_note *note = note_of(skb);
	u32 most = READ_ONCE(inside_bytes);

	if (unlikely(in->shares[share] >= most / 4 || in->bytes >= most)) {
		kfree_skb(skb);
		return -ENOBUFS;
	}
	note->bytes = skb->truesize;
	note->share = share;
	in->shares[share] += note->bytes;
	in->bytes += note->bytes;
	in->sent++;
	__skb_queue_tail(&in->queue, skb);
	return 0;
}

static struct sk_buff *take_packet(struct loopback *in)
{
	struct sk_buff *skb = __skb_dequeue(&in->queue);
	const struct loopback_note *note;

	if (!skb)
		return NULL;
	note = note_of(skb);
	in->shares[note->share] -= note->bytes;
	in->bytes -= note->bytes;
	return skb;
}

/*
 * Execute a packet. The route has kept the loopback interface until now; if its namespace ended
 * meanwhile, the route leads to the interface for such routes, which is in another namespace.
 */
static void execute_packet(struct sk_buff *skb)
{
	skb->dev = skb_dst(skb)->dev;
	skb_dst_drop(skb);
	if (likely(skb->dev != blackhole_netdev))
		execute(skb);
	else
		kfree_skb(skb);
}

/* Is this process context, but for the caller's own local_bh_disable()? */
static bool is_process(void)
{
	return softirq_count() == SOFTIRQ_DISABLE_OFFSET;
}

/*
 * Let the work go on, on the CPU of the queue. A process goes on itself, so the work waits a tick:
 * two tasks in turn would cost more.
 */
static void leave_rest(struct loopback *in)
{
	bool own = is_process() && !(current->flags & PF_KTHREAD);

	in->left = true;
	pavo_budget_end(PAVO_LOOP_LOOPBACK, &in->budget);
	queue_delayed_work_on(in->cpu, loopback_wq, &in->work, own);
}

/* Execute packets of this CPU's queue, until it is empty or the slice is used up. BH disabled. */
static void execute_slice(struct loopback *in)
{
	struct sk_buff *skb;

	in->busy = true;
	in->budget = pavo_budget_slice();
	rcu_read_lock();
	while (likely(pavo_budget_left(&in->budget))) {
		skb = take_packet(in);
		if (!skb)
			break;
		pavo_budget_spend(&in->budget, 1, skb->len);
		execute_packet(skb);
		WRITE_ONCE(in->executed, in->executed + 1);
	}
	rcu_read_unlock();
	in->busy = false;
	if (likely(skb_queue_empty(&in->queue)))
		in->left = false;
	else
		leave_rest(in);
}

bool pavo_loopback_deliver(const struct pavo_budget *left)
{
	struct loopback *in = this_cpu_ptr(&insides);

	if (in->busy) {
		pavo_budget_spend(&in->budget,
				  PAVO_SLICE_PACKETS - left->packets,
				  PAVO_SLICE_BYTES - left->bytes);
		return true;
	}
	if (likely(skb_queue_empty(&in->queue)))
		return true;
	if (unlikely(in->left) && !is_process())
		return false;
	execute_slice(in);
	return !in->left;
}

void pavo_loopback_continue(void)
{
	unsigned int slices = OWN_SLICES;
	struct loopback *in;
	bool left;

	if (likely(!raw_cpu_read(insides.left)))
		return;
	do {
		cond_resched();
		local_bh_disable();
		in = this_cpu_ptr(&insides);
		if (in->left)
			execute_slice(in);
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
		.sent = this_cpu_read(insides.sent),
	};
}

bool pavo_loopback_is_behind(const struct pavo_loopback_mark *mark)
{
	const struct loopback *in;

	if (likely(mark->cpu == smp_processor_id()))
		return false;
	in = per_cpu_ptr(&insides, mark->cpu);
	return (s32)(READ_ONCE(in->executed) - mark->sent) < 0;
}

/* Put the packets of a CPU that is offline behind those of this one. Hotplug is locked. */
static void take_over(struct loopback *from)
{
	struct sk_buff *skb;
	struct loopback *in;

	local_bh_disable();
	in = this_cpu_ptr(&insides);
	if (!skb_queue_empty(&from->queue))
		pavo_budget_used_up(PAVO_LOOP_OFFLINE,
				    skb_queue_len(&from->queue), from->bytes);
	while ((skb = take_packet(from))) {
		in->shares[note_of(skb)->share] += note_of(skb)->bytes;
		in->bytes += note_of(skb)->bytes;
		in->sent++;
		__skb_queue_tail(&in->queue, skb);
	}
	WRITE_ONCE(from->executed, from->sent);
	from->left = false;
	in->left = true;
	mod_delayed_work_on(in->cpu, loopback_wq, &in->work, 0);
	local_bh_enable();
}

/* Execute a slice. The kernel lets other tasks run between two works. */
static void run_loopback_work(struct work_struct *work)
{
	struct loopback *in = container_of(work, struct loopback, work.work);
	bool here;

	local_bh_disable();
	here = in->cpu == smp_processor_id();
	if (likely(here) && in->left)
		execute_slice(in);
	local_bh_enable();
	if (likely(here))
		return;
	cpus_read_lock();
	if (cpu_online(in->cpu))
		mod_delayed_work_on(in->cpu, loopback_wq, &in->work, 0);
	else
		take_over(in);
	cpus_read_unlock();
}

int pavo_loopback_init(void (*loopback)(struct sk_buff *skb))
{
	struct loopback *in;
	int cpu;

	loopback_wq = alloc_workqueue("pavo_inside",
				      WQ_MEM_RECLAIM | PAVO_WQ_PERCPU, 0);
	if (!loopback_wq)
		return -ENOMEM;
	execute = loopback;
	for_each_possible_cpu(cpu) {
		in = per_cpu_ptr(&insides, cpu);
		__skb_queue_head_init(&in->queue);
		INIT_DELAYED_WORK(&in->work, run_loopback_work);
		in->cpu = cpu;
	}
	return 0;
}

void pavo_loopback_exit(void)
{
	int cpu;

	/* No queue pair sends any more. A work that waits for its tick begins now. */
	for_each_possible_cpu(cpu)
		flush_delayed_work(&per_cpu_ptr(&insides, cpu)->work);
	/* Works that go on are waited for, too. */
	destroy_workqueue(loopback_wq);
}
