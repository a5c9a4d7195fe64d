// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mmap.c - memory that module and process share: rings and doorbell pages.
 *
 * Areas are made for ucontexts, CQs, both sides of QPs, SRQs, watches and windows. A process
 * maps them by offsets that rdma core hands out. A mapping holds references to
 * the pages themselves, so the area can be freed while it is still mapped:
 * the module does not use the memory any more then.
 */
#include <linux/vmalloc.h>
#include "compat.h"
#include "rings/mmap.h"

/**
 * pavo_mmap_create - make an area of zeroed memory.
 * @uctx: ucontext that may map it; NULL: no process may
 * @size: bytes, rounded up to whole pages
 * @info: set to offset and size for mmap(); may be NULL if @uctx is
 *
 * Context: process, sleeps.
 * Return: the area; NULL without memory, or if @size is over 4 GiB.
 */
struct pavo_mmap *pavo_mmap_create(struct ib_ucontext *uctx, size_t size,
				   struct pavo_mmap_info *info)
{
	struct pavo_mmap *mmap;

	size = PAGE_ALIGN(size);
	if (size > U32_MAX)
		return NULL;
	mmap = kzalloc(sizeof(*mmap), GFP_KERNEL_ACCOUNT);
	if (!mmap)
		return NULL;
	refcount_set(&mmap->refs, 1);
	/* Not vmalloc_user(), which is charged to no cgroup. */
	mmap->addr = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!mmap->addr)
		goto err_free;
	if (!uctx)
		return mmap;

	if (rdma_user_mmap_entry_insert(uctx, &mmap->entry, size))
		goto err_vfree;
	info->offset = rdma_user_mmap_get_offset(&mmap->entry);
	info->size = size;
	return mmap;

err_vfree:
	vfree(mmap->addr);
err_free:
	kfree(mmap);
	return NULL;
}

/**
 * pavo_mmap_hold - keep the memory of an area beyond its pavo_mmap_destroy().
 * @mmap: the area
 */
void pavo_mmap_hold(struct pavo_mmap *mmap)
{
	refcount_inc(&mmap->refs);
}

/**
 * pavo_mmap_put - balances pavo_mmap_hold(). Sleeps.
 * @mmap: the area or NULL
 */
void pavo_mmap_put(struct pavo_mmap *mmap)
{
	if (!mmap || !refcount_dec_and_test(&mmap->refs))
		return;
	vfree(mmap->addr);
	kfree(mmap);
}

/**
 * pavo_mmap_destroy - end an area: no process can map it any more, and the memory is freed with
 * the last reference.
 * @mmap: the area or NULL; a caller that still uses it needs pavo_mmap_hold()
 */
void pavo_mmap_destroy(struct pavo_mmap *mmap)
{
	if (!mmap)
		return;
	if (mmap->entry.ucontext)
		rdma_user_mmap_entry_remove(&mmap->entry);
	else
		pavo_mmap_put(mmap);
}

/**
 * pavo_mmap_free - drop rdma core's reference; rdma core calls it after the last use of @entry.
 * @entry: of a &struct pavo_mmap
 */
void pavo_mmap_free(struct rdma_user_mmap_entry *entry)
{
	pavo_mmap_put(container_of(entry, struct pavo_mmap, entry));
}

/* Map @addr page by page: remap_vmalloc_range() is for vmalloc_user() only. */
static int map_pages(struct vm_area_struct *vma, void *addr)
{
	unsigned long at;
	int err = 0;

	pavo_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	for (at = vma->vm_start; !err && at < vma->vm_end; at += PAGE_SIZE) {
		err = vm_insert_page(vma, at, vmalloc_to_page(addr));
		addr += PAGE_SIZE;
		cond_resched();
	}
	return err;
}

/**
 * pavo_mmap - mmap() of the uverbs file.
 * @uctx: ucontext of the file
 * @vma: offset and size must be exactly those of an area of @uctx
 *
 * Rings have data of peers, so no process may execute them.
 *
 * Return: 0; -EINVAL: there is no such area; -EPERM: PROT_EXEC was requested; an errno of
 * vm_insert_page().
 */
int pavo_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct pavo_mmap *mmap;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	pavo_vm_flags_clear(vma, VM_MAYEXEC);
	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	mmap = container_of(entry, struct pavo_mmap, entry);
	err = map_pages(vma, mmap->addr);
	rdma_user_mmap_entry_put(entry);
	return err;
}
