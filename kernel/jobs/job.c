// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * job.c - jobs: job slots, members, and the buffers that are mapped for them.
 *
 * Called by job_methods.c in process context, and by window/. Owns the members of a job
 * and the uses of its buffers. tce.c allocates entries, pin.c finds pages that are pinned
 * already.
 */
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include "deferred_free.h"
#include "jobs/job.h"
#include "memory/pin.h"
#include "jobs/tce.h"
#include "accounting.h"
#include "parameter.h"

static int jobs_per_user = -1;
pavo_range_param(jobs_per_user, jobs_per_user, -1, PAVO_TCE_TABLES, 0644);
MODULE_PARM_DESC(jobs_per_user,
		 "job slots of one user; -1: as share_per_user says (-1)");

/**
 * struct pavo_job - a job on this machine.
 * @id:       JOBID
 * @slot:     its job slot
 * @uid:      user whose processes may join
 * @account:  the user to whom it is accounted
 * @key:      secret of its members
 * @limit:    bytes that may be mapped at a time; 0: any number
 * @members:  processes that reserved it or joined; under jobs_mutex
 * @users:    references: members, uses of buffers, windows. The job ends with the last; under
 *            jobs_mutex
 * @mutex:    all below, and the tables of the slot
 * @buffers:  the mapped buffers
 * @pages:    pages of all of them
 * @mappings: uses of all of them
 * @shared:   number of times that a buffer was mapped already
 */
struct pavo_job {
	u32 id;
	unsigned int slot;
	kuid_t uid;
	kuid_t account;
	u64 key;
	u64 limit;
	unsigned int members;
	unsigned int users;
	struct mutex mutex; /* all below */
	struct list_head buffers;
	u64 pages;
	u64 mappings;
	u64 shared;
};

/**
 * struct buffer - pages that are mapped for a job.
 * @list:  in its job's list
 * @pin:   keeps the pages; its tag points back here
 * @run:   their TCEs
 * @users: list of struct use, at least one
 */
struct buffer {
	struct list_head list;
	struct pavo_pin *pin;
	struct pavo_tce_run run;
	struct list_head users;
};

/**
 * struct use - one use of a buffer; pavo_job_map() makes it.
 * @mapping: the part that callers see
 * @list:    in its buffer's list
 * @job:     with a reference
 * @buffer:  the buffer
 * @mm:      of the process that mapped it; held by mmgrab()
 */
struct use {
	struct pavo_mapping mapping;
	struct list_head list;
	struct pavo_job *job;
	struct buffer *buffer;
	struct mm_struct *mm;
};

static DEFINE_MUTEX(jobs_mutex); /* jobs, and members of each */
static struct pavo_job *jobs[PAVO_TCE_TABLES];
static struct pavo_shares shares;

static int init_jobs(void)
{
	pavo_shares_init(&shares);
	return pavo_tce_init();
}

static void exit_jobs(void)
{
	pavo_shares_destroy(&shares);
}

/* ------------------------------------------------------------ membership */

static struct pavo_job *find_job(u32 id)
{
	unsigned int i;

	for (i = 0; i < pavo_tce_slots(); i++)
		if (jobs[i] && jobs[i]->id == id)
			return jobs[i];
	return NULL;
}

static int find_free_slot(void)
{
	unsigned int i;

	for (i = 0; i < pavo_tce_slots(); i++)
		if (!jobs[i])
			return i;
	return -ENOSPC;
}

/* Find a free slot for @job and account it. Return: the slot, or a negative errno. Mutex held. */
static int alloc_job_slot(struct pavo_job *job)
{
	int slot, err;

	if (find_job(job->id))
		return -EEXIST;
	err = pavo_share_take(&shares, job->account,
			      pavo_share_of(pavo_tce_slots(),
					    READ_ONCE(jobs_per_user)));
	if (err)
		return err;
	slot = find_free_slot();
	if (slot < 0)
		pavo_share_give(&shares, job->account);
	return slot;
}

/* Give @job a slot. Return: the slot, or a negative errno. */
static int take_job_slot(struct pavo_job *job)
{
	int slot;

	mutex_lock(&jobs_mutex);
	slot = alloc_job_slot(job);
	if (slot >= 0) {
		job->slot = slot;
		jobs[slot] = job;
		pavo_tce_assign(slot, job->id);
	}
	mutex_unlock(&jobs_mutex);
	return slot;
}

struct pavo_job *pavo_job_reserve(u32 id, u64 key, u64 limit)
{
	struct pavo_job *job;
	int slot;

	if (!id)
		return ERR_PTR(-EINVAL);
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->id = id;
	job->uid = current_euid();
	job->account = pavo_caller_account();
	job->key = key;
	job->limit = limit;
	job->members = 1;
	job->users = 1;
	mutex_init(&job->mutex);
	INIT_LIST_HEAD(&job->buffers);

	slot = take_job_slot(job);
	/* Closed windows that are not freed yet may still have references: wait for them. */
	if (slot < 0 && pavo_deferred_free_pending()) {
		pavo_deferred_free_flush();
		slot = take_job_slot(job);
	}
	if (slot >= 0)
		return job;
	mutex_destroy(&job->mutex);
	kfree(job);
	return ERR_PTR(slot);
}

struct pavo_job *pavo_job_join(u32 id, u64 key)
{
	struct pavo_job *job;

	mutex_lock(&jobs_mutex);
	job = find_job(id);
	if (!job)
		job = ERR_PTR(-ENOENT);
	else if (!uid_eq(job->uid, current_euid()) || job->key != key)
		job = ERR_PTR(-EACCES);
	if (!IS_ERR(job)) {
		job->members++;
		job->users++;
	}
	mutex_unlock(&jobs_mutex);
	return job;
}

/* Drop a reference, and @members members. The last reference ends the job. */
static void put_job(struct pavo_job *job, unsigned int members)
{
	bool last;

	mutex_lock(&jobs_mutex);
	job->members -= members;
	last = !--job->users;
	if (last) {
		pavo_tce_release(job->slot);
		jobs[job->slot] = NULL;
		pavo_share_give(&shares, job->account);
	}
	mutex_unlock(&jobs_mutex);
	if (!last)
		return;
	WARN_ON(!list_empty(&job->buffers));
	mutex_destroy(&job->mutex);
	kfree(job);
}

void pavo_job_leave(struct pavo_job *job)
{
	put_job(job, 1);
}

void pavo_job_use(struct pavo_job *job)
{
	mutex_lock(&jobs_mutex);
	job->users++;
	mutex_unlock(&jobs_mutex);
}

void pavo_job_unuse(struct pavo_job *job)
{
	put_job(job, 0);
}

u32 pavo_job_id(const struct pavo_job *job)
{
	return job->id;
}

kuid_t pavo_job_user(const struct pavo_job *job)
{
	return job->account;
}

u64 pavo_job_window_key(const struct pavo_job *job)
{
	/* The same on all machines; it does not reveal the job's key. */
	const siphash_key_t secret = { { job->key, ~job->key } };

	return siphash_1u32(job->id, &secret);
}

/* --------------------------------------------------------------- buffers */

static bool is_within_limit(const struct pavo_job *job, unsigned long npages)
{
	return !job->limit || job->pages + npages <= job->limit >> PAGE_SHIFT;
}

/* Make a buffer of the pages of @pin, with TCEs. Job locked. */
static struct buffer *make_buffer(struct pavo_job *job, struct pavo_pin *pin)
{
	struct buffer *buffer;
	int err;

	if (!is_within_limit(job, pin->key.npages))
		return ERR_PTR(-EDQUOT);
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return ERR_PTR(-ENOMEM);
	err = pavo_tce_map(job->slot, pin->pages, pin->key.npages,
			   &buffer->run);
	if (err) {
		kfree(buffer);
		return ERR_PTR(err);
	}
	buffer->pin = pin;
	INIT_LIST_HEAD(&buffer->users);
	list_add_tail(&buffer->list, &job->buffers);
	pin->tag = buffer;
	job->pages += pin->key.npages;
	return buffer;
}

/* Unmap and free a buffer without users. Job locked. */
static void end_buffer(struct pavo_job *job, struct buffer *buffer)
{
	pavo_tce_unmap(&buffer->run);
	list_del(&buffer->list);
	buffer->pin->tag = NULL;
	job->pages -= buffer->pin->key.npages;
	kfree(buffer);
}

/* Add @use to the buffer of @pin; make the buffer if there is none. Job locked. */
static int add_buffer_use(struct pavo_job *job, struct use *use,
			  struct pavo_pin *pin, u64 start)
{
	struct buffer *buffer = pin->tag;

	use->mapping.shared = buffer;
	if (buffer) {
		job->shared++;
	} else {
		buffer = make_buffer(job, pin);
		if (IS_ERR(buffer))
			return PTR_ERR(buffer);
	}
	list_add_tail(&use->list, &buffer->users);
	job->mappings++;
	use->buffer = buffer;
	use->mapping.pvo = buffer->run.pvo + offset_in_page(start);
	use->mapping.shift = buffer->run.shift;
	return 0;
}

/* Make a use by the calling process, without a buffer yet. NULL: no memory. */
static struct use *make_use(struct pavo_job *job)
{
	struct use *use = kzalloc(sizeof(*use), GFP_KERNEL_ACCOUNT);

	if (!use)
		return NULL;
	pavo_job_use(job);
	use->job = job;
	use->mm = current->mm;
	mmgrab(use->mm);
	return use;
}

static void free_use(struct use *use)
{
	struct pavo_job *job = use->job;

	mmdrop(use->mm);
	kfree(use);
	pavo_job_unuse(job);
}

struct pavo_mapping *pavo_job_map(struct pavo_job *job, u64 start, u64 length)
{
	struct pavo_pin *pin;
	struct use *use;
	u64 end;
	int err;

	if (!length || length > PAVO_PVO_OFFSET_MASK ||
	    check_add_overflow(start, length - 1, &end) || end > ULONG_MAX)
		return ERR_PTR(-EINVAL);
	use = make_use(job);
	if (!use)
		return ERR_PTR(-ENOMEM);
	pin = pavo_pin(job, start, length, true);
	if (IS_ERR(pin)) {
		free_use(use);
		return ERR_CAST(pin);
	}
	mutex_lock(&job->mutex);
	err = add_buffer_use(job, use, pin, start);
	mutex_unlock(&job->mutex);
	if (err) {
		pavo_unpin(pin, use->mm);
		free_use(use);
		return ERR_PTR(err);
	}
	return &use->mapping;
}

void pavo_job_unmap(struct pavo_mapping *mapping)
{
	struct use *use = container_of(mapping, struct use, mapping);
	struct buffer *buffer = use->buffer;
	struct pavo_pin *pin = buffer->pin;
	struct pavo_job *job = use->job;

	mutex_lock(&job->mutex);
	list_del(&use->list);
	job->mappings--;
	if (list_empty(&buffer->users))
		end_buffer(job, buffer);
	mutex_unlock(&job->mutex);
	pavo_unpin(pin, use->mm);
	free_use(use);
}

/* -------------------------------------------------- memory of the kernel */

/**
 * struct kernel_use - memory of the kernel that is mapped for a job.
 * @mapping: the part that callers see
 * @job:     with a reference
 * @npages:  its pages
 * @run:     its TCEs
 */
struct kernel_use {
	struct pavo_kernel_mapping mapping;
	struct pavo_job *job;
	unsigned long npages;
	struct pavo_tce_run run;
};

static int map_area(struct kernel_use *use, void *area)
{
	struct pavo_job *job = use->job;
	struct page **pages;
	unsigned long i;
	int err;

	pages = kvcalloc(use->npages, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < use->npages; i++)
		pages[i] = vmalloc_to_page(area + i * PAGE_SIZE);
	mutex_lock(&job->mutex);
	err = is_within_limit(job, use->npages) ?
		      pavo_tce_map(job->slot, pages, use->npages, &use->run) :
		      -EDQUOT;
	if (!err)
		job->pages += use->npages;
	mutex_unlock(&job->mutex);
	kvfree(pages);
	return err;
}

struct pavo_kernel_mapping *
pavo_job_map_kernel(struct pavo_job *job, void *area, unsigned long npages)
{
	struct kernel_use *use = kzalloc(sizeof(*use), GFP_KERNEL_ACCOUNT);
	int err;

	if (!use)
		return ERR_PTR(-ENOMEM);
	use->job = job;
	use->npages = npages;
	err = map_area(use, area);
	if (err) {
		kfree(use);
		return ERR_PTR(err);
	}
	pavo_job_use(job);
	use->mapping.pvo = use->run.pvo;
	return &use->mapping;
}

void pavo_job_unmap_kernel(struct pavo_kernel_mapping *mapping)
{
	struct kernel_use *use =
		container_of(mapping, struct kernel_use, mapping);
	struct pavo_job *job = use->job;

	mutex_lock(&job->mutex);
	pavo_tce_unmap(&use->run);
	job->pages -= use->npages;
	mutex_unlock(&job->mutex);
	kfree(use);
	pavo_job_unuse(job);
}

enum pavo_pvo_result pavo_job_check(const struct pavo_job *job, u64 pvo,
				    u64 length)
{
	enum pavo_pvo_result result;

	rcu_read_lock();
	result = pavo_pvo_check(pavo_tce_tables, job->id, pvo, length);
	rcu_read_unlock();
	return result;
}

/* --------------------------------------------------------- introspection */

void pavo_job_query(struct pavo_job *job, struct pavo_job_info *info)
{
	struct buffer *buffer;

	memset(info, 0, sizeof(*info));
	mutex_lock(&job->mutex);
	info->id = job->id;
	info->slot = job->slot;
	info->limit = job->limit;
	info->pinned = job->pages << PAGE_SHIFT;
	info->mappings = job->mappings;
	info->shared = job->shared;
	list_for_each_entry(buffer, &job->buffers, list)
		info->buffers++;
	mutex_unlock(&job->mutex);
	mutex_lock(&jobs_mutex);
	info->members = job->members;
	mutex_unlock(&jobs_mutex);
}

static void show_job(struct seq_file *file, struct pavo_job *job)
{
	unsigned int i;

	mutex_lock(&job->mutex);
	seq_printf(file, "slot %u job %u uid %u members %u mappings %llu",
		   job->slot, job->id,
		   from_kuid_munged(&init_user_ns, job->uid), job->members,
		   job->mappings);
	seq_printf(file, " shared %llu pinned %llu limit %llu\n", job->shared,
		   job->pages << PAGE_SHIFT, job->limit);
	for (i = 0; i < pavo_tce_slot_tables(); i++) {
		struct pavo_tce_use use = pavo_tce_use(job->slot, i);

		seq_printf(file, "  table %u pages of %lu entries %u of %u\n",
			   use.table, 1ul << use.shift, use.used, use.entries);
	}
	mutex_unlock(&job->mutex);
}

static void show_jobs(struct seq_file *file)
{
	struct pavo_pin_totals totals;
	unsigned int i;

	pavo_pin_totals(&totals);
	seq_printf(file, "pins %llu pages %llu uses %llu compared %llu\n",
		   totals.pins, totals.pages, totals.uses, totals.compared);
	mutex_lock(&jobs_mutex);
	for (i = 0; i < pavo_tce_slots(); i++)
		if (jobs[i])
			show_job(file, jobs[i]);
	mutex_unlock(&jobs_mutex);
}

static const struct pavo_debugfs_file files[] = {
	{ .name = "jobs", .show_machine = show_jobs },
	{},
};

const struct pavo_part pavo_jobs_part = {
	.init = init_jobs,
	.exit = exit_jobs,
	.files = files,
};
