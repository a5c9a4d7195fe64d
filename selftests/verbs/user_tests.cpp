// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The share that one user may have of each pool of an adapter, by the module's parameter
 * share_per_user, whatever other users have, and by each call that makes an object.
 */
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "../common/objects.h"
#include "../common/parameter.h"
#include "as_user.h"
#include "link.h"
#include "manager.h"
#include "tap.h"
#include "xrc.h"

using namespace pv;

namespace {

constexpr uid_t one = ordinary_user, another = ordinary_user + 1;
/* More than so many are not made for a test. */
constexpr unsigned countable = 2000;

/* Objects of a kind, in the order in which it was made. */
using Objects = std::vector<common::Undo>;

void undo_all(Objects &made)
{
	for (common::Undo &object : made)
		object();
	made.clear();
}

/* Take up to @most of a kind; `full`: no more can be had. */
Objects take(common::Material &material, const std::string &kind, unsigned most,
	     bool full)
{
	Objects made;

	while (made.size() < most) {
		made.push_back(material.make(kind));
		REQUIRE(made.back(), kind, " ", made.size(), " of ", most,
			": errno ", errno);
	}
	if (!full)
		return made;
	REQUIRE(!material.make(kind), kind, ": more than ", most);
	REQUIRE_EQ(errno, ENOMEM, kind, " after ", most);
	return made;
}

/* Exactly so many can be had. */
void must_have(common::Material &material, const std::string &kind,
	       unsigned most)
{
	Objects made = take(material, kind, most, true);

	undo_all(made);
}

/* A user has a share of those that there may be: what other users have is the same to it. */
void must_share(common::Material &material, const std::string &kind,
		unsigned share)
{
	Objects of_one, of_another, of_root;

	{
		AsUser user(one);
		of_one = take(material, kind, share, true);
	}
	{
		AsUser user(another);
		of_another = take(material, kind, share, true);
	}
	of_root = take(material, kind, share + 1, false);
	{
		AsUser user(one);
		undo_all(of_one);
		of_one = take(material, kind, share, true);
	}
	/* The user that made it counts, not the one that takes it back. */
	undo_all(of_one);
	{
		AsUser user(one);
		of_one = take(material, kind, share, true);
	}
	undo_all(of_one);
	undo_all(of_another);
	undo_all(of_root);
}

/* By the name of a kind: what there may be of it. */
std::vector<std::pair<const char *, unsigned>> kinds()
{
	const auto most = [](const char *name) {
		return common::parameter(name);
	};

	return {{"pd", most("max_pd")},	    {"cq", most("max_cq")},
		{"ah", most("max_ah")},	    {"mr", most("max_mr")},
		{"mw", most("max_mw")},	    {"srq", most("max_srq")},
		{"xrcd", most("max_xrcd")}, {"qp", most("max_qp")},
		{"target", most("max_qp")}};
}

/* Percent at which a share of them is small enough for a test. */
unsigned percent_of(unsigned most)
{
	return most > countable ? 0 : 25;
}

} // namespace

PV_TEST_LOCAL("limit.share",
	      "a user has no more than its share of each kind of object, made "
	      "by whichever call, and leaves others theirs")
{
	common::Material material(
		local(env.a).raw_pd(0),
		common::address_vector(env.info_b.gid,
				       uint8_t(env.info_a.gid_index)));

	/* so that it has its domain before */
	material.make("target")();
	for (const auto &[kind, most] : kinds()) {
		const unsigned percent = percent_of(most);
		Parameter share("share_per_user", percent);

		must_share(material, kind, std::max(most * percent / 100, 1u));
	}
}

PV_TEST_LOCAL("limit.share_of_target",
	      "a target counts for the user that made it until no process has "
	      "it open")
{
	Parameter share("share_per_user", 0);
	common::Material material(
		local(env.a).raw_pd(0),
		common::address_vector(env.info_b.gid,
				       uint8_t(env.info_a.gid_index)));
	Handle xrcd = must_domain(env.a);
	Qp target, again;

	/* so that it has its domain before */
	material.make("target")();
	{
		AsUser user(one);
		target = env.a.create_qp(
			{.type = IBV_QPT_XRC_RECV, .xrcd = xrcd});
		REQUIRE(!target.error, "create_qp");
	}
	{
		AsUser user(another);
		again = env.a.open_qp(xrcd, target.number);
		REQUIRE(!again.error, "open_qp");
		/* It is not this user's. */
		must_have(material, "target", 1);
	}
	REQUIRE_EQ(env.a.destroy(Kind::qp, target.id), 0, "the first");
	{
		AsUser user(one);
		must_have(material, "target", 0);
	}
	REQUIRE_EQ(env.a.destroy(Kind::qp, again.id), 0, "the second");
	AsUser user(one);
	must_have(material, "target", 1);
}
