/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* seq_file.h - nothing is shown. */
#ifndef PAVO_SHIM_SEQ_FILE_H
#define PAVO_SHIM_SEQ_FILE_H

#include <linux/kernel.h>

struct seq_file;

#define seq_puts(file, text) ((void)(file))
#define seq_putc(file, c) ((void)(file))
#define seq_printf(file, ...) ((void)(file))

#endif /* PAVO_SHIM_SEQ_FILE_H */
