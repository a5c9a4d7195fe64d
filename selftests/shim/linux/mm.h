/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mm.h - pages. The engine and its process are one program, so a page is the memory itself: a
 * struct page pointer is the page's address.
 */
#ifndef PAVO_SHIM_MM_H
#define PAVO_SHIM_MM_H

#include <linux/kernel.h>
#include <linux/sched.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define PAGE_ALIGN(n) ALIGN(n, PAGE_SIZE)
#define PFN_UP(n) (((n) + PAGE_SIZE - 1) >> PAGE_SHIFT)
#define offset_in_page(n) ((unsigned long)(n) & ~PAGE_MASK)

struct page {
	u8 bytes[PAGE_SIZE];
};

struct vm_area_struct {
	unsigned long vm_flags;
};

typedef unsigned long vm_flags_t;

#define vm_flags_clear(vma, flags) ((void)((vma)->vm_flags &= ~(flags)))
#define vm_flags_set(vma, flags) ((void)((vma)->vm_flags |= (flags)))

#define virt_to_page(p) ((struct page *)((uintptr_t)(p)&PAGE_MASK))
#define vmalloc_to_page virt_to_page
#define is_vmalloc_addr(p) false
#define page_address(page) ((void *)(page))
#define kmap_local_page(page) page_address(page)
#define kunmap_local(at) ((void)(at))
#define flush_dcache_page(page) ((void)(page))
#define copy_highpage(to, from) \
	memcpy(page_address(to), page_address(from), PAGE_SIZE)
#define memcpy_to_page(page, offset, from, n) \
	memcpy((char *)page_address(page) + (offset), from, n)
#define memcpy_from_page(to, page, offset, n) \
	memcpy(to, (const char *)page_address(page) + (offset), n)

#endif /* PAVO_SHIM_MM_H */
