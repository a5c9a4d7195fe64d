// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See qdisc.h. */
#include "qdisc.h"

#include <cstdlib>

#include "../common/adapter.h"
#include "env.h"
#include "tap.h"

namespace pv {

namespace {

int tc(const std::string &arguments)
{
	return system(("tc qdisc " + arguments + " 2>/dev/null").c_str());
}

} // namespace

std::string interface_of(Host &host)
{
	return common::read_word(common::port_folder(device_name(host)) +
				 "gid_attrs/ndevs/0");
}

Qdisc::Qdisc(Host &host, const std::string &kind)
	: interface_(interface_of(host))
{
	if (tc(str("add dev ", interface_, " root ", kind)))
		throw Skip("no " + kind);
}

Qdisc::~Qdisc()
{
	tc("del dev " + interface_ + " root");
}

void Qdisc::change(const std::string &kind)
{
	REQUIRE_EQ(tc(str("change dev ", interface_, " root ", kind)), 0, kind);
}

} // namespace pv
