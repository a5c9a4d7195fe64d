/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* gid_option.h - the options of pavo-verbs and pavo-traffic that say how paths are chosen. */
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

/* The class of all paths that name none. */
inline void add_class_options(CLI::App &app, Selector &dev, Selector &peer)
{
	app.add_option_function<unsigned>(
		   "--sl", [&](unsigned sl) { dev.sl = peer.sl = uint8_t(sl); },
		   "service level of all paths (0)")
		->check(CLI::Range(0, 255));
	app.add_option_function<unsigned>(
		   "--traffic-class",
		   [&](unsigned bits) {
			   dev.traffic_class = peer.traffic_class =
				   uint8_t(bits);
		   },
		   "traffic class of all paths (0)")
		->check(CLI::Range(0, 255));
}

} // namespace pv
