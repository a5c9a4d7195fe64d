/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stuck_file.h - a file of a FUSE file system whose server answers everything but reads.
 */
#ifndef PAVO_DISKS_STUCK_FILE_H
#define PAVO_DISKS_STUCK_FILE_H

#include <atomic>
#include <string>
#include <thread>

#include <linux/fuse.h>

namespace pv {

class StuckFile {
public:
	/* Throws Skip where there is no FUSE. */
	explicit StuckFile(uint64_t size);
	~StuckFile();
	StuckFile(const StuckFile &) = delete;

	int fd() const { return fd_; }
	/* Reads that the server has, and does not answer. */
	unsigned reads() const { return reads_; }
	/* The process closes the file. */
	void close_file();
	/* The server ends: all requests fail. */
	void end_server();

private:
	void serve();
	void answer(const fuse_in_header &request);
	void reply(const fuse_in_header &request, int error, const void *data,
		   size_t length) const;
	fuse_attr attr(uint64_t inode) const;

	const uint64_t size_;
	std::string folder_;
	int server_ = -1;
	int fd_ = -1;
	std::atomic<unsigned> reads_ = 0;
	std::atomic<bool> ends_ = false;
	std::thread thread_;
};

} // namespace pv

#endif /* PAVO_DISKS_STUCK_FILE_H */
