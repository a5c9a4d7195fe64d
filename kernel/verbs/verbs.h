/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verbs.h - the door of verbs/: ib_device_ops and the life of its objects.
 */
#ifndef PAVO_VERBS_H
#define PAVO_VERBS_H

struct pavo_dev;

/** pavo_verbs_setup - fill in ops and attributes before registration. */
void pavo_verbs_setup(struct pavo_dev *dev);

#endif /* PAVO_VERBS_H */
