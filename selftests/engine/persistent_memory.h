/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * persistent_memory.h - persistent memory of the engine.
 */
#ifndef PAVO_ENGINE_PERSISTENT_MEMORY_H
#define PAVO_ENGINE_PERSISTENT_MEMORY_H

#include <stddef.h>

/**
 * engine_set_persistent - have a range of the process's memory be persistent, and no other.
 * @start:  of the range, of whole pages
 * @image:  of the same length: what a power failure would leave. Bytes that the CPU writes get there
 *          when they were written back, and a barrier waited for that.
 * @length: bytes; 0: none is
 */
void engine_set_persistent(void *start, void *image, size_t length);

#endif /* PAVO_ENGINE_PERSISTENT_MEMORY_H */
