// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-direct: a process with a direct window whose ranges are in every state, one of them sending
 * again and again, until the process is killed or its adapter is gone. Says "ready", then "gone".
 */
#include <iostream>

#include "direct_states.h"
#include "gid_option.h"

namespace {

using namespace pv;

/* Throws when a call fails, which is the end of the adapter. */
[[noreturn]] void hold(Env &env)
{
	DirectStates all(env);
	Link link = connect(env);
	Mr at_b = must_reg(env.b, {direct_size});
	constexpr uint32_t range = 20;

	std::cout << "ready" << std::endl;
	for (;;) {
		all.window.arm(range, direct_size);
		post_direct(link.a, IBV_WR_RDMA_WRITE,
			    all.window.sge(range, direct_size), range, {at_b});
		all.window.put(range, 0, direct_size, env.seed());
		expect_send(env, link.a, range, "write");
	}
}

} // namespace

int main(int argc, char **argv)
{
	common::CommandLine app("pavo-direct - a process with a direct window");
	Selector dev, peer;

	app.add_option("--dev", dev.device, "a device of this machine")
		->required();
	app.add_option("--peer", peer.device, "another one")->required();
	add_gid_option(app, dev, peer);
	app.read(argc, argv);
	try {
		LocalHost a(dev), b(peer);
		Env env(a, b, {}, dev, peer);

		try {
			hold(env);
		} catch (const Skip &skip) {
			std::cout << skip.what() << std::endl;
			return 4;
		} catch (const std::exception &error) {
			std::cout << "gone: " << error.what() << std::endl;
		}
	} catch (const std::exception &error) {
		std::cout << error.what() << std::endl;
		return 1;
	}
	return 0;
}
