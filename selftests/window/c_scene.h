/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* c_scene.h - what the tests of pavo.h in C share: TAP, and the two ends of all of them. */
#ifndef PAVO_C_SCENE_H
#define PAVO_C_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include <pavo/pavo.h>

#include "../common/pattern.h"

enum { SIZE = 300000, CONTEXTS = 3, PATHS = 2 };

struct end {
	struct pavo_device *device;
	struct pavo_job *job;
	struct pavo_window *window;
	struct pavo_mapping *mapping;
	struct pavo_rdma *rdma;
	unsigned char *memory;
	uint16_t gid_index;
	uint8_t gid[16];
	uint32_t rcxts[CONTEXTS];
	int peer;
	struct pavo_striped *striped;
	struct pavo_window *paths[PATHS];
	/* The results of the calls. */
	unsigned int messages, arrivals, ends, failed;
	size_t taken;
	uint32_t tag;
	uint64_t notified;
	int error;
};

/* A test, and what has to be so that there can be any. */
void check(int good, const char *what);
void must(int good, const char *what);
/* Print the plan and the sums. Return: the exit status. */
int end_checks(void);

/* Now, as a clock that is never set. */
int64_t microseconds(void);

/* The adapter, its job and memory of SIZE bytes. */
void open_adapter(struct end *end, const char *adapter, const char *index);
void close_adapter(struct end *end);
/* Another window there; all as usual. */
struct pavo_window *open_window(const struct end *end, uint16_t node);

/* c_job_test.c: jobs and mappings of that adapter. */
void test_jobs(const struct end *end);
/* c_window_test.c: windows without pavo_rdma, between these two. */
void test_windows(struct end *a, struct end *b);
/* c_broadcast_test.c: groups of windows, from the first to the second. */
void test_broadcast(struct end *a, struct end *b);

#endif /* PAVO_C_SCENE_H */
