// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-direct: a process with a direct window whose ranges are in every state, one of them sending
 * again and again, until the process is killed or its adapter is gone. Says "ready", then "gone".
 *
 * With --unplugs: makes both adapters by the command rdma, and has the one with the window deleted
 * under it, so often. The window must be gone each time.
 */
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "../common/files.h"
#include "direct_states.h"
#include "gid_option.h"

namespace {

using namespace pv;

/* The asynchronous event that tells a process that its adapter is gone. */
class Farewell {
public:
	explicit Farewell(Host &host) : host_(host) {}

	/* Did it come, now or before? @ms: how long to wait for each event. */
	bool came(uint32_t ms)
	{
		while (!came_) {
			const AsyncEvent event = host_.async_event(ms);

			if (event.type < 0)
				break;
			came_ = event.type == IBV_EVENT_DEVICE_FATAL;
		}
		return came_;
	}

private:
	Host &host_;
	bool came_ = false;
};

/* Waits for the completion of a write, which may go with the adapter. */
void wait_sent(Env &env, Side &side, uint64_t id, Farewell &farewell)
{
	std::vector<Wc> got;

	REQUIRE(eventually(env,
			   [&] {
				   got = env.a.poll(side.send_cq.id, 1, 10);
				   return !got.empty() || farewell.came(0);
			   }),
		"no completion");
	REQUIRE(!got.empty(), "the adapter went before the completion");
	check_wc(got[0], id, IBV_WC_SUCCESS, "write");
}

/* Throws when a call fails, which is the end of the adapter. @ready: called when all is in use. */
template <class Ready>
[[noreturn]] void hold(Env &env, Farewell &farewell, Ready ready)
{
	DirectStates all(env);
	Link link = connect(env);
	Mr at_b = must_reg(env.b, {direct_size});
	constexpr uint32_t range = 20;

	ready();
	for (;;) {
		all.window.arm(range, direct_size);
		post_direct(link.a, IBV_WR_RDMA_WRITE,
			    all.window.sge(range, direct_size), range, {at_b});
		all.window.put(range, 0, direct_size, env.seed());
		wait_sent(env, link.a, range, farewell);
	}
}

void run(const std::string &command)
{
	REQUIRE_EQ(std::system(command.c_str()), 0, command);
}

/* Is the adapter there with its port up, and has it the GID that the test takes? */
bool is_usable(const Selector &selector)
{
	try {
		return LocalHost(selector).info().port.state == IBV_PORT_ACTIVE;
	} catch (const std::exception &) {
		return false;
	}
}

void add_adapter(const Selector &selector, const std::string &interface)
{
	run("rdma link add " + selector.device + " type pavo netdev " +
	    interface);
	REQUIRE(common::eventually([&] { return is_usable(selector); }),
		selector.device, " does not come");
}

/* The adapters go: that of the window first, or every third time that of its peer. */
void unplug(const Selector &dev, const Selector &peer, bool peer_first)
{
	const std::string &first = peer_first ? peer.device : dev.device,
			  &second = peer_first ? dev.device : peer.device;

	run("rdma link delete " + first);
	run("rdma link delete " + second);
}

void unplug_once(const Selector &dev, const Selector &peer, bool peer_first)
{
	LocalHost a(dev), b(peer);
	Env env(a, b, {}, dev, peer);
	Farewell farewell(a);
	std::jthread other;
	std::atomic<bool> failed = false;

	try {
		hold(env, farewell, [&] {
			other = std::jthread([&] {
				try {
					unplug(dev, peer, peer_first);
				} catch (const std::exception &) {
					failed = true;
				}
			});
		});
	} catch (const Skip &) {
		throw;
	} catch (const std::exception &error) {
		if (!other.joinable())
			throw;
	}
	other.join();
	REQUIRE(!failed, "an adapter could not be deleted");
	REQUIRE(farewell.came(env.options.patience_ms),
		"no event tells that the adapter is gone");
}

bool has_window()
{
	for (const std::string &line :
	     common::lines_of("/sys/kernel/debug/pavo/direct", ""))
		if (line.find("window") != std::string::npos)
			return true;
	return false;
}

void unplug_often(const Selector &dev, const Selector &peer,
		  const std::vector<std::string> &interfaces, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		add_adapter(dev, interfaces.at(0));
		add_adapter(peer, interfaces.at(1));
		unplug_once(dev, peer, i % 3 == 2);
		REQUIRE(!has_window(), "unplug ", i, ": a window stays");
		if ((i + 1) % 100 == 0)
			std::cout << "# " << i + 1 << " of " << times
				  << std::endl;
	}
	std::cout << times << " times" << std::endl;
}

} // namespace

int main(int argc, char **argv)
{
	common::CommandLine app("pavo-direct - a process with a direct window");
	std::vector<std::string> interfaces;
	Selector dev, peer;
	unsigned unplugs = 0;

	app.add_option("--dev", dev.device, "a device of this machine")
		->required();
	app.add_option("--peer", peer.device, "another one")->required();
	app.add_option("--unplugs", unplugs,
		       "make the devices and have them deleted, so often");
	app.add_option("--interfaces", interfaces,
		       "interfaces of both devices, with --unplugs")
		->expected(2);
	add_gid_option(app, dev, peer);
	app.read(argc, argv);
	try {
		if (unplugs) {
			unplug_often(dev, peer, interfaces, unplugs);
			return 0;
		}
		LocalHost a(dev), b(peer);
		Env env(a, b, {}, dev, peer);

		try {
			Farewell farewell(a);

			hold(env, farewell,
			     [] { std::cout << "ready" << std::endl; });
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
