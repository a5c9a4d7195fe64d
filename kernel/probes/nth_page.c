/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * NTH_PAGE: the page descriptors of a fragment may be apart, and nth_page() finds them
 */
#include <linux/mm.h>

struct page *probe(struct page *page)
{
	return nth_page(page, 1);
}
