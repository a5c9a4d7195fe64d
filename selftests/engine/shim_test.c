// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * shim_test.c - test of the engine itself: misuse of locks and RCU ends the program,
 * timers and works run in order, tables have reserved indices, hash tables replace objects, and
 * each allocation of a queue pair may fail without a leak. Prints TAP.
 */
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/tap.h"
#include "engine.h"
#include "runtime.h"
#include "test_host.h"

/* ------------------------------------------------------------- misuse */

static spinlock_t lock;
static struct mutex mutex;

static void lock_twice(void)
{
	spin_lock(&lock);
	spin_lock(&lock);
}

static void unlock_free(void)
{
	spin_unlock(&lock);
}

static void sleep_locked(void)
{
	spin_lock_bh(&lock);
	mutex_lock(&mutex);
}

static void sleep_reading(void)
{
	rcu_read_lock();
	synchronize_rcu_expedited();
}

static void leave_reading(void)
{
	rcu_read_lock();
	engine_settle();
}

static void read_outside(void)
{
	static int *p;

	(void)rcu_dereference(p);
}

#ifdef __SANITIZE_ADDRESS__
static void use_freed(void)
{
	struct ib_pd *pd = kzalloc(sizeof(*pd), GFP_KERNEL);

	engine_free_deferred(pd);
	pd->res.id = 1;
	engine_grace_period();
	pd->res.id = 2;
}
#endif

static void free_queued(void)
{
	static struct sk_buff_head queue;
	struct sk_buff *skb = engine_skb(0, 8);

	skb_queue_head_init(&queue);
	skb_queue_tail(&queue, skb);
	kfree_skb(skb);
}

static void put_too_much(void)
{
	skb_put(engine_skb(8, 8), 9);
}

/* True if it ends the process with a signal. */
static bool ends(void (*misuse)(void))
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		/* Suppress its messages. */
		fclose(stderr);
		close(2);
		misuse();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static bool misuse_ends(void)
{
	MUST(ends(lock_twice));
	MUST(ends(unlock_free));
	MUST(ends(sleep_locked));
	MUST(ends(sleep_reading));
	MUST(ends(leave_reading));
	MUST(ends(read_outside));
#ifdef __SANITIZE_ADDRESS__
	MUST(ends(use_freed));
#endif
	MUST(ends(free_queued));
	MUST(ends(put_too_much));
	return true;
}

/* -------------------------------------------------------------- order */

static char order[16];

static void note(char c)
{
	order[strlen(order)] = c;
}

static void first_work(struct work_struct *work)
{
	note('1');
}

static void second_work(struct work_struct *work)
{
	note('2');
}

static struct work_struct first, second;

static enum hrtimer_restart early(struct hrtimer *timer)
{
	note('e');
	queue_work((void *)&order, &second);
	queue_work((void *)&order, &first);
	queue_work((void *)&order, &second);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart second_timer(struct hrtimer *timer)
{
	note('l');
	return HRTIMER_NORESTART;
}

static bool runs_in_order(void)
{
	struct hrtimer at_5, at_7, at_9;
	u64 begin = engine_now();

	INIT_WORK(&first, first_work);
	INIT_WORK(&second, second_work);
	hrtimer_setup(&at_5, early, CLOCK_MONOTONIC, 0);
	hrtimer_setup(&at_7, second_timer, CLOCK_MONOTONIC, 0);
	hrtimer_setup(&at_9, second_timer, CLOCK_MONOTONIC, 0);
	hrtimer_start(&at_9, 9, HRTIMER_MODE_REL_SOFT);
	hrtimer_start(&at_7, begin + 7, HRTIMER_MODE_ABS_SOFT);
	hrtimer_start(&at_5, 5, HRTIMER_MODE_REL_SOFT);
	hrtimer_cancel(&at_9);
	engine_pass(begin + 4);
	MUST(engine_now() == begin + 4 && !order[0]);
	engine_pass(begin + 100);
	MUST(engine_now() == begin + 5 && !strcmp(order, "e21"));
	engine_pass(begin + 100);
	MUST(engine_now() == begin + 7 && !strcmp(order, "e21l"));
	engine_pass(begin + 100);
	MUST(engine_now() == begin + 100 && !strcmp(order, "e21l"));
	return true;
}

static bool table_reserves(void)
{
	struct xarray table;
	unsigned long at;
	int a, *found;
	u32 i, seen = 0;

	xa_init_flags(&table, XA_FLAGS_ALLOC);
	MUST(!xa_insert(&table, 7, NULL, GFP_KERNEL));
	MUST(xa_insert(&table, 7, &a, GFP_KERNEL) == -EBUSY);
	MUST(!xa_load(&table, 7));
	MUST(!xa_store(&table, 7, &a, GFP_KERNEL) && xa_load(&table, 7) == &a);
	for (i = 100; i < 150; i++)
		MUST(!xa_err(xa_store(&table, i, &a, GFP_KERNEL)));
	xa_for_each (&table, at, found)
		seen++;
	MUST(seen == 51);
	MUST(xa_erase(&table, 7) == &a && !xa_load(&table, 7));
	for (i = 100; i < 150; i++)
		MUST(xa_erase(&table, i) == &a);
	{
		XA_STATE(state, &table, 0);

		MUST(!xas_find(&state, ~0ul));
	}
	xa_destroy(&table);
	return true;
}

struct hashed {
	struct rhash_head node;
	u32 key;
};

static u32 hash_key(const void *key, u32 len, u32 seed)
{
	return *(const u32 *)key ^ seed;
}

static u32 hash_object(const void *object, u32 len, u32 seed)
{
	return hash_key(&((const struct hashed *)object)->key, len, seed);
}

static int compare_key(struct rhashtable_compare_arg *arg, const void *object)
{
	return ((const struct hashed *)object)->key != *(const u32 *)arg->key;
}

static bool hash_table_replaces(void)
{
	const struct rhashtable_params params = {
		.key_len = sizeof(u32),
		.head_offset = offsetof(struct hashed, node),
		.hashfn = hash_key,
		.obj_hashfn = hash_object,
		.obj_cmpfn = compare_key,
	};
	struct hashed a = {.key = 1}, b = {.key = 2}, other = {.key = 1};
	struct rhashtable table;

	MUST(!rhashtable_init(&table, &params));
	MUST(!rhashtable_lookup_insert_key(&table, &a.key, &a.node, params));
	MUST(!rhashtable_lookup_insert_key(&table, &b.key, &b.node, params));
	MUST(rhashtable_lookup_insert_key(&table, &other.key, &other.node,
					  params) == -EEXIST);
	MUST(rhashtable_lookup_fast(&table, &other.key, params) == &a);
	rhashtable_replace_fast(&table, &a.node, &other.node, params);
	MUST(rhashtable_lookup_fast(&table, &a.key, params) == &other);
	MUST(atomic_read(&table.nelems) == 2);
	rhashtable_remove_fast(&table, &other.node, params);
	MUST(!rhashtable_lookup_fast(&table, &a.key, params));
	MUST(rhashtable_lookup_fast(&table, &b.key, params) == &b);
	rhashtable_remove_fast(&table, &b.node, params);
	rhashtable_destroy(&table);
	return true;
}

/* -------------------------------------------------- failing allocations */

/* Move the QP to RTS; stop at the first error. */
static int connect_qp(u32 qp)
{
	struct ib_uverbs_modify_qp cmd = {
		.qp_handle = qp,
		.attr_mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			     IB_QP_ACCESS_FLAGS,
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.path_mtu = IB_MTU_256,
		.dest = {.is_global = 1, .port_num = 1},
	};
	int err = engine_modify_qp(&cmd);

	cmd.qp_state = IB_QPS_RTR;
	cmd.attr_mask = IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	memcpy(cmd.dest.dgid, engine_address[0], sizeof(cmd.dest.dgid));
	if (!err)
		err = engine_modify_qp(&cmd);
	cmd.qp_state = IB_QPS_RTS;
	cmd.attr_mask = IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC;
	return err ? err : engine_modify_qp(&cmd);
}

static int make_qp(u32 pd, u32 cq)
{
	struct pavo_create_qp_resp resp;
	struct engine_qp_init init = {
		.type = IB_QPT_RC,
		.pd = pd,
		.send_cq = cq,
		.recv_cq = cq,
		.max_send_wr = 4,
		.max_recv_wr = 4,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	u32 qp, qpn;
	int err = engine_create_qp(&init, &qp, &qpn, &resp);

	if (err)
		return err;
	err = connect_qp(qp);
	engine_destroy_qp(qp);
	return err;
}

/* Make a region, a CQ and a connected QP, stop at the first error, and destroy all. */
static int live(void)
{
	static char memory[100];
	const struct ib_uverbs_reg_mr region = {
		.start = (uintptr_t)memory,
		.length = sizeof(memory),
		.hca_va = (uintptr_t)memory,
		.access_flags = IB_ACCESS_LOCAL_WRITE,
	};
	struct pavo_alloc_ucontext_resp context;
	struct pavo_create_cq_resp of_cq;
	u32 pd = 0, mr = 0, cq = 0, key;
	int err = engine_open(&context);

	if (err)
		return err;
	err = engine_alloc_pd(&pd);
	if (!err)
		err = engine_reg_mr(pd, &region, &mr, &key);
	if (!err)
		err = engine_create_cq(8, 0, -1, &cq, &of_cq);
	if (!err)
		err = make_qp(pd, cq);
	if (cq)
		engine_destroy_cq(cq);
	if (mr)
		engine_dereg_mr(mr);
	if (pd)
		engine_dealloc_pd(pd);
	engine_close();
	return err;
}

static bool allocations_fail(void)
{
	unsigned int n;
	int err;

	for (n = 1; n < 1000; n++) {
		test_start_engine();
		engine_fail_allocation(n);
		err = live();
		engine_fail_allocation(0);
		engine_stop();
		if (!err)
			break;
		MUST(err == -ENOMEM);
	}
	printf("# %u allocations\n", n - 1);
	/* Process, PD, region, CQ, and the sides with their queues. */
	MUST(n > 15 && n < 1000);
	return true;
}

int main(void)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} cases[] = {
		{"misuse of locks, RCU and packets ends the program",
		 misuse_ends},
		{"timers and works run in order, by the clock", runs_in_order},
		{"a table has reserved indices", table_reserves},
		{"a hash table replaces objects", hash_table_replaces},
		{"each allocation of a queue pair may fail, and nothing is left",
		 allocations_fail},
	};
	struct tap tap = {};
	size_t i;

	tap_begin(ARRAY_SIZE(cases));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		tap_result(&tap, cases[i].run(), cases[i].name);
	return tap_end(&tap);
}
