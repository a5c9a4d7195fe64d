/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * machine.h - reads what findings.h asks of this machine: sysfs, /proc, the rules of nft and the
 * kernel's log. Changes nothing. Used by status.cpp.
 */
#pragma once

#include "findings.h"

namespace pavo {

/** A value that cannot be read, for want of rights or of a program, stays as without trouble. */
Machine read_machine();

} // namespace pavo
