// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Windows share the adapter with queue pairs, by the weight of service level 0.
 */

#include <pavo/job.hpp>
#include <pavo/mapping_cache.hpp>
#include <pavo/window.hpp>

#include <chrono>

#include "../translate/world.h"
#include "manager.h"
#include "share.h"

using namespace pv;

namespace {

constexpr uint32_t job_id = 0x2500;
constexpr uint64_t job_key = 0x5a7e;
constexpr uint16_t node_a = 0, node_b = 1;
/* Operations of a window, and bytes of each. */
constexpr uint32_t operations = 32, operation_bytes = 32 << 20;
/* Messages of a queue pair that are posted at a time, bytes and packets of each. */
constexpr uint32_t posted = 200, message_bytes = 256 << 10,
		   message_packets = message_bytes / 4096;

pavo::Device device_of(Host &host)
{
	return pavo::Device::open(device_name(host)).value();
}

pavo::Job open_job(const pavo::Device &device, bool first)
{
	auto job = first ? pavo::Job::reserve(device, job_id, job_key) :
			   pavo::Job::join(device, job_id, job_key);

	if (job == pavo::Unexpected(std::errc::operation_not_supported))
		throw Skip("no windows");
	return std::move(job).value();
}

/* An end with a window, and memory that the other end knows. */
struct WindowEnd {
	WindowEnd(Host &host, uint16_t node)
		: device(device_of(host)), job(open_job(device, !node)),
		  address(device.address().value()),
		  window(pavo::Window::open(
				 job, {.node = node,
				       .send_frames = operations,
				       .recv_frames = operations,
				       .gid_index = uint16_t(address.index)})
				 .value()),
		  memory(operation_bytes),
		  mapping(pavo::Mapping::open(job, memory.all()).value()),
		  contexts(operations)
	{
		window.take_rcxts(contexts).value();
	}

	pavo::Device device;
	pavo::Job job;
	pavo::AdapterAddress address;
	pavo::Window window;
	world::Memory memory;
	pavo::Mapping mapping;
	std::vector<uint32_t> contexts;
};

/* A window of A that writes to one of B, with all operations ready to be sent. */
struct WindowSaturation {
	explicit WindowSaturation(Env &env) : a(env.a, node_a), b(env.b, node_b)
	{
		a.window.set_node(node_b, b.address.gid).value();
		b.window.set_node(node_a, a.address.gid).value();
		for (size_t i = 0; i < operations; i++)
			a.window.prepare_rdma(
					pavo::Direction::write,
					{node_b, b.window.number()},
					{.local_rcxt = a.contexts[i],
					 .remote_rcxt = b.contexts[i],
					 .tid = i + 1,
					 .local_pvo = a.mapping.pvo().value,
					 .remote_pvo = b.mapping.pvo().value,
					 .length = operation_bytes,
					 .tag = 0,
					 .flags =
						 pavo::rdma_flag::notify_source,
					 .attempts = 0,
					 .cookie = 0})
				.value();
	}

	void start() { a.window.start().value(); }

	/* Operations that have ended well since the last call. */
	uint32_t take_complete()
	{
		uint32_t count = 0;

		a.window.receive([&](const pavo::Message &message) {
			REQUIRE(message.done().status == pavo::PvoResult::ok,
				"an operation of the window failed");
			count++;
		});
		return count;
	}

	WindowEnd a, b;
};

/* A slow machine has moved enough by then. */
constexpr auto measured_most = std::chrono::seconds(3);

/*
 * Packets of the window for each of the queue pair, which sends all it can meanwhile: until the
 * operations have ended, or the time has.
 */
double measure_share(Env &env)
{
	Saturation writing(env, {}, {1}, message_bytes, posted);
	WindowSaturation windows(env);
	Moved packets(env.a, "tx_rdma_packets");
	uint64_t messages = 0, done = 0;
	double sent;

	writing.refill();
	windows.start();
	const auto begun = std::chrono::steady_clock::now();
	do {
		messages += writing.refill()[0];
		done += windows.take_complete();
	} while (done < operations &&
		 std::chrono::steady_clock::now() - begun < measured_most);
	sent = double(packets.by());
	writing.drain();
	REQUIRE(messages, "the queue pair has sent nothing");
	return sent / double(messages * message_packets);
}

/* A busy host may let the guest stand: the best of some counts. */
void must_have_share(Env &env, double want, const char *what)
{
	int left = 4;
	double share;

	do {
		share = measure_share(env);
		show(str(what, ": ", share,
			 " packets of the window for one of "
			 "the queue pair"));
	} while (!(share > want * 0.8 && share < want * 1.25) && --left);
	REQUIRE(left, what, ": ", share, ", not ", want);
}

} // namespace

PV_TEST_LOCAL("share.windows",
	      "a window that writes all it can, and a queue pair that does, "
	      "share the adapter by weights")
{
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "15:2");

	must_have_share(env, 1, "weights 1 and 1");
	weights.set("0:2 1:1");
	must_have_share(env, 2, "weights 2 and 1");
	weights.set("0:1 1:2");
	must_have_share(env, 0.5, "weights 1 and 2");
}
