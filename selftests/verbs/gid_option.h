/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* gid_option.h - the option of pavo-verbs and pavo-traffic that says which address is used. */
#pragma once

#include "../common/options.h"
#include "local_host.h"

namespace pv {

inline void add_gid_option(CLI::App &app, Selector &dev, Selector &peer)
{
	app.add_option_function<std::string>(
		   "--gid",
		   [&](const std::string &kind) {
			   dev.gid = peer.gid = kind == "v6" ? GidKind::v6 :
							       GidKind::v4;
		   },
		   "which kind of GID to use (v4)")
		->check(CLI::IsMember({"v4", "v6"}));
}

} // namespace pv
