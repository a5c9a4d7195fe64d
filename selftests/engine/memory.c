// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * memory.c - allocations, the end of grace periods, and random numbers of the engine.
 *
 * All memory is the heap's, so the address sanitizer sees what the module does with it.
 */
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <stdlib.h>

#include "runtime.h"

/* Byte that fills an allocation which kmalloc() does not zero. */
#define POISON 0xd5

struct task_struct engine_task;
struct user_namespace init_user_ns;
int engine_spinning, engine_reading;

static unsigned int fail_in;
static long allocations;

struct freed {
	struct freed *next;
	void *memory;
};

static struct freed *freed;

void engine_broken(const char *what, const char *file, int line)
{
	fprintf(stderr, "engine: %s:%d: %s\n", file, line, what);
	abort();
}

void engine_may_sleep(void)
{
	ENGINE_MUST(!engine_spinning && !engine_reading);
}

void engine_fail_allocation(unsigned int n)
{
	fail_in = n;
}

long engine_allocations(void)
{
	return allocations;
}

static bool fails(void)
{
	return fail_in && !--fail_in;
}

void *engine_alloc(size_t size, gfp_t flags)
{
	if (!(flags & GFP_ATOMIC))
		engine_may_sleep();
	if (fails())
		return NULL;
	allocations++;
	return calloc(1, size);
}

void *kmalloc(size_t size, gfp_t flags)
{
	void *memory = engine_alloc(size, flags);

	if (memory)
		memset(memory, POISON, size);
	return memory;
}

void *kmemdup(const void *from, size_t size, gfp_t flags)
{
	void *memory = engine_alloc(size, flags);

	return memory ? memcpy(memory, from, size) : NULL;
}

void kfree(const void *memory)
{
	if (memory)
		allocations--;
	free((void *)memory);
}

void engine_free_deferred(void *memory)
{
	struct freed *last = malloc(sizeof(*last));

	ENGINE_MUST(last);
	*last = (struct freed){freed, memory};
	freed = last;
}

void engine_grace_period(void)
{
	ENGINE_MUST(!engine_reading);
	while (freed) {
		struct freed *first = freed;

		freed = first->next;
		kfree(first->memory);
		free(first);
	}
}

/* A linear congruential generator: its values only have to differ. */
static u64 state;

void engine_seed(void)
{
	state = engine_policy.seed;
}

u32 get_random_u32(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 32;
}
