/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * abi.h - libibverbs' private interface in the number the build found.
 *
 * Included by everything of the provider that talks to libibverbs.
 * PAVO_ABI_HEADER comes from meson.build: "abi/NN.h".
 */
#ifndef PAVO_PROVIDER_ABI_H
#define PAVO_PROVIDER_ABI_H

#ifndef PAVO_ABI_HEADER
#error "PAVO_ABI_HEADER is not set: build with meson, it finds the number"
#endif

#include PAVO_ABI_HEADER

#endif /* PAVO_PROVIDER_ABI_H */
