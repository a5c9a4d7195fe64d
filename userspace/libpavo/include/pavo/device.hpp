// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * device.hpp - an adapter, opened.
 *
 * The library speaks to the module through the uverbs file and the methods of
 * <rdma/pavo-abi.h>; it needs no verbs context and no provider. Only the cache for verbs
 * applications (mr_cache.h) calls libibverbs, by its public interface.
 */
#ifndef PAVO_DEVICE_HPP
#define PAVO_DEVICE_HPP

#include <string>

namespace pavo {

/**
 * An open device file. Everything made through it ends with it, at the latest.
 * Several may be open for one adapter.
 */
class Device {
public:
	/**
	 * Opens the adapter of that name ("pavo0").
	 * Throws std::system_error: ENODEV: there is no adapter of that name;
	 * EPROTONOSUPPORT: it is not pavo's, or of another version; EACCES: the
	 * device file may not be opened.
	 */
	explicit Device(const std::string &name);
	~Device();
	Device(Device &&from) noexcept;
	Device &operator=(Device &&from) noexcept;

	const std::string &name() const { return name_; }
	/** The uverbs file, of which this stays the owner. */
	int fd() const { return fd_; }

private:
	std::string name_;
	int fd_;
};

} // namespace pavo

#endif // PAVO_DEVICE_HPP
