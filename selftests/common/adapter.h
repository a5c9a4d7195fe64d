/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* adapter.h - an adapter as sysfs shows it: counters, addresses, interface, recovery. */
#ifndef PAVO_COMMON_ADAPTER_H
#define PAVO_COMMON_ADAPTER_H

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "errors.h"
#include "files.h"
#include "ticks.h"

namespace common {

inline std::string adapter_folder(const std::string &adapter)
{
	return "/sys/class/infiniband/" + adapter + "/";
}

inline std::string port_folder(const std::string &adapter)
{
	return adapter_folder(adapter) + "ports/1/";
}

/* ----------------------------------------------------------------- counters */

/* The folders of counters: of the port, and of the device, which not every driver has. */
inline std::vector<std::string> counter_folders(const std::string &adapter)
{
	return {port_folder(adapter) + "hw_counters/",
		adapter_folder(adapter) + "hw_counters/"};
}

/*
 * A counter as the kernel last saw it: a number may be 10 ms old (lifespan). For tests that
 * ask until it is as they want it. Throws Missing.
 */
inline uint64_t counter(const std::string &adapter, const std::string &name)
{
	const auto folders = counter_folders(adapter);

	for (const std::string &folder : folders)
		if (std::filesystem::exists(folder + name))
			return read_word<uint64_t>(folder + name);
	return read_word<uint64_t>(folders.front() + name);
}

/* All of them by name, as old as those of counter(). */
inline std::map<std::string, uint64_t> counters(const std::string &adapter)
{
	std::map<std::string, uint64_t> values;

	for (const std::string &folder : counter_folders(adapter)) {
		if (!std::filesystem::exists(folder))
			continue;
		for (const auto &file :
		     std::filesystem::directory_iterator(folder)) {
			const std::string name = file.path().filename();

			if (name != "lifespan")
				values[name] =
					read_word<uint64_t>(folder + name);
		}
	}
	return values;
}

/*
 * A counter as it is at this call or later: waits until a number that the kernel keeps would
 * be older than its lifespan. Throws Missing.
 */
inline uint64_t fresh_counter(const std::string &adapter,
			      const std::string &name)
{
	/* RDMA_HW_STATS_DEFAULT_LIFESPAN: the kernel rounds it up to ticks. */
	constexpr std::chrono::nanoseconds lifespan =
		std::chrono::milliseconds(10);

	pass_ticks(unsigned((lifespan.count() - 1) / tick().count() + 2));
	return counter(adapter, name);
}

/* The number by which a counter has moved since this was made. Throws Missing. */
class Moved {
public:
	Moved(const std::string &adapter, const std::string &name)
		: adapter_(adapter), name_(name), before_(fresh())
	{
	}

	uint64_t by() const { return fresh() - before_; }

private:
	uint64_t fresh() const { return fresh_counter(adapter_, name_); }

	std::string adapter_, name_;
	uint64_t before_;
};

/* ---------------------------------------------------------------- addresses */

struct Gid {
	uint16_t index;
	std::array<uint8_t, 16> bytes;

	bool is_ipv4() const
	{
		return bytes[10] == 0xff && bytes[11] == 0xff && !bytes[0];
	}
	bool is_link_local() const
	{
		return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
	}
};

/* The first address of its table that @fits. Throws std::runtime_error. */
template <class Fits> Gid find_gid(const std::string &adapter, Fits &&fits)
{
	for (uint16_t i = 0; i < 64; i++) {
		std::ifstream file(port_folder(adapter) + "gids/" +
				   std::to_string(i));
		Gid gid{i, {}};
		std::string text;
		unsigned part;

		if (!(file >> text))
			continue;
		/* eight numbers with a colon behind each but the last */
		for (size_t n = 0; n < 8; n++) {
			must(sscanf(text.c_str() + 5 * n, "%4x", &part) == 1,
			     "GID " + text);
			gid.bytes[2 * n] = uint8_t(part >> 8);
			gid.bytes[2 * n + 1] = uint8_t(part);
		}
		if (fits(gid))
			return gid;
	}
	throw std::runtime_error("no address of " + adapter);
}

/* ------------------------------------------------------------------- others */

/* The interface that an adapter is on. */
inline std::string interface_of(const std::string &adapter)
{
	for (const auto &entry : std::filesystem::directory_iterator(
		     adapter_folder(adapter) + "device/net"))
		return entry.path().filename();
	throw Missing("interface of " + adapter);
}

/* Does as its administrator: all contexts of windows of the adapter are gone. */
inline void recover(const std::string &adapter)
{
	must(write_word(adapter_folder(adapter) + "recover", 1),
	     "recovery of " + adapter);
}

} // namespace common

#endif /* PAVO_COMMON_ADAPTER_H */
