/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* nospec.h - for files of the module in user space: an index that is in bounds. */
#ifndef PAVO_SHIM_NOSPEC_H
#define PAVO_SHIM_NOSPEC_H

#define array_index_nospec(index, size) ((index) < (size) ? (index) : 0)

#endif /* PAVO_SHIM_NOSPEC_H */
