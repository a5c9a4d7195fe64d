/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * job.h - jobs: who owns which TCE tables, and the buffers in them.
 *
 * A job is processes that work together, on this machine and on others, known
 * by a JOBID that is the same on all of them. It belongs to the machine and not to
 * an adapter. Whoever reserves it says its key; who knows id and key and is the same
 * user may join. It ends when the last leaves.
 */
#ifndef PAVO_JOB_H
#define PAVO_JOB_H

#include <linux/types.h>
#include <linux/uidgid.h>
#include <rdma/pavo-abi.h>
#include "jobs/pvo.h"

struct seq_file;
struct sk_buff;
struct pavo_job;

/**
 * struct pavo_mapping - one use of a buffer that is mapped for a job.
 * @pvo:    of its first byte
 * @shift:  entries are of pages of 1 << shift bytes
 * @shared: it was mapped already when it was asked for
 *
 * Constant; the rest is job.c's.
 */
struct pavo_mapping {
	u64 pvo;
	u8 shift;
	bool shared;
};

int pavo_jobs_init(void);
void pavo_jobs_exit(void);

/**
 * pavo_job_reserve - a job slot of this machine for job @id.
 * @id:    not 0
 * @key:   to be shown by those who join
 * @limit: bytes that may be mapped for it at a time; 0: no limit but the tables'
 *
 * Return: the job, joined; -EINVAL; -EEXIST: there is that job; -ENOSPC: no slot is
 * free; -EDQUOT: the user has jobs_per_user of them; -ENOMEM.
 *
 * Context: process.
 */
struct pavo_job *pavo_job_reserve(u32 id, u64 key, u64 limit);

/**
 * pavo_job_join - Return: the job; -ENOENT: no such job here; -EACCES: another
 * user's, or the key is wrong. Context: process.
 */
struct pavo_job *pavo_job_join(u32 id, u64 key);

/** pavo_job_leave - of one who reserved it or joined. Sleeps. */
void pavo_job_leave(struct pavo_job *job);

/** pavo_job_use - it does not end before pavo_job_unuse(). Both sleep. */
void pavo_job_use(struct pavo_job *job);
void pavo_job_unuse(struct pavo_job *job);

/** pavo_job_id - JOBID. */
u32 pavo_job_id(const struct pavo_job *job);

/** pavo_job_user - the user that it counts for (payer.h). */
kuid_t pavo_job_user(const struct pavo_job *job);

/** pavo_job_window_key - what packets between windows of the job show. */
u64 pavo_job_window_key(const struct pavo_job *job);

/**
 * pavo_job_map - pin [@start, @start + @length) of the calling process and map it
 * for @job, unless these pages are already, whoever of the job asked for that.
 *
 * Only memory that the process may write to: entries have no access rights.
 *
 * Return: to be given to pavo_job_unmap(), before the job is left or after;
 * -EINVAL; -EDQUOT: more than the job's limit; and the errors of pavo_pin() and
 * pavo_tce_map(). Context: process.
 */
struct pavo_mapping *pavo_job_map(struct pavo_job *job, u64 start, u64 length);

/**
 * pavo_job_unmap - one use less. After the last no packet touches the buffer any more
 * when this returns, but for packets that wait in a queue of an interface with its
 * pages attached: they are dropped for their ICRC if those change. Sleeps.
 *
 * If it was counted as the memory of the process that asked, and only others use it now,
 * it is counted as the memory of one of those: see pavo_pin().
 */
void pavo_job_unmap(struct pavo_mapping *mapping);

/** pavo_job_check - pavo_pvo_check() as a window of @job would ask. */
enum pavo_pvo_result pavo_job_check(const struct pavo_job *job, u64 pvo,
				    u64 length);

/**
 * pavo_job_from_skb - copy @len bytes from @skb at @from to memory of @job.
 * Return: not PAVO_PVO_OK: not all of it may be touched; nothing was, unless it was
 * just being unmapped. Context: RCU read side, BH disabled.
 */
enum pavo_pvo_result pavo_job_from_skb(const struct pavo_job *job, u64 pvo,
				       struct sk_buff *skb, unsigned int from,
				       unsigned int len);

/**
 * pavo_job_to_skb - @len bytes of memory of @job become payload of @skb, which was
 * made with room for pavo_job_head(@len) in its head. @copy: no page may be attached.
 * Return: 0; enum pavo_pvo_result; -ENOMEM. Context: RCU read side, BH disabled.
 */
int pavo_job_to_skb(const struct pavo_job *job, u64 pvo, struct sk_buff *skb,
		    unsigned int len, bool copy);
unsigned int pavo_job_head(unsigned int len);

/** pavo_job_query - what the job has at this moment. Sleeps. */
void pavo_job_query(struct pavo_job *job, struct pavo_job_info *info);

/** pavo_jobs_show - all jobs of this machine, for people. */
int pavo_jobs_show(struct seq_file *file, void *data);

#endif /* PAVO_JOB_H */
