/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* device.h - opens a verbs device by its name and finds its address. */
#ifndef PAVO_COMMON_DEVICE_H
#define PAVO_COMMON_DEVICE_H

#include <infiniband/verbs.h>

#include <cstring>
#include <optional>
#include <vector>

#include "errors.h"

namespace common {

/* Throws std::system_error: there is no such device, or it cannot be opened. */
inline ibv_context *open_device(const std::string &name)
{
	ibv_device **list =
		must_make(ibv_get_device_list(nullptr), "list of devices");
	ibv_context *context = nullptr;

	errno = ENODEV;
	for (ibv_device **at = list; *at && !context; at++)
		if (name == ibv_get_device_name(*at))
			context = ibv_open_device(*at);
	const int error = errno;
	ibv_free_device_list(list);
	errno = error;
	return must_make(context, "verbs device " + name);
}

inline bool is_ipv4(const ibv_gid &gid)
{
	static constexpr uint8_t prefix[12] = {0, 0, 0, 0, 0,	 0,
					       0, 0, 0, 0, 0xff, 0xff};

	return !memcmp(gid.raw, prefix, sizeof(prefix));
}

inline bool is_link_local(const ibv_gid &gid)
{
	return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

/* All addresses of port 1 that RoCE v2 takes. */
inline std::vector<ibv_gid_entry> addresses_of(ibv_context *context)
{
	ibv_port_attr port = {};

	must_return_0(ibv_query_port(context, 1, &port), "ibv_query_port");
	/* libibverbs wants room for all of them */
	std::vector<ibv_gid_entry> entries(size_t(port.gid_tbl_len));
	const ssize_t count =
		ibv_query_gid_table(context, entries.data(), entries.size(), 0);

	entries.resize(count < 0 ? 0 : size_t(count));
	std::erase_if(entries, [](const ibv_gid_entry &entry) {
		return entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		       entry.port_num != 1;
	});
	return entries;
}

/* Its first of IPv4, or none. */
inline std::optional<ibv_gid_entry> ipv4_address_of(ibv_context *context)
{
	for (const ibv_gid_entry &entry : addresses_of(context))
		if (is_ipv4(entry.gid))
			return entry;
	return std::nullopt;
}

} // namespace common

#endif /* PAVO_COMMON_DEVICE_H */
