/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * GUP_WITHOUT_VMAS: get_user_pages_remote() returns no mappings
 * GUP_WITH_VMAS: get_user_pages_remote() can return mappings
 */
#include <linux/mm.h>

long probe(struct mm_struct *mm, struct page **pages, int *locked)
{
#ifdef PAVO_HAS_GUP_WITHOUT_VMAS
	return get_user_pages_remote(mm, 0, 1, 0, pages, locked);
#else
	return get_user_pages_remote(mm, 0, 1, 0, pages, NULL, locked);
#endif
}
