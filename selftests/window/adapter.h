// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* adapter.h - what the tests of windows share: addresses, counters, windows, waiting. */
#ifndef PAVO_WINDOW_ADAPTER_H
#define PAVO_WINDOW_ADAPTER_H

#include <memory>
#include <string>
#include <vector>

#include <rdma/pavo-abi.h>

#include <pavo/window.hpp>

#include "../common/adapter.h"
#include "../common/direction.h"
#include "../common/eventually.h"
#include "../common/parameter.h"
#include "../common/pattern.h"
#include "../translate/world.h"
#include "task.h"

namespace windows {

using Address = pavo::AdapterAddress;

/* Its address of that family; neither link-local. */
Address address_of(const pavo::Device &device, bool ipv6 = false);
/* That of IPv4 which begins 10.9.@net. */
Address address_in(const pavo::Device &device, uint8_t net);

/* Runs a command of the shell, which has to end well. */
void shell(const std::string &command);

using common::eventually;
using common::must;
using common::Parameter;

inline void recover(const pavo::Device &device)
{
	common::recover(device.name());
}

struct Moved : common::Moved {
	Moved(const pavo::Device &device, const std::string &counter)
		: common::Moved(device.name(), counter)
	{
	}
};

/* How often loops of that kind ended with work left (kernel/budget.h). */
uint64_t used_up(const std::string &loop);

/* Whether the next frame was sent, and how. */
inline bool one_sent(pavo::Window &window, pavo::FrameState &state)
{
	return window.sent({&state, 1}) == 1;
}

using common::pattern;

/* Number 0 is the first adapter, 1 the second. */
constexpr uint16_t node_a = 0, node_b = 1;
/* Milliseconds, for what must come. */
constexpr int long_enough = 60000;

/* Both adapters, a job on both, and windows that know each other. */
struct Pair {
	explicit Pair(bool ipv6 = false, uint32_t recv_frames = 256,
		      uint32_t send_frames = 64);

	pavo::Device device_a = world::adapter();
	pavo::Device device_b = world::other_adapter();
	pavo::Job job_a;
	pavo::Job job_b;
	Address address_a;
	Address address_b;
	pavo::Window a;
	pavo::Window b;
};

/* A window of the second adapter that knows both nodes. */
std::unique_ptr<pavo::Window> another(Pair &pair,
				      const pavo::WindowOptions &options = {});

/* Memory that both ends may name, filled with what is recognized. */
class Buffer {
public:
	/* @around: bytes before and behind it that are not mapped */
	Buffer(pavo::Job &job, size_t bytes, uint32_t number,
	       size_t around = 0);

	/* All of it, with what is around. */
	void fill(uint32_t number);
	bool holds(uint32_t number, size_t from, size_t bytes) const;
	bool holds(uint32_t number) const;

	/* Of what is mapped. */
	uint64_t pvo(size_t offset = 0) const
	{
		return mapping_.pvo().value + offset;
	}

	const world::Memory memory;

private:
	pavo::Mapping mapping_;
};

/* A pair with a context at each end and memory for it, of pattern 1 and 2. */
struct Ends : Pair {
	/* @around: as of Buffer, at the end of b */
	explicit Ends(size_t bytes = 1 << 20, bool ipv6 = false,
		      size_t around = 0);

	/* From one end's memory to the other's. */
	pavo::RequestFrame
	request(uint64_t tid, uint32_t length,
		unsigned flags = pavo::rdma_flag::notify_source) const;

	/* Asks by window a. Return: what the frame was marked with. */
	pavo::FrameState ask(bool write, const pavo::RequestFrame &request);

	Buffer here;
	Buffer there;
	uint32_t rcxt_a = 0;
	uint32_t rcxt_b = 0;
};

/* The next notification of an end to this window; tid 0: there is none. */
pavo::DoneFrame ended(pavo::Window &window);

/* Nothing has come. */
bool quiet(pavo::Window &window);

} // namespace windows

#endif // PAVO_WINDOW_ADAPTER_H
