// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_objects.hpp - the objects behind the pointers of pavo.h, and errnos from Results. */
#ifndef PAVO_C_OBJECTS_HPP
#define PAVO_C_OBJECTS_HPP

#include <cerrno>
#include <new>
#include <stdexcept>
#include <utility>

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
};

struct pavo_handler {
	pavo::Handler handler;
};

struct pavo_adapter_handler {
	pavo::AdapterHandler handler;
};

struct pavo_rdma {
	pavo::Rdma rdma;
};

struct pavo_striped {
	pavo::Striped striped;

	explicit pavo_striped(const pavo::StripedOptions &options)
		: striped(options)
	{
	}
};

namespace pavo::c {

/** Wraps the value of a Result in an @Object; null with errno set if it has an error. */
template <class Object, class T> Object *object_of(Result<T> made)
{
	if (!made) {
		errno = made.error().number();
		return nullptr;
	}
	auto *object = new (std::nothrow) Object{std::move(made).value()};

	if (!object)
		errno = ENOMEM;
	return object;
}

/** Returns 0, or the error of a Result as a negative errno. */
inline int status_of(const Result<void> &result)
{
	return -result.error_or({}).number();
}

/** Returns the number of a Result, or a negative errno. */
template <class T> int status_of(const Result<T> &result)
{
	return result.has_value() ? int(result.value()) :
				    -result.error().number();
}

/** Returns the object that @call makes; null with errno ENOMEM if there is no memory. */
template <class Call> auto *unless_no_memory(Call &&call)
{
	using Made = decltype(call());

	try {
		return call();
	} catch (const std::bad_alloc &) {
		errno = ENOMEM;
	}
	return static_cast<Made>(nullptr);
}

/** Returns the number from @call, or a negative errno for an exception. */
template <class Call> int status(Call &&call)
{
	try {
		return call();
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	} catch (const std::length_error &) {
		return -EINVAL;
	}
}

} // namespace pavo::c

#endif // PAVO_C_OBJECTS_HPP
