// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * As many objects of each kind as the device says, not one more; and what one
 * user gives back another may have. For an adapter with low limits: see the
 * module's parameters.
 */
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "../common/objects.h"
#include "../common/parameter.h"
#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

/* More than so many are not made for a test. */
constexpr int few = 2000;

/* Objects of a kind of all users, as `rdma resource show` counts. -1: unknown. */
int in_use(const std::string &device, const std::string &kind)
{
	FILE *out = popen(("rdma resource show " + device).c_str(), "r");
	char line[512] = "";

	REQUIRE(out, "popen");
	std::string text = fgets(line, sizeof(line), out) ? line : "";
	pclose(out);
	const size_t at = text.find(" " + kind + " ");
	return at == std::string::npos ?
		       -1 :
		       atoi(text.c_str() + at + kind.size() + 2);
}

/* Verbs do not tell it. 0: the module does not, either. */
int max_xrcd()
{
	try {
		return int(common::parameter("max_xrcd"));
	} catch (const common::Missing &) {
		return 0;
	}
}

void to_the_edge(const std::string &device, common::Material &material,
		 const std::string &kind, int most)
{
	const int before = in_use(device, kind);
	std::vector<common::Undo> made;

	while (common::Undo one = material.make(kind)) {
		made.push_back(one);
		REQUIRE(int(made.size()) <= most, kind,
			": more than the device says");
	}
	REQUIRE_EQ(errno, ENOMEM, kind, " after ", made.size());
	/* the kernel's own users have the rest */
	if (before >= 0)
		REQUIRE_EQ(int(made.size()) + before, most, kind);
	else
		REQUIRE_EQ(int(made.size()), most, kind);

	made.back()();
	made.back() = material.make(kind);
	REQUIRE(made.back(), kind, ": none in the place of one that went");
	REQUIRE(!material.make(kind), kind, ": one too many");
	for (common::Undo &one : made)
		one();
}

} // namespace

PV_TEST_LOCAL(
	"limit.objects",
	"as many objects of each kind as the device says, and not one more")
{
	const ibv_device_attr &dev = env.info_a.device;
	const std::pair<const char *, int> kinds[] = {
		{"qp", dev.max_qp}, {"cq", dev.max_cq},	  {"pd", dev.max_pd},
		{"mr", dev.max_mr}, {"srq", dev.max_srq}, {"ah", dev.max_ah},
		{"mw", dev.max_mw}, {"xrcd", max_xrcd()}};
	common::Material material(
		local(env.a).raw_pd(0),
		common::address_vector(env.info_b.gid,
				       uint8_t(env.info_a.gid_index)));
	int tried = 0;

	for (const auto &[kind, most] : kinds) {
		if (!most || most > few)
			continue;
		to_the_edge(env.device_a.device, material, kind, most);
		tried++;
	}
	if (!tried)
		throw Skip(str("no limit below ", few,
			       "; the module's parameters set them"));
}
