/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * EVENTFD_ADDS_ONE: eventfd_signal() always adds one
 * EVENTFD_ADDS_N: eventfd_signal() adds a given number
 */
#include <linux/eventfd.h>

void probe(struct eventfd_ctx *ctx)
{
#ifdef PAVO_HAS_EVENTFD_ADDS_ONE
	eventfd_signal(ctx);
#else
	eventfd_signal(ctx, 1);
#endif
}
