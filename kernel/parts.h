/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * parts.h - the parts of this build, for main.c and debugfs.c. part.h says what a part is.
 */
#ifndef PAVO_PARTS_H
#define PAVO_PARTS_H

#include "part.h"

/** The parts that this build has; NULL at the end. */
extern const struct pavo_part *const pavo_parts[];

/** pavo_parts_init - initialize all parts. Return: 0; or an errno, and none is initialized. */
int pavo_parts_init(void);
/** pavo_parts_exit - balances pavo_parts_init(); no adapter is left. */
void pavo_parts_exit(void);

/** pavo_parts_add - as member @add of each. Return: 0, or the errno of one that failed. */
int pavo_parts_add(struct pavo_dev *dev);
/** pavo_parts_stop - as member @stop of each. */
void pavo_parts_stop(struct pavo_dev *dev);
/** pavo_parts_remove - as member @remove of each. */
void pavo_parts_remove(struct pavo_dev *dev);

/** pavo_parts_refuse - the reason why @ndev cannot carry an adapter; NULL: none. */
const char *pavo_parts_refuse(struct net_device *ndev);

/** pavo_parts_setup - set methods and attributes of an adapter, before it is registered. */
void pavo_parts_setup(struct pavo_dev *dev);

#endif /* PAVO_PARTS_H */
