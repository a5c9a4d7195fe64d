// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * io.c - I/Os that the module itself does for a range of a direct window: a file is read into its
 * buffer, or the buffer is written to a file (sources.md#direct). The completion of the I/O passes
 * the range to the link side, without a process.
 *
 * The caller starts an I/O with IOCB_NOWAIT. One that would block goes on in a worker, with the
 * credentials of the caller. An I/O to a file begins in a worker when the payload is there.
 *
 * While the I/O is in flight its buffer is pinned: nothing can take that back from a device. It has
 * references to the window's memory, the file and the module until it completes, whatever becomes
 * of the range, the process and the adapter. A user has a share of all I/Os.
 */
#include <linux/bvec.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/interrupt.h>
#include <linux/llist.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/uio.h>
#include "accounting.h"
#include "direct/direct_private.h"

/* Most I/Os in flight of all windows, and workers that they may occupy. */
#define MOST_IOS 512

/**
 * struct pavo_direct_io - an I/O.
 * @iocb:   for the file
 * @window: has a reference
 * @cred:   of the caller
 * @work:   does what would block
 * @done:   in the list of those that completed in a hard interrupt or in a process
 * @offset: in the file
 * @range:  whose buffer it is
 * @uses:   @uses of the range at that time
 * @buffer: pinned while the I/O is in flight
 * @length: bytes
 * @moved:  bytes of them that were transferred
 * @err:    0 or errno: how it ended
 * @drains: the buffer is written to the file
 * @npages: that @length needs
 * @pages:  of the buffer
 */
struct pavo_direct_io {
	struct kiocb iocb;
	struct pavo_direct *window;
	const struct cred *cred;
	struct work_struct work;
	struct llist_node done;
	loff_t offset;
	u32 range;
	u32 uses;
	u32 buffer;
	u32 length;
	u32 moved;
	int err;
	bool drains;
	u32 npages;
	struct bio_vec pages[];
};

static struct workqueue_struct *io_wq;
static LLIST_HEAD(done_ios);
static atomic_t ios_in_flight;

/* Free an I/O that is not in flight. Any context but a hard interrupt. */
static void free_io(struct pavo_direct_io *io)
{
	fput(io->iocb.ki_filp);
	put_cred(io->cred);
	atomic_dec(&io->window->user->ios);
	atomic_dec(&ios_in_flight);
	pavo_direct_put_later(io->window);
	kfree(io);
	/* The caller is a work of io_wq, a method, or a softirq, whose text is freed after them. */
	module_put(THIS_MODULE);
}

/* True if the range still waits for the I/O. Locked. */
static bool is_awaited(const struct pavo_direct_io *io)
{
	const struct pavo_direct_range *range =
		&io->window->slots[io->range].range;

	return range->uses == io->uses &&
	       range->state ==
		       (io->drains ? PAVO_DIRECT_OUTPUT : PAVO_DIRECT_INPUT);
}

static void count_io(struct pavo_dev *dev, bool failed)
{
	pavo_count(dev, direct_ios);
	if (failed)
		pavo_count(dev, direct_io_errors);
}

/* The I/O has ended: pass the range to the link side, or fail its work request. */
static void finish_io(struct pavo_direct_io *io)
{
	struct pavo_direct *window = io->window;
	struct pavo_direct_slot *slot = &window->slots[io->range];

	spin_lock_bh(&window->lock);
	window->buffers[io->buffer].pins--;
	pavo_direct_settle_buffer(window, io->buffer);
	if (is_awaited(io)) {
		pavo_direct_end_io(&slot->range, io->err);
		pavo_direct_publish(window, io->range);
		pavo_direct_wake(slot);
	}
	if (!window->closed)
		count_io(window->dev, io->err);
	spin_unlock_bh(&window->lock);
	free_io(io);
}

static void finish_done_ios(struct tasklet_struct *unused)
{
	struct llist_node *first = llist_del_all(&done_ios);
	struct pavo_direct_io *io, *next;

	llist_for_each_entry_safe(io, next, first, done) finish_io(io);
}

static DECLARE_TASKLET(done_tasklet, finish_done_ios);

/* The errno of an I/O whose last part had the result @moved. O_DIRECT may not go on behind one. */
static int get_io_error(const struct pavo_direct_io *io, ssize_t moved)
{
	if (io->moved == io->length)
		return 0;
	return moved < 0 && !(moved == -EINVAL && io->moved) ? moved : -EIO;
}

/*
 * The file has completed the I/O, in any context: a hard interrupt does not take the window's lock,
 * and a process could run this after the module is gone.
 */
static void complete_io(struct kiocb *iocb, long moved)
{
	struct pavo_direct_io *io =
		container_of(iocb, struct pavo_direct_io, iocb);

	if (moved > 0)
		io->moved += moved;
	/* The queue of a device is full, or it moved a part of the bytes: a worker goes on. */
	if ((moved == -EAGAIN && iocb->ki_flags & IOCB_NOWAIT) ||
	    (moved > 0 && io->moved < io->length)) {
		queue_work(io_wq, &io->work);
		return;
	}
	io->err = get_io_error(io, moved);
	if (in_serving_softirq() && !in_hardirq() && !irqs_disabled()) {
		finish_io(io);
		return;
	}
	llist_add(&io->done, &done_ios);
	tasklet_schedule(&done_tasklet);
}

/* Give the rest of an I/O to the file. Return: bytes, errno; -EIOCBQUEUED: it will complete. */
static ssize_t give_rest(struct pavo_direct_io *io, bool waits)
{
	struct file *file = io->iocb.ki_filp;
	struct iov_iter iter;

	iov_iter_bvec(&iter, io->drains ? WRITE : READ, io->pages, io->npages,
		      io->length);
	iov_iter_advance(&iter, io->moved);
	init_sync_kiocb(&io->iocb, file);
	io->iocb.ki_pos = io->offset + io->moved;
	io->iocb.ki_complete = complete_io;
	if (!waits)
		io->iocb.ki_flags |= IOCB_NOWAIT;
	return io->drains ? vfs_iocb_iter_write(file, &io->iocb, &iter) :
			    vfs_iocb_iter_read(file, &io->iocb, &iter);
}

/* Do the rest of the I/O; a file may transfer less at a time. Process context. */
static void run_io(struct pavo_direct_io *io, bool waits)
{
	ssize_t moved;

	do {
		cond_resched();
		moved = give_rest(io, waits);
		if (moved == -EIOCBQUEUED)
			return;
		if (moved > 0)
			io->moved += moved;
		if (!waits && (moved == -EAGAIN || moved > 0) &&
		    io->moved < io->length) {
			queue_work(io_wq, &io->work);
			return;
		}
	} while (moved > 0 && io->moved < io->length);
	io->err = get_io_error(io, moved);
	finish_io(io);
}

static void run_io_work(struct work_struct *work)
{
	struct pavo_direct_io *io =
		container_of(work, struct pavo_direct_io, work);
	const struct cred *cred = get_cred(io->cred);
	const struct cred *own = override_creds(cred);

	run_io(io, true);
	revert_creds(own);
	put_cred(cred);
}

/*
 * Only files that no reference of this module, of the adapter or of a socket can depend on: an
 * adapter in a file that it reads would never end.
 */
static int check_file(const struct file *file, bool drains)
{
	const struct inode *inode = file_inode(file);

	if (!(file->f_mode & (drains ? FMODE_WRITE : FMODE_READ)))
		return -EBADF;
	if (!S_ISREG(inode->i_mode) && !S_ISBLK(inode->i_mode))
		return -EOPNOTSUPP;
	if (inode->i_sb->s_magic == ANON_INODE_FS_MAGIC)
		return -EOPNOTSUPP;
	if (drains ? !file->f_op->write_iter : !file->f_op->read_iter)
		return -EOPNOTSUPP;
	return 0;
}

static struct pavo_direct_arm_args
get_arm_args(const struct pavo_direct_io_args *args)
{
	return (struct pavo_direct_arm_args){
		.range = args->range,
		.total = args->total,
		.flags = args->flags,
	};
}

static int check_io_args(const struct pavo_direct *window,
			 const struct pavo_direct_io_args *args)
{
	const struct pavo_direct_arm_args arm = get_arm_args(args);

	if (!pavo_direct_is_valid_arm(window, &arm) ||
	    args->flags & PAVO_DIRECT_WHOLE ||
	    args->offset > (u64)LLONG_MAX - args->total)
		return -EINVAL;
	return 0;
}

/* Charge an I/O to the user of the window. -EDQUOT: the user has its share. */
static int charge_io(struct pavo_user *user)
{
	const u32 most = pavo_share_of(MOST_IOS, -1);

	if ((u32)atomic_inc_return(&user->ios) <= most ||
	    capable(CAP_SYS_RESOURCE))
		return 0;
	atomic_dec(&user->ios);
	return -EDQUOT;
}

/* Make the I/O of @args, which are valid. It takes the file over, and has no buffer yet. */
static struct pavo_direct_io *alloc_io(struct pavo_direct *window,
				       const struct pavo_direct_io_args *args,
				       struct file *file)
{
	const u32 npages = DIV_ROUND_UP(args->total, PAGE_SIZE);
	struct pavo_direct_io *io;

	io = kmalloc(struct_size(io, pages, npages), GFP_KERNEL_ACCOUNT);
	if (!io)
		return NULL;
	*io = (struct pavo_direct_io){
		.iocb.ki_filp = file,
		.window = window,
		.cred = get_current_cred(),
		.offset = args->offset,
		.range = args->range,
		.length = args->total,
		.drains = args->flags & PAVO_DIRECT_READ,
		.npages = npages,
	};
	INIT_WORK(&io->work, run_io_work);
	kref_get(&window->refs);
	__module_get(THIS_MODULE);
	atomic_inc(&ios_in_flight);
	return io;
}

/* @from: the file; NULL: that of the caller's descriptor */
static struct pavo_direct_io *make_io(struct pavo_direct *window,
				      const struct pavo_direct_io_args *args,
				      struct file *from)
{
	struct pavo_direct_io *io;
	struct file *file;
	int err = check_io_args(window, args);

	if (err)
		return ERR_PTR(err);
	file = from ? get_file(from) : fget(args->fd);
	if (!file)
		return ERR_PTR(-EBADF);
	err = check_file(file, args->flags & PAVO_DIRECT_READ);
	if (err)
		goto err_file;
	err = charge_io(window->user);
	if (err)
		goto err_file;
	io = alloc_io(window, args, file);
	if (io)
		return io;
	err = -ENOMEM;
	atomic_dec(&window->user->ios);
err_file:
	fput(file);
	return ERR_PTR(err);
}

/* Start an I/O that has its buffer: here, if the file can say that it would block. */
static void start_io(struct pavo_direct_io *io)
{
	if (io->iocb.ki_filp->f_mode & FMODE_NOWAIT)
		run_io(io, false);
	else
		queue_work(io_wq, &io->work);
}

/* Pin the buffer of the range for the I/O. Locked. */
static void pin_buffer(struct pavo_direct_io *io)
{
	struct pavo_direct *window = io->window;
	const struct pavo_direct_range *range = &window->slots[io->range].range;
	u32 i;

	io->uses = range->uses;
	io->buffer = range->buffer;
	window->buffers[io->buffer].pins++;
	for (i = 0; i < io->npages; i++)
		io->pages[i] = (struct bio_vec){
			.bv_page = pavo_direct_find_page(window, io->buffer, i),
			.bv_len = min_t(u32, PAGE_SIZE,
					io->length - i * PAGE_SIZE),
		};
}

/*
 * Arm the ranges of all I/Os, or none. A read from the link waits in its slot. @again: if buffers
 * are missing, try once more when those in quarantine were checked.
 */
static int arm_ios(struct pavo_direct *window,
		   const struct pavo_direct_io_args *args,
		   struct pavo_direct_io **ios, u32 n, bool again)
{
	u32 i, armed = 0;
	int err = 0;

	spin_lock_bh(&window->lock);
	while (!err && armed < n) {
		const struct pavo_direct_arm_args arm =
			get_arm_args(&args[armed]);

		err = pavo_direct_arm_locked(window, &arm, true);
		armed += !err;
	}
	for (i = 0; i < armed; i++) {
		if (err)
			pavo_direct_revoke(window, args[i].range);
		else if (ios[i]->drains)
			window->slots[args[i].range].io = ios[i];
		else
			pin_buffer(ios[i]);
	}
	if (err == -EAGAIN && !again)
		pavo_direct_count_no_buffer(window, args[armed].flags);
	spin_unlock_bh(&window->lock);
	if (err != -EAGAIN || !again)
		return err;
	pavo_direct_check_quarantine(window);
	return arm_ios(window, args, ios, n, false);
}

int pavo_direct_start_ios(struct pavo_direct *window,
			  const struct pavo_direct_io_args *args,
			  struct file *const *files, u32 n)
{
	struct pavo_direct_io *ios[PAVO_DIRECT_IOS];
	u32 i, made = 0;
	int err = n && n <= PAVO_DIRECT_IOS ? 0 : -EINVAL;

	while (!err && made < n) {
		ios[made] = make_io(window, &args[made],
				    files ? files[made] : NULL);
		err = PTR_ERR_OR_ZERO(ios[made]);
		made += !err;
	}
	if (!err)
		err = arm_ios(window, args, ios, n, true);
	for (i = 0; i < made; i++) {
		if (err)
			free_io(ios[i]);
		else if (!(args[i].flags & PAVO_DIRECT_READ))
			start_io(ios[i]);
		/* One that waits for its payload belongs to the slot. */
	}
	return err;
}

void pavo_direct_begin_drain(struct pavo_direct *window, u32 range)
{
	struct pavo_direct_slot *slot = &window->slots[range];
	struct pavo_direct_io *io = slot->io;

	slot->io = NULL;
	pin_buffer(io);
	queue_work(io_wq, &io->work);
}

void pavo_direct_drop_io(struct pavo_direct_slot *slot)
{
	if (slot->io)
		free_io(slot->io);
	slot->io = NULL;
}

u32 pavo_direct_count_ios(void)
{
	return atomic_read(&ios_in_flight);
}

int pavo_direct_ios_init(void)
{
	io_wq = alloc_workqueue("pavo_direct_io", WQ_UNBOUND, MOST_IOS);
	return io_wq ? 0 : -ENOMEM;
}

void pavo_direct_ios_exit(void)
{
	tasklet_kill(&done_tasklet);
	destroy_workqueue(io_wq);
}

/* ------------------------------------------------- memory of windows */

static void free_window_work(struct work_struct *work)
{
	pavo_direct_free(container_of(work, struct pavo_direct, free));
}

static void release_window_later(struct kref *refs)
{
	struct pavo_direct *window =
		container_of(refs, struct pavo_direct, refs);

	INIT_WORK(&window->free, free_window_work);
	queue_work(io_wq, &window->free);
}

void pavo_direct_put_later(struct pavo_direct *window)
{
	kref_put(&window->refs, release_window_later);
}
