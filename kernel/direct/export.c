// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * export.c - exports a range of a direct window as a dma-buf, which other drivers read and write.
 *
 * The dma-buf refers to the buffer that the range has when it is exported. As long as the dma-buf
 * exists, no other range gets that buffer, so a driver that keeps its mapping cannot access data of
 * other ranges. A driver can map the dma-buf only while the bus side owns the range, and the
 * hand-over waits until it has unmapped it, so it cannot change data that is sent. A mapping of a
 * range that was disarmed keeps the buffer in quarantine.
 *
 * The kernel may share one mapping among several users of a dma-buf. No process can map a dma-buf:
 * there is no mmap operation.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "direct/direct_private.h"

/**
 * struct exported - a dma-buf.
 * @window: with a reference
 * @buffer: number of the buffer
 * @scratch: page that stands for all pages of the buffer when a driver may not access these
 * @elsewhere: CPU mapping of @scratch
 * @refused: errno because of which the present CPU mapping is @elsewhere, or 0. Written under the
 *           dma-buf's lock
 */
struct exported {
	struct pavo_direct *window;
	u32 buffer;
	struct page *scratch;
	void *elsewhere;
	int refused;
};

/* Count a mapping, if the bus side owns the range. The counterpart is end_map(). */
static int begin_map(const struct exported *exported)
{
	struct pavo_direct *window = exported->window;
	struct pavo_direct_buffer *buffer = &window->buffers[exported->buffer];
	int err = 0;

	spin_lock_bh(&window->lock);
	if (window->closed) {
		err = -EIO;
	} else if (buffer->range == PAVO_DIRECT_NO_RANGE ||
		   !pavo_direct_may_touch(&window->slots[buffer->range].range,
					  false)) {
		err = -EBUSY;
		pavo_count(window->dev, direct_refused);
	} else {
		buffer->maps++;
	}
	spin_unlock_bh(&window->lock);
	return err;
}

static void end_map(const struct exported *exported)
{
	struct pavo_direct *window = exported->window;

	spin_lock_bh(&window->lock);
	window->buffers[exported->buffer].maps--;
	pavo_direct_settle_buffer(window, exported->buffer);
	spin_unlock_bh(&window->lock);
}

/* Make a list of the pages, and map it for a device. */
static struct sg_table *make_table(struct dma_buf_attachment *attachment,
				   enum dma_data_direction dir)
{
	struct exported *exported = attachment->dmabuf->priv;
	struct pavo_direct *window = exported->window;
	struct page **pages =
		&window->pages[(size_t)exported->buffer * window->npages];
	struct sg_table *table;
	int err;

	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table_from_pages(table, pages, window->npages, 0,
					window->shape.size, GFP_KERNEL);
	if (err)
		goto err_free;
	err = dma_map_sgtable(attachment->dev, table, dir, 0);
	if (!err)
		return table;
	sg_free_table(table);
err_free:
	kfree(table);
	return ERR_PTR(err);
}

static struct sg_table *map_dma(struct dma_buf_attachment *attachment,
				enum dma_data_direction dir)
{
	struct exported *exported = attachment->dmabuf->priv;
	struct sg_table *table;
	int err;

	err = begin_map(exported);
	if (err)
		return ERR_PTR(err);
	table = make_table(attachment, dir);
	if (IS_ERR(table))
		end_map(exported);
	return table;
}

static void unmap_dma(struct dma_buf_attachment *attachment,
		      struct sg_table *table, enum dma_data_direction dir)
{
	dma_unmap_sgtable(attachment->dev, table, dir, 0);
	sg_free_table(table);
	kfree(table);
	end_map(attachment->dmabuf->priv);
}

/*
 * Map for the CPU. The kernel warns if this fails, which a process could provoke by some drivers.
 * So a driver that may not access the data, or for which there is no address space, gets a mapping
 * of scratch pages, and an error of begin_cpu_access().
 */
static int map_cpu(struct dma_buf *buf, struct iosys_map *map)
{
	struct exported *exported = buf->priv;
	struct pavo_direct *window = exported->window;
	void *at = NULL;
	int err;

	err = begin_map(exported);
	if (!err) {
		at = vmap(&window->pages[(size_t)exported->buffer *
					 window->npages],
			  window->npages, VM_MAP, PAGE_KERNEL);
		if (!at) {
			end_map(exported);
			err = -ENOMEM;
		}
	}
	WRITE_ONCE(exported->refused, err);
	iosys_map_set_vaddr(map, at ?: exported->elsewhere);
	return 0;
}

static void unmap_cpu(struct dma_buf *buf, struct iosys_map *map)
{
	struct exported *exported = buf->priv;

	if (!exported->refused) {
		vunmap(map->vaddr);
		end_map(exported);
	}
	WRITE_ONCE(exported->refused, 0);
}

static int begin_cpu(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct exported *exported = buf->priv;

	/* The value does not change while the caller has a mapping. */
	return READ_ONCE(exported->refused);
}

/* Undo bind_export(). */
static void unbind_export(const struct exported *exported)
{
	struct pavo_direct *window = exported->window;

	spin_lock_bh(&window->lock);
	window->buffers[exported->buffer].exports--;
	pavo_direct_settle_buffer(window, exported->buffer);
	spin_unlock_bh(&window->lock);
}

static void free_exported(struct exported *exported)
{
	vunmap(exported->elsewhere);
	if (exported->scratch)
		put_page(exported->scratch);
	kfree(exported);
}

static struct exported *alloc_exported(struct pavo_direct *window)
{
	struct page *pages[PAVO_DIRECT_RANGE_SIZE / PAGE_SIZE];
	struct exported *exported;
	u32 i;

	exported = kzalloc(sizeof(*exported), GFP_KERNEL_ACCOUNT);
	if (!exported)
		return NULL;
	exported->window = window;
	exported->scratch = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!exported->scratch)
		goto err_free;
	for (i = 0; i < window->npages; i++)
		pages[i] = exported->scratch;
	exported->elsewhere = vmap(pages, window->npages, VM_MAP, PAGE_KERNEL);
	if (exported->elsewhere)
		return exported;
err_free:
	free_exported(exported);
	return NULL;
}

static void release_export(struct dma_buf *buf)
{
	struct exported *exported = buf->priv;
	struct pavo_direct *window = exported->window;

	unbind_export(exported);
	pavo_direct_put(window);
	free_exported(exported);
}

static const struct dma_buf_ops ops = {
	.map_dma_buf = map_dma,
	.unmap_dma_buf = unmap_dma,
	.begin_cpu_access = begin_cpu,
	.vmap = map_cpu,
	.vunmap = unmap_cpu,
	.release = release_export,
};

/* Bind the buffer of an armed range to a dma-buf. */
static int bind_export(struct pavo_direct *window, u32 range,
		       struct exported *exported)
{
	u32 number;
	int err = 0;

	spin_lock_bh(&window->lock);
	number = window->slots[range].range.buffer;
	if (window->closed) {
		err = -EIO;
	} else if (number == PAVO_DIRECT_NO_BUFFER) {
		err = -EBADF;
	} else {
		window->buffers[number].exports++;
		window->buffers[number].own = range;
		exported->buffer = number;
	}
	spin_unlock_bh(&window->lock);
	return err;
}

struct file *pavo_direct_export(struct pavo_direct *window, u32 range)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct exported *exported;
	struct dma_buf *buf;
	int err;

	if (range >= window->shape.ranges)
		return ERR_PTR(-EINVAL);
	exported = alloc_exported(window);
	if (!exported)
		return ERR_PTR(-ENOMEM);
	err = bind_export(window, range, exported);
	if (err)
		goto err_free;
	info.ops = &ops;
	info.size = window->shape.size;
	info.flags = O_RDWR;
	info.priv = exported;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf)) {
		err = PTR_ERR(buf);
		goto err_unbind;
	}
	/* The reference that release_export() drops. */
	kref_get(&window->refs);
	return buf->file;

err_unbind:
	unbind_export(exported);
err_free:
	free_exported(exported);
	return ERR_PTR(err);
}
