// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* stuck_file.cpp - see stuck_file.h. The server speaks FUSE's protocol itself: it needs few calls. */
#include "stuck_file.h"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../verbs/tap.h"

namespace pv {

constexpr uint64_t file_inode = 2;
constexpr int look_ms = 20;

StuckFile::StuckFile(uint64_t size) : size_(size)
{
	char name[] = "/tmp/pavo-stuck-XXXXXX";

	server_ = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (server_ < 0)
		throw Skip("no FUSE");
	REQUIRE(mkdtemp(name), "folder: errno ", errno);
	folder_ = name;
	const std::string options = "fd=" + std::to_string(server_) +
				    ",rootmode=40000,user_id=0,group_id=0";

	REQUIRE(!mount("pavo-stuck", name, "fuse", MS_NOSUID | MS_NODEV,
		       options.c_str()),
		"mount: errno ", errno);
	thread_ = std::thread([this] { serve(); });
	fd_ = open((folder_ + "/file").c_str(), O_RDONLY | O_CLOEXEC);
	if (fd_ < 0) {
		const int err = errno;

		end_server();
		REQUIRE(false, "the file: errno ", err);
	}
}

StuckFile::~StuckFile()
{
	end_server();
	close_file();
	umount2(folder_.c_str(), MNT_DETACH);
	rmdir(folder_.c_str());
}

void StuckFile::close_file()
{
	if (fd_ >= 0)
		close(fd_);
	fd_ = -1;
}

void StuckFile::end_server()
{
	ends_ = true;
	if (thread_.joinable())
		thread_.join();
	/* The kernel aborts the connection. */
	if (server_ >= 0)
		close(server_);
	server_ = -1;
}

void StuckFile::serve()
{
	std::vector<uint8_t> buffer(1 << 20);

	while (!ends_) {
		pollfd look = {server_, POLLIN, 0};

		if (poll(&look, 1, look_ms) <= 0)
			continue;
		if (read(server_, buffer.data(), buffer.size()) >=
		    ssize_t(sizeof(fuse_in_header)))
			answer(*reinterpret_cast<fuse_in_header *>(
				buffer.data()));
	}
}

void StuckFile::reply(const fuse_in_header &request, int error,
		      const void *data, size_t length) const
{
	fuse_out_header header = {
		.len = uint32_t(sizeof(header) + length),
		.error = -error,
		.unique = request.unique,
	};
	const iovec parts[] = {{&header, sizeof(header)},
			       {const_cast<void *>(data), length}};

	/* A request may have been interrupted meanwhile: then the kernel refuses the answer. */
	if (writev(server_, parts, length ? 2 : 1) < 0 && errno != ENOENT)
		fprintf(stderr, "# FUSE: errno %d\n", errno);
}

fuse_attr StuckFile::attr(uint64_t inode) const
{
	fuse_attr made = {};

	made.ino = inode;
	made.nlink = 1;
	made.mode = inode == file_inode ? S_IFREG | 0444 : S_IFDIR | 0555;
	made.size = inode == file_inode ? size_ : 0;
	made.blksize = 4096;
	return made;
}

void StuckFile::answer(const fuse_in_header &request)
{
	switch (request.opcode) {
	case FUSE_INIT: {
		fuse_init_out out = {};

		out.major = FUSE_KERNEL_VERSION;
		out.minor = FUSE_KERNEL_MINOR_VERSION;
		out.max_write = 65536;
		reply(request, 0, &out, sizeof(out));
		return;
	}
	case FUSE_LOOKUP: {
		fuse_entry_out out = {};

		out.nodeid = file_inode;
		out.attr = attr(file_inode);
		reply(request, 0, &out, sizeof(out));
		return;
	}
	case FUSE_GETATTR: {
		fuse_attr_out out = {};

		out.attr = attr(request.nodeid);
		reply(request, 0, &out, sizeof(out));
		return;
	}
	case FUSE_OPEN: {
		fuse_open_out out = {};

		out.fh = 1;
		reply(request, 0, &out, sizeof(out));
		return;
	}
	case FUSE_READ:
		reads_++;
		return;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(request, 0, nullptr, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		reply(request, ENOSYS, nullptr, 0);
	}
}

} // namespace pv
