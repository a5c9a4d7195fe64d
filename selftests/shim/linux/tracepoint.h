/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tracepoint.h - there are no tracepoints: a call of one does nothing. */
#ifndef PAVO_SHIM_TRACEPOINT_H
#define PAVO_SHIM_TRACEPOINT_H

#include <linux/kernel.h>

#define TP_PROTO(...) __VA_ARGS__
#define TP_ARGS(...)
#define TP_STRUCT__entry(...)
#define TP_fast_assign(...)
#define TP_printk(...)
#define ENGINE_TRACE(name, proto)              \
	static inline void trace_##name(proto) \
	{                                      \
	}                                      \
	_Static_assert(1, #name)
#define TRACE_EVENT(name, proto, ...) ENGINE_TRACE(name, TP_PROTO(proto))
#define DECLARE_EVENT_CLASS(name, ...) _Static_assert(1, #name)
#define DEFINE_EVENT(class, name, proto, args) \
	ENGINE_TRACE(name, TP_PROTO(proto))
#define DECLARE_TRACEPOINT(name) struct tracepoint_##name
#define tracepoint_enabled(name) false

#endif /* PAVO_SHIM_TRACEPOINT_H */
