/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FOLL_PCI: a caller can get pages that are memory of a PCI device
 */
#include <linux/mm.h>

unsigned int probe = FOLL_PCI_P2PDMA;
