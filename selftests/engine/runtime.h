/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * runtime.h - shared by the C files of the engine: the caller's functions, and those that bring
 * the engine to rest.
 */
#ifndef PAVO_ENGINE_RUNTIME_H
#define PAVO_ENGINE_RUNTIME_H

#include "engine.h"

struct pavo_dev;

extern const struct engine_host *engine_host;
/* The adapter; NULL before engine_start(). */
extern struct pavo_dev *engine_dev;

/* memory.c, clock.c: reset the random generator and the clock. */
void engine_seed(void);
void engine_reset_clock(void);

/* management.c: QP 1. */
void engine_open_management(void);
void engine_close_management(void);

/* clock.c: abort if a work or timer is queued, or a lock or RCU section is held. */
void engine_check_rest(void);

#endif /* PAVO_ENGINE_RUNTIME_H */
