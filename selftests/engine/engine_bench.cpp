// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * engine_bench.cpp - see engine_bench.h.
 */
#include "engine_bench.h"

#include <algorithm>

namespace engine {

namespace {

constexpr size_t mac_size = 6, ethernet_size = 14;
constexpr uint8_t type_ip4[] = {0x08, 0x00}, type_ip6[] = {0x86, 0xdd};

EngineBench *the_bench;

} // namespace

EngineBench::EngineBench(fake::Kernel &kernel) : uverbs_(kernel)
{
	static constexpr engine_host host = {
		.share = Uverbs::share,
		.sent = EngineBench::sent,
		.completion = Uverbs::completed,
		.event = Uverbs::happened,
	};

	the_bench = this;
	engine_start(&host);
}

EngineBench::~EngineBench()
{
	engine_close();
	engine_stop();
	the_bench = nullptr;
}

/* Queue a packet that the adapter sends, until the script takes it. */
void EngineBench::sent(const void *packet, size_t size)
{
	const auto *bytes = static_cast<const uint8_t *>(packet);
	const bool ip6 = bytes[0] >> 4 == 6;
	pw::Bytes frame(tool_mac.begin(), tool_mac.end());

	frame.insert(frame.end(), adapter_mac.begin(), adapter_mac.end());
	for (uint8_t byte : ip6 ? type_ip6 : type_ip4)
		frame.push_back(byte);
	frame.insert(frame.end(), bytes, bytes + size);
	the_bench->wire_.push_back({the_bench->now(), std::move(frame)});
}

void EngineBench::send(pw::View frame)
{
	if (frame.size() > ethernet_size &&
	    std::equal(adapter_mac.begin(), adapter_mac.end(), frame.begin()))
		engine_receive(frame.data() + ethernet_size,
			       frame.size() - ethernet_size);
}

std::optional<pw::Arrival> EngineBench::next(int64_t deadline)
{
	engine_settle();
	while (wire_.empty()) {
		if (now() >= deadline)
			return std::nullopt;
		pass(deadline);
	}

	const Sent sent = std::move(wire_.front());

	wire_.pop_front();
	try {
		auto opened = pw::open(sent.frame, true);

		if (!opened)
			throw pw::Mismatch("a packet of no RoCE arrived");
		return pw::Arrival{sent.time, std::move(*opened)};
	} catch (const pw::Malformed &bad) {
		throw pw::Mismatch(std::string("a malformed frame arrived: ") +
				   bad.what());
	}
}

std::optional<pw::Mac> EngineBench::device_mac(unsigned)
{
	return adapter_mac;
}

std::optional<uint64_t> EngineBench::counter(const std::string &name)
{
	__u64 value;

	engine_settle();
	if (!engine_counter(name.c_str(), &value))
		return std::nullopt;
	return value;
}

} // namespace engine
