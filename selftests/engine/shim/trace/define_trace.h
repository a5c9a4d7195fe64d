/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* define_trace.h - for files of the module in user space: there are no tracepoints. */
#ifndef PAVO_ENGINE_TRACE_DEFINE_TRACE_H
#define PAVO_ENGINE_TRACE_DEFINE_TRACE_H

#include <linux/tracepoint.h>

#endif /* PAVO_ENGINE_TRACE_DEFINE_TRACE_H */
