/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* allocations.h - how often memory of the heap is asked for. */
#ifndef PAVO_TRANSLATE_ALLOCATIONS_H
#define PAVO_TRANSLATE_ALLOCATIONS_H

#include <cstddef>

namespace world {

/* By this thread, in whatever way, until now. */
size_t allocations();

} // namespace world

#endif // PAVO_TRANSLATE_ALLOCATIONS_H
