// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A short message beside queue pairs that send all they can: how many packets of these leave between
 * its request and its answer, by the trace of the kernel, which knows no other time.
 */
#include <algorithm>
#include <filesystem>
#include <sstream>

#include <sys/mount.h>
#include <sys/sysinfo.h>

#include "share.h"

using namespace pv;

namespace {

/* Events of the module while it lives. Skips the test where the kernel has none. */
class Trace {
public:
	Trace()
	{
		if (!std::filesystem::exists(root + "trace"))
			mount("tracefs", "/sys/kernel/tracing", "tracefs", 0,
			      nullptr);
		if (!std::filesystem::exists(root + "events/pavo"))
			throw Skip("no tracepoints");
		common::write_word(root + "buffer_size_kb", 16384);
		enable(1);
	}

	~Trace()
	{
		enable(0);
		clear();
	}
	Trace(const Trace &) = delete;

	void clear() { std::ofstream(root + "trace", std::ios::trunc); }

	/*
	 * Packets that others have sent between the post of the last request of queue pair
	 * @qpn of @adapter and its ACK; super-packets count for what they carry.
	 */
	uint64_t others(const std::string &adapter, uint32_t qpn, uint32_t mtu)
	{
		const auto lines = common::lines_of(root + "trace");
		uint64_t count = 0;
		bool posted = false;

		for (const std::string &line : lines) {
			uint32_t number, payload;
			std::string event;

			if (!read(line, adapter, &event, &number, &payload))
				continue;
			if (number == qpn && event == "pavo_post:")
				posted = true;
			else if (number == qpn && event == "pavo_ack:" &&
				 posted)
				return count;
			else if (posted && number != qpn &&
				 event == "pavo_transmit:")
				count +=
					std::max(1u, (payload + mtu - 1) / mtu);
		}
		throw Failure("the trace has no post and ACK of the ping");
	}

private:
	static bool read(const std::string &line, const std::string &adapter,
			 std::string *event, uint32_t *qpn, uint32_t *payload)
	{
		const size_t at = line.find(": pavo_");
		std::string device, word;

		if (at == line.npos)
			return false;
		std::istringstream words(line.substr(at + 2));
		words >> *event >> device >> word >> *qpn;
		*payload = 0;
		while (words >> word)
			if (word == "payload")
				words >> *payload;
		return device == adapter;
	}

	void enable(int on)
	{
		for (const char *event :
		     {"pavo_post", "pavo_transmit", "pavo_ack"})
			common::write_word(
				root + "events/pavo/" + event + "/enable", on);
	}

	const std::string root = "/sys/kernel/tracing/";
};

/* Beside @others queue pairs of service level 2. */
void must_be_near(Env &env, size_t others, uint64_t bound, const char *what)
{
	Saturation load(env, {}, std::vector<uint8_t>(others, 2),
			uint32_t(env.options.large / 8 / others), 16);
	Link ping = connect(env, {.sl = 1});
	Place from = {must_reg(env.a, {64}), 0},
	      to = {must_reg(env.b, {64}), 0};
	std::vector<uint64_t> between;
	Trace trace;

	load.run(4);
	for (int i = 0; i < 100; i++) {
		load.run(1);
		trace.clear();
		must_send(env, ping.a, make_wr(Op::write, from, 64, to),
			  "ping");
		between.push_back(trace.others(device_name(env.a),
					       ping.a.qp.number,
					       uint32_t(ping.mtu)));
	}
	std::sort(between.begin(), between.end());
	/* With two CPUs the other one sends while a host keeps this one from the answer. */
	const uint64_t judged =
		between[get_nprocs() > 1 ? between.size() * 95 / 100 :
					   between.size() - 1];

	show(str(what, ": ", between[between.size() / 2],
		 " packets of others between ping and answer, at most ",
		 between.back(), " of ", bound));
	REQUIRE(judged <= bound, what, ": ", judged, " packets, bound ", bound);
	load.drain();
}

} // namespace

PV_TEST_LOCAL("share.ping",
	      "64 bytes beside a queue pair that sends all it can: no more "
	      "packets of that are between request and answer than a cwnd and "
	      "a turn")
{
	constexpr uint64_t cwnd = 128;
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "1:1 2:1 3:1");

	must_be_near(env, 1, cwnd + 32, "without DRR");
	weights.set("1:1 2:4");
	must_be_near(env, 1, cwnd + 4 * 32, "with DRR");
}

PV_TEST_LOCAL("share.ping_beside_eight",
	      "64 bytes beside eight queue pairs that send all they can: no "
	      "more packets of each are between request and answer than a "
	      "quantum, and the super-packet that a quantum may end in")
{
	constexpr uint64_t quantum_packets = 32, super_packet = 15;
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "15:2");

	must_be_near(env, 8, 8 * (quantum_packets + super_packet),
		     "beside eight");
}
