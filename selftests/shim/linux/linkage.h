/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * linkage.h - of the kernel's <linux/linkage.h> what the assembly files of the module need
 * when they are built in user space.
 */
#ifndef PAVO_SHIM_LINKAGE_H
#define PAVO_SHIM_LINKAGE_H

#define SYM_FUNC_START_LOCAL(name) \
	.type name, @function;     \
	.balign 16;                \
name:

#define SYM_FUNC_START(name) \
	.globl name;         \
	SYM_FUNC_START_LOCAL(name)

#define SYM_FUNC_END(name) .size name, .- name

#define RET ret

/* The stack of the program stays without permission to execute. */
.section ".note.GNU-stack", "", @progbits

#endif /* PAVO_SHIM_LINKAGE_H */
