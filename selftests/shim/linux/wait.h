/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wait.h - for files of the module in user space: no thread sleeps there, and none is woken. */
#ifndef PAVO_SHIM_WAIT_H
#define PAVO_SHIM_WAIT_H

typedef int wait_queue_head_t;

static inline void init_waitqueue_head(wait_queue_head_t *wait)
{
}

static inline void wake_up(wait_queue_head_t *wait)
{
}

#endif /* PAVO_SHIM_WAIT_H */
