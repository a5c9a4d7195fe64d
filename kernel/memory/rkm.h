/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rkm.h - remote key manager (sources.md#keys): which keys inbound operations are using,
 * and their end when a key loses its meaning (sources.md#keys-walk). Included by
 * memory.h.
 *
 * Who invalidates a key first changes what it means in the key table, then has
 * the slots of all QPs of its protection domain walked. When the walk is done no
 * operation that began with the key goes on, and no copy of one is running.
 */
#ifndef PAVO_RKM_H
#define PAVO_RKM_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "memory/key_slot.h"
#include "memory/key_table.h"

struct completion;
struct pavo_dev;
struct pavo_pd;
struct pavo_holder;
struct seq_file;

/* Slots of a QP: one for writes and atomics, then one for each read. */
#define PAVO_KEY_SLOT_WRITE 0
#define PAVO_KEY_SLOT_READ(resource) (1 + (resource))

/**
 * struct pavo_key_slots - remote key memory of one QP.
 * @gen: of the operation that began last; the responder's
 */
struct pavo_key_slots {
	struct rcu_head rcu;
	u32 gen;
	u32 count;
	atomic64_t slot[];
};

/*
 * PDs whose keys the peer of one XRC target may use at a time: the links take 20 KiB, which
 * is little beside the target itself.
 */
#define PAVO_RKM_LINKS 256

/**
 * struct pavo_rkm_link - a QP in the list of a PD whose keys its peer may use.
 * @of_pd: in that list
 * @of_qp: XRC targets: in the QP's list of such
 * @qp, @pd: the two
 */
struct pavo_rkm_link {
	struct list_head of_pd;
	struct list_head of_qp;
	struct pavo_rkm_qp *qp;
	struct pavo_pd *pd;
	struct rcu_head rcu;
};

/**
 * struct pavo_rkm_qp - what the manager knows of a QP.
 * @slots: NULL until the QP can receive; read under RCU
 * @pd:    whose keys its peer may use. XRC targets: that of the SRQ which a request used
 *         last, or NULL
 * @own:   in the list of its PD; XRC targets: unused
 * @links: XRC targets: one for each PD of an SRQ that a request has used, the one looked
 *         for last in front
 * @nlinks: how many
 * @of_dev: in the list of all
 */
struct pavo_rkm_qp {
	struct pavo_key_slots __rcu *slots;
	struct pavo_pd *pd;
	struct pavo_rkm_link own;
	struct list_head links;
	unsigned int nlinks;
	struct list_head of_dev;
};

/**
 * struct pavo_rkm_list - QPs of a PD, by their links; read under RCU. Links come under the
 * manager's list lock, and go under its mutex and that.
 */
struct pavo_rkm_list {
	struct list_head qps;
	unsigned int count;
};

/**
 * struct pavo_rkm_request - one key to be invalidated, by the manager's work.
 * @pd, @key: which
 * @state: enum pavo_rkm_state
 * @holder: goes on when it is done; NULL: @done is completed
 */
struct pavo_rkm_request {
	struct list_head list;
	struct pavo_pd *pd;
	u32 key;
	int state;
	struct pavo_holder *holder;
	struct completion *done;
};

enum pavo_rkm_state {
	PAVO_RKM_NONE,
	PAVO_RKM_WAITING,
	PAVO_RKM_DONE,
};

/** Keys that one walk looks for. */
#define PAVO_WALK_KEYS 16

/**
 * struct pavo_walk - one walk.
 * @pd:      whose keys, @count of them in
 * @key:     these, are looked for
 * @count:   see @key
 * @began:   ns
 * @qps:     looked at,
 * @pd_fail: of them of another PD
 * @keys:    slots compared with a key
 * @matches: revoked
 * @stalls:  of them with a copy running, which was waited for
 */
struct pavo_walk {
	struct pavo_pd *pd;
	u32 key[PAVO_WALK_KEYS];
	unsigned int count;
	u64 began;
	u64 qps;
	u64 pd_fail;
	u64 keys;
	u64 matches;
	u64 stalls;
};

void pavo_rkm_init(struct pavo_rkm *rkm);
void pavo_rkm_list_init(struct pavo_rkm_list *list);

/** pavo_rkm_add - @holder exists. pavo_rkm_remove - a grace period before it does not. */
void pavo_rkm_add(struct pavo_holder *holder);
void pavo_rkm_remove(struct pavo_holder *holder);

/**
 * pavo_rkm_join - the peer of an XRC target is about to use keys of @pd: walks of that
 * find the target from now on.
 *
 * Context: the responder side is owned, no key is in use; RCU read side, in which the SRQ
 * was found that the request names.
 * Return: 0; -ENOSPC: the target has PAVO_RKM_LINKS PDs; -ENOMEM.
 */
int pavo_rkm_join(struct pavo_holder *holder, struct pavo_pd *pd);

/** pavo_rkm_part - @pd ends: the XRC targets in its list leave it. Sleeps. */
void pavo_rkm_part(struct pavo_dev *dev, struct pavo_pd *pd);

/** pavo_rkm_slots_alloc - slots for @reads reads at a time; NULL: no memory. Sleeps. */
struct pavo_key_slots *pavo_rkm_slots_alloc(u32 reads);
/** pavo_rkm_slots_free - free slots that no queue pair got. */
void pavo_rkm_slots_free(struct pavo_key_slots *slots);
/**
 * pavo_rkm_slots_replace - @slots are those of @holder from now on; what it had before is
 * freed. Context: the responder side is locked.
 *
 * Return: false if an operation is under way, and the slots stay the caller's.
 */
bool pavo_rkm_slots_replace(struct pavo_holder *holder,
			    struct pavo_key_slots *slots);
/** pavo_rkm_free - free the slots; no walk looks at them any more. */
void pavo_rkm_free(struct pavo_holder *holder);

/** pavo_rkm_forget - no operation is under way: the QP was reset. */
void pavo_rkm_forget(struct pavo_holder *holder);

/**
 * pavo_rkm_start - end all use of @key, which means something else now.
 * @request: the QP's, for a walk that is too long to be made at once
 *
 * Return: true: it is done. False: it will be; @request.state tells, and the QP's
 * work runs then.
 *
 * Context: RCU read side; no copy of the caller's is running.
 */
bool pavo_rkm_start(struct pavo_holder *holder, struct pavo_pd *pd, u32 key,
		    struct pavo_rkm_request *request);

/** pavo_rkm_came_back - is it done? That is told once. */
static inline bool pavo_rkm_came_back(struct pavo_rkm_request *request)
{
	/* Pairs with the release in finish(). */
	if (smp_load_acquire(&request->state) != PAVO_RKM_DONE)
		return false;
	request->state = PAVO_RKM_NONE;
	return true;
}

/** pavo_rkm_finish - the same, and wait. Sleeps. */
void pavo_rkm_finish(struct pavo_dev *dev, struct pavo_pd *pd, u32 key);

/**
 * pavo_rkm_show - remote key memory of all QPs, for people: of each its number, its PD
 * (*: an XRC target, whose requests bring it), and the words of its slots: first that of
 * writes, then those of reads. Sleeps.
 */
void pavo_rkm_show(struct seq_file *file, struct pavo_dev *dev);

/** pavo_rkm_settle - requests made so far are done, or ended. Sleeps. */
void pavo_rkm_settle(struct pavo_dev *dev);

#endif /* PAVO_RKM_H */
