// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * I/Os that the module does for ranges of direct windows: a file is read and sent, or a response
 * written to a file, by one call and one completion.
 */
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/pavo-abi.h>

#include "../common/files.h"
#include "../common/pattern.h"
#include "direct_ios.h"
#include "manager.h"
#include "tap.h"

using namespace pv;

namespace {

/* A file in memory. */
class MemoryFile {
public:
	explicit MemoryFile(size_t length)
		: fd_(memfd_create("pavo-test",
				   MFD_CLOEXEC | MFD_ALLOW_SEALING))
	{
		REQUIRE(fd_ >= 0 && !ftruncate(fd_, off_t(length)), "memfd");
	}
	~MemoryFile() { close(fd_); }
	MemoryFile(const MemoryFile &) = delete;

	int fd() const { return fd_; }

	/* A pattern from its own beginning, at that offset. */
	void fill(uint64_t offset, size_t length, uint64_t seed) const
	{
		std::vector<uint8_t> bytes(length);

		pattern_fill(bytes.data(), length, seed, 0);
		REQUIRE_EQ(pwrite(fd_, bytes.data(), length, off_t(offset)),
			   ssize_t(length), "pwrite");
	}

	std::vector<uint8_t> get(uint64_t offset, size_t length) const
	{
		std::vector<uint8_t> bytes(length);

		REQUIRE_EQ(pread(fd_, bytes.data(), length, off_t(offset)),
			   ssize_t(length), "pread");
		return bytes;
	}

private:
	int fd_;
};

/* One I/O alone is refused with that errno, and nothing of it is left. */
void must_refuse(DirectWriting &w, uint32_t length, int fd, uint64_t offset,
		 bool read, int err, const char *what)
{
	Ios ios(w);

	ios.add(1, length, fd, offset, read);
	REQUIRE_EQ(ios.try_start(), err, what);
	REQUIRE(w.window.valid(1) == Valid(0, 0), what, ": it is armed");
}

/* The request of range 0 fails, as its I/O has; and the queue pair lives again. */
void must_fail(DirectWriting &w, Ios &ios, int err, const char *what)
{
	ios.start();
	const Wc wc =
		expect_send(w.env, w.link.a, 0, what, IBV_WC_LOC_QP_OP_ERR);

	REQUIRE_EQ(wc.vendor, uint32_t(PAVO_VE_DIRECT_IO), what);
	REQUIRE_EQ(w.window.reg(0).error, err, what);
	reconnect(w.link);
}

} // namespace

PV_TEST_LOCAL("direct.io_write",
	      "the module reads a file into a range, and its last byte sends "
	      "the write: one call, and no second action of the process")
{
	DirectWriting w(env);
	MemoryFile file(1 << 20);
	Moved ios(env.a, "direct_ios"), errors(env.a, "direct_io_errors");
	uint64_t done = 0;

	for (uint32_t length : {1u, 7u, 511u, 512u, 1000u, 4095u, 4096u}) {
		const uint64_t seed = env.seed(), offset = 12345 + 3 * length;
		Ios one(w);

		file.fill(offset, length, seed);
		one.add(3, length, file.fd(), offset);
		one.start();
		w.expect(3, "write");
		w.must_hold(3, length, seed, "read and sent");
		REQUIRE_EQ(ios.by(), ++done, "direct_ios");
	}
	REQUIRE_EQ(errors.by(), 0u, "direct_io_errors");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.io_batch",
	      "all ranges of a window are armed, filled and sent by one call, "
	      "in the order of their requests")
{
	constexpr uint32_t size = 65536;
	DirectWriting w(env, {}, {0, 32, size, 32});
	MemoryFile file(32 * size);
	std::vector<uint64_t> seeds;
	Moved retransmits(env.a, "tx_retransmits");
	Ios all(w);

	for (uint32_t range = 0; range < 32; range++) {
		seeds.push_back(env.seed());
		file.fill(range * size, size, seeds[range]);
		all.add(range, size, file.fd(), range * size);
	}
	all.start();
	for (uint32_t range = 0; range < 32; range++) {
		w.expect(range, "write");
		w.must_hold(range, size, seeds[range], "read and sent");
	}
	/* Not for an ACK either, where the cwnd is full. */
	REQUIRE_EQ(retransmits.by(), 0u, "tx_retransmits");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.io_read",
	      "a response goes to a file when it is complete: the I/O is "
	      "started before it comes, and ends the request")
{
	DirectWriting w(env, {}, {0, 4, 16384, 4});
	MemoryFile file(1 << 16);

	for (uint32_t length : {1u, 1000u, 4096u, 16384u}) {
		const uint64_t seed = env.seed(), around = env.seed();
		Mr source = must_reg(env.b, {length}, seed);

		file.fill(0, 1 << 16, around);
		std::vector<uint8_t> after = file.get(0, 1 << 16);

		pattern_fill(after.data() + 777, length, seed, 0);
		/* A range has the place of its number there. */
		w.at_b = source;
		w.at_b.address -= 2 * 16384;
		Ios one(w);

		one.add(2, length, file.fd(), 777, true);
		one.start();
		w.expect(2, "read");
		REQUIRE(file.get(0, 1 << 16) == after, length,
			" bytes in the file, and none beside them");
	}
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.io_fails",
	      "an I/O that fails, or that is short, fails its request and "
	      "sends nothing")
{
	env.expect_async();
	DirectWriting w(env);
	MemoryFile file(1000);
	Moved errors(env.a, "direct_io_errors");
	{
		Ios beyond(w);

		beyond.add(0, 100, file.fd(), 5000);
		must_fail(w, beyond, EIO, "behind the end");
	}
	{
		Ios shorter(w);

		shorter.add(0, 1001, file.fd(), 0);
		must_fail(w, shorter, EIO, "short");
	}
	must_match(env.b, w.at_b, 0, 4096, 1, 0, "nothing was written");
	/* The file may not grow, and the response does not fit in. */
	REQUIRE(!fcntl(file.fd(), F_ADD_SEALS, F_SEAL_GROW), "F_SEAL_GROW");
	{
		Ios full(w);

		full.add(0, 100, file.fd(), 5000, true);
		must_fail(w, full, EPERM, "a file that may not grow");
	}
	REQUIRE_EQ(errors.by(), 3u, "direct_io_errors");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.io_refused",
	      "I/Os that cannot be are refused with a precise errno, and none "
	      "of their call is begun")
{
	DirectWriting w(env);
	MemoryFile file(8192);
	int ends[2], sockets[2];

	REQUIRE(!pipe2(ends, O_CLOEXEC) &&
			!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets),
		"pipe, socketpair");
	const std::string path = "/proc/self/fd/" + std::to_string(file.fd());
	const int reads = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	const int writes = open(path.c_str(), O_WRONLY | O_CLOEXEC);

	must_refuse(w, 100, 9999, 0, false, EBADF, "no such file");
	must_refuse(w, 100, writes, 0, false, EBADF, "not to be read");
	must_refuse(w, 100, reads, 0, true, EBADF, "not to be written");
	must_refuse(w, 100, ends[0], 0, false, EOPNOTSUPP, "a pipe");
	must_refuse(w, 100, sockets[0], 0, false, EOPNOTSUPP, "a socket");
	must_refuse(w, 100, w.window.plain.fd, 0, false, EOPNOTSUPP,
		    "a direct window");
	must_refuse(w, 100, w.window.plain.context->cmd_fd, 0, false,
		    EOPNOTSUPP, "the uverbs file");
	must_refuse(w, 0, file.fd(), 0, false, EINVAL, "no byte");
	must_refuse(w, 4097, file.fd(), 0, false, EINVAL, "too many");
	must_refuse(w, 100, file.fd(), uint64_t(INT64_MAX) - 50, false, EINVAL,
		    "an offset that wraps");
	Ios twice(w);

	twice.add(1, 100, file.fd(), 0);
	twice.add(2, 100, file.fd(), 0);
	twice.add(1, 100, file.fd(), 0);
	REQUIRE_EQ(twice.try_start(), EBUSY, "one range twice");
	REQUIRE(w.window.valid(1) == Valid(0, 0) &&
			w.window.valid(2) == Valid(0, 0),
		"the others of the call are not armed");
	Ios many(w);

	for (uint32_t i = 0; i < PAVO_DIRECT_IOS + 1; i++)
		many.add(i % 32, 100, file.fd(), 0);
	REQUIRE_EQ(many.try_start(), EINVAL, "too many of a call");
	no_more(w.link.a, "nothing was posted");
	for (int fd : {ends[0], ends[1], sockets[0], sockets[1], reads, writes})
		close(fd);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.io_given_up",
	      "an I/O that waits for its response ends with the range, the "
	      "request or the window, and lets go of its file")
{
	env.expect_async();
	Moved ios(env.a, "direct_ios");
	{
		DirectWriting w(env);
		MemoryFile file(8192);
		pavo_direct_io_args args = {0, 100, PAVO_DIRECT_READ, file.fd(),
					    0};
		ibv_send_wr *bad = nullptr;
		const auto begin = [&] {
			return pavodv_direct_io(&w.window.plain, &args, 1,
						nullptr, nullptr, &bad);
		};

		REQUIRE_EQ(begin(), 0, "an I/O without a request");
		REQUIRE_EQ(w.window.try_put(0, 0, 1, 1), EBADF,
			   "a process has no part in it");
		w.window.disarm(0);
		REQUIRE_EQ(begin(), 0, "once more");
		to_state(w.link.a, IBV_QPS_ERR);
		post_direct(w.link.a, IBV_WR_RDMA_READ, w.window.sge(0, 100), 0,
			    {w.at_b});
		w.expect(0, "flushed", IBV_WC_WR_FLUSH_ERR);
		w.window.wait_valid(env, 0, {0, 0}, "given up by the flush");
		w.window.must_be_whole(env);
		REQUIRE_EQ(begin(), 0, "when the window is closed");
	}
	REQUIRE_EQ(ios.by(), 0u, "none was begun");
	REQUIRE_EQ(common::number_behind("/sys/kernel/debug/pavo/direct_ios",
					 "ios"),
		   0, "I/Os that have a file");
}
