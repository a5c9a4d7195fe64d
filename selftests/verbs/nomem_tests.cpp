// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls to which the kernel refuses memory at any place: they fail with ENOMEM (or
 * EFAULT, if it was a copy), nothing is half made, and the same call succeeds behind it.
 * kmemleak finds memory that they leave behind, on the kernel that has fault injection.
 */
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>

#include <sys/mman.h>

#include "../faults/fail_nth.h"
#include "link.h"
#include "tap.h"
#include "ud.h"

using namespace pv;
using faults::FailNth;
using faults::in_turn;

namespace {

void must_inject()
{
	const std::string lacking = FailNth::lacking();

	if (!lacking.empty())
		throw Skip(lacking);
}

/* For calls that return an object. */
template <class Object>
void makes(const char *what, const std::function<Object *()> &make,
	   int (*undo)(Object *))
{
	Object *object = nullptr;

	in_turn(
		what,
		[&] {
			errno = 0;
			object = make();
			return object ? 0 : errno ? errno : EINVAL;
		},
		[&] { REQUIRE_EQ(undo(object), 0, what, " undone"); });
}

/* Memory of a process that is registered. */
class Area {
public:
	static constexpr size_t size = 256 << 10;

	Area()
		: at_(mmap(nullptr, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))
	{
		REQUIRE(at_ != MAP_FAILED, "mmap");
	}

	~Area() { munmap(at_, size); }
	Area(const Area &) = delete;

	void *at() { return at_; }

private:
	void *at_;
};

ibv_qp *create_qp(ibv_pd *pd, ibv_cq *cq, ibv_srq *srq, ibv_qp_type type)
{
	ibv_qp_init_attr attr = {};

	attr.send_cq = attr.recv_cq = cq;
	attr.srq = srq;
	attr.qp_type = type;
	attr.cap = {64, 64, 4, 4, 64};
	return ibv_create_qp(pd, &attr);
}

ibv_srq *create_srq(ibv_pd *pd)
{
	ibv_srq_init_attr attr = {.attr = {64, 4, 0}};

	return ibv_create_srq(pd, &attr);
}

} // namespace

PV_TEST_LOCAL("nomem.objects",
	      "every allocation of making an object fails once")
{
	LocalHost &host = local(env.a);
	ibv_context *const context = host.context();
	ibv_pd *const pd = host.raw_pd(0);
	ibv_context *opened = nullptr;

	must_inject();
	in_turn(
		"open_device",
		[&] {
			errno = 0;
			opened = ibv_open_device(context->device);
			/* libibverbs looks for another file then. */
			return opened ? 0 : errno == ENOENT ? ENOMEM : errno;
		},
		[&] { REQUIRE_EQ(ibv_close_device(opened), 0, "close"); });
	makes<ibv_pd>(
		"alloc_pd", [&] { return ibv_alloc_pd(context); },
		ibv_dealloc_pd);
	makes<ibv_comp_channel>(
		"create_comp_channel",
		[&] { return ibv_create_comp_channel(context); },
		ibv_destroy_comp_channel);
	makes<ibv_cq>(
		"create_cq",
		[&] {
			return ibv_create_cq(context, 500, nullptr, nullptr, 0);
		},
		ibv_destroy_cq);
	makes<ibv_srq>(
		"create_srq", [&] { return create_srq(pd); }, ibv_destroy_srq);
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2})
		makes<ibv_mw>(
			"alloc_mw", [&] { return ibv_alloc_mw(pd, type); },
			ibv_dealloc_mw);
}

PV_TEST_LOCAL("nomem.resize",
	      "every allocation of resizing fails once, and the queue stays")
{
	LocalHost &host = local(env.a);
	ibv_cq *const cq =
		ibv_create_cq(host.context(), 16, nullptr, nullptr, 0);
	int size = 500;

	must_inject();
	REQUIRE(cq, "create_cq");
	in_turn(
		"resize_cq",
		[&] {
			ibv_wc wc;
			int error = ibv_resize_cq(cq, size);

			REQUIRE_EQ(ibv_poll_cq(cq, 1, &wc), 0, "poll");
			return error;
		},
		[&] { size = size == 500 ? 16 : 500; });
	REQUIRE_EQ(ibv_destroy_cq(cq), 0, "destroy_cq");
}

PV_TEST_LOCAL("nomem.mcast", "every allocation of joining a group fails once")
{
	Side side = ud::make_ud(env.a, env.info_a);
	ibv_qp *const qp = local(env.a).raw_qp(side.qp.id);
	ibv_gid gid = {};

	must_inject();
	for (bool ipv4 : {true, false}) {
		memset(gid.raw, 0, sizeof(gid.raw));
		if (ipv4)
			memcpy(gid.raw + 10, "\xff\xff\xef\x4d\x01\x02", 6);
		else
			memcpy(gid.raw, "\xff\x0e", 2);
		in_turn(
			ipv4 ? "attach, IPv4" : "attach, IPv6",
			[&] { return ibv_attach_mcast(qp, &gid, 0xc000); },
			[&] {
				REQUIRE(ud::is_joined(gid),
					"attached, and not joined");
				REQUIRE_EQ(ibv_detach_mcast(qp, &gid, 0xc000),
					   0, "detach");
			});
		REQUIRE(ibv_detach_mcast(qp, &gid, 0xc000), "detached twice");
	}
}

PV_TEST_LOCAL("nomem.qp", "every allocation of making a queue pair fails once")
{
	must_inject();

	LocalHost &host = local(env.a);
	ibv_pd *const pd = host.raw_pd(0);
	ibv_cq *const cq =
		ibv_create_cq(host.context(), 500, nullptr, nullptr, 0);
	ibv_srq *const srq = create_srq(pd);

	REQUIRE(cq && srq, "cq, srq");
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD})
		makes<ibv_qp>(
			"create_qp",
			[&] { return create_qp(pd, cq, nullptr, type); },
			ibv_destroy_qp);
	makes<ibv_qp>(
		"create_qp on an SRQ",
		[&] { return create_qp(pd, cq, srq, IBV_QPT_RC); },
		ibv_destroy_qp);
	ibv_destroy_srq(srq);
	ibv_destroy_cq(cq);
}

PV_TEST_LOCAL("nomem.memory", "every allocation of a registration fails once")
{
	constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	ibv_pd *const pd = local(env.a).raw_pd(0);
	Area area, other;

	must_inject();
	for (int more : {0, int(IBV_ACCESS_ON_DEMAND)})
		makes<ibv_mr>(
			more ? "reg_mr on demand" : "reg_mr",
			[&] {
				return ibv_reg_mr(pd, area.at(), area.size,
						  access | more);
			},
			ibv_dereg_mr);
	/* Refused, it is what it was, or, if that is gone, nothing. */
	ibv_mr *mr = ibv_reg_mr(pd, area.at(), area.size, access);
	REQUIRE(mr, "reg_mr");
	in_turn(
		"rereg_mr",
		[&] {
			errno = 0;
			return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION,
					    nullptr, other.at(), other.size,
					    0) ?
				       errno :
				       0;
		},
		[] {});
	REQUIRE_EQ(ibv_dereg_mr(mr), 0, "dereg_mr");
}

PV_TEST_LOCAL("nomem.states", "every allocation on the way to RTS fails once")
{
	Link link = make_link(env);
	ibv_qp *const qp = local(env.a).raw_qp(link.a.qp.id);
	const ibv_qp_attr step[] = {init_attr(link.spec),
				    rtr_attr(link, link.a, link.b),
				    rts_attr(link, link.a)};
	const int mask[] = {init_mask, rtr_mask, rts_mask};

	must_inject();
	for (int i = 0; i < 3; i++)
		in_turn(
			str("to state ", i),
			[&] {
				for (int j = 0; j <= i; j++) {
					ibv_qp_attr attr = step[j];
					int error = ibv_modify_qp(qp, &attr,
								  mask[j]);

					if (!error)
						continue;
					to_state(link.a, IBV_QPS_RESET);
					return error;
				}
				return 0;
			},
			[&] { to_state(link.a, IBV_QPS_RESET); });
	to_state(link.a, IBV_QPS_RESET);
}

PV_TEST_LOCAL("nomem.data",
	      "every allocation of posting fails once, and data comes")
{
	constexpr uint32_t size = 20000;
	Link link = connect(env);
	Mr out = must_reg(env.a, {size}), in = must_reg(env.b, {size});

	must_inject();
	for (Op op : {Op::send, Op::write, Op::read}) {
		bool failed = true;
		unsigned n = 1;

		for (; failed; n++) {
			const uint64_t seed = env.seed();
			const Mr &from = op == Op::read ? in : out;
			const Mr &to = op == Op::read ? out : in;
			Host &source = op == Op::read ? env.b : env.a;
			Host &sink = op == Op::read ? env.a : env.b;
			SendWr wr = make_wr(op, {out, 0}, size, {in, 0});

			REQUIRE(n < faults::most_allocations, name_of(op),
				": no end");
			source.fill(from.id, 0, size, seed, 0);
			sink.fill(to.id, 0, size, env.seed(), 0);
			if (takes_recv(op))
				must_post(link.b, RecvWr{.sges = {{in.id, 0,
								   size, 0}}});
			{
				FailNth fail(n);

				must_post(link.a, wr);
				failed = fail.end();
			}
			expect_send(env, link.a, wr.id, name_of(op));
			if (takes_recv(op))
				wait_recv(env, link.b, name_of(op));
			must_match(sink, to, 0, size, seed, 0, name_of(op));
		}
		REQUIRE(n > 2, name_of(op), " allocates nothing");
		note(str(name_of(op), ": ", n - 2, " failed in turn"));
	}
}
