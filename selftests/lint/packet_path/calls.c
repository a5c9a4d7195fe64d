// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * calls.c - records entry and exit of each function of the module, for packet_path.py, which adds
 * this file to a module of its own. The compiler calls the two hooks (-finstrument-functions), in
 * functions that it has inlined, too, but not in `inline` ones: the kernel marks these.
 *
 * Write to /sys/kernel/debug/pavo_calls to begin, and read it for the latest calls, one a line: "+"
 * or "-", and the function. For one CPU.
 */
#include <linux/debugfs.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>

#define CALLS (1u << 18)

struct call {
	void *function;
	bool enter;
};

static struct call calls[CALLS];
static unsigned int count;
static bool on;

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);
void pavo_calls_init(void);
void pavo_calls_exit(void);

static void record_call(void *function, bool enter)
{
	if (on)
		calls[count++ % CALLS] = (struct call){function, enter};
}

void __cyg_profile_func_enter(void *function, void *from)
{
	record_call(function, true);
}

void __cyg_profile_func_exit(void *function, void *from)
{
	record_call(function, false);
}

static int show_calls(struct seq_file *file, void *unused)
{
	unsigned int i = count - min(count, CALLS);

	on = false;
	for (; i != count; i++)
		seq_printf(file, "%c%ps\n", calls[i % CALLS].enter ? '+' : '-',
			   calls[i % CALLS].function);
	return 0;
}

static int open_calls(struct inode *inode, struct file *file)
{
	return single_open_size(file, show_calls, NULL, 64 * CALLS);
}

static ssize_t begin_calls(struct file *file, const char __user *text,
			   size_t size, loff_t *at)
{
	count = 0;
	on = true;
	return size;
}

static const struct file_operations calls_file = {
	.open = open_calls,
	.read = seq_read,
	.write = begin_calls,
	.llseek = seq_lseek,
	.release = single_release,
};

static struct dentry *file;

void pavo_calls_init(void)
{
	file = debugfs_create_file("pavo_calls", 0600, NULL, NULL, &calls_file);
}

void pavo_calls_exit(void)
{
	on = false;
	debugfs_remove(file);
}
