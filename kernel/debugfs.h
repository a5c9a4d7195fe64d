/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* debugfs.h - /sys/kernel/debug/pavo, for people. */
#ifndef PAVO_DEBUGFS_H
#define PAVO_DEBUGFS_H

void pavo_debugfs_init(void);
void pavo_debugfs_exit(void);

#endif /* PAVO_DEBUGFS_H */
