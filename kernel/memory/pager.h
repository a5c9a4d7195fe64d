/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pager.h - threads that bring pages in for queue pairs, up to four for each process;
 * between odp.c and pager.c.
 *
 * A process may delay a page for ever (FUSE, userfaultfd). So only a
 * thread waits for it: the queue pair that needs the page can detach from the fault, the end of
 * the region kills the thread, and other processes have other threads.
 */
#ifndef PAVO_PAGER_H
#define PAVO_PAGER_H

#include <linux/list.h>
#include <linux/types.h>

struct mm_struct;
struct pavo_missing;
struct pavo_odp;
struct pavo_pager;
struct pavo_key_state;
struct task_struct;

/**
 * struct pavo_fault - pages to be brought in.
 * @list:  in its pager's list of waiting or of served faults
 * @of_odp: in the list of faults of @odp that wait
 * @odp:   the memory; a reference
 * @first: index of the first page
 * @count: pages
 * @write: the pages are needed for writing
 * @key_state: its work runs when the fault is over; NULL: detached
 * @missing: of the side that waits
 * @thread: serves or ends the fault, and frees it; NULL while it waits
 */
struct pavo_fault {
	struct list_head list;
	struct list_head of_odp;
	struct pavo_odp *odp;
	unsigned long first;
	unsigned long count;
	bool write;
	struct pavo_key_state *key_state;
	struct pavo_missing *missing;
	struct task_struct *thread;
};

/**
 * pavo_pager_get - get the pager of a process, with a reference for one more region. Sleeps.
 * @mm: memory of the process
 *
 * Return: NULL without memory.
 */
struct pavo_pager *pavo_pager_get(struct mm_struct *mm);
/** pavo_pager_put - balances pavo_pager_get(); no fault of the region is left. Process context. */
void pavo_pager_put(struct pavo_pager *pager);

/**
 * pavo_pager_serve - queue @fault for threads of @pager, which serve and free it.
 * @pager: pager of the process
 * @fault: the fault
 * @of_odp: list of faults of its memory that wait
 *
 * Context: any.
 */
void pavo_pager_serve(struct pavo_pager *pager, struct pavo_fault *fault,
		      struct list_head *of_odp);

/**
 * pavo_pager_end - end waiting faults of @odp with an error, and kill threads that serve one.
 * Does not wait for the threads.
 * @pager: pager of the process
 * @odp:   the memory that ends; pavo_odp_fault() refuses its faults by now
 * @of_odp: list of faults of @odp that wait
 *
 * Context: process; sleeps.
 */
void pavo_pager_end(struct pavo_pager *pager, const struct pavo_odp *odp,
		    struct list_head *of_odp);

/* odp.c, for the threads */

/** pavo_odp_fault - bring in the pages of @fault; 0 or a negative errno. Sleeps. */
int pavo_odp_fault(const struct pavo_fault *fault);
/** pavo_odp_put - drop a reference. Process context. */
void pavo_odp_put(struct pavo_odp *odp);

#endif /* PAVO_PAGER_H */
