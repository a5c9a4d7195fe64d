/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake_uverbs.h - a kernel for libibverbs inside the test program.
 *
 * Owns: a sysfs tree in a temporary folder, and the functions of libc through
 * which libibverbs talks to the kernel (open, stat, ioctl, write, socket): this
 * program's own definitions come before libc's. Commands are decoded, kept for
 * inspection and answered; shared regions are pages of a memfd, which the test
 * sees as `memory`.
 */
#ifndef PAVO_FAKE_UVERBS_H
#define PAVO_FAKE_UVERBS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <rdma/pavo-abi.h>

namespace fake {

/* One command as it arrived, by whatever way. */
struct Call {
	bool is_method; /* ioctl with object and method, else a write command */
	uint32_t object;
	uint32_t method;
	uint32_t command; /* IB_USER_VERBS_CMD_* */
	uint32_t driver_id;
	/* By attribute number: inputs as bytes, outputs as where to write. */
	std::map<uint32_t, std::vector<std::byte>> in;
	std::map<uint32_t, std::pair<std::byte *, size_t>> out;
	std::map<uint32_t, uint64_t> word; /* the number of any attribute */
	std::function<void(uint32_t, uint64_t)> set_word;

	template <class T> T input(uint32_t attr) const;
	template <class T> void output(uint32_t attr, const T &value) const;
};

/* A region both sides see. */
struct Region {
	pavo_mmap_info info;
	std::byte *memory;
};

struct DeviceText {
	std::string name;
	std::string pavo_abi; /* no such file if empty */
	std::string uverbs_abi = "1";
};

class Kernel {
public:
	/* Builds the tree; to be made before libibverbs is first called. */
	explicit Kernel(const std::vector<DeviceText> &devices);
	~Kernel();

	/* 0 or errno; may fill the call's outputs. */
	std::function<int(Call &)> handler;
	/* write() of a command: number and QP handle. 0 or errno. */
	std::function<int(uint32_t command, uint32_t qp_handle)> on_write;

	std::vector<Call> calls() const;
	void forget_calls();
	/* The last call with that object and method, or that command. */
	Call last_method(uint32_t object, uint32_t method) const;
	Call last_command(uint32_t command) const;
	Region make_region(uint32_t size);
	/* Unmaps all regions on the kernel's side; their room is used again. */
	void forget_regions();

	std::string root() const { return root_; }

	/* For the interposed functions. */
	bool owns(int fd) const;
	int open_device();
	int ioctl(int fd, void *arg);
	long write(int fd, const void *data, size_t size);
	static Kernel *instance();

private:
	void add_device(const DeviceText &device, int index);
	int serve(Call &call);

	std::string root_;
	int memory_fd_;
	uint64_t memory_used_ = 0;
	std::vector<std::pair<std::byte *, size_t>> mapped_;
	mutable std::mutex lock_;
	std::vector<Call> calls_;
};

template <class T> T Call::input(uint32_t attr) const
{
	T value = {};
	const std::vector<std::byte> &bytes = in.at(attr);

	__builtin_memcpy(&value, bytes.data(),
			 bytes.size() < sizeof(T) ? bytes.size() : sizeof(T));
	return value;
}

template <class T> void Call::output(uint32_t attr, const T &value) const
{
	auto [at, size] = out.at(attr);

	__builtin_memcpy(at, &value, size < sizeof(T) ? size : sizeof(T));
}

} // namespace fake

#endif /* PAVO_FAKE_UVERBS_H */
