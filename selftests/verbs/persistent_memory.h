/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Persistent memory of this machine. It has some if it was booted with memmap=SIZE!ADDRESS; the
 * constructors throw Skip otherwise.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace pv {

/* A file system on it, whose files have no page cache (DAX). */
class PersistentFiles {
public:
	PersistentFiles();
	~PersistentFiles();
	PersistentFiles(const PersistentFiles &) = delete;

	/* A file of paged_size. The caller closes it. */
	static int file();
};

/* All of it as a device that processes map: such memory can be pinned. */
class PersistentDevice {
public:
	PersistentDevice();
	~PersistentDevice();
	PersistentDevice(const PersistentDevice &) = delete;

	static constexpr size_t size = 2 << 20;
	uint8_t *data;
};

} // namespace pv
