/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * WQ_PERCPU: a flag keeps the items of a work queue on their CPU
 */
#include <linux/workqueue.h>

unsigned int probe = WQ_PERCPU;
