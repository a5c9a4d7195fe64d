/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * bytes.h - big endian numbers at any address. Private to wire/ (parse.c,
 * build.c).
 *
 * Byte by byte, since headers have any alignment, and 24-bit fields have no type. The kernel's
 * helpers are in different headers of the supported kernels, and user space has none. Compilers
 * make one load or store and a byte swap of each function.
 */
#ifndef PAVO_WIRE_BYTES_H
#define PAVO_WIRE_BYTES_H

#include <linux/types.h>

/* The lower bits of a number that a field uses (packets.h). */
#define PAVO_FIELD_MASK(used) (~0ull >> (64 - (used)))

static inline u8 pavo_get_be8(const u8 *p)
{
	return *p;
}

static inline u16 pavo_get_be16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

static inline u32 pavo_get_be24(const u8 *p)
{
	return (u32)p[0] << 16 | (u32)p[1] << 8 | p[2];
}

static inline u32 pavo_get_be32(const u8 *p)
{
	return (u32)p[0] << 24 | pavo_get_be24(p + 1);
}

static inline u64 pavo_get_be64(const u8 *p)
{
	return (u64)pavo_get_be32(p) << 32 | pavo_get_be32(p + 4);
}

static inline void pavo_put_be8(u8 *p, u8 v)
{
	*p = v;
}

static inline void pavo_put_be16(u8 *p, u16 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

/* Write the lower 24 bits of @v. */
static inline void pavo_put_be24(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 16);
	p[1] = (u8)(v >> 8);
	p[2] = (u8)v;
}

static inline void pavo_put_be32(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 24);
	pavo_put_be24(p + 1, v);
}

static inline void pavo_put_be64(u8 *p, u64 v)
{
	pavo_put_be32(p, (u32)(v >> 32));
	pavo_put_be32(p + 4, (u32)v);
}

#endif /* PAVO_WIRE_BYTES_H */
