// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * allocations.cpp - the allocator of the C library, counted; see allocations.h. In all
 * of the program: every operator new comes down to one of these.
 */
#include "allocations.h"

#include <malloc.h>

#include <cerrno>
#include <cstdlib>

static thread_local size_t count;

size_t world::allocations()
{
	return count;
}

extern "C" {

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *at, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) noexcept
{
	count++;
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) noexcept
{
	count++;
	return __libc_calloc(n, bytes);
}

void *realloc(void *at, size_t bytes) noexcept
{
	count++;
	return __libc_realloc(at, bytes);
}

void *memalign(size_t alignment, size_t bytes) noexcept
{
	count++;
	return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) noexcept
{
	count++;
	return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **at, size_t alignment, size_t bytes) noexcept
{
	void *made = __libc_memalign(alignment, bytes);

	count++;
	if (!made)
		return ENOMEM;
	*at = made;
	return 0;
}

} // extern "C"
