// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_objects.hpp - what the pointers of pavo.h point to, and exceptions become errno. */
#ifndef PAVO_C_OBJECTS_HPP
#define PAVO_C_OBJECTS_HPP

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include <pavo/device.hpp>
#include <pavo/handler.hpp>
#include <pavo/job.hpp>
#include <pavo/rdma.hpp>
#include <pavo/striped.hpp>

struct pavo_device {
	pavo::Device device;
};

struct pavo_job {
	pavo::Job job;
};

struct pavo_mapping {
	pavo::Mapping mapping;
};

struct pavo_window {
	pavo::Window window;

	pavo_window(const pavo::Job &job, const pavo::WindowOptions &options)
		: window(job, options)
	{
	}
};

struct pavo_handler {
	pavo::Handler handler;

	explicit pavo_handler(pavo::Window &window) : handler(window) {}
};

struct pavo_rdma {
	pavo::Rdma rdma;

	pavo_rdma(pavo::Window &window, const pavo::RdmaOptions &options)
		: rdma(window, options)
	{
	}
};

struct pavo_striped {
	pavo::Striped striped;

	explicit pavo_striped(const pavo::StripedOptions &options)
		: striped(options)
	{
	}
};

namespace pavo::c {

/* The result of @call, or nothing and errno. */
template <class Call> auto *guarded(Call &&call)
{
	using Made = decltype(call());

	try {
		return call();
	} catch (const std::system_error &error) {
		errno = error.code().value();
	} catch (const std::bad_alloc &) {
		errno = ENOMEM;
	}
	return static_cast<Made>(nullptr);
}

/* 0 or more from @call, or a negative errno. */
template <class Call> int status(Call &&call)
{
	try {
		return call();
	} catch (const std::system_error &error) {
		return -error.code().value();
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	} catch (const std::length_error &) {
		return -EINVAL;
	}
}

} // namespace pavo::c

#endif // PAVO_C_OBJECTS_HPP
