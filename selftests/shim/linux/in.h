/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* in.h - the header, which user space has, too, and the kinds of addresses. */
#ifndef PAVO_SHIM_IN_H
#define PAVO_SHIM_IN_H

#include_next <linux/in.h>

#include <linux/kernel.h>

static inline bool ipv4_is_multicast(__be32 address)
{
	return ntohl(address) >> 28 == 0xe;
}

#endif /* PAVO_SHIM_IN_H */
