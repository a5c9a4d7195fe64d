// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Re-registration in all combinations, and the kinds of registration: every
 * access flag, zero-based, huge pages.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "paged.h"
#include "qdisc.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr int translation = IBV_REREG_MR_CHANGE_TRANSLATION;
constexpr int change_pd = IBV_REREG_MR_CHANGE_PD;
constexpr int change_access = IBV_REREG_MR_CHANGE_ACCESS;

/* A region of B: the object that holds it, and where its bytes are now. */
struct Region {
	Handle object;
	Mr mr;
};

Region make_region(Env &env, unsigned access = all_access)
{
	Mr mr = must_reg(env.b, {region_size, 100, access});

	return {mr.id, mr};
}

/* Memory of B that no region is made of. */
Mr unregistered(Env &env, uint64_t length, uint32_t misalign = 40)
{
	return must_reg(env.b, {length, misalign, 0, 0, false});
}

int try_rereg(Env &env, const Region &r, int flags, Handle pd, const Mr *place,
	      unsigned access)
{
	return local(env.b).rereg(r.object, flags, pd, place, access);
}

void rereg(Env &env, Region &r, int flags, Handle pd, const Mr *place,
	   unsigned access)
{
	int error = try_rereg(env, r, flags, pd, place, access);

	REQUIRE_EQ(error, 0, "ibv_rereg_mr: ", strerror(errno));
	if (place)
		r.mr = *place;
	r.mr.lkey = local(env.b).raw_mr(r.object)->lkey;
	r.mr.rkey = local(env.b).raw_mr(r.object)->rkey;
}

void must_work(Env &env, Link &link, const Mr &mr)
{
	Mr at_a = must_reg(env.a, {mr.length});

	exchange(env, link.a, link.b, Op::write, {at_a, 0}, {mr, 0}, mr.length);
	exchange(env, link.a, link.b, Op::read, {at_a, 0}, {mr, 0}, mr.length);
}

/* The region of B serves as target of a receive, by its L_Key. */
void must_receive(Env &env, Link &link, const Region &r)
{
	Mr out = must_reg(env.a, {r.mr.length});
	uint64_t seed = env.seed();

	env.a.fill(out.id, 0, out.length, seed, 0);
	post_raw_recv(link.b, {r.mr.address, uint32_t(r.mr.length), r.mr.lkey});
	must_send(env, link.a, make_wr(Op::send, {out, 0}, out.length), "send");
	expect_recv(env, link.b, 0, "receive");
	must_match(env.b, r.mr, 0, r.mr.length, seed, 0, "received data");
}

} // namespace

PV_TEST_LOCAL("rereg.translation",
	      "another place, longer or shorter: the new bytes, not the old")
{
	for (uint64_t length : {uint64_t(5000), uint64_t(1 << 20)}) {
		Link link = connect(env);
		Region r = make_region(env);
		Mr before = r.mr, place = unregistered(env, length);

		rereg(env, r, translation, 0, &place, 0);
		env.b.fill(before.id, 0, region_size, 3, 0);
		must_work(env, link, r.mr);
		must_receive(env, link, r);
		must_match(env.b, before, 0, region_size, 3, 0,
			   "the old place");
		must_refuse_on(env, link, r.mr, int64_t(length) - 7, Op::write,
			       "behind the new end");
	}
	Region r = make_region(env);
	Mr before = r.mr, place = unregistered(env, region_size);

	rereg(env, r, translation, 0, &place, 0);
	before.rkey = r.mr.rkey;
	must_refuse(env, before, 0, Op::write, "the old address");
}

PV_TEST_LOCAL("rereg.access", "rights given and taken; given rights to write "
			      "reach the process's own pages")
{
	Region r = make_region(env, 0);
	Link link = connect(env);

	must_refuse(env, r.mr, 0, Op::write, "before");
	rereg(env, r, change_access, 0, nullptr, all_access);
	must_work(env, link, r.mr);
	rereg(env, r, change_access, 0, nullptr,
	      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	must_receive(env, link, r);
	must_refuse_on(env, link, r.mr, 0, Op::write, "rights taken away");
}

PV_TEST_LOCAL("rereg.pd", "another protection domain, and back")
{
	Region r = make_region(env);
	Pd pd = env.b.alloc_pd();
	LinkSpec spec = {.pd_b = pd.id};
	Link there = connect(env, spec), here = connect(env);

	must_refuse_on(env, there, r.mr, 0, Op::write, "of the other PD");
	rereg(env, r, change_pd, pd.id, nullptr, 0);
	must_refuse(env, r.mr, 0, Op::write, "gone to the other PD");
	there = connect(env, spec);
	must_work(env, there, r.mr);
	REQUIRE_EQ(env.b.destroy(Kind::qp, there.b.qp.id), 0, "QP");
	REQUIRE_EQ(env.b.destroy(Kind::pd, pd.id), EBUSY, "PD of a region");

	Pd home = env.b.alloc_pd();

	spec.pd_b = home.id;
	here = connect(env, spec);
	rereg(env, r, change_pd, home.id, nullptr, 0);
	must_work(env, here, r.mr);
}

PV_TEST_LOCAL("rereg.all", "every combination of the three changes")
{
	for (int flags = 1; flags <= 7; flags++) {
		Region r = make_region(env, IBV_ACCESS_LOCAL_WRITE |
						    IBV_ACCESS_REMOTE_READ |
						    IBV_ACCESS_REMOTE_WRITE);
		Pd pd = env.b.alloc_pd();
		LinkSpec spec;
		Mr place = unregistered(env, 3 * region_size);

		if (flags & change_pd)
			spec.pd_b = pd.id;
		Link link = connect(env, spec);

		rereg(env, r, flags, flags & change_pd ? pd.id : 0,
		      flags & translation ? &place : nullptr,
		      flags & change_access ? all_access : 0);
		must_work(env, link, r.mr);
	}
}

PV_TEST_LOCAL("rereg.refused",
	      "what cannot be is refused, and the region is what it was")
{
	Link link = connect(env);
	Region r = make_region(env);
	LocalHost &host = local(env.b);
	ibv_mr *raw = host.raw_mr(r.object);
	void *hole = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	REQUIRE(hole != MAP_FAILED, "mmap");
	REQUIRE_EQ(ibv_rereg_mr(raw, translation, nullptr, hole, 8192, 0),
		   IBV_REREG_MR_ERR_CMD, "memory that is not there");
	must_work(env, link, r.mr);
	REQUIRE_EQ(try_rereg(env, r, change_access, 0, nullptr,
			     IBV_ACCESS_REMOTE_WRITE),
		   IBV_REREG_MR_ERR_CMD, "remote without local write");
	must_work(env, link, r.mr);
	REQUIRE_EQ(try_rereg(env, r, translation, 0, nullptr, 0),
		   IBV_REREG_MR_ERR_INPUT, "no address");
	REQUIRE_EQ(try_rereg(env, r, 8, 0, nullptr, 0), IBV_REREG_MR_ERR_INPUT,
		   "an unknown flag");
	must_work(env, link, r.mr);
	munmap(hole, 8192);
}

PV_TEST_LOCAL("rereg.all_or_nothing",
	      "refused for one of its changes, it makes none of the others")
{
	Link link = connect(env);
	Region r = make_region(env);
	Pd pd = env.b.alloc_pd();
	void *hole = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	REQUIRE(hole != MAP_FAILED, "mmap");
	REQUIRE_EQ(try_rereg(env, r, change_pd | change_access, pd.id, nullptr,
			     all_access | IBV_ACCESS_ON_DEMAND),
		   IBV_REREG_MR_ERR_CMD, "on demand from now on");
	must_work(env, link, r.mr);
	must_receive(env, link, r);
	REQUIRE_EQ(ibv_rereg_mr(local(env.b).raw_mr(r.object),
				change_pd | translation,
				local(env.b).raw_pd(pd.id), hole, 8192, 0),
		   IBV_REREG_MR_ERR_CMD, "memory that is not there");
	must_work(env, link, r.mr);
	must_receive(env, link, r);
	REQUIRE_EQ(env.b.destroy(Kind::pd, pd.id), 0, "PD without a region");
	munmap(hole, 8192);
}

PV_TEST_LOCAL("rereg.windows",
	      "a region with a window on it is not changed under it")
{
	Link link = connect(env);
	Region r = make_region(env, all_access | IBV_ACCESS_MW_BIND);
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {r.mr, 0, region_size};
	Mr place = unregistered(env, region_size);

	must_bind(env, link.b, window, spec);
	REQUIRE_EQ(try_rereg(env, r, translation, 0, &place, 0),
		   IBV_REREG_MR_ERR_CMD, "with a window");
	must_work(env, link, view_of(window, spec));
	must_work(env, link, r.mr);
	must_invalidate(env, link.b, window->rkey);
	rereg(env, r, translation, 0, &place, 0);
	must_work(env, link, r.mr);
}

PV_TEST_LOCAL("rereg.under_traffic", "to and fro while a peer writes: every "
				     "byte is in the one place or the other")
{
	constexpr uint64_t size = 1 << 19;
	Link link = connect(env);
	Mr out = must_reg(env.a, {size});
	Mr first = must_reg(env.b, {size});
	Region r = {first.id, first};
	/* The same address is needed for the peer to go on: only rights. */
	std::vector<SendWr> wrs(24,
				make_wr(Op::write, {out, 0}, size, {first, 0}));

	env.a.fill(out.id, 0, size, 11, 0);
	must_post(link.a, wrs);
	for (int i = 0; i < 40; i++)
		rereg(env, r, change_access, 0, nullptr,
		      i & 1 ? all_access : all_access | IBV_ACCESS_MW_BIND);
	for (const Wc &wc :
	     wait_completions(env, link.a, link.a.send_cq, 24, "writes"))
		check_wc(wc, wrs[0].id, IBV_WC_SUCCESS, "write");
	must_match(env.b, first, 0, size, 11, 0, "written data");
}

namespace {

/* A file of two halves, of which one or the other is at a place of B. */
class Halves {
public:
	Halves(Env &env, const Mr &place)
		: place_(place), at_(local(env.b).memory(place.id)),
		  fd_(memfd_create("halves", MFD_CLOEXEC)), view_(MAP_FAILED)
	{
		REQUIRE(!ftruncate(fd_, off_t(2 * place.length)), "ftruncate");
		view_ = mmap(nullptr, 2 * place.length, PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd_, 0);
		REQUIRE(view_ != MAP_FAILED, "mmap");
	}

	~Halves()
	{
		munmap(view_, 2 * place_.length);
		close(fd_);
	}

	Halves(const Halves &) = delete;

	void show(int half)
	{
		REQUIRE(mmap(at_, place_.length, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_FIXED, fd_,
			     off_t(half * place_.length)) == at_,
			"mmap");
	}

	uint8_t *place() { return at_; }
	uint8_t *half(int which)
	{
		return static_cast<uint8_t *>(view_) + which * place_.length;
	}

	void fill(int half_, uint64_t seed)
	{
		pattern_fill(half(half_), place_.length, seed, 0);
	}

	void must_hold(int half_, uint64_t seed, const char *what)
	{
		REQUIRE_EQ(pattern_verify(half(half_), place_.length, seed, 0),
			   -1, what);
	}

private:
	const Mr place_;
	uint8_t *at_;
	int fd_;
	void *view_;
};

void change_under_a_write(Env &env, uint64_t size)
{
	Link link = connect(env);
	Mr out = must_reg(env.a, {size});
	Mr place = unregistered(env, size, 0);
	Halves memory(env, place);
	const uint64_t seed = env.seed(), old_canary = env.seed(),
		       new_canary = env.seed();

	env.a.fill(out.id, 0, size, seed, 0);
	memory.fill(0, old_canary);
	memory.fill(1, new_canary);
	memory.show(0);
	RawMr mr = must_reg_raw(env.b, memory.place(), size);
	place.rkey = mr->rkey;
	SendWr wr = make_wr(Op::write, {out, 0}, size, {place, 0});
	Qdisc slow(env.a, narrow);

	must_post(link.a, wr);
	while (pattern_verify(memory.half(0), 8, seed, 0) != -1)
		std::this_thread::yield();
	memory.show(1);
	REQUIRE_EQ(ibv_rereg_mr(mr.get(), translation, nullptr, memory.place(),
				size, 0),
		   0, "ibv_rereg_mr");
	memory.fill(0, old_canary);
	check_wc(wait_send(env, link.a, "write", size), wr.id,
		 IBV_WC_REM_ACCESS_ERR, "write");
	memory.must_hold(0, old_canary, "the old memory, after the change");
	memory.must_hold(1, new_canary, "the new memory");
	/* A request that comes now finds the new one. */
	Link fresh = connect(env);
	wr = make_wr(Op::write, {out, 0}, size, {place, 0});
	must_post(fresh.a, wr);
	check_wc(wait_send(env, fresh.a, "write", size), wr.id, IBV_WC_SUCCESS,
		 "a write that began afterwards");
	memory.must_hold(1, seed, "what it wrote");
	memory.must_hold(0, old_canary, "the old memory, at last");
}

} // namespace

PV_TEST_LOCAL("rereg.ends_what_was_begun",
	      "a region gets other memory under a long write: the write is "
	      "refused, and no byte of it is in the new memory")
{
	env.expect_async();
	change_under_a_write(env,
			     std::min<uint64_t>(env.options.large, 8 << 20));
}

PV_TEST_LOCAL("mr.zero_based", "a zero-based region is addressed from 0")
{
	Link link = connect(env);
	Mr mr = must_reg(env.b, {region_size, 100,
				 all_access | IBV_ACCESS_ZERO_BASED});
	Mr by_address = mr;

	mr.address = 0;
	must_work(env, link, mr);
	must_receive(env, link, {mr.id, mr});
	must_refuse_on(env, link, mr, int64_t(region_size) - 7, Op::write,
		       "behind its end");
	must_refuse(env, mr, -1, Op::write, "before its start");
	must_refuse(env, by_address, 0, Op::write, "by virtual address");
}

PV_TEST_LOCAL("mr.iova", "a region is addressed as it was registered")
{
	LocalHost &host = local(env.b);
	Link link = connect(env);
	Mr mr = unregistered(env, region_size, 100);
	uint64_t iova = 0x7700000000000000 + 100;
	ibv_mr *raw = ibv_reg_mr_iova(host.raw_pd(0), host.memory(mr.id),
				      region_size, iova, all_access);

	REQUIRE(raw, "ibv_reg_mr_iova: ", strerror(errno));
	mr.address = iova;
	mr.rkey = raw->rkey;
	must_work(env, link, mr);
	REQUIRE_EQ(ibv_dereg_mr(raw), 0, "dereg_mr");
}

PV_TEST_LOCAL("mr.iova_edges",
	      "a region may end with the last address, and not behind it")
{
	constexpr uint64_t length = 2 * page, last = UINT64_MAX - length + 1;
	LocalHost &host = local(env.b);
	Link link = connect(env);
	Mr mr = unregistered(env, length, 0);
	auto reg = [&](uint64_t iova, int access) {
		return ibv_reg_mr_iova(host.raw_pd(0), host.memory(mr.id),
				       length, iova, access);
	};

	for (int more : {0, int(IBV_ACCESS_ON_DEMAND)})
		REQUIRE(!reg(last + page, all_access | more), "beyond the end");
	ibv_mr *raw = reg(last, all_access);

	REQUIRE(raw, "ibv_reg_mr_iova: ", strerror(errno));
	mr.address = last;
	mr.rkey = raw->rkey;
	must_work(env, link, mr);
	for (int64_t offset :
	     {int64_t(length) - 7, int64_t(length), int64_t(-1)})
		must_refuse(env, mr, offset, Op::write, "around the end");
	REQUIRE_EQ(ibv_dereg_mr(raw), 0, "dereg_mr");
}

PV_TEST_LOCAL("mr.access_flags", "every flag that a region can have")
{
	Link link = connect(env);

	for (unsigned flag :
	     {0u, unsigned(IBV_ACCESS_MW_BIND), unsigned(IBV_ACCESS_HUGETLB),
	      unsigned(IBV_ACCESS_RELAXED_ORDERING)}) {
		Mr mr = must_reg(env.b, {region_size, 100, all_access | flag});

		must_work(env, link, mr);
		env.b.destroy(Kind::mr, mr.id);
	}
	/* An optional flag that the module does not know is no reason to refuse. */
	Mr mr = must_reg(env.b, {region_size, 100, all_access | 1u << 29});

	must_work(env, link, mr);
	for (unsigned bad : {unsigned(IBV_ACCESS_REMOTE_WRITE),
			     unsigned(IBV_ACCESS_REMOTE_ATOMIC), 1u << 19})
		REQUIRE_EQ(env.b.reg_mr({region_size, 0, bad}).error, EINVAL,
			   "access ", bad);
}

PV_TEST_LOCAL("mr.huge_pages", "a region of huge pages, whole and in part")
{
	constexpr size_t size = 4 << 20;
	LocalHost &host = local(env.b);
	void *map = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (map == MAP_FAILED)
		throw Skip("no huge pages; see vm.nr_hugepages");
	Link link = connect(env);
	Mr out = must_reg(env.a, {size});

	for (size_t start : {size_t(0), size_t(1234)}) {
		auto *data = static_cast<uint8_t *>(map) + start;
		ibv_mr *raw = ibv_reg_mr(host.raw_pd(0), data, size - start,
					 all_access | IBV_ACCESS_HUGETLB);
		uint64_t seed = env.seed();

		REQUIRE(raw, "reg_mr: ", strerror(errno));
		env.a.fill(out.id, 0, size, seed, 0);
		SendWr wr =
			make_wr(Op::write, {out, int64_t(start)}, size - start);

		wr.remote = uintptr_t(data);
		wr.rkey = raw->rkey;
		must_post(link.a, wr);
		check_wc(wait_send(env, link.a, "write", size), wr.id,
			 IBV_WC_SUCCESS, "write");
		memcpy(local(env.a).memory(out.id), map, start);
		REQUIRE(!memcmp(local(env.a).memory(out.id), map, size),
			"the data is not what was written");
		REQUIRE_EQ(ibv_dereg_mr(raw), 0, "dereg_mr");
	}
	munmap(map, size);
}
