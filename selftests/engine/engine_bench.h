/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * engine_bench.h - the bench (bench.h) of scripts against the engine: its clock, its wire, its
 * counters. A wait with nothing to do moves the clock to the next timer.
 */
#ifndef PAVO_ENGINE_BENCH_H
#define PAVO_ENGINE_BENCH_H

#include <deque>

#include "../wire/tool/bench.h"
#include "uverbs.h"

namespace engine {

class EngineBench : public pw::Bench {
public:
	explicit EngineBench(fake::Kernel &kernel);
	~EngineBench() override;

	int64_t now() override { return int64_t(engine_now()); }
	void pass(int64_t until) override { engine_pass(uint64_t(until)); }
	void settle_counters() override {}
	void send(pw::View frame) override;
	std::optional<pw::Arrival> next(int64_t deadline) override;
	pw::Mac mac() override { return tool_mac; }
	std::optional<pw::Mac> device_mac(unsigned interface) override;
	std::optional<uint64_t> counter(const std::string &name) override;
	void refuse(unsigned packets) override { engine_refused = packets; }
	int set_parameter(const std::string &name, int value) override
	{
		return engine_set_parameter(name.c_str(), value);
	}

private:
	struct Sent {
		int64_t time;
		pw::Bytes frame;
	};

	static void sent(const void *packet, size_t size);

	static constexpr pw::Mac tool_mac = {2, 0, 0, 0, 0, 2};
	static constexpr pw::Mac adapter_mac = {2, 0, 0, 0, 0, 1};

	Uverbs uverbs_;
	std::deque<Sent> wire_;
};

} // namespace engine

#endif /* PAVO_ENGINE_BENCH_H */
