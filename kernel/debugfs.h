/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* debugfs.h - files in /sys/kernel/debug/pavo, for administrators. */
#ifndef PAVO_DEBUGFS_H
#define PAVO_DEBUGFS_H

struct pavo_dev;
struct seq_file;

void pavo_debugfs_init(void);
void pavo_debugfs_exit(void);

/** pavo_show_adapters - call @show for each adapter of this machine (main.c). Sleeps. */
void pavo_show_adapters(struct seq_file *file,
			void (*show)(struct seq_file *, struct pavo_dev *));

#endif /* PAVO_DEBUGFS_H */
