// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions of memory that lies in a controller (peer-to-peer DMA): every operation at it, transfers
 * of the controller's own disk into it and out of it, and its end while the region lives.
 */
#include <cerrno>
#include <cstring>
#include <thread>

#include <endian.h>
#include <sys/mman.h>

#include "../common/pattern.h"
#include "../verbs/manager.h"
#include "../verbs/paged.h"
#include "../verbs/qdisc.h"
#include "../verbs/tap.h"
#include "block.h"
#include "device_memory.h"

using namespace pv;

namespace {

constexpr size_t size_of_memory = 16 * page;
/* Rights by which a program registers it: the module makes both regions alike. */
constexpr unsigned plain = all_access,
		   demanded = all_access | IBV_ACCESS_ON_DEMAND;

/* A part of the memory, at no border of a page. */
struct P2pPart {
	size_t offset;
	size_t length;
};
constexpr P2pPart p2p_parts[] = {
	{3, 1},
	{page - 5, 100},
	{page + 1, 2 * page + 7},
	{2 * page, 4 * page},
	{page - 3, size_of_memory - 2 * page + 1},
};

/* A link between ordinary memory of A and memory of a controller that B has. */
struct Station {
	Station(Env &env, unsigned access, const LinkSpec &spec = {})
		: env(env), controller(with_memory),
		  memory(controller, size_of_memory),
		  address(uintptr_t(memory.at())),
		  region(must_reg_raw(env.b, memory.at(), size_of_memory,
				      access)),
		  link(connect(env, spec)),
		  at_a(must_reg(env.a, {size_of_memory}))
	{
	}

	/* Entries of a request; the same place at both ends. */
	ibv_sge here(const P2pPart &part) const
	{
		return {at_a.address + part.offset, uint32_t(part.length),
			at_a.lkey};
	}
	ibv_sge there(const P2pPart &part) const
	{
		return {address + part.offset, uint32_t(part.length),
			region->lkey};
	}

	/* One end's request for a part of the other end's memory. */
	void post_by_a(ibv_wr_opcode opcode, const P2pPart &part)
	{
		post_at(link.a, opcode, here(part), address + part.offset,
			region->rkey);
	}
	void post_by_b(ibv_wr_opcode opcode, const P2pPart &part)
	{
		post_at(link.b, opcode, there(part), at_a.address + part.offset,
			at_a.rkey);
	}
	void run_by_a(ibv_wr_opcode opcode, const P2pPart &part,
		      ibv_wc_status status = IBV_WC_SUCCESS)
	{
		post_by_a(opcode, part);
		expect_send(env, link.a, request, "request of the peer",
			    status);
	}
	void run_by_b(ibv_wr_opcode opcode, const P2pPart &part,
		      ibv_wc_status status = IBV_WC_SUCCESS)
	{
		post_by_b(opcode, part);
		expect_send(env, link.b, request, "request of its owner",
			    status);
	}

	/* Bytes of that pattern in the part of A, and of another around it. */
	void prepare_a(const P2pPart &part, uint64_t seed, uint64_t around)
	{
		env.a.fill(at_a.id, 0, size_of_memory, around, 0);
		env.a.fill(at_a.id, int64_t(part.offset), part.length, seed, 0);
	}
	void prepare_b(const P2pPart &part, uint64_t seed, uint64_t around)
	{
		memory.fill(0, size_of_memory, around);
		memory.fill(part.offset, part.length, seed);
	}
	void must_hold_at_a(const P2pPart &part, uint64_t seed, uint64_t around)
	{
		const size_t end = part.offset + part.length;

		must_match(env.a, at_a, 0, part.offset, around, 0, "before it");
		must_match(env.a, at_a, int64_t(part.offset), part.length, seed,
			   0, "from the device");
		must_match(env.a, at_a, int64_t(end), size_of_memory - end,
			   around, end, "behind it");
	}
	void must_hold_at_b(const P2pPart &part, uint64_t seed,
			    uint64_t around) const
	{
		const size_t end = part.offset + part.length;

		memory.must_hold(0, part.offset, around, 0, "before it");
		memory.must_hold(part.offset, part.length, seed, 0,
				 "into the device");
		memory.must_hold(end, size_of_memory - end, around, end,
				 "behind it");
	}

	static constexpr uint64_t request = 0x703270;

	Env &env;
	Controller controller;
	DeviceMemory memory;
	const uintptr_t address; /* also when the memory has gone */
	RawMr region;
	Link link;
	Mr at_a;

private:
	static void post_at(Side &side, ibv_wr_opcode opcode,
			    const ibv_sge &sge, uint64_t remote, uint32_t rkey)
	{
		ibv_send_wr wr = {.wr_id = request,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED};

		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
		post_raw_send(side, wr, sge);
	}
};

/* Bytes come into the device: by writes and sends of the peer, and by a read of its owner. */
void fill_device(Env &env, Station &s, const P2pPart &part)
{
	const uint64_t around = env.seed();

	for (auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ}) {
		const uint64_t seed = env.seed();

		s.prepare_a(part, seed, env.seed());
		s.prepare_b(part, env.seed(), around);
		if (opcode == IBV_WR_SEND)
			post_raw_recv(s.link.b, s.there(part));
		if (opcode == IBV_WR_RDMA_READ)
			s.run_by_b(opcode, part);
		else
			s.run_by_a(opcode, part);
		if (opcode == IBV_WR_SEND)
			expect_recv(env, s.link.b, 0, "receive");
		s.must_hold_at_b(part, seed, around);
	}
}

/* They leave it: by writes and sends of its owner, and by a read of the peer. */
void drain_device(Env &env, Station &s, const P2pPart &part)
{
	const uint64_t around = env.seed();

	for (auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ}) {
		const uint64_t seed = env.seed();

		s.prepare_b(part, seed, env.seed());
		s.prepare_a(part, env.seed(), around);
		if (opcode == IBV_WR_SEND)
			post_raw_recv(s.link.a, s.here(part));
		if (opcode == IBV_WR_RDMA_READ)
			s.run_by_a(opcode, part);
		else
			s.run_by_b(opcode, part);
		if (opcode == IBV_WR_SEND)
			expect_recv(env, s.link.a, 0, "receive");
		s.must_hold_at_a(part, seed, around);
	}
}

/* Memory of the process itself, in the place of other memory. */
class Ordinary {
public:
	Ordinary(uint8_t *at, size_t length)
		: at_(static_cast<uint8_t *>(
			  mmap(at, length, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)))
	{
		REQUIRE_EQ(at_, at, "mmap: ", strerror(errno));
	}
	uint8_t *at() const { return at_; }

private:
	uint8_t *at_; /* of a mapping that ends with the other memory's */
};

/* Neither end has the memory any more: the peer hears so, and so does the owner. */
void must_be_gone(Env &env, Station &s)
{
	constexpr P2pPart part = {page - 5, 3 * page};
	Moved failed(env.b, "odp_fault_errors");

	s.run_by_a(IBV_WR_RDMA_WRITE, part, IBV_WC_REM_ACCESS_ERR);
	s.link = connect(env);
	s.run_by_a(IBV_WR_RDMA_READ, part, IBV_WC_REM_ACCESS_ERR);
	s.link = connect(env);
	s.run_by_b(IBV_WR_RDMA_WRITE, part, IBV_WC_LOC_PROT_ERR);
	REQUIRE(failed.by() >= 3, "faults that failed: ", failed.by());
}

} // namespace

PV_TEST_LOCAL("p2p.to_device",
	      "writes and sends of a peer and responses to reads land in "
	      "memory of a controller, each byte in its place")
{
	for (unsigned access : {plain, demanded}) {
		Moved pages(env.b, "device_pages");
		Station s(env, access);

		for (const P2pPart &part : p2p_parts)
			fill_device(env, s, part);
		REQUIRE(pages.by() >= size_of_memory / page,
			"pages of the device: ", pages.by());
	}
}

PV_TEST_LOCAL("p2p.from_device",
	      "writes and sends from memory of a controller and a peer's reads "
	      "of it have each of its bytes, whether answers are copied or not")
{
	for (unsigned access : {plain, demanded}) {
		for (const char *copies : {"Y", "N"}) {
			common::Parameter reads("copy_reads", copies);
			Station s(env, access);

			for (const P2pPart &part : p2p_parts)
				drain_device(env, s, part);
		}
	}
}

PV_TEST_LOCAL("p2p.disk",
	      "a controller reads its disk into its memory, from where a write "
	      "leaves; it writes what a peer's write has brought there")
{
	const BlockDisk disk(with_memory);
	Station s(env, plain);
	constexpr P2pPart whole = {0, size_of_memory};

	for (const P2pPart &part :
	     {P2pPart{0, size_of_memory}, P2pPart{page, 3 * page},
	      P2pPart{page + block, 9 * block}}) {
		const uint64_t seed = env.seed(), around = env.seed();

		disk.fill(part.offset, part.length, seed);
		s.prepare_b(whole, around, around);
		disk.read(s.memory.at(part.offset), part.length, part.offset);
		s.prepare_a(whole, env.seed(), env.seed());
		s.run_by_b(IBV_WR_RDMA_WRITE, whole);
		must_match(env.a, s.at_a, int64_t(part.offset), part.length,
			   seed, part.offset, "of the disk");
		must_match(env.a, s.at_a, 0, part.offset, around, 0,
			   "before the disk's");

		const uint64_t back = env.seed();

		s.prepare_a(part, back, env.seed());
		s.run_by_a(IBV_WR_RDMA_WRITE, part);
		disk.write(s.memory.at(part.offset), part.length, part.offset);
		disk.must_hold(part.offset, part.length, back, 0, "written");
	}
}

PV_TEST_LOCAL("p2p.atomic",
	      "an atomic on a word of a controller is refused and counted, and "
	      "the word stays")
{
	env.expect_async();
	for (auto opcode :
	     {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
		Station s(env, plain);
		Moved refused(env.b, "device_atomics");
		const uint64_t seed = env.seed();
		ibv_send_wr wr = {.wr_id = Station::request,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED};

		s.memory.fill(0, size_of_memory, seed);
		wr.wr.atomic.remote_addr = uintptr_t(s.memory.at(page));
		wr.wr.atomic.rkey = s.region->rkey;
		/* As it lies in memory. */
		wr.wr.atomic.compare_add =
			htole64(pattern_word(seed, page / 8));
		post_raw_send(s.link.a, wr, s.here({0, 8}));
		expect_send(env, s.link.a, Station::request, "atomic",
			    IBV_WC_REM_ACCESS_ERR);
		REQUIRE_EQ(refused.by(), 1u, "atomics refused");
		s.memory.must_hold(0, size_of_memory, seed, 0, "memory");
	}
}

PV_TEST_LOCAL("p2p.rights",
	      "memory of a controller that may not be written to is a region "
	      "for reading alone; no region moves to such memory")
{
	const Controller controller(with_memory);
	const DeviceMemory memory(controller, page, false),
		all(controller, page);
	ibv_pd *pd = local(env.b).raw_pd(0);

	errno = 0;
	REQUIRE(!ibv_reg_mr(pd, memory.at(), page, int(plain)), "for writing");
	REQUIRE_EQ(errno, EFAULT, "for writing");
	const RawMr readable =
		must_reg_raw(env.b, memory.at(), page, IBV_ACCESS_REMOTE_READ);
	Mr ordinary = must_reg(env.b, {page});
	ibv_mr *raw = local(env.b).raw_mr(ordinary.id);

	REQUIRE(ibv_rereg_mr(raw, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
			     all.at(), page, 0),
		"another region moves there");
	REQUIRE_EQ(errno, EREMOTEIO, "another region moves there");
}

PV_TEST_LOCAL("p2p.unmapped",
	      "a process unmaps memory of a controller that is a region: it is "
	      "the controller's again, and uses of the region fail")
{
	env.expect_async();
	for (unsigned access : {plain, demanded}) {
		Station s(env, access);
		const uint64_t had = s.controller.available();

		s.run_by_a(IBV_WR_RDMA_WRITE, {0, size_of_memory});
		s.memory.give_back();
		REQUIRE_EQ(s.controller.available(), had + size_of_memory,
			   "bytes of the controller");
		must_be_gone(env, s);
	}
}

PV_TEST_LOCAL("p2p.replaced",
	      "other memory at the address of a region of a controller's is "
	      "not reached by it; memory that is only in part a controller's "
	      "is no region, unless on demand")
{
	env.expect_async();
	Station s(env, plain);
	const uint64_t seed = env.seed();

	s.run_by_a(IBV_WR_RDMA_WRITE, {0, size_of_memory});
	const Ordinary other(s.memory.at(page), page);

	pattern_fill(other.at(), page, seed, 0);
	s.run_by_a(IBV_WR_RDMA_WRITE, {page, 8}, IBV_WC_REM_ACCESS_ERR);
	s.link = connect(env);
	s.run_by_a(IBV_WR_RDMA_WRITE, {2 * page, size_of_memory - 2 * page});
	REQUIRE(pattern_verify(other.at(), page, seed, 0) < 0, "other memory");

	ibv_pd *pd = local(env.b).raw_pd(0);

	errno = 0;
	REQUIRE(!ibv_reg_mr(pd, s.memory.at(), 2 * page, int(plain)), "both");
	REQUIRE_EQ(errno, EFAULT, "both");
	s.region = must_reg_raw(env.b, s.memory.at(), size_of_memory, demanded);
	fill_device(env, s, {page - 5, 3 * page});
}

PV_TEST_LOCAL("p2p.unbound",
	      "the driver of a controller leaves while its memory is a region: "
	      "uses of the region fail, and memory of the next driver works")
{
	env.expect_async();
	for (unsigned access : {plain, demanded}) {
		Station s(env, access);

		s.run_by_a(IBV_WR_RDMA_WRITE, {0, size_of_memory});
		s.controller.unbind();
		must_be_gone(env, s);
		s.controller.bind(env);
		s.link = connect(env);
		s.run_by_a(IBV_WR_RDMA_WRITE, {0, page}, IBV_WC_REM_ACCESS_ERR);
		REQUIRE_EQ(ibv_dereg_mr(s.region.release()), 0, "dereg_mr");

		Station next(env, access);

		fill_device(env, next, {page - 5, 3 * page});
	}
}

PV_TEST_LOCAL("p2p.unbound_at_work",
	      "it leaves while writes come into the region: each succeeds or "
	      "fails for want of access")
{
	env.expect_async();
	for (int round = 0; round < 3; round++) {
		Station s(env, plain);
		ibv_wc_status status;

		s.run_by_a(IBV_WR_RDMA_WRITE, {0, size_of_memory});
		std::jthread leave([&] { s.controller.unbind(); });

		do {
			s.post_by_a(IBV_WR_RDMA_WRITE, {0, size_of_memory});
			status = wait_send(env, s.link.a, "write").status;
		} while (status == IBV_WC_SUCCESS);
		leave.join();
		REQUIRE_EQ(status, IBV_WC_REM_ACCESS_ERR, "the last write");
		s.controller.bind(env);
	}
}

PV_TEST_LOCAL("p2p.unbound_queued",
	      "it leaves while packets with bytes of its memory wait in a queue "
	      "of the interface: they have copies, and arrive")
{
	constexpr P2pPart part = {page - 5, 3 * page};
	common::Parameter reads("copy_reads", "N");

	for (auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		/* A time-out that is longer by far than the wait. */
		Station s(env, plain, {.timeout = 24, .retry_count = 0});
		const uint64_t seed = env.seed(), around = env.seed();
		const bool read = opcode == IBV_WR_RDMA_READ;
		const unsigned packets =
			unsigned((part.length + s.link.mtu - 1) / s.link.mtu);

		s.prepare_b(part, seed, env.seed());
		s.prepare_a(part, env.seed(), around);
		Qdisc delay(env.b, "netem limit 1000 delay 10s");
		Moved sent(env.b, "tx_packets"), came(env.a, "rx_packets");

		if (read)
			s.post_by_a(opcode, part);
		else
			s.post_by_b(opcode, part);
		REQUIRE(eventually(env, [&] { return sent.by() >= packets; }),
			"packets in the queue");
		s.controller.unbind();
		REQUIRE_EQ(came.by(), 0u, "the driver waited for the packets");
		expect_send(env, read ? s.link.a : s.link.b, Station::request,
			    "request");
		s.must_hold_at_a(part, seed, around);
		s.controller.bind(env);
	}
}
