/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * importer.h - what a program tells the driver of importer.c: commands of its file.
 *
 * write() at an offset puts bytes into the imported memory, as a device would: EFAULT beyond it.
 */
#ifndef PAVO_IMPORTER_H
#define PAVO_IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PAVO_IMPORTER "pavo-importer"

/* Map the dma-buf of this file descriptor for a device that does DMA, both ways. */
#define PAVO_IMPORT_DEVICE _IOW('p', 1, __s32)
/* Map it for the CPU. */
#define PAVO_IMPORT_CPU _IOW('p', 2, __s32)
/* The same by a driver that does not ask for the CPU's access (dma_buf_begin_cpu_access()). */
#define PAVO_IMPORT_BLIND _IOW('p', 4, __s32)
/* Give it back; so does the end of the file. */
#define PAVO_IMPORT_END _IO('p', 3)

#endif /* PAVO_IMPORTER_H */
