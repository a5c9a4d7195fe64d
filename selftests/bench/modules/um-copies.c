// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * um-copies.c - gives User-Mode Linux the memcpy() that a kernel on this CPU has.
 *
 * A kernel replaces the jump to the slow copy at its start on a CPU with fast short string
 * moves (FSRM), and so the one instruction behind the jump copies. User-Mode Linux
 * never does that, and copies at half the speed. The text of User-Mode Linux is memory
 * of a process, which this module makes writable by a system call of the host. Stays loaded: the
 * guest ends with the benchmark.
 */
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mman.h>
#include <linux/string.h>
#include <asm/unistd.h>

#define JUMP_SHORT 0xeb
#define JUMP_NEAR 0xe9
#define NOP 0x90

/* mprotect() of the host */
static long protect(unsigned long from, unsigned long len, long prot)
{
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(__NR_mprotect), "D"(from), "S"(len), "d"(prot)
		     : "rcx", "r11", "memory");
	return result;
}

static int __init um_copies_init(void)
{
	u8 *code = (u8 *)memcpy;
	unsigned long page = (unsigned long)code & PAGE_MASK;
	unsigned int len;
	long err;

	switch (READ_ONCE(*code)) {
	case JUMP_SHORT:
		len = 2;
		break;
	case JUMP_NEAR:
		len = 5;
		break;
	default:
		return -EOPNOTSUPP;
	}
	err = protect(page, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (err)
		return err;
	local_irq_disable();
	while (len--)
		WRITE_ONCE(code[len], NOP);
	local_irq_enable();
	return 0;
}
module_init(um_copies_init);

MODULE_DESCRIPTION("memcpy() of a real machine for User-Mode Linux");
MODULE_LICENSE("Dual BSD/GPL");
