// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * file.cpp - see file.h. Owns one file descriptor per object.
 */
#include "file.h"

#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "connection.h"

namespace copy {

File::File(int fd, std::string path, std::string part)
	: fd_(fd), path_(std::move(path)), part_(std::move(part))
{
}

File::File(File &&other) noexcept
	: fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)),
	  part_(std::exchange(other.part_, {}))
{
}

File::~File()
{
	if (fd_ >= 0)
		close(fd_);
	if (!part_.empty())
		unlink(part_.c_str());
}

File File::open(const std::string &path)
{
	int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_errno(path);
	return File(fd, path, {});
}

void File::check_place(const std::string &path)
{
	size_t slash = path.rfind('/');
	std::string folder =
		slash == std::string::npos ? "." : path.substr(0, slash + 1);
	struct stat st;

	if (!stat(path.c_str(), &st) && S_ISDIR(st.st_mode))
		throw Error(path + ": is a folder");
	if (access(folder.c_str(), W_OK | X_OK))
		fail_errno(folder);
}

File File::create(const std::string &path)
{
	std::string part = path + ".part";
	int fd = ::open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
			0666);

	if (fd < 0)
		fail_errno(part);
	return File(fd, path, part);
}

uint64_t File::size() const
{
	struct stat st;

	if (fstat(fd_, &st))
		fail_errno(path_);
	if (!S_ISREG(st.st_mode))
		throw Error(path_ + ": not a regular file");
	return static_cast<uint64_t>(st.st_size);
}

void File::read(std::span<std::byte> into)
{
	while (!into.empty()) {
		ssize_t n = ::read(fd_, into.data(), into.size());

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail_errno(path_);
		if (n == 0)
			throw Error(path_ +
				    ": became shorter while being sent");
		into = into.subspan(static_cast<size_t>(n));
	}
}

void File::write(std::span<const std::byte> from)
{
	while (!from.empty()) {
		ssize_t n = ::write(fd_, from.data(), from.size());

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail_errno(part_);
		from = from.subspan(static_cast<size_t>(n));
	}
}

void File::write_at(std::span<const std::byte> from, uint64_t at)
{
	while (!from.empty()) {
		ssize_t n = ::pwrite(fd_, from.data(), from.size(),
				     static_cast<off_t>(at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail_errno(part_);
		from = from.subspan(static_cast<size_t>(n));
		at += static_cast<uint64_t>(n);
	}
}

Digest File::digest() const
{
	std::vector<std::byte> buffer(1 << 16);
	Sha256 sum;
	off_t at = 0;

	for (;;) {
		ssize_t n = ::pread(fd_, buffer.data(), buffer.size(), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail_errno(part_);
		if (!n)
			return sum.finish();
		sum.add(std::span(buffer).first(static_cast<size_t>(n)));
		at += n;
	}
}

void File::finish()
{
	if (fsync(fd_) || rename(part_.c_str(), path_.c_str()))
		fail_errno(path_);
	part_.clear();
}

} // namespace copy
