/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* udp.h - the header, which user space has, too. */
#ifndef PAVO_SHIM_UDP_H
#define PAVO_SHIM_UDP_H

#include_next <linux/udp.h>
#include <linux/kernel.h>

#endif /* PAVO_SHIM_UDP_H */
