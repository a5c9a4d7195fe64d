// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * importer.c - a driver of another subsystem that takes a dma-buf of others, by both ways that
 * there are, and writes to it whenever a program says so.
 *
 * One import for each open file. The driver has no device behind it: the CPU writes to the pages of
 * the mapping. Loaded in a throw-away guest by selftests/kverbs/run.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "importer.h"

MODULE_DESCRIPTION("Test driver that imports dma-bufs");
MODULE_AUTHOR("pavo developers");
MODULE_LICENSE("Dual BSD/GPL");
/* MODULE_IMPORT_NS() takes a word on some kernels, and a string on others. */
MODULE_INFO(import_ns, "DMA_BUF");

/* The device that the memory is mapped for. */
static struct platform_device *device;

/**
 * struct import - an open file.
 * @lock:       held by each call
 * @buf:        what is imported, with a reference; NULL: nothing
 * @attachment: of @device; NULL: it is mapped for the CPU
 * @table:      mapping for the device
 * @map:        mapping for the CPU
 * @asked:      the CPU's access began
 */
struct import {
	struct mutex lock;
	struct dma_buf *buf;
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
	struct iosys_map map;
	bool asked;
};

static void unmap_for_device(struct import *import, struct dma_buf *buf)
{
	dma_resv_lock(buf->resv, NULL);
	dma_buf_unmap_attachment(import->attachment, import->table,
				 DMA_BIDIRECTIONAL);
	dma_resv_unlock(buf->resv);
	dma_buf_detach(buf, import->attachment);
	import->attachment = NULL;
}

/* Newer kernels want the lock of the buffer to be held by those who map; older ones do not mind. */
static int map_for_device(struct import *import, struct dma_buf *buf)
{
	struct dma_buf_attachment *attachment;
	struct sg_table *table;

	attachment = dma_buf_attach(buf, &device->dev);
	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	dma_resv_lock(buf->resv, NULL);
	table = dma_buf_map_attachment(attachment, DMA_BIDIRECTIONAL);
	dma_resv_unlock(buf->resv);
	if (IS_ERR(table)) {
		dma_buf_detach(buf, attachment);
		return PTR_ERR(table);
	}
	import->attachment = attachment;
	import->table = table;
	return 0;
}

static void unmap_for_cpu(struct import *import, struct dma_buf *buf)
{
	if (import->asked)
		dma_buf_end_cpu_access(buf, DMA_BIDIRECTIONAL);
	import->asked = false;
	dma_resv_lock(buf->resv, NULL);
	dma_buf_vunmap(buf, &import->map);
	dma_resv_unlock(buf->resv);
}

static int map_for_cpu(struct import *import, struct dma_buf *buf, bool asks)
{
	int err;

	dma_resv_lock(buf->resv, NULL);
	err = dma_buf_vmap(buf, &import->map);
	dma_resv_unlock(buf->resv);
	if (err || !asks)
		return err;
	err = dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL);
	import->asked = !err;
	if (err)
		unmap_for_cpu(import, buf);
	return err;
}

static int begin(struct import *import, int fd, unsigned int way)
{
	struct dma_buf *buf;
	int err;

	if (import->buf)
		return -EALREADY;
	buf = dma_buf_get(fd);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = way == PAVO_IMPORT_DEVICE ?
		      map_for_device(import, buf) :
		      map_for_cpu(import, buf, way == PAVO_IMPORT_CPU);
	if (err)
		dma_buf_put(buf);
	else
		import->buf = buf;
	return err;
}

static void end(struct import *import)
{
	struct dma_buf *buf = import->buf;

	if (!buf)
		return;
	if (import->attachment)
		unmap_for_device(import, buf);
	else
		unmap_for_cpu(import, buf);
	import->buf = NULL;
	dma_buf_put(buf);
}

/* Put @len bytes into the mapping. */
static void put(struct import *import, size_t at, const void *bytes, size_t len)
{
	if (import->attachment)
		sg_pcopy_from_buffer(import->table->sgl,
				     import->table->orig_nents, bytes, len, at);
	else
		iosys_map_memcpy_to(&import->map, at, bytes, len);
}

static ssize_t write(struct file *file, const char __user *from, size_t len,
		     loff_t *pos)
{
	struct import *import = file->private_data;
	ssize_t done = -EFAULT;
	void *bytes;

	bytes = memdup_user(from, min_t(size_t, len, SZ_1M));
	if (IS_ERR(bytes))
		return PTR_ERR(bytes);
	len = min_t(size_t, len, SZ_1M);
	mutex_lock(&import->lock);
	if (import->buf && *pos >= 0 && *pos <= import->buf->size &&
	    len <= import->buf->size - *pos) {
		put(import, *pos, bytes, len);
		done = len;
	}
	mutex_unlock(&import->lock);
	kfree(bytes);
	return done;
}

static long command(struct file *file, unsigned int number,
		    unsigned long argument)
{
	struct import *import = file->private_data;
	s32 fd = -1;
	int err = 0;

	if (number != PAVO_IMPORT_END &&
	    get_user(fd, (const s32 __user *)argument))
		return -EFAULT;
	mutex_lock(&import->lock);
	switch (number) {
	case PAVO_IMPORT_DEVICE:
	case PAVO_IMPORT_CPU:
	case PAVO_IMPORT_BLIND:
		err = begin(import, fd, number);
		break;
	case PAVO_IMPORT_END:
		end(import);
		break;
	default:
		err = -ENOTTY;
	}
	mutex_unlock(&import->lock);
	return err;
}

static int open(struct inode *inode, struct file *file)
{
	struct import *import = kzalloc(sizeof(*import), GFP_KERNEL);

	if (!import)
		return -ENOMEM;
	mutex_init(&import->lock);
	file->private_data = import;
	return 0;
}

static int release(struct inode *inode, struct file *file)
{
	struct import *import = file->private_data;

	end(import);
	kfree(import);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.write = write,
	.unlocked_ioctl = command,
	.release = release,
};

static struct miscdevice importer_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = PAVO_IMPORTER,
	.fops = &operations,
	.mode = 0666,
};

static int __init load(void)
{
	int err;

	device = platform_device_register_simple(PAVO_IMPORTER, -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	err = misc_register(&importer_device);
	if (err)
		platform_device_unregister(device);
	return err;
}

static void __exit unload(void)
{
	misc_deregister(&importer_device);
	platform_device_unregister(device);
}

module_init(load);
module_exit(unload);
