/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tap.h - prints the results of a test program as TAP, in the form of kselftest. For C and C++.
 */
#ifndef PAVO_COMMON_TAP_H
#define PAVO_COMMON_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The results so far; zeroed at first. */
struct tap {
	size_t passed, failed, skipped;
};

/* Print the number of tests; one that learns it late prints its plan itself, at the end. */
static inline void tap_begin(size_t tests)
{
	printf("TAP version 13\n1..%zu\n", tests);
	fflush(stdout);
}

/* Return: number of the next result. */
static inline size_t tap_next(const struct tap *tap)
{
	return tap->passed + tap->failed + tap->skipped + 1;
}

static inline void tap_result(struct tap *tap, bool good, const char *name)
{
	printf("%s %zu %s\n", good ? "ok" : "not ok", tap_next(tap), name);
	fflush(stdout);
	if (good)
		tap->passed++;
	else
		tap->failed++;
}

static inline void tap_skip(struct tap *tap, const char *name, const char *why)
{
	printf("ok %zu %s # SKIP %s\n", tap_next(tap), name, why);
	fflush(stdout);
	tap->skipped++;
}

/* Print the sums. Return: the exit status of kselftest: 0, 1, or 4 (all skipped). */
static inline int tap_end(const struct tap *tap)
{
	printf("# %zu passed, %zu failed, %zu skipped\n", tap->passed,
	       tap->failed, tap->skipped);
	fflush(stdout);
	if (tap->failed)
		return 1;
	return tap->skipped && !tap->passed ? 4 : 0;
}

#endif /* PAVO_COMMON_TAP_H */
