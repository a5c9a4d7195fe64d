// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Devices at direct windows: a disk, io_uring. None of them reaches the bytes of another
 * operation, however late it is. Claims are those of sources.md#direct. Drivers that have a
 * dma-buf are in direct_import_tests.cpp.
 */
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "direct.h"
#include "disk.h"
#include "manager.h"
#include "tap.h"

using namespace pv;

namespace {

/*
 * A device that has been given memory, and writes there when it is told to, by io_uring: the
 * buffer is pinned from its making to its end, as that of an I/O controller.
 */
class Master {
public:
	Master(void *memory, size_t length) : memory_(memory), length_(length)
	{
		io_uring_params params = {};
		iovec buffer = {memory, length};

		fd_ = int(syscall(SYS_io_uring_setup, 2, &params));
		if (fd_ < 0)
			throw Skip("no io_uring");
		sq_ = map(params.sq_off.array + params.sq_entries * 4,
			  IORING_OFF_SQ_RING);
		cq_ = map(params.cq_off.cqes +
				  params.cq_entries * sizeof(io_uring_cqe),
			  IORING_OFF_CQ_RING);
		sqes_ = reinterpret_cast<io_uring_sqe *>(
			map(params.sq_entries * sizeof(io_uring_sqe),
			    IORING_OFF_SQES));
		params_ = params;
		REQUIRE(!pipe2(ends_, O_CLOEXEC), "pipe");
		error_ = syscall(SYS_io_uring_register, fd_,
				 IORING_REGISTER_BUFFERS, &buffer, 1) ?
				 errno :
				 0;
	}
	~Master()
	{
		::close(ends_[0]);
		::close(ends_[1]);
		end();
	}
	Master(const Master &) = delete;

	/* It could pin the memory. Throws Skip where io_uring pins none of a file (before 6.5). */
	void must_have_it() const
	{
		if (error_ == EOPNOTSUPP)
			throw Skip("no io_uring here that pins memory of a "
				   "file; the group disks has such devices");
		REQUIRE_EQ(error_, 0, "the device cannot pin the memory");
	}

	/* Writes a pattern there. */
	void write(uint64_t seed)
	{
		std::vector<uint8_t> bytes(length_);

		pattern_fill(bytes.data(), length_, seed, 0);
		REQUIRE_EQ(::write(ends_[1], bytes.data(), length_), length_,
			   "pipe");
		*sqes_ = {};
		sqes_->opcode = IORING_OP_READ_FIXED;
		sqes_->fd = ends_[0];
		sqes_->off = UINT64_MAX;
		sqes_->addr = reinterpret_cast<uintptr_t>(memory_);
		sqes_->len = unsigned(length_);
		word(sq_, params_.sq_off.array) = 0;
		std::atomic_ref(word(sq_, params_.sq_off.tail)).fetch_add(1);
		REQUIRE_EQ(syscall(SYS_io_uring_enter, fd_, 1, 1,
				   IORING_ENTER_GETEVENTS, nullptr, 0),
			   1, "io_uring_enter");
		auto *cqe = reinterpret_cast<io_uring_cqe *>(
			cq_ + params_.cq_off.cqes);

		cqe += done_++ & word(cq_, params_.cq_off.ring_mask);
		REQUIRE_EQ(cqe->res, length_, "read");
		std::atomic_ref(word(cq_, params_.cq_off.head)).fetch_add(1);
	}

	/* It is done with the memory. */
	void end()
	{
		if (fd_ < 0)
			return;
		if (!error_)
			syscall(SYS_io_uring_register, fd_,
				IORING_UNREGISTER_BUFFERS, nullptr, 0);
		::close(fd_);
		fd_ = -1;
	}

private:
	uint8_t *map(size_t length, off_t offset)
	{
		void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_POPULATE, fd_, offset);

		REQUIRE(at != MAP_FAILED, "io_uring");
		return static_cast<uint8_t *>(at);
	}
	static unsigned &word(uint8_t *ring, uint32_t offset)
	{
		return *reinterpret_cast<unsigned *>(ring + offset);
	}

	void *memory_;
	size_t length_;
	io_uring_params params_ = {};
	uint8_t *sq_ = nullptr;
	uint8_t *cq_ = nullptr;
	io_uring_sqe *sqes_ = nullptr;
	unsigned done_ = 0;
	int fd_ = -1;
	int ends_[2] = {-1, -1};
	int error_ = 0;
};

/* A file on a disk that is read and written past the page cache. */
class DirectFile {
public:
	explicit DirectFile(int flags)
		: fd_(open((std::string(Disk::folder()) + "/file").c_str(),
			   flags | O_DIRECT | O_CLOEXEC))
	{
		if (fd_ < 0)
			throw Skip("no O_DIRECT here");
	}
	~DirectFile() { ::close(fd_); }
	DirectFile(const DirectFile &) = delete;
	int fd() const { return fd_; }

private:
	int fd_;
};

constexpr uint32_t sectors = 16;

/* A disk with a pattern. */
struct PatternDisk {
	explicit PatternDisk(uint64_t seed) : disk(sectors * 4096)
	{
		uint8_t *at = disk.map(PROT_READ | PROT_WRITE, MAP_SHARED);

		pattern_fill(at, sectors * 4096, seed, 0);
		msync(at, sectors * 4096, MS_SYNC);
		munmap(at, sectors * 4096);
	}

	Disk disk;
};

} // namespace

PV_TEST_LOCAL("direct.quarantine",
	      "a device that still has the memory of a range that was given up "
	      "gets no other operation's: the buffer waits until it is done")
{
	Link link = connect(env);
	Direct window(env.a, {0, 4, 4096, 1});
	Mr at_b = must_reg(env.b, {4096}, 1);
	uint64_t seed = env.seed();

	window.arm(0, 4096);
	Master master(window.memory(0), 4096);

	master.must_have_it();
	master.write(seed);
	window.disarm(0);
	/* Late, and nowhere that matters. */
	master.write(env.seed());
	REQUIRE_EQ(window.try_arm(1, 4096), EAGAIN, "in quarantine");
	REQUIRE(!(window.events() & POLLOUT), "no buffer");
	master.end();
	REQUIRE(eventually(env, [&] { return window.try_arm(1, 4096) == 0; }),
		"it is done with it");
	seed = env.seed();
	window.put(1, 0, 4096, seed);
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(1, 4096), 1, {at_b});
	expect_send(env, link.a, 1, "write");
	must_match(env.b, at_b, 0, 4096, seed, 0, "written");
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.device_at_work",
	      "the turn of the bus side does not end while a device has the "
	      "memory: its bytes count when it is done")
{
	Link link = connect(env);
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {4096}, 1);
	uint64_t seed = env.seed();

	window.arm(0, 4096);
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(0, 4096), 1, {at_b});
	{
		Master master(window.memory(0), 4096);

		master.must_have_it();
		master.write(env.seed());
		REQUIRE_EQ(window.try_count(0, 4096), EBUSY, "it has it");
		REQUIRE(window.valid(0) == Valid(1, 0),
			"the bus side still owns it");
		REQUIRE_EQ(window.reg(0).count, 0u, "no byte counts");
		none_sent(link.a, 20, "while the device may write");
		master.write(seed);
	}
	REQUIRE(eventually(env, [&] { return window.try_count(0, 4096) == 0; }),
		"it is done with it");
	expect_send(env, link.a, 1, "write");
	must_match(env.b, at_b, 0, 4096, seed, 0, "written");
}

PV_TEST_LOCAL("direct.stray",
	      "a device writes after its operation was given up and the range "
	      "was armed anew: no byte of the new one is another")
{
	Link link = connect(env);
	Direct window(env.a, {0, 2, 4096, 2});
	Mr at_b = must_reg(env.b, {4096}, 1);

	for (int round = 0; round < 8; round++) {
		uint64_t seed = env.seed();

		window.arm(0, 4096);
		Master master(window.memory(0), 4096);

		master.must_have_it();
		window.disarm(0);
		window.arm(0, 4096);
		post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(0, 4096), 1,
			    {at_b});
		window.store(0, 0, 4096, seed);
		master.write(env.seed());
		window.count(0, 4096);
		expect_send(env, link.a, 1, "write");
		must_match(env.b, at_b, 0, 4096, seed, 0, "written");
		master.end();
		REQUIRE(eventually(env,
				   [&] {
					   if (window.try_arm(1, 1))
						   return false;
					   bool two = !window.try_arm(0, 1);

					   window.disarm(1);
					   if (two)
						   window.disarm(0);
					   return two;
				   }),
			"its buffer does not come back");
	}
}

PV_TEST_LOCAL("direct.disk_to_link",
	      "a disk fills ranges past the page cache, in parts of a sector "
	      "up, and no CPU copies a byte (claims 29, 32-34)")
{
	const uint64_t seed = env.seed();
	PatternDisk disk(seed);
	DirectFile file(O_RDONLY);
	Link link = connect(env);
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {sectors * 4096}, 1);
	Moved copied(env.a, "direct_copied");

	for (uint32_t i = 0; i < sectors; i++) {
		window.arm(i, 4096);
		post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(i, 4096), i,
			    {at_b, int64_t(i) * 4096});
	}
	for (uint32_t i = sectors; i--;) {
		/* Two transfers: each a part of the range. */
		REQUIRE_EQ(pread(file.fd(), window.memory(i, 1024), 3072,
				 off_t(i) * 4096 + 1024),
			   3072, "disk: ", strerror(errno));
		window.count(i, 3072);
		REQUIRE_EQ(pread(file.fd(), window.memory(i), 1024,
				 off_t(i) * 4096),
			   1024, "disk");
		window.count(i, 1024);
	}
	for (uint32_t i = 0; i < sectors; i++)
		expect_send(env, link.a, i, "write");
	must_match(env.b, at_b, 0, sectors * 4096, seed, 0, "the disk");
	REQUIRE_EQ(copied.by(), 0u, "copied bytes");
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.link_to_disk",
	      "a disk takes read responses from ranges past the page cache "
	      "(claims 35-37)")
{
	PatternDisk disk(env.seed());
	Link link = connect(env);
	Direct window(env.a);
	const uint64_t seed = env.seed();
	Mr at_b = must_reg(env.b, {sectors * 4096}, seed);

	{
		DirectFile file(O_WRONLY);

		for (uint32_t i = 0; i < sectors; i++) {
			window.arm_read(i, 4096, PAVO_DIRECT_WHOLE);
			post_direct(link.a, IBV_WR_RDMA_READ,
				    window.sge(i, 4096), i,
				    {at_b, int64_t(i) * 4096});
			window.wait_valid(env, i, {1, 0}, "response");
			REQUIRE_EQ(pwrite(file.fd(), window.memory(i), 4096,
					  off_t(i) * 4096),
				   4096, "disk: ", strerror(errno));
			window.count(i, 4096);
			expect_send(env, link.a, i, "read");
		}
	}
	uint8_t *at = disk.disk.map(PROT_READ, MAP_SHARED);
	int64_t bad = pattern_verify(at, sectors * 4096, seed, 0);

	munmap(at, sectors * 4096);
	REQUIRE(bad < 0, "byte ", bad, " of the disk");
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.abort_disk",
	      "operations are given up and ranges armed anew while a disk "
	      "writes to them: no stray byte is sent")
{
	PatternDisk disk(env.seed());
	DirectFile file(O_RDONLY);
	Link link = connect(env);
	Direct window(env.a, {0, 2, 4096, 4});
	Mr at_b = must_reg(env.b, {4096}, 1);
	std::atomic<bool> stop = false;
	std::atomic<unsigned> transfers = 0, faults = 0;

	window.arm(0, 4096);
	{
		/* It goes on to read into range 0, whatever becomes of it. */
		std::jthread device([&] {
			while (!stop) {
				if (pread(file.fd(), window.memory(0), 4096,
					  0) == 4096)
					transfers++;
				else
					faults++;
			}
		});

		for (int round = 0; round < 200; round++) {
			uint64_t seed = env.seed();

			/* The next one is in range 1, which no device knows. */
			window.disarm(0);
			REQUIRE(eventually(env,
					   [&] {
						   return window.try_arm(
								  1, 4096) == 0;
					   }),
				"no buffer");
			window.store(1, 0, 4096, seed);
			REQUIRE(eventually(env,
					   [&] {
						   return window.try_arm(
								  0, 4096) == 0;
					   }),
				"no buffer");
			window.count(1, 4096);
			post_direct(link.a, IBV_WR_RDMA_WRITE,
				    window.sge(1, 4096), 1, {at_b});
			expect_send(env, link.a, 1, "write");
			must_match(env.b, at_b, 0, 4096, seed, 0, "written");
		}
		REQUIRE(eventually(env, [&] { return transfers > 0; }),
			"the disk did nothing");
		stop = true;
	}
	window.disarm(0);
	window.must_be_whole(env);
}
