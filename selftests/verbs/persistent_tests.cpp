// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMA FLUSH for persistence (IBA 1.6): which regions can have the right, and flushes of what was
 * written to them. That the bytes leave the caches is tested in user space
 * (selftests/engine/persistent_test.c): a guest's power does not fail.
 */
#include <cerrno>
#include <cstring>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "ext.h"
#include "manager.h"
#include "paged.h"
#include "pavo_dv.h"
#include "persistent_memory.h"
#include "../common/pattern.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr unsigned flush_rights = PAVODV_ACCESS_FLUSH_GLOBAL |
				  PAVODV_ACCESS_FLUSH_PERSISTENT;
constexpr unsigned on_demand_flush = all_access | flush_rights |
				     IBV_ACCESS_ON_DEMAND;
constexpr uint64_t can_flush_persistent = 1ull << 39;

void must_be_claimed(Host &host)
{
	ibv_device_attr_ex attr = {};

	if (!host.knows_ext())
		throw Skip("about pavo");
	REQUIRE_EQ(ibv_query_device_ex(local(host).context(), nullptr, &attr),
		   0, "query_device_ex");
	if (!(attr.device_cap_flags_ex & can_flush_persistent))
		throw Skip("the kernel has no flush for persistence");
}

int error_of_reg(Host &host, void *at, size_t length, unsigned access)
{
	ibv_mr *mr = ibv_reg_mr(local(host).raw_pd(0), at, length, int(access));

	if (!mr)
		return errno;
	REQUIRE_EQ(ibv_dereg_mr(mr), 0, "dereg_mr");
	return 0;
}

ExtLink connect_flush(Env &env)
{
	return connect_ext(env, {.access = all_access | flush_rights});
}

/* A writes all of the memory by @rkey, adds to one word, and flushes it for both. */
void must_persist(Env &env, const RawMr &region, uint32_t rkey)
{
	ExtLink link = connect_flush(env);
	Mr to = as_target(region);
	const auto length = uint32_t(region->length);
	const uint64_t seed = env.seed();
	std::vector<uint8_t> bytes(length);
	uint64_t word;

	to.rkey = rkey;
	pattern_fill(bytes.data(), length, seed, 0);
	RawMr out = must_reg_raw(env.a, bytes.data(), length);
	start_ext(link, 1, 0);
	ibv_wr_rdma_write(link.ex, to.rkey, to.address);
	ibv_wr_set_sge(link.ex, out->lkey, uintptr_t(bytes.data()), length);
	next_ext(link, 2);
	pavodv_wr_flush(link.ex, to.rkey, to.address, length,
			PAVO_FLUSH_GLOBAL | PAVO_FLUSH_PERSISTENT);
	next_ext(link, 3, 0);
	ibv_wr_atomic_fetch_add(link.ex, to.rkey, to.address + 8, 1);
	ibv_wr_set_sge(link.ex, out->lkey, uintptr_t(bytes.data()), 8);
	next_ext(link, 4);
	pavodv_wr_flush(link.ex, to.rkey, 0, 0,
			PAVO_FLUSH_PERSISTENT | PAVO_FLUSH_REGION);
	REQUIRE_EQ(end_ext(link), 0, "post");
	expect_send(env, link.a, 2, "flush of the range");
	expect_send(env, link.a, 4, "flush of the region");
	/* As they were before the addition. */
	memcpy(&word, static_cast<uint8_t *>(region->addr) + 8, 8);
	word--;
	memcpy(static_cast<uint8_t *>(region->addr) + 8, &word, 8);
	const int64_t bad = pattern_verify(region->addr, length, seed, 0);

	REQUIRE(bad < 0, "byte ", bad, " is wrong");
}

void must_persist(Env &env, const RawMr &region)
{
	must_persist(env, region, region->rkey);
}

/* A memory window over all of the region. */
struct Bound {
	Bound(Env &env, const RawMr &region)
		: link(connect(env)),
		  mw(ibv_alloc_mw(local(env.b).raw_pd(0), IBV_MW_TYPE_1))
	{
		ibv_mw_bind bind = {
			.wr_id = 1,
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = {region.get(), uintptr_t(region->addr),
				      region->length, peers_rights},
		};

		REQUIRE(mw, "alloc_mw: ", strerror(errno));
		REQUIRE_EQ(ibv_bind_mw(local(env.b).raw_qp(link.b.qp.id), mw,
				       &bind),
			   0, "bind_mw");
		expect_send(env, link.b, 1, "bind");
	}
	~Bound() { ibv_dealloc_mw(mw); }
	Bound(const Bound &) = delete;

	static constexpr unsigned peers_rights = IBV_ACCESS_REMOTE_WRITE |
						 IBV_ACCESS_REMOTE_ATOMIC |
						 flush_rights;
	Link link;
	ibv_mw *mw;
};

void must_be_refused(Env &env, const RawMr &region, size_t at)
{
	ExtLink link = connect_flush(env);
	Mr out = must_reg(env.a, {8});

	start_ext(link, 1);
	ibv_wr_rdma_write(link.ex, region->rkey, uintptr_t(region->addr) + at);
	ibv_wr_set_sge(link.ex, out.lkey, out.address, 8);
	REQUIRE_EQ(end_ext(link), 0, "post");
	expect_send(env, link.a, 1, "other memory", IBV_WC_REM_ACCESS_ERR);
}

} // namespace

PV_TEST_LOCAL("persistent.other",
	      "ordinary memory is not persistent: no region of it has the "
	      "right, and no page of it gets into one")
{
	must_be_claimed(env.b);
	Paged ordinary(env.b);

	REQUIRE_EQ(error_of_reg(env.b, ordinary.data, paged_size,
				all_access | flush_rights),
		   EINVAL, "pinned");
	RawMr region =
		must_reg_raw(env.b, ordinary.data, paged_size, on_demand_flush);

	env.expect_async();
	must_be_refused(env, region, 0);
	RawMr plain = must_reg_raw(env.b, ordinary.data, paged_size);

	REQUIRE_EQ(ibv_rereg_mr(plain.get(), IBV_REREG_MR_CHANGE_ACCESS,
				nullptr, nullptr, 0,
				int(all_access | flush_rights)),
		   IBV_REREG_MR_ERR_CMD, "registered anew");
	REQUIRE_EQ(errno, EINVAL, "registered anew");
}

PV_TEST_LOCAL("persistent.files",
	      "of files without a page cache (DAX), on demand; not where "
	      "another page comes to the address")
{
	must_be_claimed(env.b);
	PersistentFiles files;
	int fd = PersistentFiles::file();
	void *at = mmap(nullptr, paged_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);

	REQUIRE(at != MAP_FAILED, "mmap: ", strerror(errno));
	close(fd);
	{
		RawMr region =
			must_reg_raw(env.b, at, paged_size, on_demand_flush);

		must_persist(env, region);
		env.expect_async();
		REQUIRE(mmap(static_cast<uint8_t *>(at) + page, page,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			     0) != MAP_FAILED,
			"mmap: ", strerror(errno));
		must_be_refused(env, region, page);
	}
	munmap(at, paged_size);
}

PV_TEST_LOCAL("persistent.device",
	      "of a device that processes map (device DAX), pinned; by the "
	      "region's key and by a memory window's")
{
	must_be_claimed(env.b);
	PersistentDevice device;
	{
		RawMr bound = must_reg_raw(env.b, device.data, device.size,
					   all_access | flush_rights |
						   IBV_ACCESS_MW_BIND);
		must_persist(env, bound);
		Bound window(env, bound);

		must_persist(env, bound, window.mw->rkey);
	}
	RawMr region = must_reg_raw(env.b, device.data, device.size);

	REQUIRE_EQ(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_ACCESS,
				nullptr, nullptr, 0,
				int(all_access | flush_rights)),
		   0, "registered anew");
	must_persist(env, region);
}
