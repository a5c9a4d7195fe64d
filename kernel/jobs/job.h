/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * job.h - jobs: the processes of each, their TCE tables, and the buffers in them.
 *
 * A job is a group of processes, on this machine and on others, with a JOBID that is the same
 * on all of them. It belongs to the machine and not to an adapter. The process that reserves it
 * sets its key. Processes of the same user that have id and key may join. A job ends when its
 * last member and its last use have ended.
 */
#ifndef PAVO_JOB_H
#define PAVO_JOB_H

#include <linux/types.h>
#include <linux/uidgid.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "jobs/pvo.h"
#include "part.h"

struct sk_buff;
struct pavo_job;

/**
 * struct pavo_mapping - one use of a buffer that is mapped for a job.
 * @pvo:    PVO of its first byte
 * @shift:  TCEs are for pages of 1 << shift bytes
 * @shared: the buffer was mapped already
 *
 * Constant. Embedded in a struct use of job.c.
 */
struct pavo_mapping {
	u64 pvo;
	u8 shift;
	bool shared;
};

/** Jobs as a part of the module (part.h), and their methods. */
extern const struct pavo_part pavo_jobs_part;
extern const struct uapi_definition pavo_job_defs[];

/**
 * pavo_job_reserve - reserve a job slot of this machine for job @id.
 * @id:    not 0
 * @key:   processes that join must have it
 * @limit: bytes that may be mapped for it at a time; 0: no limit but the tables'
 *
 * Return: the job, joined; -EINVAL: @id is 0; -EEXIST: the job exists; -ENOSPC: no job slot is
 * free; -EDQUOT: the user has jobs_per_user of them; -ENOMEM.
 *
 * Context: process.
 */
struct pavo_job *pavo_job_reserve(u32 id, u64 key, u64 limit);

/**
 * pavo_job_join - make the calling process a member of a job.
 * @id:  JOBID
 * @key: key of the job
 *
 * Return: the job; -ENOENT: this machine does not have it; -EACCES: it is another user's, or
 * @key is wrong. Context: process.
 */
struct pavo_job *pavo_job_join(u32 id, u64 key);

/** pavo_job_leave - balances pavo_job_reserve() or pavo_job_join(). Sleeps. */
void pavo_job_leave(struct pavo_job *job);

/** pavo_job_use - take a reference to @job, until pavo_job_unuse(). Both sleep. */
void pavo_job_use(struct pavo_job *job);
void pavo_job_unuse(struct pavo_job *job);

u32 pavo_job_id(const struct pavo_job *job);

/** pavo_job_user - the user to whom @job is accounted (accounting.h). */
kuid_t pavo_job_user(const struct pavo_job *job);

/** pavo_job_window_key - the key in packets between windows of @job. */
u64 pavo_job_window_key(const struct pavo_job *job);

/**
 * pavo_job_map - pin [@start, @start + @length) of the calling process and map it
 * for @job. If a process of the job has mapped these pages already, share that mapping.
 * @job:    the job
 * @start:  address of the first byte
 * @length: bytes
 *
 * The process must be allowed to write to the memory: TCEs have no access rights.
 *
 * Return: the mapping, for pavo_job_unmap(), before or after pavo_job_leave(); -EINVAL: no
 * bytes, or the range wraps; -EDQUOT: more than the job's limit; and the errors of pavo_pin()
 * and pavo_tce_map(). Context: process.
 */
struct pavo_mapping *pavo_job_map(struct pavo_job *job, u64 start, u64 length);

/**
 * pavo_job_unmap - end one use of a buffer. Sleeps. After the last use no packet touches the
 * buffer when this returns, with one exception: packets with its pages attached may still be in
 * a queue of an interface. A receiver drops them for their ICRC if the pages change.
 * @mapping: from pavo_job_map()
 *
 * If the process was charged for the pages and others still use them, the charge moves to one
 * of those: see pavo_pin().
 */
void pavo_job_unmap(struct pavo_mapping *mapping);

/**
 * struct pavo_kernel_mapping - memory of the kernel that is mapped for a job.
 * @pvo: PVO of its first byte; constant
 */
struct pavo_kernel_mapping {
	u64 pvo;
};

/**
 * pavo_job_map_kernel - map memory of the kernel for @job, until pavo_job_unmap_kernel(). It counts
 * in the job's limit, and processes of the job can reach it by PVOs.
 * @job:    the job
 * @area:   from vmalloc(), page aligned; stays until it is unmapped
 * @npages: its pages
 *
 * Return: the mapping; -EDQUOT: more than the job's limit; -ENOMEM; and those of pavo_tce_map().
 * Context: process.
 */
struct pavo_kernel_mapping *
pavo_job_map_kernel(struct pavo_job *job, void *area, unsigned long npages);
/** pavo_job_unmap_kernel - no packet touches the memory when this returns. Sleeps. */
void pavo_job_unmap_kernel(struct pavo_kernel_mapping *mapping);

/** pavo_job_check - pavo_pvo_check() for a window of @job. */
enum pavo_pvo_result pavo_job_check(const struct pavo_job *job, u64 pvo,
				    u64 length);

/**
 * pavo_job_from_skb - copy data of a packet to memory of a job.
 * @job:  the job
 * @pvo:  PVO of the first byte
 * @skb:  the packet
 * @from: offset of the data from skb->data
 * @len:  bytes
 *
 * Return: PAVO_PVO_OK; else a part of the range is not memory of the job, and no byte was
 * written, unless a process unmapped the memory meanwhile. Context: RCU read side, BH disabled.
 */
enum pavo_pvo_result pavo_job_from_skb(const struct pavo_job *job, u64 pvo,
				       struct sk_buff *skb, unsigned int from,
				       unsigned int len);

/**
 * pavo_job_to_skb - append a copy of memory of a job to a packet.
 * @job:  the job
 * @pvo:  PVO of the first byte
 * @skb:  the packet, with space for pavo_job_head(@len) bytes in its linear part
 * @len:  bytes
 *
 * The bytes are copied since the process may reuse its memory before the packet has been sent.
 *
 * Return: 0; enum pavo_pvo_result; -ENOMEM. Context: RCU read side, BH disabled.
 */
int pavo_job_to_skb(const struct pavo_job *job, u64 pvo, struct sk_buff *skb,
		    unsigned int len);
/** pavo_job_head - bytes that pavo_job_to_skb() puts into the linear part of a packet. */
unsigned int pavo_job_head(unsigned int len);

/** pavo_job_query - report the state of @job at this moment. Sleeps. */
void pavo_job_query(struct pavo_job *job, struct pavo_job_info *info);

#endif /* PAVO_JOB_H */
