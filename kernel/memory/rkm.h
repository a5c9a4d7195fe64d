/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rkm.h - remote key manager (sources.md#keys): records the keys that inbound operations use,
 * and ends these operations when a key is invalidated (sources.md#keys-walk). Included by
 * memory.h.
 *
 * An invalidation first changes the key in the key table, then walks the slots
 * of all QPs of its protection domain. When the walk is done, no operation that began
 * with the key continues, and no copy of one is running.
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
struct pavo_key_state;
struct seq_file;

/* Slots of a QP: one for writes and atomics, then one for each read. */
#define PAVO_KEY_SLOT_WRITE 0
#define PAVO_KEY_SLOT_READ(resource) (1 + (resource))

/**
 * struct pavo_key_slots - remote key memory of one QP.
 * @rcu:   for freeing
 * @gen:   generation of the next operation; the responder writes it
 * @count: entries of @slot
 * @slot:  one for writes and atomics, then those of reads
 */
struct pavo_key_slots {
	struct rcu_head rcu;
	u32 gen;
	u32 count;
	atomic64_t slot[];
};

/*
 * PDs whose keys the peer of one XRC target may use at a time. The links take 20 KiB, which
 * is little beside the target itself.
 */
#define PAVO_RKM_LINKS 256

/**
 * struct pavo_rkm_link - puts a QP into the list of a PD whose keys its peer may use.
 * @of_pd: in the PD's list
 * @of_qp: XRC targets: in the QP's list of links
 * @qp:    the QP
 * @pd:    the PD
 * @rcu:   for freeing
 */
struct pavo_rkm_link {
	struct list_head of_pd;
	struct list_head of_qp;
	struct pavo_rkm_qp *qp;
	struct pavo_pd *pd;
	struct rcu_head rcu;
};

/**
 * struct pavo_rkm_qp - the manager's state of a QP.
 * @slots: NULL until the QP can receive; read under RCU
 * @pd:    its peer may use keys of this PD. XRC targets: the PD of the SRQ that a request
 *         used last, or NULL
 * @own:   its link to its PD; XRC targets: unused
 * @links: XRC targets: a link for each PD of an SRQ that a request has used, the last used
 *         one first
 * @nlinks: how many
 * @of_dev: in the list of all QPs of the adapter
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
 * struct pavo_rkm_list - QPs of a PD, by their links; read under RCU. Links are added under the
 * manager's list lock, and removed under its mutex and the list lock.
 * @qps:   links to the QPs
 * @count: how many
 */
struct pavo_rkm_list {
	struct list_head qps;
	unsigned int count;
};

/**
 * struct pavo_rkm_request - request for a walk by the manager's work.
 * @list:  in the manager's requests
 * @pd:    PD of the key
 * @key:   the key
 * @state: enum pavo_rkm_state
 * @key_state: its work runs when the walk is done; NULL: @done is completed instead
 * @done:  see @key_state
 */
struct pavo_rkm_request {
	struct list_head list;
	struct pavo_pd *pd;
	u32 key;
	int state;
	struct pavo_key_state *key_state;
	struct completion *done;
};

enum pavo_rkm_state {
	PAVO_RKM_NONE,
	PAVO_RKM_WAITING,
	PAVO_RKM_DONE,
};

/** Most keys that one walk searches for. */
#define PAVO_WALK_KEYS 16

/**
 * struct pavo_walk - one walk.
 * @pd:      PD of the keys
 * @key:     keys to search for
 * @count:   how many
 * @began:   when the walk began, in ns
 * @qps:     QPs visited
 * @pd_fail: QPs of another PD among them
 * @keys:    comparisons of a slot with a key
 * @matches: slots revoked
 * @stalls:  slots whose running copy the walker waited for
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

/** pavo_rkm_add - add a QP to the lists that walks visit. Sleeps. */
void pavo_rkm_add(struct pavo_key_state *key_state);
void pavo_rkm_remove(struct pavo_key_state *key_state);

/**
 * pavo_rkm_join - let walks of @pd visit an XRC target, whose peer is about to use keys of @pd.
 * @key_state: of the XRC target
 * @pd: PD of the SRQ
 *
 * Context: the responder side is owned, no key is in use. The caller is in the RCU read-side
 * section in which it found the SRQ that the request names.
 * Return: 0; -ENOSPC: the target has PAVO_RKM_LINKS PDs; -ENOMEM.
 */
int pavo_rkm_join(struct pavo_key_state *key_state, struct pavo_pd *pd);

/** pavo_rkm_part - remove XRC targets from the list of @pd, which ends. Sleeps. */
void pavo_rkm_part(struct pavo_dev *dev, struct pavo_pd *pd);

/** pavo_rkm_slots_alloc - allocate slots for @reads reads at a time; NULL: no memory. Sleeps. */
struct pavo_key_slots *pavo_rkm_slots_alloc(u32 reads);
/** pavo_rkm_slots_free - free slots that no queue pair has. */
void pavo_rkm_slots_free(struct pavo_key_slots *slots);
/**
 * pavo_rkm_slots_replace - replace the slots of a QP, and free its old ones.
 * @key_state: of the QP
 * @slots: from pavo_rkm_slots_alloc()
 *
 * Context: the responder side is locked.
 *
 * Return: 0; -EBUSY: an operation is under way; @slots remain the caller's then.
 */
int pavo_rkm_slots_replace(struct pavo_key_state *key_state,
			   struct pavo_key_slots *slots);
/** pavo_rkm_free - free the slots of @key_state, which no walk visits any more. */
void pavo_rkm_free(struct pavo_key_state *key_state);

/** pavo_rkm_forget - end all operations in the slots; the QP was reset. */
void pavo_rkm_forget(struct pavo_key_state *key_state);

/**
 * pavo_rkm_start - end the operations of peers with @key, after its change in the key table.
 * @key_state: of the caller's QP
 * @pd:  PD of the key
 * @key: the key
 * @request: of the calling side, for a walk that is too long to be made at once
 *
 * Return: PAVO_ST_OK: the walk is done; PAVO_ST_WAIT: the manager's work walks, sets
 * @request->state to PAVO_RKM_DONE and runs the QP's work.
 *
 * Context: RCU read side; the caller has no copy begun.
 */
enum pavo_status pavo_rkm_start(struct pavo_key_state *key_state,
				struct pavo_pd *pd, u32 key,
				struct pavo_rkm_request *request);

/*
 * pavo_rkm_cost - packets that could be sent in the time of a walk of @pd by its caller, or
 * of the longest such walk.
 */
u32 pavo_rkm_cost(const struct pavo_pd *pd);

/** pavo_rkm_has_come_back - true once for each request, when its walk is done. */
static inline bool pavo_rkm_has_come_back(struct pavo_rkm_request *request)
{
	/* Pairs with the release in finish_walk_request(). */
	if (smp_load_acquire(&request->state) != PAVO_RKM_DONE)
		return false;
	request->state = PAVO_RKM_NONE;
	return true;
}

/** pavo_rkm_finish - as pavo_rkm_start(), but wait until the walk is done. Sleeps. */
void pavo_rkm_finish(struct pavo_dev *dev, struct pavo_pd *pd, u32 key);

/**
 * pavo_rkm_show - print the remote key memory of all QPs: QPN, PD and slots of each, first
 * the slot of writes, then those of reads. The PD of an XRC target is "*": that of the SRQ which
 * a request names. Sleeps.
 * @file: debugfs file
 * @dev:  the adapter
 */
void pavo_rkm_show(struct seq_file *file, struct pavo_dev *dev);

/** pavo_rkm_settle - wait until the manager's work has served all requests. Sleeps. */
void pavo_rkm_settle(struct pavo_dev *dev);

#endif /* PAVO_RKM_H */
