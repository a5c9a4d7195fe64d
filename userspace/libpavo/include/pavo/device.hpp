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

#include <chrono>
#include <memory>
#include <string>

#include <pavo/address.hpp>
#include <pavo/result.hpp>

namespace pavo {

class DoorbellWorker;

/** An open uverbs file, closed with the last object that was made through it. */
class File {
public:
	/** Takes over @number, a uverbs file of that adapter. */
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
	/** The same, as the environment says. */
	void poll() const noexcept;

private:
	int number_;
	std::string adapter_;
	std::unique_ptr<DoorbellWorker> worker_;
};

/**
 * An adapter. Objects that are made through it keep its file open, so they may go in any order.
 * Several may be open for one adapter.
 */
class Device {
public:
	/**
	 * Opens the adapter of that name ("pavo0"). Fails with ENODEV: there is no adapter
	 * of that name; EPROTONOSUPPORT: it is not pavo's, or of another version; EACCES:
	 * the device file may not be opened.
	 */
	static Result<Device> open(const std::string &name) noexcept;

	const std::string &name() const { return name_; }
	/** The uverbs file. */
	int fd() const { return file_->number(); }
	const std::shared_ptr<const File> &file() const { return file_; }

	/**
	 * The first address of the adapter of that IP version that is not link-local. Fails with
	 * EADDRNOTAVAIL: its interface has none.
	 */
	Result<AdapterAddress>
	address(IpVersion version = IpVersion::v4) const noexcept
	{
		return file_->address(version);
	}
	/** Entry @index of the adapter's GID table. Fails with ENOENT: it is empty. */
	Result<Gid> gid(uint16_t index) const noexcept
	{
		return file_->gid(index);
	}

	/**
	 * Has a thread of this process send for windows that are made through this device, so
	 * that starting to send makes no system calls while the thread is awake. It sleeps when
	 * no window has started to send for @idle; the next one that does wakes it by a call.
	 * The module's parameter poll_idle_max is the most; 0 ends the thread. A device that is
	 * opened while the environment has PAVO_POLL, a number of microseconds, begins so.
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

#endif // PAVO_DEVICE_HPP
