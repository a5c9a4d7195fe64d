/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * filter.h - what the rules of nftables do to packets of RoCEv2 (UDP port 4791). Pure; used by
 * findings.cpp.
 */
#pragma once

#include <string>
#include <vector>

namespace pavo {

/** A chain that drops such packets. */
struct Blocking {
	std::string family, table, chain;
	bool incoming = false; /* else those that this machine sends */
	bool certain =
		false; /* false: unless a rule that depends on more lets them pass */
};

/**
 * The chains that drop them at @interface. @rules: output of nft -j list ruleset. Rules that
 * depend on addresses, marks or rates are taken for ones that do not match.
 */
std::vector<Blocking> find_blocking(const std::string &rules,
				    const std::string &interface);

} // namespace pavo
