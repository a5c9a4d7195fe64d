// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * second_wire.h - for tests that take adapters away: the second wire, vc to vd with adapters wc0
 * and wd0 (second-wire), and windows of one adapter or another.
 */
#ifndef PAVO_WINDOW_SECOND_WIRE_H
#define PAVO_WINDOW_SECOND_WIRE_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "adapter.h"

namespace windows {

/* One end of a path. */
struct PathEnd {
	PathEnd(const char *name, uint16_t node)
		: device(pavo::Device::open(name).value()), job(job_of(device)),
		  address(address_of(device))
	{
		pavo::WindowOptions options = {.node = node,
					       .send_frames = 256,
					       .recv_frames = 1024,
					       .gid_index = address.index};

		window = std::make_unique<pavo::Window>(
			pavo::Window::open(job, options).value());
	}

	static pavo::Job job_of(const pavo::Device &device)
	{
		try {
			return pavo::Job::reserve(device, world::job_id,
						  world::job_key)
				.value();
		} catch (const std::system_error &) {
			return pavo::Job::join(device, world::job_id,
					       world::job_key)
				.value();
		}
	}

	pavo::Device device;
	pavo::Job job;
	Address address;
	std::unique_ptr<pavo::Window> window;
};

inline void adapter_is_active(const std::string &name)
{
	/* "4: ACTIVE" */
	ASSERT_TRUE(eventually([&] {
		std::ifstream file(common::port_folder(name) + "state");
		std::string word;

		return file >> word >> word && word == "ACTIVE";
	}));
}

/* The second wire's interfaces; second-wire knows how. */
inline void wire(const std::string &what)
{
	const char *script = getenv("PAVO_WIRE_SCRIPT");

	ASSERT_NE(script, nullptr);
	shell(std::string(script) + " " + what);
}

} // namespace windows

#endif // PAVO_WINDOW_SECOND_WIRE_H
