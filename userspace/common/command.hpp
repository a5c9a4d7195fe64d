// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * command.hpp - one call of a method of the uverbs file (RDMA_VERBS_IOCTL): its
 * attributes, put together and sent. Used by the provider and by libpavo; throws nothing.
 */
#ifndef PAVO_COMMAND_HPP
#define PAVO_COMMAND_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <rdma/rdma_user_ioctl_cmds.h>

namespace pavo {

class Command {
public:
	Command(uint16_t object, uint16_t method);

	/** Handle of an object that is there, or of one that is made. */
	Command &handle(uint16_t attr, uint32_t value);
	Command &new_handle(uint16_t attr);

	/** A value that the kernel reads; up to 8 bytes are part of the attribute itself. */
	template <typename T> Command &in(uint16_t attr, const T &value)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		return read(attr, &value, sizeof(value));
	}

	/** A value that the kernel writes; it has to live until run() is over. */
	template <typename T> Command &out(uint16_t attr, T &value)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		return write(attr, &value, sizeof(value));
	}

	/** The same of several; no more than 65535 bytes. */
	template <typename T>
	Command &in_array(uint16_t attr, std::span<const T> values)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		return read(attr, values.data(), uint16_t(values.size_bytes()));
	}
	template <typename T>
	Command &out_array(uint16_t attr, std::span<T> values)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		return write(attr, values.data(),
			     uint16_t(values.size_bytes()));
	}

	/** Return: 0, or errno. */
	int run(int fd);
	/** Of the object that was made. */
	uint32_t made();

private:
	ib_uverbs_attr &add(uint16_t attr, uint16_t length);
	Command &read(uint16_t attr, const void *value, uint16_t length);
	Command &write(uint16_t attr, void *value, uint16_t length);

	static constexpr size_t most = 8;

	ib_uverbs_ioctl_hdr &header()
	{
		return *reinterpret_cast<ib_uverbs_ioctl_hdr *>(
			message_.data());
	}

	/* As the kernel wants it: the header, then the attributes. */
	alignas(ib_uverbs_ioctl_hdr) std::array<
		std::byte, sizeof(ib_uverbs_ioctl_hdr) +
				   most * sizeof(ib_uverbs_attr)> message_{};
	size_t new_ = most;
};

} // namespace pavo

#endif // PAVO_COMMAND_HPP
