// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions made of a dma-buf, where the machine has an exporter: data both
 * ways, its life, and what is refused.
 */
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "link.h"
#include "../common/pattern.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr size_t buffer_size = 1 << 20;

/* A dma-buf of `buffer_size` bytes, mapped here as any user of it would. */
class DmaBuffer {
public:
	explicit DmaBuffer(int fd) : fd_(fd)
	{
		data_ = static_cast<uint8_t *>(mmap(nullptr, buffer_size,
						    PROT_READ | PROT_WRITE,
						    MAP_SHARED, fd, 0));
		REQUIRE(data_ != MAP_FAILED, "mmap: ", strerror(errno));
	}
	DmaBuffer(const DmaBuffer &) = delete;
	DmaBuffer &operator=(const DmaBuffer &) = delete;
	~DmaBuffer()
	{
		munmap(data_, buffer_size);
		close(fd_);
	}

	int fd() const { return fd_; }

	void fill(size_t offset, size_t length, uint64_t seed)
	{
		sync(DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
		pattern_fill(data_ + offset, length, seed, 0);
		sync(DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
	}

	void must_hold(size_t offset, size_t length, uint64_t seed,
		       const char *what)
	{
		sync(DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
		int64_t bad = pattern_verify(data_ + offset, length, seed, 0);

		sync(DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
		REQUIRE(bad < 0, what, ": byte ", bad, " is wrong");
	}

private:
	void sync(uint64_t flags)
	{
		dma_buf_sync arg = {flags};

		REQUIRE(!ioctl(fd_, DMA_BUF_IOCTL_SYNC, &arg),
			"sync: ", strerror(errno));
	}

	int fd_;
	uint8_t *data_;
};

int heap_buffer(unsigned flags)
{
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	dma_heap_allocation_data data = {};

	if (heap < 0)
		throw Skip("no /dev/dma_heap/system");
	data.len = buffer_size;
	data.fd_flags = flags;
	int error = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data);

	close(heap);
	REQUIRE(!error, "DMA_HEAP_IOCTL_ALLOC: ", strerror(errno));
	return int(data.fd);
}

int udmabuf_buffer()
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	udmabuf_create create = {};

	if (device < 0)
		throw Skip("no /dev/udmabuf");
	int memory = memfd_create("pavo-verbs", MFD_ALLOW_SEALING);

	REQUIRE(memory >= 0 && !ftruncate(memory, buffer_size) &&
			!fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK),
		"memfd: ", strerror(errno));
	create.memfd = unsigned(memory);
	create.size = buffer_size;
	int fd = ioctl(device, UDMABUF_CREATE, &create);

	close(memory);
	close(device);
	REQUIRE(fd >= 0, "UDMABUF_CREATE: ", strerror(errno));
	return fd;
}

ibv_mr *try_reg(Env &env, int fd, uint64_t offset, size_t length,
		unsigned access = all_access, uint64_t iova = 0)
{
	errno = 0;
	return ibv_reg_dmabuf_mr(local(env.b).raw_pd(0), offset, length, iova,
				 fd, int(access));
}

ibv_mr *must_reg_dmabuf(Env &env, int fd, uint64_t offset, size_t length,
			uint64_t iova)
{
	ibv_mr *mr = try_reg(env, fd, offset, length, all_access, iova);

	if (!mr && errno == EOPNOTSUPP)
		throw Skip("this exporter maps nothing for the CPU, or the "
			   "driver has no dma-buf regions");
	REQUIRE(mr, "ibv_reg_dmabuf_mr: ", strerror(errno));
	return mr;
}

void run(Env &env, Link &link, Op op, const Mr &at_a, uint64_t remote,
	 uint32_t rkey, uint64_t length)
{
	SendWr wr = make_wr(op, {at_a, 0}, length);

	wr.remote = remote;
	wr.rkey = rkey;
	must_post(link.a, wr);
	check_wc(wait_send(env, link.a, name_of(op), length), wr.id,
		 IBV_WC_SUCCESS, name_of(op));
}

/* Everything that touches a region, on a part of the buffer. */
void use(Env &env, DmaBuffer &buffer, size_t offset, size_t length,
	 uint64_t iova)
{
	Link link = connect(env);
	Mr at_a = must_reg(env.a, {length});
	ibv_mr *mr = must_reg_dmabuf(env, buffer.fd(), offset, length, iova);
	uint64_t background = env.seed(), seed = env.seed();

	buffer.fill(0, buffer_size, background);
	env.a.fill(at_a.id, 0, length, seed, 0);
	run(env, link, Op::write, at_a, iova, mr->rkey, length);
	buffer.must_hold(offset, length, seed, "written");
	buffer.must_hold(0, offset, background, "before it");
	seed = env.seed();
	buffer.fill(offset, length, seed);
	run(env, link, Op::read, at_a, iova, mr->rkey, length);
	must_match(env.a, at_a, 0, length, seed, 0, "read");

	/* Locally: sent from, and received into. */
	seed = env.seed();
	buffer.fill(offset, length, seed);
	must_post(link.a, RecvWr{1, {{at_a.id, 0, uint32_t(length), 0}}});
	ibv_sge sge = {iova, uint32_t(length), mr->lkey};

	post_raw_send(link.b,
		      {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED},
		      sge);
	expect_recv(env, link.a, 1, "receive");
	expect_send(env, link.b, 0, "send");
	must_match(env.a, at_a, 0, length, seed, 0, "sent");
	seed = env.seed();
	env.a.fill(at_a.id, 0, length, seed, 0);
	post_raw_recv(link.b, sge);
	must_send(env, link.a, make_wr(Op::send, {at_a, 0}, length), "send");
	expect_recv(env, link.b, 0, "receive");
	buffer.must_hold(offset, length, seed, "received");
	REQUIRE_EQ(ibv_dereg_mr(mr), 0, "dereg_mr");
}

} // namespace

PV_TEST_LOCAL("dmabuf.heap", "a buffer of the system heap, whole and in part")
{
	DmaBuffer buffer(heap_buffer(O_RDWR | O_CLOEXEC));

	use(env, buffer, 0, buffer_size, 0);
	use(env, buffer, 8192, 100000, 0x10000);
	use(env, buffer, 4096 + 100, 5000, 0x7000000000000064);
}

PV_TEST_LOCAL("dmabuf.udmabuf", "a buffer made of shared memory")
{
	DmaBuffer buffer(udmabuf_buffer());

	use(env, buffer, 0, buffer_size, 0);
	use(env, buffer, 4096 + 100, 5000, 0x64);
}

PV_TEST_LOCAL("dmabuf.outlives_fd",
	      "a region holds its buffer: the file and its mapping may go")
{
	Link link = connect(env);
	Mr at_a = must_reg(env.a, {buffer_size}, 31),
	   back = must_reg(env.a, {buffer_size});
	ibv_mr *mr;

	{
		DmaBuffer buffer(heap_buffer(O_RDWR | O_CLOEXEC));

		mr = must_reg_dmabuf(env, buffer.fd(), 0, buffer_size, 0);
	}
	run(env, link, Op::write, at_a, 0, mr->rkey, buffer_size);
	run(env, link, Op::read, back, 0, mr->rkey, buffer_size);
	must_match(env.a, back, 0, buffer_size, 31, 0, "read back");
	REQUIRE_EQ(ibv_dereg_mr(mr), 0, "dereg_mr");
}

PV_TEST_LOCAL("dmabuf.refused", "what is beyond the buffer, no buffer, or not "
				"to be written to")
{
	DmaBuffer buffer(heap_buffer(O_RDWR | O_CLOEXEC));
	int reading = heap_buffer(O_RDONLY | O_CLOEXEC);
	int file = memfd_create("no-dma-buf", 0);
	ibv_mr *mr = must_reg_dmabuf(env, buffer.fd(), 0, buffer_size, 0);

	REQUIRE_EQ(ibv_dereg_mr(mr), 0, "dereg_mr");
	REQUIRE(!try_reg(env, buffer.fd(), 0, buffer_size + 1), "longer");
	REQUIRE_EQ(errno, EINVAL, "longer");
	REQUIRE(!try_reg(env, buffer.fd(), 4096, buffer_size), "shifted");
	REQUIRE_EQ(errno, EINVAL, "shifted");
	REQUIRE(!try_reg(env, buffer.fd(), UINT64_MAX - 4095, 8192), "wraps");
	REQUIRE(!try_reg(env, buffer.fd(), 0, 0), "nothing");
	REQUIRE(!try_reg(env, buffer.fd(), 100, 4096), "other place in a page");
	REQUIRE(!try_reg(env, file, 0, 4096), "no dma-buf");
	REQUIRE_EQ(errno, EINVAL, "no dma-buf");
	REQUIRE(!try_reg(env, -1, 0, 4096), "no file");
	REQUIRE_EQ(errno, EBADF, "no file");
	REQUIRE(!try_reg(env, reading, 0, buffer_size), "to be written to");
	REQUIRE_EQ(errno, EACCES, "to be written to");
	mr = try_reg(env, reading, 0, buffer_size, IBV_ACCESS_REMOTE_READ);
	REQUIRE(mr, "for reading: ", strerror(errno));
	REQUIRE_EQ(ibv_dereg_mr(mr), 0, "dereg_mr");
	close(reading);
	close(file);
}
