// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dmabuf.c - regions made of a dma-buf: memory that another driver exported.
 *
 * Called by verbs/ in process context. rdma core's ib_umem_dmabuf attaches a device that
 * does DMA, but the adapter copies with the CPU. So it maps the buffer for the CPU as long
 * as the region exists, which also keeps the exporter from moving it, and notifies it that the
 * memory is in use: an exporter that is pavo itself lets no packet have it meanwhile. Buffers of
 * I/O memory are refused. The pages belong to the exporter and are never attached to packets:
 * payload is copied.
 */
#include <linux/dma-buf.h>
#include <linux/module.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include "memory/memory.h"
#include "memory/memory_private.h"
#include "compat.h"

PAVO_IMPORT_DMA_BUF;

/* Pages of a buffer after which other tasks may run. */
#define PAGES_BEFORE_RESCHED 1024

/**
 * struct pavo_dmabuf - memory of another driver, mapped for the CPU.
 * @buf:    the dma-buf, with a reference
 * @map:    mapping of the whole buffer
 * @pages:  pages of the part that was registered
 * @offset: start of that part in the first page
 */
struct pavo_dmabuf {
	struct dma_buf *buf;
	struct iosys_map map;
	struct page **pages;
	unsigned int offset;
};

/* Take a reference to the buffer behind @fd, if the process may use that part with @access. */
static struct dma_buf *get_dmabuf(int fd, u64 offset, u64 length, int access)
{
	struct dma_buf *buf = dma_buf_get(fd);
	int err = 0;
	u64 end;

	if (IS_ERR(buf))
		return buf;
	if (!length || check_add_overflow(offset, length, &end) ||
	    end > buf->size)
		err = -EINVAL;
	else if (ib_access_writable(access) &&
		 !(buf->file->f_mode & FMODE_WRITE))
		err = -EACCES;
	if (!err)
		return buf;
	dma_buf_put(buf);
	return ERR_PTR(err);
}

/* Map the buffer for the CPU; the counterpart is pavo_dmabuf_release(). */
static struct pavo_dmabuf *map_buffer(struct dma_buf *buf)
{
	struct pavo_dmabuf *dmabuf;
	int err;

	dmabuf = kzalloc(sizeof(*dmabuf), GFP_KERNEL_ACCOUNT);
	if (!dmabuf)
		return ERR_PTR(-ENOMEM);
	dmabuf->buf = buf;
	err = pavo_dma_buf_vmap(buf, &dmabuf->map);
	if (err) {
		/* The call returns -EINVAL for exporters without the operation. */
		err = err == -EINVAL ? -EOPNOTSUPP : err;
		goto err_free;
	}
	if (dmabuf->map.is_iomem) {
		err = -EOPNOTSUPP;
		goto err_unmap;
	}
	err = dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL);
	if (!err)
		return dmabuf;
err_unmap:
	pavo_dma_buf_vunmap(buf, &dmabuf->map);
err_free:
	kfree(dmabuf);
	return ERR_PTR(err);
}

void pavo_dmabuf_release(struct pavo_dmabuf *dmabuf)
{
	if (!dmabuf)
		return;
	kvfree(dmabuf->pages);
	dma_buf_end_cpu_access(dmabuf->buf, DMA_BIDIRECTIONAL);
	pavo_dma_buf_vunmap(dmabuf->buf, &dmabuf->map);
	dma_buf_put(dmabuf->buf);
	kfree(dmabuf);
}

/* Find the page at a kernel address. Return: NULL: none, as behind registers of a device. */
static struct page *find_page_at(const void *at)
{
	struct page *page = NULL;

	if (is_vmalloc_addr(at))
		page = vmalloc_to_page(at);
	else if (virt_addr_valid(at))
		page = virt_to_page(at);
	return page && pfn_valid(page_to_pfn(page)) ? page : NULL;
}

static int list_pages(struct pavo_dmabuf *dmabuf, u64 offset, u64 length)
{
	const void *start = dmabuf->map.vaddr + offset;
	unsigned long i, npages;
	const void *at;

	dmabuf->offset = offset_in_page(start);
	npages = PFN_UP(dmabuf->offset + length);
	dmabuf->pages = kvmalloc_array(npages, sizeof(*dmabuf->pages),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!dmabuf->pages)
		return -ENOMEM;
	at = start - dmabuf->offset;
	for (i = 0; i < npages; i++, at += PAGE_SIZE) {
		dmabuf->pages[i] = find_page_at(at);
		if (!dmabuf->pages[i])
			return -EOPNOTSUPP;
		if (!(i % PAGES_BEFORE_RESCHED))
			cond_resched();
	}
	return 0;
}

/* Set the memory of a dma-buf in @mr. On an error the caller frees @mr, with the rest. */
static int set_dmabuf(struct pavo_mr *mr, u64 offset, int fd)
{
	struct pavo_region *region = mr->region;
	struct pavo_dmabuf *dmabuf;
	struct dma_buf *buf;
	int err;

	buf = get_dmabuf(fd, offset, region->length, region->access);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	dmabuf = map_buffer(buf);
	if (IS_ERR(dmabuf)) {
		dma_buf_put(buf);
		return PTR_ERR(dmabuf);
	}
	mr->memory.dmabuf = dmabuf;
	err = list_pages(dmabuf, offset, region->length);
	if (err)
		return err;
	region->pages = dmabuf->pages;
	region->offset = dmabuf->offset;
	region->copied = true;
	return 0;
}

struct ib_mr *pavo_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length,
				 u64 virt_addr, int fd, int access)
{
	struct pavo_mr *mr;

	if (access & (IB_ACCESS_ON_DEMAND | PAVO_ACCESS_FLUSH_PERSISTENT))
		return ERR_PTR(-EOPNOTSUPP);
	mr = pavo_mr_begin(ibpd, offset, length, virt_addr, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return pavo_mr_finish(mr, set_dmabuf(mr, offset, fd));
}
