/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How an adapter's interface sends (tc): to make a sender wait for as long as a
 * test wants.
 *
 * Owns: the qdisc at the root of that interface. Used by: *_tests.cpp.
 */
#pragma once

#include <string>

#include "host.h"

namespace pv {

/*
 * There is no room for anything, and nothing in it: all waits until there is. To be
 * changed, not ended, where no requester sends again: an end loses what comes just then.
 */
constexpr const char *no_room = "pfifo limit 0", *room = "pfifo limit 1000";

/* So slow that a test can act while a message of megabytes is on its way; takes super-packets whole. */
constexpr const char *narrow = "tbf rate 1gbit burst 200000 limit 20000000";

/* All that is sent is lost. */
constexpr const char *silence = "netem loss 100%";

/* The interface of an adapter. */
std::string interface_of(Host &host);

/* While it lives. Skips the test where the kernel has none like that. */
class Qdisc {
public:
	/* @kind: and its parameters, as tc has them */
	Qdisc(Host &host, const std::string &kind);
	~Qdisc();
	Qdisc(const Qdisc &) = delete;

	/* Other parameters; what is in it stays. */
	void change(const std::string &kind);

private:
	std::string interface_;
};

} // namespace pv
