/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device_memory.h - memory that lies in the controller of a disk (NVMe's controller memory buffer),
 * as the kernel lets a process map it, and the life of that controller's driver.
 */
#ifndef PAVO_DISKS_DEVICE_MEMORY_H
#define PAVO_DISKS_DEVICE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace pv {

class Env;

/* A controller that has memory. */
class Controller {
public:
	/* That of a disk. Throws Skip where processes cannot have its memory. */
	explicit Controller(const std::string &serial);
	/* Its driver is there again. */
	~Controller();
	Controller(const Controller &) = delete;

	/* A file of the device in sysfs. */
	std::string file(const std::string &name) const;
	/* Bytes that no process has. */
	uint64_t available() const;
	/* Its driver leaves: returns when it has left. */
	void unbind() const;
	/* It comes back, and its disk. */
	void bind(Env &env) const;

private:
	bool has_driver() const;

	std::string serial_;
	std::string address_;
};

/* Memory of a controller in this process. Its bytes are touched one by one: such memory is slow. */
class DeviceMemory {
public:
	DeviceMemory(const Controller &controller, size_t length,
		     bool writable = true);
	~DeviceMemory();
	DeviceMemory(const DeviceMemory &) = delete;

	/* The process has it no longer, and no other memory at its address. */
	void give_back();
	uint8_t *at(size_t offset = 0) const { return at_ + offset; }
	/* Bytes of a pattern, from its place @position on. */
	void fill(size_t offset, size_t length, uint64_t seed,
		  uint64_t position = 0) const;
	void must_hold(size_t offset, size_t length, uint64_t seed,
		       uint64_t position, const char *what) const;

private:
	uint8_t *at_;
	size_t length_;
};

} // namespace pv

#endif /* PAVO_DISKS_DEVICE_MEMORY_H */
