/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_host.h - a caller of the engine that looks at nothing which the adapter sends or completes; for
 * tests in C.
 */
#ifndef PAVO_ENGINE_TEST_HOST_H
#define PAVO_ENGINE_TEST_HOST_H

#include <linux/kernel.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "runtime.h"

/* A test returns false if it does not hold. */
#define MUST(condition)                                                  \
	do {                                                             \
		if (!(condition)) {                                      \
			printf("# line %d: %s\n", __LINE__, #condition); \
			return false;                                    \
		}                                                        \
	} while (0)

static char test_pages[16][65536] __aligned(4096);
static unsigned int test_shared;

static void *test_share(size_t size, __u64 *offset)
{
	ENGINE_MUST(test_shared < ARRAY_SIZE(test_pages) &&
		    size <= sizeof(test_pages[0]));
	return memset(test_pages[test_shared++], 0, size);
}

static void test_sent(const void *packet, size_t size)
{
}

static void test_completion(int channel, __u64 user)
{
}

static void test_event(int type, __u64 user)
{
}

/* As engine_start(); memory that was shared before is used again. */
static void test_start_engine(void)
{
	static const struct engine_host host = {test_share, test_sent,
						test_completion, test_event};

	test_shared = 0;
	engine_start(&host);
}

#endif /* PAVO_ENGINE_TEST_HOST_H */
