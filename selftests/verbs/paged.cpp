// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory that is not there when it is needed: see paged.h. */
#include "paged.h"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "tap.h"

namespace pv {

namespace {

int make_file()
{
	int fd = memfd_create("pavo-odp", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && !ftruncate(fd, paged_size),
		"memfd: ", strerror(errno));
	return fd;
}

/* Fills in what is the same for all services, and posts it. */
uint64_t post_request(Side &side, ibv_send_wr *wr, Paged &from, const Mr &to,
		      size_t offset, size_t length)
{
	static uint64_t id = 0x6f64700000000000;

	wr->wr_id = ++id;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = to.address + offset;
		wr->wr.atomic.rkey = to.rkey;
		wr->wr.atomic.compare_add = 5;
	} else {
		wr->wr.rdma.remote_addr = to.address + offset;
		wr->wr.rdma.rkey = to.rkey;
	}
	post_raw_send(side, *wr, part_of(from, offset, length));
	return wr->wr_id;
}

Mr as_target(const Paged &memory)
{
	return {.address = uintptr_t(memory.data), .rkey = memory.mr->rkey};
}

} // namespace

Paged::Paged(Host &host, unsigned access) : fd_(make_file())
{
	data = static_cast<uint8_t *>(mmap(nullptr, paged_size,
					   PROT_READ | PROT_WRITE, MAP_SHARED,
					   fd_, 0));
	REQUIRE(data != MAP_FAILED, "mmap: ", strerror(errno));
	mr = ibv_reg_mr(local(host).raw_pd(0), data, paged_size,
			int(access | IBV_ACCESS_ON_DEMAND));
	if (!mr && (errno == EOPNOTSUPP || errno == EINVAL))
		throw Skip("the device has no on-demand paging");
	REQUIRE(mr, "reg_mr: ", strerror(errno));
}

Paged::~Paged()
{
	if (mr)
		ibv_dereg_mr(mr);
	munmap(data, paged_size);
	close(fd_);
}

void Paged::cool(size_t offset, size_t length)
{
	REQUIRE(!madvise(data + offset, length, MADV_DONTNEED),
		"madvise: ", strerror(errno));
}

void Paged::fill(uint64_t seed, size_t offset, size_t length)
{
	pattern_fill(data + offset, length, seed, 0);
	cool();
}

void Paged::must_hold(uint64_t seed, size_t offset, size_t length,
		      const char *what)
{
	int64_t bad = pattern_verify(data + offset, length, seed, 0);

	REQUIRE(bad < 0, what, ": byte ", bad, " is wrong");
}

int Paged::replace()
{
	int old = dup(fd_);

	REQUIRE(old >= 0, "dup: ", strerror(errno));
	replace(make_file());
	return old;
}

void Paged::replace(int fd)
{
	close(fd_);
	fd_ = fd;
	REQUIRE(mmap(data, paged_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, fd, 0) == data,
		"mmap: ", strerror(errno));
}

void Paged::resize(size_t length)
{
	REQUIRE(!ftruncate(fd_, off_t(length)), "ftruncate: ", strerror(errno));
}

RawMr must_reg_raw(Host &host, void *at, size_t length, unsigned access)
{
	RawMr region(
		ibv_reg_mr(local(host).raw_pd(0), at, length, int(access)));

	REQUIRE(region, "reg_mr: ", strerror(errno));
	return region;
}

RawMr on_demand(Host &host, void *at, size_t length)
{
	return must_reg_raw(host, at, length,
			    all_access | IBV_ACCESS_ON_DEMAND);
}

Mr as_target(const RawMr &region)
{
	return {.address = uintptr_t(region->addr), .rkey = region->rkey};
}

ibv_sge part_of(const Paged &memory, size_t offset, size_t length)
{
	return {uintptr_t(memory.data) + offset, uint32_t(length),
		memory.mr->lkey};
}

uint64_t post(Side &side, Paged &from, Paged &to, ibv_wr_opcode opcode,
	      size_t offset, size_t length, unsigned flags)
{
	ibv_send_wr wr = {.opcode = opcode, .send_flags = flags};

	return post_request(side, &wr, from, as_target(to), offset, length);
}

uint64_t post_xrc(Side &side, uint32_t srqn, Paged &from, Paged &to,
		  ibv_wr_opcode opcode, size_t offset, size_t length)
{
	ibv_send_wr wr = {.opcode = opcode,
			  .send_flags = IBV_SEND_SIGNALED,
			  .qp_type = {.xrc = {.remote_srqn = srqn}}};

	return post_request(side, &wr, from, as_target(to), offset, length);
}

uint64_t post_to(Side &side, Paged &from, const Mr &to, ibv_wr_opcode opcode)
{
	ibv_send_wr wr = {.opcode = opcode, .send_flags = IBV_SEND_SIGNALED};

	return post_request(side, &wr, from, to, 0, paged_size);
}

void must_add(Paged &a, Paged &b, const std::function<void()> &add)
{
	uint64_t value = 37;

	memcpy(b.data + 2 * page, &value, sizeof(value));
	a.cool();
	b.cool();
	add();
	memcpy(&value, a.data + 2 * page, sizeof(value));
	REQUIRE_EQ(value, 37u, "atomic's result");
	memcpy(&value, b.data + 2 * page, sizeof(value));
	REQUIRE_EQ(value, 42u, "atomic's value");
}

void must_run(Env &env, Link &link, Paged &from, Paged &to,
	      ibv_wr_opcode opcode, size_t offset, size_t length)
{
	uint64_t id = post(link.a, from, to, opcode, offset, length);

	expect_send(env, link.a, id, "on demand");
}

void post_recv(Side &side, Paged &to, size_t offset, size_t length)
{
	post_raw_recv(side, part_of(to, offset, length));
}

void post_srq_recv(Host &host, const Srq &srq, Paged &to, size_t offset,
		   size_t length)
{
	ibv_sge sge = part_of(to, offset, length);
	ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	REQUIRE_EQ(ibv_post_srq_recv(local(host).raw_srq(srq.id), &wr, &bad), 0,
		   "post_srq_recv");
}

} // namespace pv
