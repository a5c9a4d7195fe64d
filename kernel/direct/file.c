// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * file.c - the file of a direct window: pread(), pwrite(), splice(), poll() and mmap().
 *
 * It is not the uverbs file, since it has offsets, and mappings that the window can remove. It has
 * references to the module and to the memory of a closed window until the last mapping is gone.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "direct/direct_private.h"

/**
 * struct transfer - a copy between a file and a buffer.
 * @place:  range, and offset in it
 * @len:    bytes
 * @buffer: number of the buffer; pinned
 * @uses:   @uses of the range when the copy began
 */
struct transfer {
	struct pavo_direct_place place;
	u32 len;
	u32 buffer;
	u32 uses;
};

/* Begin the transfer, if the bus side owns the range. */
static int begin_transfer(struct pavo_direct *window, bool read,
			  struct transfer *t)
{
	struct pavo_direct_range *range = &window->slots[t->place.range].range;
	int err;

	spin_lock_bh(&window->lock);
	err = window->closed ?
		      -EIO :
		      pavo_direct_admit(range, read, t->place.offset, &t->len);
	if (!err) {
		t->buffer = range->buffer;
		t->uses = range->uses;
		/* Responses begin at the start of the buffer. */
		if (read)
			t->place.offset -= range->done;
		window->buffers[t->buffer].pins++;
	} else if (err != -EAGAIN && !window->closed) {
		pavo_count(window->dev, direct_refused);
	}
	spin_unlock_bh(&window->lock);
	return err;
}

/* End the transfer, of which @done bytes were copied. */
static int finish_transfer(struct pavo_direct *window, const struct transfer *t,
			   u32 done, bool waits)
{
	struct pavo_direct_range *range = &window->slots[t->place.range].range;
	bool last = false, current_one;

	spin_lock_bh(&window->lock);
	window->buffers[t->buffer].pins--;
	pavo_direct_settle_buffer(window, t->buffer);
	current_one = range->uses == t->uses &&
		      pavo_direct_may_touch(range, false);
	if (current_one) {
		last = pavo_direct_count(range, t->len, done);
		pavo_direct_publish(window, t->place.range);
	}
	spin_unlock_bh(&window->lock);
	if (!current_one)
		return -EBADF;
	if (!last)
		return 0;
	return pavo_direct_hand_over(window, t->place.range, done, waits);
}

/* Copy between the buffer and the iterator. Return: bytes. */
static u32 copy_transfer(struct pavo_direct *window, const struct transfer *t,
			 bool read, struct iov_iter *iter)
{
	u32 done = 0, at, part;
	struct page *page;
	size_t n;

	while (done < t->len) {
		at = t->place.offset + done;
		page = pavo_direct_find_page(window, t->buffer, at / PAGE_SIZE);
		part = min_t(u32, t->len - done, PAGE_SIZE - at % PAGE_SIZE);
		n = read ? copy_page_to_iter(page, at % PAGE_SIZE, part, iter) :
			   copy_page_from_iter(page, at % PAGE_SIZE, part,
					       iter);
		done += n;
		if (n < part)
			break;
	}
	return done;
}

/* True if a read of the range would not return -EAGAIN. */
static bool is_readable(struct pavo_direct *window,
			const struct pavo_direct_place *place)
{
	struct pavo_direct_range copy;
	u32 len = 1;
	bool may;

	spin_lock_bh(&window->lock);
	copy = window->slots[place->range].range;
	may = window->closed ||
	      pavo_direct_admit(&copy, true, place->offset, &len) != -EAGAIN;
	spin_unlock_bh(&window->lock);
	return may;
}

static bool does_not_wait(const struct kiocb *iocb)
{
	return iocb->ki_flags & IOCB_NOWAIT ||
	       iocb->ki_filp->f_flags & O_NONBLOCK;
}

/* Find the range at a position of the file. -EINVAL: @len bytes there are not in one range. */
static int find_place(const struct pavo_direct *window, loff_t pos, size_t len,
		      struct pavo_direct_place *place)
{
	struct pavo_direct_shape shape = window->shape;

	shape.base = 0;
	if (pos < 0 || pavo_direct_find(&shape, pos, len, place))
		return -EINVAL;
	return 0;
}

static ssize_t do_transfer(struct kiocb *iocb, struct iov_iter *iter, bool read)
{
	struct pavo_direct *window = iocb->ki_filp->private_data;
	size_t want = iov_iter_count(iter);
	wait_queue_head_t *wait;
	struct transfer t = {};
	u32 done;
	int err;

	if (!want || (read && iocb->ki_pos >= pavo_direct_get_length(window)))
		return 0;
	err = find_place(window, iocb->ki_pos, read ? 1 : want, &t.place);
	if (err)
		return err;
	wait = &window->slots[t.place.range].wait;
	for (;;) {
		t.len = min_t(size_t, want,
			      window->shape.size - t.place.offset);
		err = begin_transfer(window, read, &t);
		if (err != -EAGAIN || does_not_wait(iocb))
			break;
		err = wait_event_interruptible(*wait,
					       is_readable(window, &t.place));
		if (err)
			return err;
	}
	if (err)
		return err;
	done = copy_transfer(window, &t, read, iter);
	err = finish_transfer(window, &t, done, !does_not_wait(iocb));
	if (err)
		return err;
	if (!done)
		return -EFAULT;
	iocb->ki_pos += done;
	return done;
}

static ssize_t read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	return do_transfer(iocb, iter, true);
}

static ssize_t write_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	return do_transfer(iocb, iter, false);
}

static loff_t direct_llseek(struct file *file, loff_t offset, int whence)
{
	return fixed_size_llseek(file, offset, whence,
				 pavo_direct_get_length(file->private_data));
}

static __poll_t direct_poll(struct file *file, poll_table *table)
{
	struct pavo_direct *window = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &window->wait, table);
	if (!READ_ONCE(window->nfree))
		pavo_direct_check_quarantine(window);
	spin_lock_bh(&window->lock);
	if (window->closed)
		events = EPOLLHUP | EPOLLERR;
	else if (window->nfree)
		events = EPOLLOUT | EPOLLWRNORM;
	else if (!list_empty(&window->quarantine))
		pavo_direct_check_quarantine_later(window);
	if (window->nloaded)
		events |= EPOLLIN | EPOLLRDNORM;
	spin_unlock_bh(&window->lock);
	return events;
}

/*
 * Return the number of pages from @offset to the end of its range, if the bus side may access them,
 * and mark the range as mapped; else 0. map_mutex is held.
 */
static unsigned long mark_range_mapped(struct pavo_direct *window, u64 offset,
				       bool write)
{
	struct pavo_direct_slot *slot;
	unsigned long pages = 0;
	u32 range, rest;

	range = div_u64_rem(offset, window->shape.size, &rest);
	if (range >= window->shape.ranges)
		return 0;
	slot = &window->slots[range];
	spin_lock_bh(&window->lock);
	if (!window->closed && pavo_direct_may_touch(&slot->range, write)) {
		pages = window->npages - rest / PAGE_SIZE;
		slot->mapped = true;
	}
	spin_unlock_bh(&window->lock);
	return pages;
}

/*
 * The bus decoder: an access to a range that the bus side does not own gets SIGBUS, and does not
 * wait. map_mutex is held while pages are inserted into the page table, so a hand-over removes them
 * again. The rest of the range is inserted at once, because a device that fills it would fault for
 * each page.
 */
static vm_fault_t direct_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct pavo_direct *window = vma->vm_private_data;
	unsigned long address = vmf->address & PAGE_MASK;
	unsigned long pages, left;
	int err = -EFAULT;

	mutex_lock(&window->map_mutex);
	pages = mark_range_mapped(window, (u64)vmf->pgoff << PAGE_SHIFT,
				  vmf->flags & FAULT_FLAG_WRITE);
	pages = min(pages, (vma->vm_end - address) >> PAGE_SHIFT);
	left = pages;
	if (pages)
		err = vm_insert_pages(vma, address,
				      &window->current_pages[vmf->pgoff],
				      &left);
	mutex_unlock(&window->map_mutex);
	/* -EBUSY: another thread was first. Pages are inserted in order. */
	if (!err || err == -EBUSY || left < pages)
		return VM_FAULT_NOPAGE;
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct vm_ops = {
	.fault = direct_fault,
};

static int map_registers(struct pavo_direct *window, struct vm_area_struct *vma)
{
	unsigned long at;
	void *from = window->registers;
	int err = 0;

	if (vma->vm_end - vma->vm_start >
	    pavo_direct_get_registers_size(window))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	pavo_vm_flags_clear(vma, VM_MAYWRITE);
	for (at = vma->vm_start; !err && at < vma->vm_end; at += PAGE_SIZE) {
		err = vm_insert_page(vma, at, vmalloc_to_page(from));
		from += PAGE_SIZE;
	}
	return err;
}

static int direct_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct pavo_direct *window = file->private_data;
	u64 start = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 length = pavo_direct_get_length(window);

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	pavo_vm_flags_clear(vma, VM_MAYEXEC);
	/* A child of fork() has to map it itself. */
	pavo_vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP |
				       VM_DONTCOPY);
	if (start == length)
		return map_registers(window, vma);
	if (start > length || vma->vm_end - vma->vm_start > length - start)
		return -EINVAL;
	vma->vm_private_data = window;
	vma->vm_ops = &vm_ops;
	return 0;
}

static int close_file(struct inode *inode, struct file *file)
{
	pavo_direct_put(file->private_data);
	return 0;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.llseek = direct_llseek,
	.read_iter = read_iter,
	.write_iter = write_iter,
	.splice_read = pavo_splice_read,
	.splice_write = iter_file_splice_write,
	.poll = direct_poll,
	.mmap = direct_mmap,
	.release = close_file,
};

struct file *pavo_direct_file(struct pavo_direct *window)
{
	struct file *file;

	file = anon_inode_getfile("[pavo-direct]", &fops, window, O_RDWR);
	if (IS_ERR(file))
		return file;
	kref_get(&window->refs);
	file->f_mode |= FMODE_LSEEK | FMODE_PREAD | FMODE_PWRITE;
	/*
	 * All anonymous inodes share one mapping, so the window could not remove its own mappings.
	 */
	window->mapping.host = file_inode(file);
	window->mapping.a_ops = file->f_mapping->a_ops;
	file->f_mapping = &window->mapping;
	return file;
}
