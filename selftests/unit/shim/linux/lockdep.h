/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* lockdep.h - stands for the kernel's header; no code of the unit tests locks. */
#ifndef SHIM_LINUX_LOCKDEP_H
#define SHIM_LINUX_LOCKDEP_H

#endif
