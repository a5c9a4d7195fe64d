/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * runtime.h - what the C files of the engine share: the caller's functions, and what brings the
 * engine to rest.
 */
#ifndef PAVO_ENGINE_RUNTIME_H
#define PAVO_ENGINE_RUNTIME_H

#include "engine.h"

struct pavo_dev;

extern const struct engine_host *engine_host;
/* The adapter; NULL before engine_start(). */
extern struct pavo_dev *engine_dev;

/* memory.c, clock.c: random numbers and time begin anew. */
void engine_seed(void);
void engine_reset_clock(void);

/* management.c: QP 1. */
void engine_open_management(void);
void engine_close_management(void);

/* clock.c: nothing is queued, and no lock or section is left. */
void engine_check_rest(void);

#endif /* PAVO_ENGINE_RUNTIME_H */
