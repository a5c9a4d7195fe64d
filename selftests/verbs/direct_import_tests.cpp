// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Drivers that have a range of a direct window as a dma-buf: the use of the bus side does not end
 * while one of them has it mapped, and none can map it later. So no byte that is sent changes,
 * however late a driver writes.
 *
 * A region of another adapter is such a driver, and peers write to it. The group kverbs has one
 * that is not pavo's (kverbs/importer.c); elsewhere its tests are skipped.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "../kverbs/importer.h"
#include "direct.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr pavodv_direct_attr two_ranges = {0, 2, direct_size, 2};

/* A driver that maps a dma-buf, and writes there when it is told to. */
class Importer {
public:
	virtual ~Importer() = default;
	/* Return: 0 or errno. */
	virtual int try_begin(int fd) = 0;
	virtual void write(uint32_t offset, uint32_t length, uint64_t seed) = 0;
	virtual void end() = 0;

	void begin(const Exported &exported)
	{
		REQUIRE_EQ(try_begin(exported.fd()), 0, "import");
	}
	void write(uint64_t seed) { write(0, direct_size, seed); }
};

/* The adapter of B: the dma-buf is a region of it, and A writes to that. */
class RegionImporter : public Importer {
public:
	explicit RegionImporter(Env &env)
		: env_(env), link_(connect(env)),
		  source_(must_reg(env.a, {direct_size}))
	{
	}
	~RegionImporter() override { end(); }

	int try_begin(int fd) override
	{
		errno = 0;
		mr_ = ibv_reg_dmabuf_mr(local(env_.b).raw_pd(0), 0, direct_size,
					0, fd, int(all_access));
		if (!mr_ && errno == EOPNOTSUPP)
			throw Skip("no regions of dma-bufs");
		return mr_ ? 0 : errno;
	}
	void write(uint32_t offset, uint32_t length, uint64_t seed) override
	{
		SendWr wr = make_wr(Op::write, {source_, offset}, length);

		env_.a.fill(source_.id, offset, length, seed, offset);
		wr.remote = offset;
		wr.rkey = mr_->rkey;
		must_send(env_, link_.a, wr, "to the device's memory");
	}
	void end() override
	{
		if (mr_)
			REQUIRE_EQ(ibv_dereg_mr(mr_), 0, "dereg_mr");
		mr_ = nullptr;
	}

private:
	Env &env_;
	Link link_;
	Mr source_;
	ibv_mr *mr_ = nullptr;
};

/* A driver of another subsystem, by one of the two ways to map a dma-buf. */
class DriverImporter : public Importer {
public:
	explicit DriverImporter(unsigned long way)
		: way_(way),
		  fd_(open("/dev/" PAVO_IMPORTER, O_RDWR | O_CLOEXEC))
	{
		if (fd_ < 0)
			throw Skip("no /dev/" PAVO_IMPORTER
				   "; the group kverbs has it");
	}
	~DriverImporter() override { ::close(fd_); }

	int try_begin(int fd) override
	{
		return ioctl(fd_, way_, &fd) ? errno : 0;
	}
	void write(uint32_t offset, uint32_t length, uint64_t seed) override
	{
		std::vector<uint8_t> bytes(length);

		pattern_fill(bytes.data(), length, seed, offset);
		put(offset, bytes);
	}
	void put(uint32_t offset, const std::vector<uint8_t> &bytes) const
	{
		REQUIRE_EQ(pwrite(fd_, bytes.data(), bytes.size(), offset),
			   ssize_t(bytes.size()), "write: ", strerror(errno));
	}
	void end() override { ioctl(fd_, PAVO_IMPORT_END); }

private:
	unsigned long way_;
	int fd_;
};

/* The last byte is told of, and the use goes on: none of these counts, and none is sent. */
void must_be_held(DirectWriting &w)
{
	REQUIRE_EQ(w.window.try_count(0, direct_size), EBUSY,
		   "a driver has it");
	REQUIRE(w.window.valid(0) == Valid(1, 0), "the bus side still owns it");
	REQUIRE_EQ(w.window.reg(0).count, 0u, "no byte counts");
	none_sent(w.link.a, 20, "while a driver may write");
}

void holds_the_range(Env &env, Importer &importer)
{
	DirectWriting w(env, {}, two_ranges);
	Moved busy(env.a, "direct_busy");
	const uint64_t seed = env.seed();

	w.window.arm(0, direct_size);
	w.post(0, direct_size);
	const Exported exported(w.window, 0);

	importer.begin(exported);
	importer.write(env.seed());
	must_be_held(w);
	REQUIRE_EQ(busy.by(), 1u, "direct_busy");
	/* It is late, and its bytes are those that are sent. */
	importer.write(seed);
	importer.end();
	w.window.count(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "from device to device");
	REQUIRE_EQ(busy.by(), 1u, "direct_busy");
}

/* Arms the range that has that buffer exported: with it, unless a packet is still about. */
void arm_with(Env &env, const Direct &window, uint32_t range, uint32_t buffer)
{
	REQUIRE(eventually(env,
			   [&] {
				   window.arm(range, direct_size);
				   if (window.reg(range).buffer == buffer)
					   return true;
				   window.disarm(range);
				   return false;
			   }),
		"the range does not get its buffer");
}

void comes_too_late(Env &env, Importer &importer)
{
	DirectWriting w(env, {.timeout = 16}, two_ranges);
	Moved refused(env.a, "direct_refused");
	const uint64_t seed = env.seed();

	w.window.arm(0, direct_size);
	const uint32_t buffer = w.window.reg(0).buffer;
	const Exported exported(w.window, 0);

	importer.begin(exported);
	importer.write(env.seed());
	importer.end();
	w.window.store(0, 0, direct_size, seed);
	w.window.count(0, direct_size);
	REQUIRE_EQ(importer.try_begin(exported.fd()), EBUSY, "all are in");
	{
		Qdisc cut(env.a, silence);

		w.post(0, direct_size);
		REQUIRE(eventually(env,
				   [&] {
					   return w.window.try_disarm(0) ==
						  EBUSY;
				   }),
			"it is not sent");
		REQUIRE_EQ(importer.try_begin(exported.fd()), EBUSY,
			   "it is being sent");
	}
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "written");
	REQUIRE_EQ(importer.try_begin(exported.fd()), EBUSY,
		   "not the bus side's");
	REQUIRE_EQ(refused.by(), 3u, "direct_refused");
	/* The next use of its range. */
	arm_with(env, w.window, 0, buffer);
	importer.begin(exported);
	importer.write(seed);
	importer.end();
	w.window.disarm(0);
}

void goes_on_after_the_end(Env &env, Importer &importer)
{
	DirectWriting w(env, {}, two_ranges);
	const uint64_t seed = env.seed();

	w.window.arm(0, direct_size);
	const uint32_t buffer = w.window.reg(0).buffer;

	{
		const Exported exported(w.window, 0);

		importer.begin(exported);
		w.window.disarm(0);
		w.window.arm(0, direct_size);
		REQUIRE(w.window.reg(0).buffer != buffer,
			"the buffer that the driver has");
	}
	REQUIRE_EQ(w.window.try_arm(1, 1), EAGAIN, "in quarantine");
	REQUIRE(!(w.window.events() & POLLOUT), "no buffer");
	w.window.store(0, 0, direct_size, seed);
	importer.write(env.seed());
	/* The driver holds no use but that which was given up. */
	w.window.count(0, direct_size);
	importer.write(env.seed());
	w.post(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "the next use's");
	importer.end();
	w.window.must_be_whole(env);
}

void outlives_the_window(Env &env, Importer &importer)
{
	Direct window(env.a, two_ranges);

	window.arm(0, direct_size);
	const Exported exported(window, 0);

	importer.begin(exported);
	window.close();
	importer.write(env.seed());
	importer.end();
	REQUIRE_EQ(importer.try_begin(exported.fd()), EIO, "it is closed");
}

void drains(Env &env, Importer &importer)
{
	Link link = connect(env);
	Direct window(env.a, two_ranges);
	Mr at_b = must_reg(env.b, {direct_size}, env.seed());

	window.arm_read(0, direct_size, PAVO_DIRECT_WHOLE);
	const Exported exported(window, 0);

	REQUIRE_EQ(importer.try_begin(exported.fd()), EBUSY, "no response");
	post_direct(link.a, IBV_WR_RDMA_READ, window.sge(0, direct_size), 1,
		    {at_b});
	window.wait_valid(env, 0, {1, 0}, "response");
	importer.begin(exported);
	REQUIRE_EQ(window.try_count(0, direct_size), EBUSY, "a driver has it");
	REQUIRE(window.valid(0) == Valid(1, 0), "the bus side still owns it");
	importer.end();
	window.count(0, direct_size);
	expect_send(env, link.a, 1, "read");
	REQUIRE_EQ(importer.try_begin(exported.fd()), EBUSY,
		   "not the bus side's");
}

/* One write() at @offset by io_uring. Return: what its completion says. */
int write_by_ring(int file, const void *from, uint32_t length, uint64_t offset)
{
	io_uring_params p = {};
	const int ring = int(syscall(SYS_io_uring_setup, 1, &p));

	if (ring < 0)
		throw Skip("no io_uring");
	auto map = [&](size_t bytes, off_t at) {
		void *to = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_POPULATE, ring, at);

		REQUIRE(to != MAP_FAILED, "io_uring");
		return static_cast<uint8_t *>(to);
	};
	auto word = [](uint8_t *at, uint32_t place) {
		return std::atomic_ref(
			*reinterpret_cast<unsigned *>(at + place));
	};
	uint8_t *sq = map(p.sq_off.array + p.sq_entries * sizeof(unsigned),
			  IORING_OFF_SQ_RING);
	uint8_t *cq = map(p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe),
			  IORING_OFF_CQ_RING);
	auto *sqe = reinterpret_cast<io_uring_sqe *>(
		map(p.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));

	*sqe = {};
	sqe->opcode = IORING_OP_WRITE;
	sqe->fd = file;
	sqe->off = offset;
	sqe->addr = reinterpret_cast<uintptr_t>(from);
	sqe->len = length;
	word(sq, p.sq_off.array) = 0;
	word(sq, p.sq_off.tail).fetch_add(1);
	REQUIRE_EQ(syscall(SYS_io_uring_enter, ring, 1, 1,
			   IORING_ENTER_GETEVENTS, nullptr, 0),
		   1, "io_uring_enter");
	const int result =
		reinterpret_cast<io_uring_cqe *>(cq + p.cq_off.cqes)->res;

	::close(ring);
	return result;
}

} // namespace

PV_TEST_LOCAL("direct.export",
	      "a dma-buf of an armed range has its size, and no process maps "
	      "it; its buffer stays that of the range until the dma-buf is gone")
{
	Direct window(env.a, {0, 4, 8192, 2});

	window.arm(1, 8192);
	const uint32_t buffer = window.reg(1).buffer;

	{
		const Exported exported(window, 1);

		REQUIRE_EQ(lseek(exported.fd(), 0, SEEK_END), 8192, "size");
		for (int rights : {PROT_READ, PROT_READ | PROT_WRITE}) {
			REQUIRE(mmap(nullptr, 8192, rights, MAP_SHARED,
				     exported.fd(), 0) == MAP_FAILED,
				"a mapping that no end of a use takes away");
			REQUIRE_EQ(errno, EINVAL, "a mapping");
		}
		window.disarm(1);
		/* Another range does not get it, and its own does. */
		window.arm(0, 1);
		REQUIRE(window.reg(0).buffer != buffer, "another range");
		REQUIRE_EQ(window.try_arm(2, 1), EAGAIN,
			   "the only one is exported");
		window.arm(1, 1);
		REQUIRE_EQ(window.reg(1).buffer, buffer, "its own");
		window.disarm(1);
	}
	window.arm(2, 1);
	window.disarm(2);
	window.disarm(0);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.export_outlives",
	      "a dma-buf holds its memory when the window is closed")
{
	Direct window(env.a);

	window.arm(0, direct_size);
	const Exported exported(window, 0);

	window.close();
	REQUIRE_EQ(lseek(exported.fd(), 0, SEEK_END), direct_size, "size");
}

PV_TEST_LOCAL("direct.foreign_mr",
	      "a dma-buf of a range is memory of a region of another adapter: "
	      "the use ends when the region is gone, and what a peer wrote "
	      "there, also late, leaves by the window")
{
	RegionImporter region(env);

	holds_the_range(env, region);
}

PV_TEST_LOCAL("direct.region_late",
	      "no region is made of a range whose use is over: EBUSY while "
	      "its bytes wait, are sent, and are gone")
{
	RegionImporter region(env);

	comes_too_late(env, region);
}

PV_TEST_LOCAL("direct.region_given_up",
	      "an operation is given up while a region has the range: its "
	      "buffer is in quarantine, and no byte that a peer writes there "
	      "is of the next operation")
{
	RegionImporter region(env);

	goes_on_after_the_end(env, region);
}

PV_TEST_LOCAL("direct.region_closed",
	      "a region outlives its window, and no other is made of it: EIO")
{
	RegionImporter region(env);

	outlives_the_window(env, region);
}

PV_TEST_LOCAL("direct.region_drains",
	      "a region has a response, and not the time before: the use "
	      "ends when the region is gone")
{
	RegionImporter region(env);

	drains(env, region);
}

PV_TEST_LOCAL("direct.region_file",
	      "the last bytes come by the file while a region has the range: "
	      "write() and the completion of io_uring say EBUSY, or EAGAIN if "
	      "the file does not block, and these bytes do not count")
{
	constexpr uint32_t last = 96, before = direct_size - last;
	RegionImporter region(env);
	DirectWriting w(env, {}, two_ranges);
	const uint64_t seed = env.seed();
	uint8_t bytes[last];

	w.window.arm(0, direct_size);
	w.post(0, direct_size);
	const Exported exported(w.window, 0);

	region.begin(exported);
	w.window.put(0, 0, before, seed);
	w.window.set_blocking(true);
	REQUIRE_EQ(w.window.try_put(0, before, last, seed), EBUSY, "pwrite");
	pattern_fill(bytes, last, seed, before);
	REQUIRE_EQ(write_by_ring(w.window.plain.fd, bytes, last, before),
		   -EBUSY, "io_uring");
	w.window.set_blocking(false);
	REQUIRE_EQ(w.window.try_put(0, before, last, seed), EAGAIN, "pwrite");
	REQUIRE(w.window.valid(0) == Valid(1, 0), "the bus side still owns it");
	REQUIRE_EQ(w.window.reg(0).count, before, "these do not count");
	none_sent(w.link.a, 20, "while a region has it");
	region.end();
	REQUIRE_EQ(write_by_ring(w.window.plain.fd, bytes, last, before),
		   int(last), "io_uring");
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "written");
}

PV_TEST_LOCAL("direct.driver_use",
	      "a driver of another subsystem has a range, mapped for a device "
	      "or for the CPU: the use ends when it has given it back")
{
	for (unsigned long way : {PAVO_IMPORT_DEVICE, PAVO_IMPORT_CPU}) {
		DriverImporter driver(way);

		holds_the_range(env, driver);
		drains(env, driver);
	}
}

PV_TEST_LOCAL("direct.driver_late",
	      "no driver maps a range whose use is over, or of which the "
	      "window is closed")
{
	for (unsigned long way : {PAVO_IMPORT_DEVICE, PAVO_IMPORT_CPU}) {
		DriverImporter driver(way);

		comes_too_late(env, driver);
		outlives_the_window(env, driver);
	}
}

PV_TEST_LOCAL("direct.driver_blind",
	      "a driver maps a range whose use is over for the CPU, and does "
	      "not ask for its access: what it writes is in no range")
{
	DriverImporter driver(PAVO_IMPORT_BLIND);
	DirectWriting w(env, {}, two_ranges);
	Moved refused(env.a, "direct_refused");
	uint64_t seed = env.seed();

	w.window.arm(0, direct_size);
	const uint32_t buffer = w.window.reg(0).buffer;
	const Exported exported(w.window, 0);

	w.window.store(0, 0, direct_size, seed);
	w.window.count(0, direct_size);
	driver.begin(exported);
	REQUIRE_EQ(refused.by(), 1u, "direct_refused");
	driver.Importer::write(env.seed());
	w.post(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "written");
	/* It goes on in the next use, and holds it not. */
	arm_with(env, w.window, 0, buffer);
	w.window.store(0, 0, direct_size, seed);
	driver.Importer::write(env.seed());
	w.window.count(0, direct_size);
	w.post(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "written");
	driver.end();
	/* A mapping that begins in a use has its bytes. */
	arm_with(env, w.window, 0, buffer);
	seed = env.seed();
	driver.begin(exported);
	driver.Importer::write(seed);
	REQUIRE_EQ(w.window.try_count(0, direct_size), EBUSY, "it has it");
	driver.end();
	w.window.count(0, direct_size);
	w.post(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "written");
}

PV_TEST_LOCAL("direct.driver_given_up",
	      "an operation is given up while a driver has the range, which "
	      "never gives it back: its buffer is in quarantine, and the next "
	      "operation has no byte of it")
{
	for (unsigned long way : {PAVO_IMPORT_DEVICE, PAVO_IMPORT_CPU}) {
		DriverImporter driver(way);

		goes_on_after_the_end(env, driver);
	}
}

PV_TEST_LOCAL("direct.driver_race",
	      "a driver maps a range, writes it in two halves and gives it "
	      "back, over and over, while uses end: no operation has one half "
	      "of a write")
{
	DriverImporter driver(PAVO_IMPORT_DEVICE);
	DirectWriting w(env, {}, two_ranges);
	std::atomic<unsigned> writes = 0, refusals = 0;

	w.window.arm(0, direct_size);
	const Exported exported(w.window, 0);
	const uint32_t buffer = w.window.reg(0).buffer;
	std::jthread device([&](std::stop_token stop) {
		for (uint8_t value = 1; !stop.stop_requested(); value++) {
			if (driver.try_begin(exported.fd())) {
				refusals++;
				sched_yield();
				continue;
			}
			const std::vector<uint8_t> half(direct_size / 2, value);

			driver.put(0, half);
			sched_yield();
			driver.put(direct_size / 2, half);
			driver.end();
			writes++;
		}
	});

	for (int round = 0; round < 200; round++) {
		const unsigned before = writes;

		REQUIRE(eventually(env, [&] { return writes != before; }),
			"the driver does nothing");
		w.window.count(0, direct_size);
		w.post(0, direct_size);
		w.expect(0, "write");
		const uint8_t *got = local(env.b).memory(w.at_b.id);

		REQUIRE(std::all_of(got, got + direct_size,
				    [&](uint8_t byte) { return byte == *got; }),
			"round ", round, ": a half of a write");
		arm_with(env, w.window, 0, buffer);
	}
	REQUIRE(refusals, "it was never refused");
}
