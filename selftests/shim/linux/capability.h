/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* capability.h - what the process may do: all. */
#ifndef PAVO_SHIM_CAPABILITY_H
#define PAVO_SHIM_CAPABILITY_H

#define CAP_SYS_RESOURCE 24
#define capable(capability) true

#endif /* PAVO_SHIM_CAPABILITY_H */
