// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kernel_window.c - windows of kernel code; see kernel_window.h. Called by netif/.
 */
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include "jobs/job.h"
#include "window/window_private.h"

/*
 * Its owner closes it and changes its routes under RTNL. The mutex of a process's window is the
 * other way around: its end leaves groups. So these are two classes for lockdep.
 */
static struct lock_class_key kernel_window_mutex;

static int open_send_fifo(struct pavo_fifo_window *window, u32 frames)
{
	struct pavo_fifo *send = &window->send;

	send->area = pavo_mmap_create(NULL, frames * PAVO_FRAME_SIZE, NULL);
	if (!send->area)
		return -ENOMEM;
	pavo_mmap_hold(send->area);
	send->mask = frames - 1;
	window->locked = pavo_fifo_count_pages(frames);
	return 0;
}

struct pavo_fifo_window *
pavo_kernel_window_open(struct pavo_dev *dev, struct pavo_job *job,
			const struct pavo_kernel_window_args *args)
{
	const struct pavo_window_args where = {
		.nodes = args->nodes,
		.node = args->node,
		.sgid_index = args->sgid_index,
	};
	struct pavo_fifo_window *window;
	int err;

	if (!args->nodes || args->nodes > U16_MAX + 1 ||
	    !is_power_of_2(args->send_frames) ||
	    args->send_frames < PAVO_FIFO_LEAST ||
	    args->send_frames > PAVO_FIFO_MOST)
		return ERR_PTR(-EINVAL);
	window = pavo_window_init(dev, job, &where);
	if (IS_ERR(window))
		return window;
	lockdep_set_class(&window->mutex, &kernel_window_mutex);
	window->calls = args->calls;
	window->owner = args->owner;
	err = pavo_window_nodes_init(window, args->nodes);
	if (!err)
		err = open_send_fifo(window, args->send_frames);
	if (!err)
		err = pavo_held_init(window);
	if (!err)
		err = pavo_window_publish(window, args->window);
	if (!err)
		return window;
	pavo_window_detach(window);
	pavo_window_free(window);
	return ERR_PTR(err);
}

u32 pavo_kernel_window_id(const struct pavo_fifo_window *window)
{
	return window->id;
}

u32 pavo_kernel_window_payload(const struct pavo_fifo_window *window)
{
	return window->max_payload;
}

u32 pavo_kernel_window_recoveries(const struct pavo_fifo_window *window)
{
	return READ_ONCE(window->dev->windows->rcxts.recoveries);
}

struct pavo_frame_hdr *
pavo_kernel_window_frame(const struct pavo_fifo_window *window, u32 number)
{
	return pavo_fifo_get_frame(&window->send, number);
}

void pavo_kernel_window_start(struct pavo_fifo_window *window, u32 n)
{
	spin_lock(&window->lock);
	if (!window->closed) {
		window->send.avail += n;
		set_bit(window->id, window->dev->windows->active);
	}
	spin_unlock(&window->lock);
}

void pavo_kernel_window_transmit(struct pavo_fifo_window *window)
{
	pavo_window_transmit_few(window->dev);
}

void pavo_kernel_window_threshold(struct pavo_fifo_window *window, u32 n)
{
	spin_lock(&window->lock);
	pavo_fifo_set_threshold(&window->send, n);
	spin_unlock(&window->lock);
}

int pavo_kernel_window_take(struct pavo_fifo_window *window, u32 *rcxts, u32 n)
{
	return pavo_rcxts_take(window, rcxts, n);
}

void pavo_kernel_window_return(struct pavo_fifo_window *window, u32 rcxt)
{
	/* One of before a recovery is in the pool already. */
	if (!pavo_window_cancel(window, rcxt))
		pavo_rcxt_return(window, rcxt);
}
