/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * file.h - the file at either end: whole reads and writes, a new file that
 * takes its name only when complete. Used by sender.cpp, receiver.cpp and
 * to_many.cpp.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sha256.h"

namespace copy {

class File {
public:
	static File open(const std::string &path);
	/* Throws Error if create() cannot make a file of that name. */
	static void check_place(const std::string &path);
	/* Writes to PATH.part; finish() renames it to PATH. */
	static File create(const std::string &path);
	~File();
	File(File &&other) noexcept;
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	uint64_t size() const;
	void read(std::span<std::byte> into);
	void write(std::span<const std::byte> from);
	/* The same at any place. */
	void write_at(std::span<const std::byte> from, uint64_t at);
	/* SHA-256 of all that was written. */
	Digest digest() const;
	void finish();

private:
	File(int fd, std::string path, std::string part);

	int fd_;
	std::string path_;
	std::string part_; /* empty when reading, or finished */
};

} // namespace copy
