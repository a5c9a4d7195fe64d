// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ends of direct windows, and of operations in them, in each state: queue pairs that fail, windows
 * that are closed, processes that are killed, devices that are still at work. All buffers come
 * back, and none is another operation's before its device is done with it.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "direct.h"
#include "disk.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

/* Long enough that no queue pair gives up while its interface sends nothing. */
constexpr LinkSpec patient = {.timeout = 18};

/* A window whose ranges are in every state that lasts, with pages in page tables. */
class EveryState {
public:
	explicit EveryState(Env &env)
		: window(env.a), env_(env), at_b_(must_reg(env.b, {4096}, 1))
	{
		for (Link &link : links)
			link = connect(env, patient);
		window.arm(filling, 4096);
		window.store(filling, 0, 100, 1);
		write(filling, links[0]);
		window.arm(unposted, 4096);
		window.put(unposted, 0, 100, 1);
		window.store(unposted, 100, 100, 1);
		window.arm(full, 4096);
		window.store(full, 0, 4096, 1);
		window.count(full, 4096);
		window.arm_read(unasked, 4096);
		for (uint32_t range : {loaded, halved}) {
			window.arm_read(range, 4096);
			read(range, links[range == loaded ? 1 : 2]);
			window.wait_valid(env, range, {1, 0}, "response");
		}
		std::vector<uint8_t> bytes;

		REQUIRE_EQ(window.try_take(halved, 0, 100, &bytes), 100,
			   "half");
		REQUIRE_EQ(*window.memory(loaded),
			   *local(env.b).memory(at_b_.id), "loaded");
	}

	/* The rest, while the interface of A sends nothing. */
	void begin_silent()
	{
		window.arm(sending, 4096);
		window.store(sending, 0, 4096, 1);
		window.count(sending, 4096);
		write(sending, links[3]);
		window.arm_read(asked, 4096);
		read(asked, links[4]);
		REQUIRE(eventually(env_,
				   [&] {
					   return window.try_disarm(sending) ==
						  EBUSY;
				   }),
			"it is being sent");
	}

	/* Those that no work request has. */
	void disarm_rest()
	{
		for (uint32_t range : {unposted, full, unasked})
			window.disarm(range);
	}

	enum : uint32_t {
		filling,
		unposted,
		full,
		unasked,
		loaded,
		halved,
		sending,
		asked
	};

	Direct window;
	Link links[5];

private:
	void write(uint32_t range, Link &link)
	{
		post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(range, 4096),
			    range, {at_b_});
	}
	void read(uint32_t range, Link &link)
	{
		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(range, 4096),
			    range, {at_b_});
	}

	Env &env_;
	Mr at_b_;
};

constexpr const char *silence = "netem loss 100%";

/* Windows of all adapters, as people see them. */
unsigned windows_shown()
{
	std::ifstream file("/sys/kernel/debug/pavo/direct");
	unsigned count = 0;

	if (!file)
		throw Skip("no /sys/kernel/debug/pavo/direct");
	for (std::string line; std::getline(file, line);)
		count += line.find(" window ") != line.npos;
	return count;
}

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

	/* Why it could not pin the memory; 0: it did. */
	int error() const { return error_; }

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

PV_TEST_LOCAL("direct.qp_error",
	      "a queue pair goes to ERR with ranges in every state: those of "
	      "its work requests are free, and all buffers are back")
{
	env.expect_async();
	EveryState all(env);
	Qdisc cut(env.a, silence);

	all.begin_silent();
	for (Link &link : all.links)
		to_state(link.a, IBV_QPS_ERR);
	for (uint32_t i = 0; i < 5; i++) {
		const uint32_t ranges[] = {all.filling, all.loaded, all.halved,
					   all.sending, all.asked};

		expect_send(env, all.links[i].a, ranges[i], "flushed",
			    IBV_WC_WR_FLUSH_ERR);
		all.window.wait_valid(env, ranges[i], {0, 0}, "given up");
	}
	all.disarm_rest();
	all.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.qp_reset",
	      "the same by RESET, and by the end of the queue pair")
{
	env.expect_async();
	for (bool destroy : {false, true}) {
		EveryState all(env);
		Qdisc cut(env.a, silence);

		all.begin_silent();
		for (Link &link : all.links) {
			if (destroy)
				REQUIRE_EQ(env.a.destroy(Kind::qp,
							 link.a.qp.id),
					   0, "destroy_qp");
			else
				to_state(link.a, IBV_QPS_RESET);
		}
		all.disarm_rest();
		all.window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("direct.qp_gives_up",
	      "a peer that is gone ends the write, and its range is free")
{
	env.expect_async();
	Link link = connect(env, {.timeout = 8, .retry_count = 1});
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {4096});

	to_state(link.b, IBV_QPS_RESET);
	window.arm(1, 4096);
	window.put(1, 0, 4096, env.seed());
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(1, 4096), 1, {at_b});
	expect_send(env, link.a, 1, "write", IBV_WC_RETRY_EXC_ERR);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.remote_error",
	      "a peer that refuses the bytes ends the write or the read, and "
	      "the range is free")
{
	env.expect_async();
	Direct window(env.a);

	for (bool read : {false, true}) {
		Link link = connect(env);
		Mr at_b = must_reg(env.b, {4096});

		at_b.rkey ^= 0xff00;
		window.arm(1, 4096, read ? PAVO_DIRECT_READ : 0);
		if (!read)
			window.put(1, 0, 4096, env.seed());
		post_direct(link.a, read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			    window.sge(1, 4096), 1, {at_b});
		expect_send(env, link.a, 1, "refused", IBV_WC_REM_ACCESS_ERR);
		window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("direct.disarm",
	      "ranges are given up in each state, but not while they are sent; "
	      "requests that wait for them end in error")
{
	env.expect_async();
	EveryState all(env);

	for (uint32_t range : {all.filling, all.unposted, all.full, all.unasked,
			       all.loaded, all.halved})
		all.window.disarm(range);
	for (uint32_t i : {0u, 1u, 2u}) {
		Wc wc = wait_send(env, all.links[i].a, "given up");

		REQUIRE(wc.status != IBV_WC_SUCCESS, "link ", i);
	}
	all.window.must_be_whole(env);
	REQUIRE_EQ(all.window.try_disarm(all.filling), EBADF, "again");
}

PV_TEST_LOCAL("direct.close",
	      "a window is closed with ranges in every state: what waits for "
	      "it ends, its mapping raises SIGBUS, its registers can be read")
{
	env.expect_async();
	const unsigned before = windows_shown();
	auto all = std::make_unique<EveryState>(env);
	Qdisc cut(env.a, silence);
	int fd = dup(all->window.plain.fd);
	auto *ranges = static_cast<uint8_t *>(
		mmap(nullptr, all->window.plain.length, PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0));
	auto *registers = static_cast<const pavo_direct_register *>(
		mmap(nullptr, all->window.plain.registers_size, PROT_READ,
		     MAP_SHARED, fd, off_t(all->window.plain.length)));

	REQUIRE(ranges != MAP_FAILED && registers != MAP_FAILED, "mmap");
	all->begin_silent();
	REQUIRE_EQ(windows_shown(), before + 1, "a line for it");
	ranges[0] = 1;
	all->window.close();
	REQUIRE_EQ(windows_shown(), before, "no line");
	for (uint32_t range = 0; range < 8; range++)
		REQUIRE(raises_sigbus([&] { ranges[range * 4096] = 1; }),
			"range ", range);
	REQUIRE(!raises_sigbus([&] {
		static_cast<void>(*static_cast<const volatile uint32_t *>(
			&registers[0].uses));
	}),
		"registers");
	for (Link &link : all->links) {
		to_state(link.a, IBV_QPS_ERR);
		Wc wc = wait_send(env, link.a, "of a closed window");

		REQUIRE(wc.status != IBV_WC_SUCCESS, "it is closed");
	}
	munmap(ranges, 32 * 4096);
	::close(fd);
}

PV_TEST_LOCAL("direct.killed",
	      "a process is killed with ranges in every state: nothing of its "
	      "window is left")
{
	const unsigned before = windows_shown();
	int down[2], up[2];
	char what = 0;

	REQUIRE(!pipe2(down, O_CLOEXEC) && !pipe2(up, O_CLOEXEC), "pipe");
	pid_t child = fork();

	REQUIRE(child >= 0, "fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		try {
			LocalHost a(env.device_a), b(env.device_b);
			Env mine(a, b, env.options, env.device_a, env.device_b);
			EveryState all(mine);

			(void)!write(up[1], "a", 1);
			if (read(down[0], &what, 1) == 1) {
				all.begin_silent();
				(void)!write(up[1], "b", 1);
				pause();
			}
		} catch (const std::exception &error) {
			note(error.what());
		}
		_exit(1);
	}
	::close(up[1]);
	REQUIRE_EQ(read(up[0], &what, 1), 1, "the child");
	{
		Qdisc cut(env.a, silence);

		(void)!write(down[1], "a", 1);
		REQUIRE_EQ(read(up[0], &what, 1), 1, "the child");
		REQUIRE_EQ(what, 'b', "the child");
		REQUIRE_EQ(windows_shown(), before + 1, "its window");
		kill(child, SIGKILL);
		waitpid(child, nullptr, 0);
	}
	for (int end : {down[0], down[1], up[0]})
		::close(end);
	REQUIRE(eventually(env, [&] { return windows_shown() == before; }),
		"its window is still there");
	Link link = connect(env);

	prove_alive(env, link);
}

PV_TEST_LOCAL("direct.file_outlives",
	      "the file of a window that is closed holds its memory and says "
	      "that it is closed; the last to go ends it")
{
	Direct window(env.a);
	int fd = dup(window.plain.fd);
	char byte = 1;

	window.arm(0, 1);
	window.close();
	REQUIRE_EQ(pwrite(fd, &byte, 1, 0), -1, "pwrite");
	REQUIRE_EQ(errno, EIO, "pwrite");
	REQUIRE_EQ(pread(fd, &byte, 1, 0), -1, "pread");
	REQUIRE_EQ(errno, EIO, "pread");
	pollfd look = {fd, POLLIN | POLLOUT, 0};

	REQUIRE_EQ(poll(&look, 1, 0), 1, "poll");
	REQUIRE(look.revents & POLLHUP, "POLLHUP");
	REQUIRE(!(look.revents & POLLOUT), "POLLOUT");
	::close(fd);
}

PV_TEST_LOCAL("direct.fork",
	      "a child has the file, and may be a writer of a range, but no "
	      "mapping")
{
	Link link = connect(env);
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {4096}, 1);
	uint64_t seed = env.seed();

	window.arm(2, 4096);
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(2, 4096), 2, {at_b});
	window.store(2, 0, 2048, seed);
	window.count(2, 2048);
	pid_t child = fork();

	REQUIRE(child >= 0, "fork");
	if (!child) {
		bool mapped = msync(window.memory(2), 4096, MS_ASYNC) == 0;

		_exit(mapped || window.try_put(2, 2048, 2048, seed));
	}
	int status = 1;

	waitpid(child, &status, 0);
	REQUIRE_EQ(status, 0, "the child");
	expect_send(env, link.a, 2, "write");
	must_match(env.b, at_b, 0, 4096, seed, 0, "of two processes");
}

PV_TEST_LOCAL("direct.quarantine",
	      "a device that still has the memory of a range that was given up "
	      "gets no other operation's: the buffer waits until it is done")
{
	Link link = connect(env);
	Direct window(env.a, {0, 4, 4096, 1});
	Mr at_b = must_reg(env.b, {4096}, 1);
	Moved quarantined(env.a, "direct_quarantined");
	uint64_t seed = env.seed();

	window.arm(0, 4096);
	Master master(window.memory(0), 4096);

	REQUIRE_EQ(master.error(), 0, "the device cannot pin the memory");
	master.write(seed);
	window.disarm(0);
	/* Late, and nowhere that matters. */
	master.write(env.seed());
	REQUIRE_EQ(window.try_arm(1, 4096), EAGAIN, "in quarantine");
	REQUIRE(quarantined.by() >= 1, "direct_quarantined");
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

		REQUIRE_EQ(master.error(), 0, "the device cannot pin it");
		master.write(env.seed());
		REQUIRE_EQ(window.try_count(0, 4096), EBUSY, "it has it");
		REQUIRE(window.valid(0) == Valid(1, 0), "still its turn");
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

		REQUIRE_EQ(master.error(), 0, "the device cannot pin it");
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
	Moved copied(env.a, "direct_copied"),
		by_file(env.a, "direct_file_bytes");

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
	REQUIRE_EQ(by_file.by(), 0u, "bytes by the file");
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

PV_TEST_LOCAL("direct.export",
	      "a dma-buf of an armed range has its size; its buffer stays that "
	      "of the range until the dma-buf is gone")
{
	Direct window(env.a, {0, 4, 8192, 2});
	int fd = -1;

	window.arm(1, 8192);
	int err = pavodv_direct_export(&window.plain, 1, &fd);

	if (err == EOPNOTSUPP)
		throw Skip("the kernel has no dma-buf");
	REQUIRE_EQ(err, 0, "export");
	const uint32_t buffer = window.reg(1).buffer;

	REQUIRE_EQ(lseek(fd, 0, SEEK_END), 8192, "size");
	window.disarm(1);
	/* Another range does not get it, and its own does. */
	window.arm(0, 1);
	REQUIRE(window.reg(0).buffer != buffer, "another range");
	REQUIRE_EQ(window.try_arm(2, 1), EAGAIN, "the only one is exported");
	window.arm(1, 1);
	REQUIRE_EQ(window.reg(1).buffer, buffer, "its own");
	window.disarm(1);
	::close(fd);
	window.arm(2, 1);
	window.disarm(2);
	window.disarm(0);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.export_outlives",
	      "a dma-buf holds its memory when the window is closed")
{
	int fd = -1;

	{
		Direct window(env.a);

		window.arm(0, 4096);
		int err = pavodv_direct_export(&window.plain, 0, &fd);

		if (err == EOPNOTSUPP)
			throw Skip("the kernel has no dma-buf");
		REQUIRE_EQ(err, 0, "export");
	}
	REQUIRE_EQ(lseek(fd, 0, SEEK_END), 4096, "size");
	::close(fd);
}

PV_TEST_LOCAL("direct.foreign_mr",
	      "a dma-buf of a range is memory of a region of another adapter: "
	      "what a peer writes there leaves by the window")
{
	Link in = connect(env), out = connect(env);
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {4096}, 1), source = must_reg(env.a, {4096});
	uint64_t seed = env.seed();
	int fd = -1;

	window.arm(0, 4096);
	int err = pavodv_direct_export(&window.plain, 0, &fd);

	if (err == EOPNOTSUPP)
		throw Skip("the kernel has no dma-buf");
	REQUIRE_EQ(err, 0, "export");
	ibv_mr *mr = ibv_reg_dmabuf_mr(local(env.b).raw_pd(0), 0, 4096, 0, fd,
				       all_access);

	if (!mr) {
		::close(fd);
		throw Skip("no regions of dma-bufs");
	}
	env.a.fill(source.id, 0, 4096, seed, 0);
	SendWr wr = make_wr(Op::write, {source}, 4096);

	wr.rkey = mr->rkey;
	must_send(env, in.a, wr, "to the device's memory");
	ibv_dereg_mr(mr);
	::close(fd);
	REQUIRE(eventually(env, [&] { return window.try_count(0, 4096) == 0; }),
		"the device is done with it");
	post_direct(out.a, IBV_WR_RDMA_WRITE, window.sge(0, 4096), 5, {at_b});
	expect_send(env, out.a, 5, "write");
	must_match(env.b, at_b, 0, 4096, seed, 0, "from device to device");
}
