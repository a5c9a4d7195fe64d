/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * netif.h - interface of netif/: network interfaces over windows, which split long packets for many
 * (sources.md#windows-fragmentation).
 *
 * An interface has a kernel window of a job on an adapter, and a table of the job's nodes. It is
 * in the adapter's network namespace, and ends with the adapter.
 */
#ifndef PAVO_NETIF_H
#define PAVO_NETIF_H

#include <rdma/uverbs_ioctl.h>
#include "part.h"

/** Interfaces as a part of the module (part.h), and their methods. */
extern const struct pavo_part pavo_netif_part;
extern const struct uapi_definition pavo_netif_defs[];

#endif /* PAVO_NETIF_H */
