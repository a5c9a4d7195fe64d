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

#include <memory>
#include <string>

#include <pavo/result.hpp>

namespace pavo {

/** An open uverbs file, closed with the last object that was made through it. */
class File {
public:
	/** Takes over @number. */
	explicit File(int number) noexcept : number_(number) {}
	~File();
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	int number() const { return number_; }

private:
	int number_;
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

private:
	Device(const std::string &name, std::shared_ptr<const File> file);

	std::string name_;
	std::shared_ptr<const File> file_;
};

} // namespace pavo

#endif // PAVO_DEVICE_HPP
