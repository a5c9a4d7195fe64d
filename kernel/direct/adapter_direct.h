/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * adapter_direct.h - what direct/ keeps of an adapter: its direct windows.
 */
#ifndef PAVO_ADAPTER_DIRECT_H
#define PAVO_ADAPTER_DIRECT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

/**
 * struct pavo_directs - direct windows of an adapter.
 * @mutex:   protects the list
 * @windows: list of struct pavo_direct
 * @made:    how many there were, for their numbers
 */
struct pavo_directs {
	struct mutex mutex; /* windows */
	struct list_head windows;
	u32 made;
};

static inline void pavo_directs_init(struct pavo_directs *directs)
{
	mutex_init(&directs->mutex);
	INIT_LIST_HEAD(&directs->windows);
}

#endif /* PAVO_ADAPTER_DIRECT_H */
