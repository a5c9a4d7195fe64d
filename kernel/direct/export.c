// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * export.c - a range of a direct window as a dma-buf, to which other drivers write and from which
 * they read.
 *
 * The dma-buf names the buffer that the range has when it is exported. As long as the dma-buf
 * exists that buffer belongs to this range: a driver that keeps its mapping reaches no other
 * range's bytes. A driver gets a mapping in the turn of the bus side alone, and holds the end of
 * that turn back as long as it has it: it changes no byte that is sent. A mapping of a turn that
 * was given up keeps the buffer in quarantine.
 *
 * The kernel may give several users of a dma-buf one mapping, and asks for it once, and for its end
 * when the last of them is gone. No process maps a dma-buf: there is no such operation.
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
 * @buffer: its number
 * @scratch: page that is in the place of all of the buffer's for a driver that may not have these
 * @elsewhere: its mapping for the CPU
 * @refused: why the present mapping for the CPU is @elsewhere, or 0. Written under the dma-buf's
 *           lock
 */
struct exported {
	struct pavo_direct *window;
	u32 buffer;
	struct page *scratch;
	void *elsewhere;
	int refused;
};

/* A mapping begins, if it is the bus side's turn; the counterpart is end_map(). */
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
	spin_unlock_bh(&window->lock);
	/* The buffer may be out of quarantine. */
	wake_up_interruptible_all(&window->wait);
}

/* A list of the pages that is mapped for a device. */
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
 * The kernel warns where this fails, and any program that has a driver could provoke that. So a
 * driver that may not have the bytes, or has no room for the mapping, gets others, and an error
 * when it asks for the CPU's access.
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

	/* A caller with a mapping keeps the word as it is. */
	return READ_ONCE(exported->refused);
}

/* No dma-buf names the buffer any more by @exported. */
static void unbind_export(const struct exported *exported)
{
	struct pavo_direct *window = exported->window;

	spin_lock_bh(&window->lock);
	window->buffers[exported->buffer].exports--;
	window->exports--;
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
	wake_up_interruptible_all(&window->wait);
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

/* Bind the buffer of an armed range to it. */
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
		window->exports++;
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
