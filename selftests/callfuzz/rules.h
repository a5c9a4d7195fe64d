/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rules.h - rules of tc that programs set, as root of each namespace may: packets of an
 * interface go through it again, or with other bytes, or are those of a tunnel.
 */
#ifndef PAVO_CALLFUZZ_RULES_H
#define PAVO_CALLFUZZ_RULES_H

#include <sys/types.h>

#include "shared.h"

namespace callfuzz {

/** Whether @call sets a rule. */
bool is_rule(const Call &call);
/**
 * Sets the rule of call @at in place of all that its interface had. A may do that to interfaces
 * here, C to fc, in the namespaces of process @holder. Returns 0 or EPERM.
 */
int set_rule(const Shared &shared, const Program &program, size_t at,
	     pid_t holder);
/** Ends all rules. */
void end_rules(pid_t holder);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_RULES_H */
