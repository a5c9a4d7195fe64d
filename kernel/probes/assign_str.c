/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ASSIGN_STR_ONE: __assign_str() knows the source of the string
 * ASSIGN_STR_TWO: __assign_str() is given the source of the string
 */
#include <linux/stringify.h>
#include <trace/stages/stage6_event_callback.h>

/* The preprocessor refuses a macro with another number of arguments. */
#ifdef PAVO_HAS_ASSIGN_STR_ONE
const char *probe = __stringify(__assign_str(name));
#else
const char *probe = __stringify(__assign_str(name, name));
#endif
