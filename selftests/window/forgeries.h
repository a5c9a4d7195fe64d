// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * forgeries.h - what may be wrong in packets of several kinds, and which counter says so.
 * A row is of one kind only: it stands with the tests of that.
 */
#ifndef PAVO_WINDOW_FORGERIES_H
#define PAVO_WINDOW_FORGERIES_H

#include <string>
#include <vector>

#include "scene.h"

namespace windows {

/* The context at the receiving end, and the number of the operation on it. */
std::vector<Forgery> of_contexts();
/* The memory at the receiving end. */
std::vector<Forgery> of_memory();
/* Whom they were sent to: more than one. */
std::vector<Forgery> of_addresses();
/* How much data there is of how much. */
std::vector<Forgery> of_amounts();

inline std::string name_of(const testing::TestParamInfo<Forgery> &info)
{
	return info.param.name;
}

} // namespace windows

#endif // PAVO_WINDOW_FORGERIES_H
