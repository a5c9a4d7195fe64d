// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The dump of keys: what it says of each, before and after it changes its meaning. */
#include <iomanip>
#include <sstream>

#include "manager.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

std::string hex(uint64_t number, int digits = 0)
{
	std::ostringstream text;

	text << std::hex << std::setfill('0') << std::setw(digits) << number;
	return text.str();
}

/* The line of a key of B behind its PD; empty: there is no such key. */
std::string said_of(Env &env, uint32_t key)
{
	const std::string wanted =
		str(device_name(env.b), " key ", hex(key, 8), " pd ");
	const auto lines =
		common::lines_of("/sys/kernel/debug/pavo/keys", wanted);

	REQUIRE(lines.size() < 2, "a key with two lines");
	if (lines.empty())
		return "";
	return lines[0].substr(lines[0].find(' ', wanted.size()) + 1);
}

void must_say(Env &env, uint32_t key, const std::string &wanted,
	      const char *what)
{
	std::string said = said_of(env, key);

	REQUIRE(said == wanted, what, ": \"", said, "\", not \"", wanted, "\"");
}

} // namespace

PV_TEST_LOCAL("keys.region",
	      "a region's range and rights, another range after its "
	      "re-registration, and none when it is gone")
{
	Mr mr = must_reg(env.b, {5000, 100, all_access});
	ibv_mr *raw = local(env.b).raw_mr(mr.id);
	std::string before = str("pinned valid at ", hex(mr.address),
				 " length 1388 rights ");

	must_say(env, mr.rkey, before + "lwra-", "all rights");
	REQUIRE_EQ(ibv_rereg_mr(raw, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
				reinterpret_cast<void *>(mr.address + 8), 16,
				0),
		   0, "rereg_mr");
	must_say(env, mr.rkey,
		 str("pinned valid at ", hex(mr.address + 8),
		     " length 10 rights lwra-"),
		 "another range");
	REQUIRE_EQ(ibv_rereg_mr(raw, IBV_REREG_MR_CHANGE_ACCESS, nullptr,
				nullptr, 0, IBV_ACCESS_REMOTE_READ),
		   0, "rereg_mr");
	must_say(env, mr.rkey,
		 str("pinned valid at ", hex(mr.address + 8),
		     " length 10 rights --r--"),
		 "other rights");
	REQUIRE_EQ(env.b.destroy(Kind::mr, mr.id), 0, "dereg_mr");
	must_say(env, mr.rkey, "", "a dead key");
}

PV_TEST_LOCAL("keys.window",
	      "a window before, while and after it is bound, and its region")
{
	Link link = connect(env);
	Mr mr = must_reg(env.b, {4096, 0, bindable_access});
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {mr, 64, 1000};
	const uint32_t first = window->rkey;
	std::string region = str("pinned valid at ", hex(mr.address),
				 " length 1000 rights l---b");

	must_say(env, first, "window-2 free", "not bound");
	must_say(env, mr.rkey, region, "its region");
	must_bind(env, link.b, window, spec);
	must_say(env, first, "", "the key before");
	must_say(env, window->rkey,
		 str("window-2 valid at ", hex(mr.address + 64),
		     " length 3e8 rights -wra- of ", hex(mr.rkey, 8), " qp ",
		     link.b.qp.number),
		 "bound");
	must_say(env, mr.rkey, region + " windows 1", "its region");
	must_invalidate(env, link.b, window->rkey);
	must_say(env, window->rkey, "window-2 free", "invalidated");
	must_say(env, mr.rkey, region, "its region");
	const uint32_t last = window->rkey;

	REQUIRE_EQ(window.free(), 0, "dealloc_mw");
	must_say(env, last, "", "a dead window");

	Window one(env.b, IBV_MW_TYPE_1);

	must_say(env, one->rkey, "window-1 free", "of type 1");
}
