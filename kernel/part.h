/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * part.h - a part of the module that a build can leave out (Kbuild), by the functions that the rest
 * calls. parts.c has the list; files of no part work without the parts.
 */
#ifndef PAVO_PART_H
#define PAVO_PART_H

#include <linux/types.h>

/* Bit of the destination of a packet of PAVO_KIND_WINDOW that is for many: @receive_group. */
#define PAVO_GROUP_DESTINATION 0x800000u

struct net_device;
struct pavo_dev;
struct pavo_rx;
struct seq_file;

/**
 * struct pavo_debugfs_file - a file in /sys/kernel/debug/pavo.
 * @name: its name; NULL ends a list
 * @all:  it may be read by all users who reach it, not by root alone
 * @show: prints what concerns an adapter; called for each. Sleeps
 * @show_machine: prints the file, if it is about the whole machine
 * @count_blocks: number of blocks of an adapter, if the file is too long to be printed at once;
 *       else NULL
 * @show_block: prints one of them, from 0 on. No lock is held from one block to the next
 */
struct pavo_debugfs_file {
	const char *name;
	bool all;
	void (*show)(struct seq_file *file, struct pavo_dev *dev);
	void (*show_machine)(struct seq_file *file);
	u64 (*count_blocks)(const struct pavo_dev *dev);
	void (*show_block)(struct seq_file *file, struct pavo_dev *dev,
			   u64 block);
};

/**
 * struct pavo_part - a part of the module. Each member may be NULL.
 * @init:    called when the module is loaded. Return: 0 or an errno
 * @exit:    balances @init; no adapter is left
 * @add:     initialize what an adapter has of it. Return: 0 or an errno
 * @stop:    an adapter ends: no process has an object of it, and no packet comes. Wait for works
 *           that queue works of the adapter. Called also if @add failed, or was not called
 * @remove:  free all of it; no work of the adapter runs any more. Called as @stop. @show of a file
 *           may come after that, and never meanwhile
 * @receive: receive a packet of kind PAVO_KIND_WINDOW; consumes its skb. Softirq, RCU read side.
 *           One part has it
 * @refuse:  the reason why an interface cannot carry an adapter; NULL: none. RTNL
 * @receive_group: receive such a packet with PAVO_GROUP_DESTINATION in its destination; does not
 *           consume its skb. Return: number of copies made. Softirq or work, BH disabled, RCU
 * @files:   in debugfs
 */
struct pavo_part {
	int (*init)(void);
	void (*exit)(void);
	int (*add)(struct pavo_dev *dev);
	void (*stop)(struct pavo_dev *dev);
	void (*remove)(struct pavo_dev *dev);
	void (*receive)(struct pavo_rx *rx);
	const char *(*refuse)(struct net_device *ndev);
	u32 (*receive_group)(const struct pavo_rx *rx);
	const struct pavo_debugfs_file *files;
};

#endif /* PAVO_PART_H */
