/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pager.h - pages that are brought in for queue pairs, by threads of the process's own
 * memory; between odp.c and pager.c.
 *
 * A page may take as long as the process likes, or never come (FUSE, userfaultfd). So the
 * wait belongs to a thread alone: the queue pair that asked detaches from the fault,
 * the memory that ends has the thread killed, and other processes have other threads.
 */
#ifndef PAVO_PAGER_H
#define PAVO_PAGER_H

#include <linux/list.h>
#include <linux/types.h>

struct mm_struct;
struct pavo_missing;
struct pavo_odp;
struct pavo_pager;
struct pavo_holder;
struct task_struct;

/**
 * struct pavo_fault - pages to be brought in.
 * @list:  of its pager's that wait, or that are being served
 * @odp:   the memory; a reference
 * @first, @count: pages
 * @write: they are to be written to
 * @qp, @side: to go on when it is over; NULL: detached
 * @thread: serves or ends it, and frees it; NULL while it waits
 */
struct pavo_fault {
	struct list_head list;
	struct pavo_odp *odp;
	unsigned long first;
	unsigned long count;
	bool write;
	struct pavo_holder *holder;
	struct pavo_missing *missing;
	struct task_struct *thread;
};

/**
 * pavo_pager_get - the pager of @mm, with one more piece of memory. Sleeps.
 *
 * Return: NULL without memory.
 */
struct pavo_pager *pavo_pager_get(struct mm_struct *mm);
/** pavo_pager_put - that memory is gone, and all faults of it. Process context. */
void pavo_pager_put(struct pavo_pager *pager);

/** pavo_pager_serve - a thread of @pager is to serve @fault, which it frees. Any context. */
void pavo_pager_serve(struct pavo_pager *pager, struct pavo_fault *fault);

/**
 * pavo_pager_end - @odp ends: faults of it that wait are over with an error, and threads
 * that serve one are killed. Does not wait for them. Process context.
 */
void pavo_pager_end(struct pavo_pager *pager, const struct pavo_odp *odp);

/* odp.c, for the threads */

/** pavo_odp_fault - bring in what @fault asks for; 0 or a negative errno. Sleeps. */
int pavo_odp_fault(const struct pavo_fault *fault);
/** pavo_odp_put - one reference less. Process context. */
void pavo_odp_put(struct pavo_odp *odp);

#endif /* PAVO_PAGER_H */
