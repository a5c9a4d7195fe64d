// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.c - the engine has no direct windows: no key is one, so none of these is called.
 */
#include "direct/direct.h"
#include "engine.h"

enum pavo_status pavo_direct_claim(const struct pavo_direct_user *user,
				   const struct pavo_region *region, u64 va,
				   u32 len, bool read)
{
	ENGINE_MUST(false);
	return PAVO_ST_STATE;
}

enum pavo_status pavo_direct_load_begin(const struct pavo_direct_user *user,
					const struct pavo_region *region,
					u64 va, struct pavo_missing *missing,
					u64 *to)
{
	ENGINE_MUST(false);
	return PAVO_ST_STATE;
}

void pavo_direct_load_end(const struct pavo_region *region, u64 va, u32 len)
{
	ENGINE_MUST(false);
}

enum pavo_status pavo_direct_drained(const struct pavo_direct_user *user,
				     const struct pavo_region *region, u64 va,
				     struct pavo_missing *missing)
{
	ENGINE_MUST(false);
	return PAVO_ST_STATE;
}

void pavo_direct_release(const struct pavo_direct_user *user,
			 const struct pavo_region *region, u64 va)
{
	ENGINE_MUST(false);
}
