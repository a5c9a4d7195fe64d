// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which memory a region takes: what get_user_pages() gives the kernel, and nothing else. Each kind
 * of memory when it is registered, and when it comes later to the address of an on-demand region.
 */
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/child.h"
#include "manager.h"
#include "paged.h"
#include "persistent_memory.h"
#include "../common/pattern.h"
#include "tap.h"
#include "window.h"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif

using namespace pv;

namespace {

/* Where the other memory is, in the midst of a region. */
constexpr size_t odd = 5 * page;

/* Maps a page of that file over ordinary memory, and closes the file. */
void map_over(uint8_t *at, int fd, off_t offset)
{
	void *map = mmap(at, page, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, offset);
	int error = errno;

	close(fd);
	REQUIRE(map == at, "mmap: ", strerror(error));
}

/* Memory that the kernel itself has no mapping of. */
void map_secret(uint8_t *at)
{
	int fd = int(syscall(__NR_memfd_secret, 0));

	if (fd < 0)
		throw Skip("no memfd_secret(): User-Mode Linux has none, "
			   "others want secretmem.enable=1 before 6.5");
	REQUIRE(!ftruncate(fd, page), "ftruncate: ", strerror(errno));
	map_over(at, fd, 0);
	memset(at, 0x5e, page);
}

/* Memory of no page: the BIOS. */
void map_physical(uint8_t *at)
{
	int fd = open("/dev/mem", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		throw Skip("no /dev/mem");
	map_over(at, fd, 0xf0000);
}

/* Pages of the kernel in a mixed map: a packet socket's ring. */
void map_ring(uint8_t *at)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	tpacket_req ring = {page, 1, 2048, page / 2048};

	REQUIRE(fd >= 0, "packet socket: ", strerror(errno));
	REQUIRE(!setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring,
			    sizeof(ring)),
		"ring: ", strerror(errno));
	map_over(at, fd, 0);
}

void map_anonymous(uint8_t *at, size_t length)
{
	void *map = mmap(at, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	REQUIRE(map == at, "mmap: ", strerror(errno));
}

void map_ordinary(uint8_t *at)
{
	map_anonymous(at, page);
}

/* A region of the same memory, registered now. */
void register_anew(Env &env, Paged &memory)
{
	REQUIRE_EQ(ibv_dereg_mr(memory.mr), 0, "dereg_mr");
	memory.mr = on_demand(env.b, memory.data, paged_size).release();
}

int prefetch(Env &env, const Paged &memory, ibv_advise_mr_advice advice,
	     size_t offset, size_t length)
{
	ibv_sge sge = part_of(memory, offset, length);

	return ibv_advise_mr(local(env.b).raw_pd(0), advice, 0, &sge, 1);
}

/* A request of A, of memory of B that it has to be refused; 8 bytes. */
void refuse_peer(Env &env, Paged &a, Paged &b, ibv_wr_opcode opcode,
		 size_t offset)
{
	Link link = connect(env);
	uint64_t id = post(link.a, a, b, opcode, offset, 8);

	expect_send(env, link.a, id, "a peer's request", IBV_WC_REM_ACCESS_ERR);
}

/* B's region has no page there, for whatever use. */
void must_not_have(Env &env, Paged &a, Paged &b, size_t offset = odd)
{
	Link link = connect(env), back = connect(env);
	Moved fails(env.b, "odp_fault_errors");

	for (auto opcode :
	     {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD})
		refuse_peer(env, a, b, opcode, offset);
	REQUIRE(fails.by(), "no fault failed");
	uint64_t id = post(link.b, b, a, IBV_WR_RDMA_WRITE, offset, 8);

	expect_send(env, link.b, id, "write from it", IBV_WC_LOC_PROT_ERR);
	id = post(back.b, b, a, IBV_WR_RDMA_READ, offset, 8);
	expect_send(env, back.b, id, "read into it", IBV_WC_LOC_PROT_ERR);
	for (auto advice : {IBV_ADVISE_MR_ADVICE_PREFETCH,
			    IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE})
		REQUIRE_EQ(prefetch(env, b, advice, offset, page), EFAULT,
			   "advice ", int(advice));
	REQUIRE_EQ(prefetch(env, b, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0,
			    paged_size),
		   0, "advice that asks for nothing");
	refuse_peer(env, a, b, IBV_WR_RDMA_READ, offset);
}

/* Bytes go to that part of B's memory, and come back. */
void must_have(Env &env, Link &link, Paged &a, Paged &b, size_t offset,
	       size_t length)
{
	uint64_t seed = env.seed();

	pattern_fill(a.data + offset, length, seed, 0);
	must_run(env, link, a, b, IBV_WR_RDMA_WRITE, offset, length);
	b.must_hold(seed, offset, length, "written");
	memset(a.data + offset, 0, length);
	must_run(env, link, a, b, IBV_WR_RDMA_READ, offset, length);
	a.must_hold(seed, offset, length, "read");
}

using Map = void (*)(uint8_t *at);

/* Memory of that kind is refused when it is registered, and when it comes later. */
void must_refuse_kind(Env &env, Map map)
{
	env.expect_async();
	for (bool later : {false, true}) {
		Link link = connect(env);
		Paged a(env.a), b(env.b);

		if (later)
			must_have(env, link, a, b, 0, paged_size);
		map(b.data + odd);
		if (!later)
			register_anew(env, b);
		must_not_have(env, a, b);
		must_have(env, link, a, b, 0, odd);
		must_have(env, link, a, b, odd + page, paged_size - odd - page);
		map_ordinary(b.data + odd);
		must_have(env, link, a, b, 0, paged_size);
	}
}

/* The page fails. Newer kernels tell the process at once, by a signal. False: none can fail. */
bool poison(uint8_t *at)
{
	struct sigaction ignore = {}, before;

	ignore.sa_handler = [](int) {};
	sigaction(SIGBUS, &ignore, &before);
	bool done = !madvise(at, page, MADV_HWPOISON);
	sigaction(SIGBUS, &before, nullptr);
	return done;
}

/* The error of a registration without paging. */
int pin_error(Env &env, Paged &memory, int access)
{
	ibv_mr *region = ibv_reg_mr(local(env.b).raw_pd(0), memory.data,
				    paged_size, access);

	if (!region)
		return errno;
	REQUIRE_EQ(ibv_dereg_mr(region), 0, "dereg_mr");
	return 0;
}

/* Memory of that kind cannot be pinned, for reading neither. */
void must_not_pin(Env &env, Map map)
{
	Paged memory(env.b);

	map(memory.data + odd);
	REQUIRE_EQ(pin_error(env, memory, int(all_access)), EFAULT, "write");
	REQUIRE_EQ(pin_error(env, memory, IBV_ACCESS_REMOTE_READ), EFAULT,
		   "read");
	map_ordinary(memory.data + odd);
	REQUIRE_EQ(pin_error(env, memory, int(all_access)), 0, "ordinary");
}

/* Of lib/test_hmm_uapi.h, which no package has. */
struct dmirror_command {
	uint64_t address, to, pages, copied, faults;
};
constexpr unsigned long dmirror_migrate_to_device =
	_IOWR('H', 2, dmirror_command);

/*
 * A device with memory that the CPU does not reach: pages of this process move there, and come back
 * when the process uses them. A kernel has it by CONFIG_TEST_HMM.
 */
class PrivateDevice {
public:
	PrivateDevice()
	{
		(void)!system("modprobe -q test_hmm");
		fd_ = open("/dev/hmm_dmirror0", O_RDWR | O_CLOEXEC);
		if (fd_ < 0)
			throw Skip("no device-private memory");
	}
	~PrivateDevice() { close(fd_); }
	PrivateDevice(const PrivateDevice &) = delete;

	/* How many of these anonymous pages moved. */
	uint64_t take(uint8_t *at, size_t pages)
	{
		std::vector<uint8_t> copy(pages * page);
		dmirror_command command = {uintptr_t(at),
					   uintptr_t(copy.data()), pages};

		return ioctl(fd_, dmirror_migrate_to_device, &command) ?
			       0 :
			       command.copied;
	}

	/* All of them. One that a packet still refers to stays for now. */
	void take_all(Env &env, uint8_t *at, size_t pages)
	{
		uint64_t moved = 0;

		REQUIRE(eventually(env,
				   [&] {
					   moved += take(at, pages);
					   return moved >= pages;
				   }),
			moved, " of ", pages, " pages moved");
	}

private:
	int fd_;
};

/* A binding of @window to all of @memory's region. */
int bind_all(Side &side, Window &window, const Paged &memory)
{
	ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
			    .bind_info = {memory.mr, uintptr_t(memory.data),
					  paged_size, window_access}};

	return ibv_bind_mw(local(*side.host).raw_qp(side.qp.id), window.get(),
			   &bind);
}

} // namespace

PV_TEST_LOCAL("odp.vetted_secret",
	      "memfd_secret(): a region on demand never has such a page")
{
	must_refuse_kind(env, map_secret);
}

PV_TEST_LOCAL("odp.vetted_physical",
	      "physical memory: a region on demand never has it")
{
	must_refuse_kind(env, map_physical);
}

PV_TEST_LOCAL("odp.vetted_window",
	      "memfd_secret() behind a memory window that was bound before")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b, bindable_access);
	Window window(env.b, IBV_MW_TYPE_1);

	REQUIRE_EQ(bind_all(link.b, window, b), 0, "bind");
	REQUIRE_EQ(int(wait_send(env, link.b, "bind").status), IBV_WC_SUCCESS,
		   "bind");
	uint32_t own = b.mr->rkey;

	b.mr->rkey = window->rkey;
	must_have(env, link, a, b, 0, paged_size);
	map_secret(b.data + odd);
	env.expect_async();
	for (auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
		refuse_peer(env, a, b, opcode, odd);
	must_have(env, link, a, b, 0, odd);
	b.mr->rkey = own;
	REQUIRE_EQ(window.free(), 0, "dealloc_mw");
}

PV_TEST_LOCAL("region.secret", "memfd_secret() cannot be pinned")
{
	must_not_pin(env, map_secret);
}

PV_TEST_LOCAL("region.physical", "physical memory cannot be pinned")
{
	must_not_pin(env, map_physical);
}

PV_TEST_LOCAL("odp.vetted_ring",
	      "pages of the kernel that a process maps are memory like other "
	      "while they are mapped, on demand and pinned")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	env.expect_async();
	must_have(env, link, a, b, 0, paged_size);
	map_ring(b.data + odd);
	must_have(env, link, a, b, 0, paged_size);
	register_anew(env, b);
	must_have(env, link, a, b, 0, paged_size);
	REQUIRE_EQ(pin_error(env, b, int(all_access)), 0, "pinned");
	REQUIRE(!munmap(b.data + odd, page), "munmap");
	must_not_have(env, a, b);
	map_ordinary(b.data + odd);
	must_have(env, link, a, b, 0, paged_size);
}

PV_TEST_LOCAL("odp.vetted_punched",
	      "MADV_REMOVE: the hole is zeros, and new pages once it is written")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	must_have(env, link, a, b, 0, paged_size);
	REQUIRE(!madvise(b.data + odd, 3 * page, MADV_REMOVE),
		"madvise: ", strerror(errno));
	must_run(env, link, a, b, IBV_WR_RDMA_READ, odd, 3 * page);
	for (size_t i = odd; i < odd + 3 * page; i++)
		REQUIRE(!a.data[i], "byte ", i, " is not 0");
	must_have(env, link, a, b, 0, paged_size);
}

PV_TEST_LOCAL("odp.vetted_truncated",
	      "a file that is shorter than its region, and longer again")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	env.expect_async();
	must_have(env, link, a, b, 0, paged_size);
	b.resize(odd);
	must_not_have(env, a, b);
	must_not_have(env, a, b, paged_size - page);
	must_have(env, link, a, b, 0, odd);
	register_anew(env, b);
	must_not_have(env, a, b);
	b.resize(paged_size);
	must_run(env, link, a, b, IBV_WR_RDMA_READ, odd, page);
	for (size_t i = odd; i < odd + page; i++)
		REQUIRE(!a.data[i], "byte ", i, " is not 0");
	must_have(env, link, a, b, 0, paged_size);
}

PV_TEST_LOCAL("odp.vetted_poisoned",
	      "memory that failed, before and after it was registered")
{
	env.expect_async();
	for (bool later : {false, true}) {
		Link link = connect(env);
		Paged a(env.a), b(env.b);

		must_have(env, link, a, b, 0, paged_size);
		if (!poison(b.data + odd))
			throw Skip("the kernel knows no failures of memory");
		if (!later)
			register_anew(env, b);
		must_not_have(env, a, b);
		must_have(env, link, a, b, 0, odd);
		map_ordinary(b.data + odd);
		must_have(env, link, a, b, 0, paged_size);
	}
}

PV_TEST_LOCAL("odp.vetted_moved",
	      "pages that the kernel moves: no byte is lost, the old ones are "
	      "not written to")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	must_have(env, link, a, b, 0, paged_size);
	for (int round = 0; round < 4; round++) {
		uint64_t seed = env.seed();

		pattern_fill(b.data, paged_size, seed, 0);
		if (madvise(b.data + odd, page, MADV_SOFT_OFFLINE))
			throw Skip(str("the kernel takes no page out of use: ",
				       strerror(errno)));
		must_run(env, link, a, b, IBV_WR_RDMA_READ, 0, paged_size);
		a.must_hold(seed, 0, paged_size, "moved");
		must_have(env, link, a, b, 0, paged_size);
	}
}

PV_TEST_LOCAL("odp.vetted_persistent",
	      "a file without a page cache (DAX): on demand as others, and "
	      "never pinned")
{
	PersistentFiles files;
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	env.expect_async();
	must_have(env, link, a, b, 0, paged_size);
	b.replace(PersistentFiles::file());
	must_have(env, link, a, b, 0, paged_size);
	REQUIRE_EQ(pin_error(env, b, int(all_access)), EOPNOTSUPP, "pinned");
	register_anew(env, b);
	must_have(env, link, a, b, 0, paged_size);
	b.resize(odd);
	must_not_have(env, a, b);
	must_have(env, link, a, b, 0, odd);
	close(b.replace());
}

PV_TEST_LOCAL(
	"odp.vetted_private",
	"pages that moved to memory of a device which no CPU reaches: they "
	"come back when a region uses them, and when they are registered")
{
	constexpr size_t pages = 4;
	PrivateDevice device;
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	must_have(env, link, a, b, 0, paged_size);
	map_anonymous(b.data + odd, pages * page);
	for (bool anew : {false, true}) {
		const uint64_t seed = env.seed();

		pattern_fill(b.data, paged_size, seed, 0);
		device.take_all(env, b.data + odd, pages);
		if (anew)
			register_anew(env, b);
		must_run(env, link, a, b, IBV_WR_RDMA_READ, 0, paged_size);
		a.must_hold(seed, 0, paged_size, "read");
		device.take_all(env, b.data + odd, pages);
		must_have(env, link, a, b, 0, paged_size);
	}
	device.take_all(env, b.data + odd, pages);
	REQUIRE_EQ(pin_error(env, b, int(all_access)), 0, "pinned");
	must_have(env, link, a, b, 0, paged_size);
}

PV_TEST_LOCAL("odp.vetted_private_raced",
	      "pages move to memory of a device while messages come: no byte is "
	      "lost")
{
	constexpr size_t pages = 2;
	PrivateDevice device;
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	std::atomic<uint64_t> moved = 0;

	map_anonymous(b.data + odd, pages * page);
	std::jthread moves([&](const std::stop_token &stop) {
		while (!stop.stop_requested()) {
			moved += device.take(b.data + odd, pages);
			std::this_thread::yield();
		}
	});

	REQUIRE(eventually(env,
			   [&] {
				   must_have(env, link, a, b, 0, paged_size);
				   return moved >= 60;
			   }),
		moved.load(), " pages moved");
}

PV_TEST_LOCAL("odp.vetted_raced",
	      "memfd_secret() and other memory take turns while messages come")
{
	Paged a(env.a), b(env.b);

	env.expect_async();
	map_secret(b.data + odd);
	std::jthread turns([&](const std::stop_token &stop) {
		while (!stop.stop_requested()) {
			map_ordinary(b.data + odd);
			std::this_thread::yield();
			map_secret(b.data + odd);
			std::this_thread::yield();
		}
	});

	for (int round = 0; round < 30; round++) {
		Link link = connect(env);

		for (int i = 0; i < 8; i++)
			post(link.a, a, b,
			     i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, odd,
			     page);
		wait_completions(env, link.a, link.a.send_cq, 8, "requests");
		env.a.destroy(Kind::qp, link.a.qp.id);
		env.b.destroy(Kind::qp, link.b.qp.id);
	}
}

PV_TEST_LOCAL("odp.no_fault",
	      "prefetching without faults: it takes what is there around what "
	      "is not, and brings nothing in")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	unsigned char there[paged_size / page];

	REQUIRE(mmap(b.data, paged_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == b.data,
		"mmap");
	for (size_t at = 0; at < paged_size; at += 3 * page)
		b.data[at] = 1;
	REQUIRE_EQ(prefetch(env, b, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0,
			    paged_size),
		   0, "advise_mr");
	REQUIRE(!mincore(b.data, paged_size, there), "mincore");
	Moved faults(env.b, "odp_faults");

	for (size_t i = 0; i < paged_size / page; i++) {
		REQUIRE_EQ(there[i] & 1, i % 3 == 0, "page ", i, " is there");
		if (i % 3)
			continue;
		must_run(env, link, a, b, IBV_WR_RDMA_READ, i * page, page);
		REQUIRE_EQ(int(a.data[i * page]), 1, "page ", i);
	}
	REQUIRE_EQ(faults.by(), 0u, "faults of pages that were there");
	must_run(env, link, a, b, IBV_WR_RDMA_READ, page, page);
	REQUIRE(faults.by(), "no page was missing");
}

PV_TEST_LOCAL("odp.looked_at_again",
	      "a page that was written to stays writable when it is prefetched "
	      "for reading")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	must_have(env, link, a, b, 0, paged_size);
	Moved faults(env.b, "odp_faults");

	for (auto advice : {IBV_ADVISE_MR_ADVICE_PREFETCH,
			    IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT})
		REQUIRE_EQ(prefetch(env, b, advice, 0, paged_size), 0,
			   "advise_mr");
	must_have(env, link, a, b, 0, paged_size);
	REQUIRE_EQ(faults.by(), 0u, "faults");
}

PV_TEST_LOCAL("odp.huge_pages",
	      "huge pages: prefetching without faults brings none in, "
	      "requests do, and none is there after munmap()")
{
	constexpr size_t huge = 2 << 20;
	Link link = connect(env);
	Paged a(env.a);
	unsigned char there;
	void *map = mmap(nullptr, huge, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (map == MAP_FAILED)
		throw Skip("no huge pages");
	auto *at = static_cast<uint8_t *>(map) + huge - paged_size;
	RawMr mr = on_demand(env.b, at, paged_size);
	ibv_sge sge = {uintptr_t(at), paged_size, mr->lkey};

	REQUIRE_EQ(ibv_advise_mr(local(env.b).raw_pd(0),
				 IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0,
				 &sge, 1),
		   0, "advise_mr");
	REQUIRE(!mincore(at, page, &there) && !(there & 1), "it came");
	a.fill(5);
	uint64_t id = post_to(link.a, a, as_target(mr), IBV_WR_RDMA_WRITE);

	expect_send(env, link.a, id, "write");
	REQUIRE(pattern_verify(at, paged_size, 5, 0) < 0, "written");
	a.fill(6);
	id = post_to(link.a, a, as_target(mr), IBV_WR_RDMA_READ);
	expect_send(env, link.a, id, "read");
	a.must_hold(5, 0, paged_size, "read");
	REQUIRE(!munmap(map, huge), "munmap");
	env.expect_async();
	id = post_to(link.a, a, as_target(mr), IBV_WR_RDMA_READ);
	expect_send(env, link.a, id, "read of what is not there",
		    IBV_WC_REM_ACCESS_ERR);
}

PV_TEST_LOCAL("odp.forked",
	      "a child shares the pages until one writes: the region stays its "
	      "process's")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	int go[2];

	REQUIRE(mmap(b.data, paged_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == b.data,
		"mmap");
	pattern_fill(b.data, paged_size, 3, 0);
	must_run(env, link, a, b, IBV_WR_RDMA_READ, 0, paged_size);
	REQUIRE(!pipe(go), "pipe");
	common::Child child([&] {
		char end;

		close(go[1]);
		(void)!read(go[0], &end, 1);
		REQUIRE_EQ(pattern_verify(b.data, paged_size, 3, 0), -1,
			   "the child's memory changed");
	});
	close(go[0]);
	/* One page by the process itself, the others by its peer. */
	memset(b.data, 0xee, page);
	must_run(env, link, a, b, IBV_WR_RDMA_READ, 0, page);
	for (size_t i = 0; i < page; i++)
		REQUIRE_EQ(int(a.data[i]), 0xee, "byte ", i);
	must_have(env, link, a, b, 0, paged_size);
	close(go[1]);
	child.must_end_well();
}
