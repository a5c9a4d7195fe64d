/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IMPORT_NS_WORD: the name of a symbol namespace is a word
 * IMPORT_NS_STRING: the name of a symbol namespace is a string
 */
#include <linux/module.h>

#ifdef PAVO_HAS_IMPORT_NS_WORD
MODULE_IMPORT_NS(DMA_BUF);
#else
MODULE_IMPORT_NS("DMA_BUF");
#endif
