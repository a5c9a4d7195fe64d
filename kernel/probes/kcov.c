/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * KCOV_HANDLE: kcov_remote_start_common() gets a handle, which is a structure
 * KCOV_NUMBER: kcov_remote_start_common() gets a number
 */
#include <linux/kcov.h>

void probe(u64 id)
{
#ifdef PAVO_HAS_KCOV_HANDLE
	struct kcov_common_handle_id handle = {};

	kcov_remote_start_common(handle);
#else
	kcov_remote_start_common(id);
#endif
}
