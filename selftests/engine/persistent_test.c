// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * persistent_test.c - test of regions that peers may flush for persistence: which memory they may
 * have, and that each way to write to them takes the bytes out of the caches, those and no others.
 * Prints TAP.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <rdma/ib_verbs.h>

#include "../common/tap.h"
#include "engine.h"
#include "memory/atomic.h"
#include "memory/memory.h"
#include "memory/payload.h"
#include "persistent_memory.h"
#include "runtime.h"
#include "test_host.h"

#define ALL_RIGHTS                                          \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |   \
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL | \
	 IB_ACCESS_FLUSH_PERSISTENT)

enum { PAGES = 4, SIZE = PAGES * PAGE_SIZE };

/* The memory as the CPU sees it, as a power failure leaves it, and as it should leave it. */
static char memory[SIZE] __aligned(4096), left[SIZE], expected[SIZE];
static char ordinary[SIZE] __aligned(4096);

/* --------------------------------------------------------------- the adapter */

static u32 pd;

static void start_adapter(void)
{
	struct pavo_alloc_ucontext_resp context;

	test_start_engine();
	ENGINE_MUST(!engine_open(&context) && !engine_alloc_pd(&pd));
	memset(memory, 0x11, SIZE);
	memset(left, 0, SIZE);
	memset(expected, 0, SIZE);
	engine_set_persistent(memory, left, SIZE);
}

static void stop_adapter(void)
{
	engine_dealloc_pd(pd);
	engine_close();
	engine_stop();
	engine_set_persistent(NULL, NULL, 0);
}

/* Return: as engine_reg_mr(); *@mr is the handle, and *@region the region. */
static int reg_mr(void *start, size_t length, int access, u32 *mr,
		  struct pavo_region **region)
{
	const struct ib_uverbs_reg_mr cmd = {
		.start = (uintptr_t)start,
		.length = length,
		.hca_va = (uintptr_t)start,
		.access_flags = access,
	};
	u32 key;
	int err = engine_reg_mr(pd, &cmd, mr, &key);

	if (!err) {
		rcu_read_lock();
		*region = pavo_key_find(&engine_dev->keys, key);
		rcu_read_unlock();
	}
	return err;
}

/* --------------------------------------------------------------------- tests */

static bool other_memory_is_refused(void)
{
	struct pavo_region *region;
	u32 mr;

	MUST(reg_mr(ordinary, SIZE, ALL_RIGHTS, &mr, &region) == -EINVAL);
	/* One page of four. */
	engine_set_persistent(memory, left, SIZE - PAGE_SIZE);
	MUST(reg_mr(memory, SIZE, ALL_RIGHTS, &mr, &region) == -EINVAL);
	MUST(!reg_mr(memory, SIZE - PAGE_SIZE, ALL_RIGHTS, &mr, &region));
	engine_dereg_mr(mr);
	/* Without the right any memory is as good. */
	MUST(!reg_mr(ordinary, SIZE, ALL_RIGHTS & ~IB_ACCESS_FLUSH_PERSISTENT,
		     &mr, &region));
	engine_dereg_mr(mr);
	return true;
}

/* True if the bytes just written to [at, at + length) are persistent, and no others. */
static bool is_persistent(size_t at, size_t length)
{
	memcpy(expected + at, memory + at, length);
	return !memcmp(left, expected, SIZE);
}

static bool payload_is_persistent(struct pavo_region *region)
{
	const size_t at = PAGE_SIZE - 100, length = 2 * PAGE_SIZE + 50;
	struct sk_buff *skb = engine_skb(0, SIZE);
	u8 *bytes = skb_put(skb, SIZE);
	size_t i;

	for (i = 0; i < SIZE; i++)
		bytes[i] = i * 7 + 1;
	MUST(!pavo_payload_take(region, region->iova + at, skb, 3, length));
	MUST(!memcmp(memory + at, bytes + 3, length));
	MUST(is_persistent(at, length));
	kfree_skb(skb);
	return true;
}

static bool words_are_persistent(struct pavo_region *region)
{
	const u64 va = region->iova + 64;
	struct pavo_atomic op = {.aop = PAVO_AOP_FETCH_ADD, .swap_add = 5};
	u64 orig;

	MUST(!pavo_region_store(region, va, 0x0102030405060708));
	MUST(is_persistent(64, 8));
	MUST(!pavo_region_atomic(region, va + 8, &op, &orig));
	MUST(is_persistent(72, 8));
	op = (struct pavo_atomic){.aop = PAVO_AOP_SWAP, .swap_add = 9};
	MUST(!pavo_region_atomic(region, va + 16, &op, &orig));
	MUST(is_persistent(80, 8));
	/* Field by field: by compare and exchange. */
	op = (struct pavo_atomic){.aop = PAVO_AOP_FETCH_ADD,
				  .swap_add = 1,
				  .swap_add_mask = 1ull << 31};
	MUST(!pavo_region_atomic(region, va + 24, &op, &orig));
	MUST(is_persistent(88, 8));
	return true;
}

static bool writes_are_persistent(void)
{
	struct pavo_region *region;
	u32 mr;
	bool good;

	MUST(!reg_mr(memory, SIZE, ALL_RIGHTS, &mr, &region));
	rcu_read_lock();
	pavo_region_write(region, region->iova + PAGE_SIZE - 5, "0123456789",
			  10);
	good = is_persistent(PAGE_SIZE - 5, 10) &&
	       payload_is_persistent(region) && words_are_persistent(region);
	rcu_read_unlock();
	MUST(good);
	engine_dereg_mr(mr);
	return true;
}

static bool others_pay_nothing(void)
{
	struct pavo_region *region;
	u32 mr;

	MUST(!reg_mr(memory, SIZE, ALL_RIGHTS & ~IB_ACCESS_FLUSH_PERSISTENT,
		     &mr, &region));
	rcu_read_lock();
	pavo_region_write(region, region->iova, "0123456789", 10);
	rcu_read_unlock();
	MUST(!memcmp(left, expected, SIZE));
	engine_dereg_mr(mr);
	return true;
}

int main(void)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} cases[] = {
		{"the right to flush for persistence needs persistent memory",
		 other_memory_is_refused},
		{"what is written to it leaves the caches, and no other bytes",
		 writes_are_persistent},
		{"regions without the right are not written back",
		 others_pay_nothing},
	};
	struct tap tap = {};
	size_t i;

	tap_begin(ARRAY_SIZE(cases));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bool good;

		start_adapter();
		good = cases[i].run();
		tap_result(&tap, good, cases[i].name);
		if (!good)
			break;
		stop_adapter();
	}
	return tap_end(&tap);
}
