// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fifo_window.c - the life of windows, and their commands.
 *
 * Called by window_methods.c in process context. Packets and workers find a window under RCU;
 * close.c ends it.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "id_alloc.h"
#include "jobs/job.h"
#include "rings/ucontext.h"
#include "window/handler.h"

/* Nodes to which a window may have routes. */
#define MOST_NODES 65536
/* Pages of closed windows, not freed yet, up to which opening does not wait: 64 MiB. */
#define MOST_CLOSING (SZ_64M >> PAGE_SHIFT)
/* Bytes of data in a packet of RDMA at most: as the largest path MTU. */
#define MOST_RDMA_PAYLOAD 4096

/* ---------------------------------------------------------------- commands */

/* Clamp a threshold. 0 and all ones mean no event; any number above INT_MAX counts as all ones. */
static u32 clamp_threshold(u32 n)
{
	return n > INT_MAX ? 0 : n;
}

static void set_threshold(struct pavo_fifo *fifo, u32 n)
{
	pavo_fifo_set_threshold(fifo, clamp_threshold(n));
}

/* Set the receive threshold, early or not; the other kind is off then. Lock held. */
static void set_recv_threshold(struct pavo_fifo_window *window, u32 n,
			       bool early)
{
	set_threshold(&window->recv, early ? 0 : n);
	pavo_event_early(window, early ? clamp_threshold(n) : 0);
}

/* Return: 0; -EINVAL: the command or its argument is invalid. Lock held. */
static int carry_out_command(struct pavo_fifo_window *window, u64 command)
{
	u32 op = command >> PAVO_WCMD_OP_SHIFT, arg = (u32)command;
	struct pavo_fifo *send = &window->send, *recv = &window->recv;

	if (command != ((u64)op << PAVO_WCMD_OP_SHIFT | arg))
		return -EINVAL;
	/* A handler that becomes ready after the end still has to be notified of the end. */
	if (window->closed && op != PAVO_WCMD_HANDLER_READY)
		return 0;
	switch (op) {
	case PAVO_WCMD_START_TRANSMIT:
		if (!arg || arg > send->mask + 1 - send->avail)
			return -EINVAL;
		send->avail += arg;
		set_bit(window->id, window->dev->windows->active);
		return 0;
	case PAVO_WCMD_RETURN_SLOTS:
		if (arg > recv->mask + 1 - recv->avail)
			return -EINVAL;
		recv->avail += arg;
		return 0;
	case PAVO_WCMD_RECV_THRESHOLD:
	case PAVO_WCMD_RECV_THRESHOLD_EARLY:
		set_recv_threshold(window, arg,
				   op == PAVO_WCMD_RECV_THRESHOLD_EARLY);
		return 0;
	case PAVO_WCMD_SEND_THRESHOLD:
		set_threshold(send, arg);
		return 0;
	case PAVO_WCMD_HANDLER_READY:
		return pavo_events_ready(&window->events, arg);
	default:
		return -EINVAL;
	}
}

void pavo_window_commands(struct pavo_fifo_window *window)
{
	struct pavo_command_page *page = window->commands->addr;
	u32 producer, at = window->consumer;
	u64 command;

	/* Pairs with the process's release: its commands are in the ring. */
	producer = smp_load_acquire(&page->producer);
	if (producer - at > PAVO_WCMD_RING) {
		pavo_count(window->dev, window_bad_commands);
		at = producer;
	}
	for (; at != producer; at++) {
		command = READ_ONCE(page->ring[at % PAVO_WCMD_RING]);
		if (carry_out_command(window, command))
			pavo_count(window->dev, window_bad_commands);
	}
	WRITE_ONCE(window->consumer, at);
	/* Pairs with the process's acquire: it may reuse the entries. */
	smp_store_release(&page->consumer, at);
}

/* Carry out new commands. Return: true: the window has something to send. */
static bool take_commands(struct pavo_fifo_window *window)
{
	bool ready;

	spin_lock_bh(&window->lock);
	pavo_window_commands(window);
	ready = window->send.avail || window->nrcxts ||
		pavo_held_activate(window);
	spin_unlock_bh(&window->lock);
	return ready;
}

void pavo_window_kick(struct pavo_fifo_window *window)
{
	pavo_worker_wake(window->page.worker);
	if (take_commands(window))
		pavo_window_transmit(window->dev);
}

static bool has_commands(const struct pavo_fifo_window *window)
{
	const struct pavo_command_page *page = window->commands->addr;

	return READ_ONCE(page->producer) != READ_ONCE(window->consumer);
}

/* Carry out new commands of all windows that a doorbell worker polls, and send. */
static bool poll_windows(struct pavo_dev *dev, struct pavo_worker *worker)
{
	bool found = false, ready = false;
	struct pavo_fifo_window *window;

	rcu_read_lock();
	list_for_each_entry_rcu(window, &worker->pages, page.list) {
		if (!has_commands(window))
			continue;
		found = true;
		ready |= take_commands(window);
	}
	rcu_read_unlock();
	if (ready)
		pavo_window_transmit(dev);
	return found;
}

/* ------------------------------------------------------------------ opening */

static bool is_valid_fifo_size(u32 n)
{
	return is_power_of_2(n) && n >= PAVO_FIFO_LEAST && n <= PAVO_FIFO_MOST;
}

static bool are_window_args_valid(const struct pavo_window_args *args)
{
	return is_valid_fifo_size(args->send_frames) &&
	       is_valid_fifo_size(args->recv_frames) && args->nodes &&
	       args->nodes <= MOST_NODES && !(args->flags & ~PAVO_WINDOW_FLAGS);
}

/* Most bytes of payload with which a packet fits the interface's MTU, also over IPv6. */
static u32 find_max_payload(struct pavo_dev *dev, enum pavo_window_op op,
			    u32 most)
{
	const unsigned int headers =
		sizeof(struct ipv6hdr) + sizeof(struct udphdr) +
		pavo_opcode_get_info(op)->hdr_len + PAVO_ICRC_LEN;
	struct net_device *ndev;
	unsigned int mtu = 0;

	rcu_read_lock();
	ndev = rcu_dereference(dev->port.ndev);
	if (ndev)
		mtu = READ_ONCE(ndev->mtu);
	rcu_read_unlock();
	if (mtu <= headers)
		return 0;
	return min_t(u32, (mtu - headers) & ~3u, most);
}

static int open_fifo(struct pavo_fifo *fifo, struct ib_ucontext *uctx,
		     u32 frames, s32 event, struct pavo_mmap_info *info)
{
	fifo->mask = frames - 1;
	if (event >= 0) {
		struct eventfd_ctx *ctx = eventfd_ctx_fdget(event);

		if (IS_ERR(ctx))
			return PTR_ERR(ctx);
		fifo->event = ctx;
	}
	fifo->area = pavo_mmap_create(uctx, frames * PAVO_FRAME_SIZE, info);
	if (!fifo->area)
		return -ENOMEM;
	pavo_mmap_hold(fifo->area);
	return 0;
}

static void free_fifo(struct pavo_fifo *fifo)
{
	pavo_mmap_put(fifo->area);
	if (fifo->event)
		eventfd_ctx_put(fifo->event);
}

/* Charge the FIFOs to the process as locked memory: they are never swapped. */
static int charge_fifos(struct pavo_fifo_window *window)
{
	unsigned long pages = pavo_fifo_count_pages(window->send.mask + 1ul) +
			      pavo_fifo_count_pages(window->recv.mask + 1ul);
	int err;

	err = account_locked_vm(current->mm, pages, true);
	if (err)
		return err;
	mmgrab(current->mm);
	window->mm = current->mm;
	window->locked = pages;
	return 0;
}

static int open_memory(struct pavo_fifo_window *window,
		       struct ib_ucontext *uctx,
		       const struct pavo_window_args *args,
		       struct pavo_window_resp *resp)
{
	const size_t size = sizeof(struct pavo_command_page);
	int err;

	err = pavo_window_nodes_init(window, args->nodes);
	if (err)
		return err;
	err = open_fifo(&window->send, uctx, args->send_frames,
			args->send_event, &resp->send);
	if (!err)
		err = open_fifo(&window->recv, uctx, args->recv_frames,
				args->recv_event, &resp->recv);
	if (err)
		return err;
	err = pavo_held_init(window);
	if (err)
		return err;
	window->recv.avail = args->recv_frames;
	window->commands = pavo_mmap_create(uctx, size, &resp->commands);
	if (!window->commands)
		return -ENOMEM;
	pavo_mmap_hold(window->commands);
	return charge_fifos(window);
}

void pavo_window_detach(struct pavo_fifo_window *window)
{
	pavo_mmap_destroy(window->send.area);
	pavo_mmap_destroy(window->recv.area);
	pavo_mmap_destroy(window->commands);
	if (!window->mm)
		return;
	account_locked_vm(window->mm, window->locked, false);
	mmdrop(window->mm);
}

void pavo_window_free(struct pavo_fifo_window *window)
{
	pavo_window_nodes_destroy(window);
	pavo_held_destroy(window);
	free_fifo(&window->send);
	free_fifo(&window->recv);
	pavo_mmap_put(window->commands);
	pavo_events_free(&window->events);
	/* A CPU that was at work with the closed window may have raised an event. */
	pavo_handlers_forget(window);
	if (window->handler_group)
		pavo_handlers_put(window->handler_group);
	mutex_destroy(&window->mutex);
	kfree(window);
}

static int join_handlers(struct pavo_fifo_window *window,
			 const struct ib_ucontext *context)
{
	window->handler_group =
		pavo_handlers_join(window->dev->windows, context);
	return window->handler_group ? 0 : -ENOMEM;
}

/* Reserve @id for the window; 0: any. Errors as of pavo_window_publish(). */
static int number_window(struct pavo_fifo_window *window, u32 id)
{
	struct pavo_windows *all = window->dev->windows;
	int err;

	if (id >= all->most)
		return -EINVAL;
	if (id) {
		window->id = id;
		return xa_insert(&all->table, id, NULL, GFP_KERNEL);
	}
	err = xa_alloc_cyclic(&all->table, &window->id, NULL,
			      XA_LIMIT(1, all->most - 1), &all->next,
			      GFP_KERNEL);
	if (err == -EBUSY)
		return -ENOSPC;
	return min(err, 0);
}

int pavo_window_publish(struct pavo_fifo_window *window, u32 id)
{
	struct pavo_windows *all = window->dev->windows;
	kuid_t account = pavo_job_user(window->job);
	int err;

	err = pavo_share_take(&all->shares, account,
			      pavo_share_of(all->most - 1, -1));
	if (err)
		return err;
	err = number_window(window, id);
	if (err) {
		pavo_share_give(&all->shares, account);
		return err;
	}
	pavo_job_use(window->job);
	xa_store(&all->table, window->id, window, GFP_KERNEL);
	return 0;
}

struct pavo_fifo_window *pavo_window_init(struct pavo_dev *dev,
					  struct pavo_job *job,
					  const struct pavo_window_args *args)
{
	struct pavo_fifo_window *window;

	/* Closing does not wait for memory to be freed, so opening does if it is too much. */
	if (atomic_long_read(&dev->windows->closing) > MOST_CLOSING)
		pavo_deferred_free_flush();
	window = kzalloc(sizeof(*window), GFP_KERNEL_ACCOUNT);
	if (!window)
		return ERR_PTR(-ENOMEM);
	window->dev = dev;
	window->job = job;
	window->key = pavo_job_window_key(job);
	window->node = args->node;
	window->flags = args->flags;
	window->sgid_index = args->sgid_index;
	window->max_payload = find_max_payload(dev, PAVO_OP_WINDOW_MESSAGE,
					       PAVO_FRAME_PAYLOAD);
	window->rdma_payload =
		find_max_payload(dev, PAVO_OP_WINDOW_DATA, MOST_RDMA_PAYLOAD);
	/* A packet must hold a piece whose length is a multiple of PAVO_PIECE_ALIGN. */
	if (window->rdma_payload < 2 * PAVO_PIECE_ALIGN) {
		kfree(window);
		return ERR_PTR(-EMSGSIZE);
	}
	INIT_LIST_HEAD(&window->rcxts);
	INIT_LIST_HEAD(&window->owned);
	INIT_LIST_HEAD(&window->groups);
	spin_lock_init(&window->lock);
	pavo_window_round_init(window);
	INIT_LIST_HEAD(&window->pending);
	pavo_events_init(&window->events, window->handlers, PAVO_HANDLERS);
	mutex_init(&window->mutex);
	return window;
}

struct pavo_fifo_window *pavo_window_open(struct pavo_dev *dev,
					  struct ib_ucontext *uctx,
					  struct pavo_job *job,
					  const struct pavo_window_args *args,
					  struct pavo_window_resp *resp)
{
	struct pavo_fifo_window *window;
	struct pavo_command_page *page;
	int err;

	if (!are_window_args_valid(args))
		return ERR_PTR(-EINVAL);
	window = pavo_window_init(dev, job, args);
	if (IS_ERR(window))
		return window;
	err = open_memory(window, uctx, args, resp);
	if (!err)
		err = join_handlers(window, uctx);
	if (!err) {
		err = pavo_window_publish(window, 0);
		if (err)
			pavo_handlers_leave(dev->windows,
					    window->handler_group);
	}
	if (err) {
		pavo_window_detach(window);
		pavo_window_free(window);
		return ERR_PTR(err);
	}
	page = window->commands->addr;
	pavo_worker_add(&to_pavo_uctx(uctx)->worker, &window->page,
			&page->flags, poll_windows);
	/* After pavo_window_publish(): a later recovery finds the window. */
	pavo_window_show_recoveries(window);
	resp->window = window->id;
	resp->max_payload = window->max_payload;
	resp->rdma_payload = window->rdma_payload;
	return window;
}

/* ------------------------------------------------------------ introspection */

/* The id of the rCxt that is queued at @at; 0: the list ends there. Lock held. */
static u32 get_queued_rcxt_id(const struct pavo_fifo_window *window,
			      const struct list_head *at)
{
	if (at == &window->rcxts)
		return 0;
	return list_entry(at, struct pavo_rcxt, queued)->op.id;
}

static u32 get_lmt_state(const struct pavo_fifo_window *window)
{
	if (window->closed)
		return 3;
	return window->dead ? 2 : 1;
}

/* The offset with which a process maps the FIFO. */
static u64 get_fifo_offset(const struct pavo_fifo *fifo)
{
	if (!fifo->area)
		return 0;
	return rdma_user_mmap_get_offset(&fifo->area->entry);
}

static u32 get_lmt_events(const struct pavo_fifo_window *window)
{
	return (window->recv.event ? PAVO_LMT_RECV_EVENT : 0) |
	       (window->send.event ? PAVO_LMT_SEND_EVENT : 0);
}

/* Lock held. */
static void fill_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt)
{
	const struct pavo_fifo *recv = &window->recv, *send = &window->send;

	*lmt = (struct pavo_lmt){
		.state = get_lmt_state(window),
		.window = window->id,
		.job = pavo_job_id(window->job),
		.recv_frames = recv->area ? recv->mask + 1 : 0,
		.recv_count = recv->count,
		.recv_free = recv->avail,
		.recv_threshold = atomic_read(&recv->threshold),
		.send_frames = send->mask + 1,
		.send_count = send->count,
		.send_ready = send->avail,
		.send_threshold = atomic_read(&send->threshold),
		.quantum = pavo_window_quantum(),
		.rcxts = window->nrcxts,
		.rcxt_head = get_queued_rcxt_id(window, window->rcxts.next),
		.rcxt_tail = get_queued_rcxt_id(window, window->rcxts.prev),
		.fatal_rcxt = window->fatal_rcxt,
		.rcxts_owned = window->nowned,
		.recoveries = READ_ONCE(window->dev->windows->rcxts.recoveries),
		.flags = window->flags,
		.recv_early = window->early,
		.quantum_left = READ_ONCE(window->quantum_left),
		.node = window->node,
		.events = get_lmt_events(window),
		.key = window->key,
		.recv_offset = get_fifo_offset(recv),
		.send_offset = get_fifo_offset(send),
		.violations = window->violations.count,
		.violation_rcxt = window->violations.rcxt,
		.violation_node = window->violations.node,
		.violation_window = window->violations.window,
	};
	pavo_events_lmt(window, lmt);
}

void pavo_window_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt)
{
	spin_lock_bh(&window->lock);
	fill_lmt(window, lmt);
	window->violations.unread = false;
	spin_unlock_bh(&window->lock);
}

static void show_fifos(struct seq_file *file, const struct pavo_lmt *lmt)
{
	seq_printf(file, " recv %u at %#llx count %u free %u threshold %u",
		   lmt->recv_frames, lmt->recv_offset, lmt->recv_count,
		   lmt->recv_free, lmt->recv_threshold);
	seq_printf(file, " early %u", lmt->recv_early);
	seq_printf(file, " send %u at %#llx count %u ready %u threshold %u",
		   lmt->send_frames, lmt->send_offset, lmt->send_count,
		   lmt->send_ready, lmt->send_threshold);
	seq_printf(file, " quantum %u left %u", lmt->quantum,
		   lmt->quantum_left);
}

/* Show a window, in one line. */
static void show_fifo_window(struct seq_file *file, const struct pavo_dev *dev,
			     const struct pavo_lmt *lmt)
{
	static const char *const states[] = { "", "", " dead", " disabled" };

	seq_printf(file, "%s window %u job %u node %u key %016llx",
		   dev->ib.name, lmt->window, lmt->job, lmt->node, lmt->key);
	show_fifos(file, lmt);
	seq_printf(file, " rcxts %u of %u head %#x tail %#x fatal %#x",
		   lmt->rcxts, lmt->rcxts_owned, lmt->rcxt_head, lmt->rcxt_tail,
		   lmt->fatal_rcxt);
	seq_printf(file, " recoveries %u events %#x handlers %#x ready %#x",
		   lmt->recoveries, lmt->events, lmt->handlers,
		   lmt->handlers_ready);
	seq_printf(file, " violations %u rcxt %#x node %u window %u",
		   lmt->violations, lmt->violation_rcxt, lmt->violation_node,
		   lmt->violation_window);
	seq_printf(file, " kept %u%s%s\n", lmt->event_kept,
		   lmt->flags & PAVO_WINDOW_BROADCAST ? " broadcast" : "",
		   states[lmt->state]);
}

void pavo_windows_show(struct seq_file *file, struct pavo_dev *dev)
{
	struct pavo_fifo_window *window;
	struct pavo_lmt lmt;
	unsigned long id;

	if (!dev->windows)
		return;
	rcu_read_lock();
	xa_for_each(&dev->windows->table, id, window) {
		spin_lock_bh(&window->lock);
		fill_lmt(window, &lmt);
		spin_unlock_bh(&window->lock);
		show_fifo_window(file, dev, &lmt);
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
	}
	rcu_read_unlock();
}
