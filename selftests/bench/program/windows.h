/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two windows that know each other, with their memory.
 *
 * Used by: windows.cpp, ../idle.cpp.
 */
#pragma once

#include <functional>
#include <memory>

#include <pavo/rdma.hpp>
#include <unistd.h>

#include "tests.h"

namespace bench {

/* One end, node 0 or 1: `out` and `in` as those of a queue pair's End. */
struct WindowEnd : Areas {
	WindowEnd(const Device &device, uint16_t node);
	~WindowEnd() { close(event); }

	/* Waits until @look finds something, by the window's event or by looking. */
	void wait(Wait how, const std::function<bool()> &look,
		  std::chrono::nanoseconds most = std::chrono::seconds(1));

	int event; /* an eventfd */
	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
	pavo::Mapping mapping;
};

class Windows : public Transport {
public:
	Windows(const Device &a, const Device &b, Wait wait);

	bool takes(Op op, size_t size) const override;
	uint64_t stream(const StreamSpec &spec) override;
	std::vector<uint64_t> latency(const LatencySpec &spec) override;

	WindowEnd &first() { return a_; }

private:
	uint64_t stream_messages(const StreamSpec &spec);
	uint64_t stream_rdma(const StreamSpec &spec);
	std::vector<uint64_t> ping_pong(size_t size, int count);
	std::vector<uint64_t> one_sided(const LatencySpec &spec, int count);

	WindowEnd a_, b_;
	Wait wait_;
};

} // namespace bench
