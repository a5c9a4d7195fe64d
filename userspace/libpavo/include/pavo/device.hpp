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

#include <pavo/language.hpp>

#include <chrono>
#include <memory>
#include <string>

#include <pavo/address.hpp>
#include <pavo/result.hpp>

#pragma GCC visibility push(default)

namespace pavo {

class DoorbellWorker;

/** An open uverbs file. The last object that was made through it closes it. */
class File {
public:
	/** Takes over the file descriptor @number, a uverbs file of that adapter. */
	explicit File(int number, const std::string &adapter = {});
	~File();
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	int number() const { return number_; }
	/** Name of the adapter. */
	const std::string &adapter() const { return adapter_; }
	/** As Device::address() and Device::gid(). */
	Result<AdapterAddress> address(IpVersion version) const noexcept;
	Result<Gid> gid(uint16_t index) const noexcept;
	/** As Device::poll(). */
	Result<void> poll(std::chrono::microseconds idle) const noexcept;
	/** The same, with the environment variable PAVO_POLL. */
	void poll() const noexcept;

private:
	int number_;
	std::string adapter_;
	std::unique_ptr<DoorbellWorker> worker_;
};

/**
 * An adapter. Objects that are made through it keep its file open, so all may be destroyed in any
 * order. An adapter may be open more than once.
 */
class Device {
public:
	/**
	 * Opens the adapter of that name ("pavo0"). Fails with ENODEV: there is no adapter of that
	 * name; EPROTONOSUPPORT: it is not pavo's, or the module is of another version; EACCES: the
	 * process may not open the device file.
	 */
	static Result<Device> open(const std::string &name) noexcept;

	const std::string &name() const { return name_; }
	/** Returns the descriptor of the uverbs file. */
	int fd() const { return file_->number(); }
	const std::shared_ptr<const File> &file() const { return file_; }

	/**
	 * Returns the adapter's first address of that IP version that is not link-local. Fails with
	 * EADDRNOTAVAIL: its interface has none.
	 */
	Result<AdapterAddress>
	address(IpVersion version = IpVersion::v4) const noexcept
	{
		return file_->address(version);
	}
	/** Returns entry @index of the adapter's GID table. Fails with ENOENT: it is empty. */
	Result<Gid> gid(uint16_t index) const noexcept
	{
		return file_->gid(index);
	}

	/**
	 * Starts a thread of this process that polls for commands of windows that were made through
	 * this device, so that Window::start() makes no system call while the thread is awake.
	 * @idle: time without commands after which it sleeps, at most the module's parameter
	 * poll_idle_max; the next command wakes it by a system call; 0 ends the thread. If the
	 * environment has PAVO_POLL, a number of microseconds, open() starts the thread.
	 *
	 * Fails with EPERM: the administrator allows no polling; EINVAL: @idle is less than 0, or
	 * 2^32 or more; EAGAIN: no thread could be made; EIO: the adapter is gone.
	 */
	Result<void> poll(std::chrono::microseconds idle) noexcept
	{
		return file_->poll(idle);
	}

private:
	Device(const std::string &name, std::shared_ptr<const File> file);

	std::string name_;
	std::shared_ptr<const File> file_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_DEVICE_HPP
