// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection: keys, bounds and permissions of the remote and of the local
 * side, what becomes of both queue pairs, and that memory stays untouched.
 */
#include <cerrno>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint64_t clean = 5; /* seed of memory no peer may write */

struct Violation {
	Op op;
	uint64_t length;
	Place target;
	const char *what;
};

void must_be_refused(Env &env, const Violation &v, LinkSpec spec = {})
{
	env.expect_async();
	Link link = connect(env, spec);
	Mr local = must_reg(env.a, {region_size, 1}, clean + 1);
	SendWr good = make_wr(Op::write, {}, 0, v.target);
	SendWr bad = make_wr(v.op, {local, 0}, v.length, v.target);
	SendWr after = make_wr(Op::send, {}, 0);

	env.b.fill(v.target.mr.id, 0, v.target.mr.length, clean, 0);
	must_post(link.b, RecvWr{1, {}});
	must_post(link.a, std::vector<SendWr>{good, bad, after});
	expect_send(env, link.a, good.id, "the request before it");
	expect_send(env, link.a, bad.id, v.what, IBV_WC_REM_ACCESS_ERR);
	expect_send(env, link.a, after.id, "the request after it",
		    IBV_WC_WR_FLUSH_ERR);
	wait_state(env, link.a, IBV_QPS_ERR);
	must_match(env.b, v.target.mr, 0, v.target.mr.length, clean, 0,
		   str(v.what, ": target memory").c_str());
	must_match(env.a, local, 0, region_size, clean + 1, 0,
		   str(v.what, ": local memory").c_str());
}

Mr remote_region(Env &env, unsigned access = all_access)
{
	return must_reg(env.b, {region_size, 100, access});
}

Place wrong_key(const Mr &mr, uint32_t flip)
{
	Place place = {mr, 0};

	place.mr.rkey ^= flip;
	return place;
}

} // namespace

PV_TEST("remote_access.wrong_rkey",
	"an R_Key with another index or another tag is refused")
{
	for (Op op : {Op::write, Op::read}) {
		for (uint32_t flip :
		     {1u, 0x80u, 0x100u, 0x80000000u, 0xffffffffu}) {
			Place target = wrong_key(remote_region(env), flip);

			must_be_refused(env,
					{op, 100, target,
					 str(name_of(op), " with rkey ^ ", flip)
						 .c_str()});
		}
	}
}

PV_TEST("remote_access.out_of_bounds",
	"one byte before the start, one after the end, far away, around 2^64")
{
	Mr mr = remote_region(env);

	for (Op op : {Op::write, Op::read}) {
		int64_t end = int64_t(region_size);

		must_be_refused(env, {op, 10, {mr, -1}, "one byte before"});
		must_be_refused(env, {op, 10, {mr, end - 9}, "one byte after"});
		must_be_refused(env, {op, 1, {mr, end}, "at the end"});
		must_be_refused(env,
				{op, region_size, {mr, 1}, "whole, shifted"});
		must_be_refused(env, {op, 1, {mr, 1ll << 40}, "far away"});
		must_be_refused(env, {op,
				      100,
				      {mr, -int64_t(mr.address) - 50},
				      "wraps around the address space"});
	}
}

/* Its key is good for messages without bytes only. Peers of other kinds refuse to make it. */
PV_TEST_LOCAL("remote_access.empty_region",
	      "of a region without bytes not one can be touched")
{
	for (int more : {0, int(IBV_ACCESS_ON_DEMAND)}) {
		Mr mr = env.b.reg_mr({0, 100, all_access | unsigned(more)});

		if (more && mr.error == EOPNOTSUPP)
			continue;
		REQUIRE_EQ(mr.error, 0, "ibv_reg_mr of nothing");
		for (Op op : {Op::write, Op::read}) {
			must_be_refused(env, {op, 1, {mr, 0}, "its first"});
			must_be_refused(env, {op, 1, {mr, -1}, "before it"});
			must_be_refused(env, {op, 4096, {mr, 0}, "a page"});
		}
		REQUIRE_EQ(env.b.destroy(Kind::mr, mr.id), 0, "dereg_mr");
	}
}

namespace {

/* A remote access violation is IBA's responder class C. */
void responder_fate(Env &env, Op op, const Place &target)
{
	env.expect_async();
	Link link = connect(env);
	Mr local = must_reg(env.a, {64});

	must_post(link.b, std::vector<RecvWr>{{99, {}}, {100, {}}});
	must_send(env, link.a, make_wr(op, {local, 0}, 64, target), name_of(op),
		  IBV_WC_REM_ACCESS_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
	expect_recv(env, link.b, 99, "first receive", IBV_WC_WR_FLUSH_ERR);
	expect_recv(env, link.b, 100, "second receive", IBV_WC_WR_FLUSH_ERR);
	must_event(env, env.b, IBV_EVENT_QP_ACCESS_ERR, link.b.qp.id);
}

} // namespace

PV_TEST("remote_access.responder_fate",
	"the responder goes to ERR, flushes its receives and tells its program")
{
	for (Op op : {Op::write, Op::read, Op::write_imm})
		responder_fate(env, op, wrong_key(remote_region(env), 0xff00));
}

PV_TEST("remote_access.last_byte",
	"the first and the last byte of a region are inside")
{
	Link link = connect(env);
	Mr mr = remote_region(env), local = must_reg(env.a, {region_size});

	for (Op op : {Op::write, Op::read}) {
		exchange(env, link.a, link.b, op, {local, 0}, {mr, 0},
			 region_size);
		exchange(env, link.a, link.b, op, {local, 7},
			 {mr, int64_t(region_size) - 1}, 1);
		exchange(env, link.a, link.b, op, {local, 7}, {mr, 0}, 1);
	}
}

PV_TEST("remote_access.many_packets",
	"a message whose last packet would leave the region writes nothing")
{
	Mr mr = remote_region(env);

	must_be_refused(env, {Op::write, region_size, {mr, 1}, "write"});
	must_be_refused(env,
			{Op::write_imm, region_size, {mr, 1}, "write_imm"});
	must_be_refused(env, {Op::read, region_size, {mr, 1}, "read"});
}

PV_TEST("remote_access.permission",
	"a region without the right for the operation refuses it")
{
	must_be_refused(env,
			{Op::write,
			 8,
			 {remote_region(env, IBV_ACCESS_LOCAL_WRITE |
						     IBV_ACCESS_REMOTE_READ |
						     IBV_ACCESS_REMOTE_ATOMIC)},
			 "write without REMOTE_WRITE"});
	must_be_refused(env,
			{Op::read,
			 8,
			 {remote_region(env, IBV_ACCESS_LOCAL_WRITE |
						     IBV_ACCESS_REMOTE_WRITE |
						     IBV_ACCESS_REMOTE_ATOMIC)},
			 "read without REMOTE_READ"});
	must_be_refused(env, {Op::read,
			      8,
			      {remote_region(env, 0)},
			      "read of a local region"});
}

PV_TEST("remote_access.atomic_permission",
	"an atomic needs REMOTE_ATOMIC; the value stays")
{
	env.expect_async();
	for (auto opcode :
	     {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
		Link link = connect(env);
		Mr mr = remote_region(env, IBV_ACCESS_LOCAL_WRITE |
						   IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ);
		Mr local = must_reg(env.a, {64});
		SendWr wr = make_wr(Op::read, {local, 0}, 8, {mr, 4});

		wr.opcode = opcode;
		wr.compare_add = 17;
		wr.swap = 18;
		env.b.store(mr.id, 4, 17);
		must_send(env, link.a, wr, "atomic without permission",
			  IBV_WC_REM_ACCESS_ERR);
		REQUIRE_EQ(env.b.load(mr.id, 4), 17u, "value");
	}
}

PV_TEST("remote_access.atomic_alignment",
	"an atomic on an address that is no multiple of eight is refused")
{
	env.expect_async();
	Mr mr = must_reg(env.b, {4096}), local = must_reg(env.a, {64});

	for (int64_t offset : {1, 4, 7, 4089}) {
		Link link = connect(env);
		SendWr wr = make_wr(Op::read, {local, 0}, 8, {mr, offset});

		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.compare_add = 1;
		env.b.fill(mr.id, 0, 4096, clean, 0);
		PostResult posted = env.a.post_send(link.a.qp.id, {wr});
		if (posted.error) {
			/* The driver may see it coming. */
			REQUIRE_EQ(posted.error, EINVAL, "refused when posted");
			continue;
		}
		Wc wc = wait_send(env, link.a, "atomic");
		REQUIRE(wc.status == IBV_WC_REM_INV_REQ_ERR ||
				(offset == 4089 &&
				 wc.status == IBV_WC_REM_ACCESS_ERR),
			"offset ", offset, ": ", ibv_wc_status_str(wc.status));
		must_match(env.b, mr, 0, 4096, clean, 0, "target");
	}
}

PV_TEST("remote_access.qp_flags",
	"a queue pair that does not allow an operation refuses it")
{
	struct {
		Op op;
		unsigned access;
	} cases[] = {
		{Op::write, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC},
		{Op::write_imm, IBV_ACCESS_REMOTE_READ},
		{Op::read, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC},
		{Op::read, 0},
	};

	env.expect_async();
	for (auto &c : cases) {
		Link link = connect(env, {.access = c.access});
		Mr mr = remote_region(env),
		   local = must_reg(env.a, {64}, clean);

		env.b.fill(mr.id, 0, region_size, clean, 0);
		must_post(link.b, RecvWr{});
		must_post(link.a, make_wr(c.op, {local, 0}, 64, {mr, 0}));
		Wc wc = wait_send(env, link.a, name_of(c.op));
		/* Drivers differ in which of the two NAKs they send. */
		REQUIRE(wc.status == IBV_WC_REM_ACCESS_ERR ||
				wc.status == IBV_WC_REM_INV_REQ_ERR,
			name_of(c.op), " by flags ", c.access, ": ",
			ibv_wc_status_str(wc.status));
		must_match(env.b, mr, 0, region_size, clean, 0, "target");
		must_match(env.a, local, 0, 64, clean, 0, "local memory");
	}
}

PV_TEST("remote_access.other_pd",
	"a region of another protection domain is refused")
{
	Pd pd = env.b.alloc_pd();

	REQUIRE_EQ(pd.error, 0, "alloc_pd");
	Mr mr = must_reg(env.b, {region_size, 0, all_access, pd.id});
	must_be_refused(env, {Op::write, 8, {mr, 0}, "write to another PD"});
	must_be_refused(env, {Op::read, 8, {mr, 0}, "read of another PD"});
}

PV_TEST("remote_access.deregistered",
	"the key of a region that is gone is refused, also after a new one")
{
	Mr gone = remote_region(env);
	Mr other;

	for (int i = 0; i < 2; i++) {
		env.expect_async();
		Link link = connect(env);
		Mr local = must_reg(env.a, {64});
		SendWr wr = make_wr(Op::write, {local, 0}, 64, {gone, 0});

		if (i == 0) {
			REQUIRE_EQ(env.b.destroy(Kind::mr, gone.id), 0,
				   "dereg_mr");
		} else {
			other = remote_region(env);
			env.b.fill(other.id, 0, region_size, clean, 0);
			wr.remote = other.address;
		}
		must_send(env, link.a, wr, "stale key", IBV_WC_REM_ACCESS_ERR);
	}
	must_match(env.b, other, 0, region_size, clean, 0, "the new region");
}

namespace {

/*
 * Requests before the bad one succeed, the bad one gets `status`, those after
 * it are flushed, the peer sees nothing of the bad one.
 */
void local_error(Env &env, SendWr bad, ibv_wc_status status, const char *what,
		 Handle pd = 0)
{
	env.expect_async();
	Link link = connect(env, {.pd_a = pd});
	MrSpec good_spec = {.length = 30000, .pd = pd};
	Mr good = must_reg(env.a, good_spec),
	   in = must_reg(env.b, {30000}, clean);
	std::vector<SendWr> wrs;

	env.a.fill(good.id, 0, 30000, 9, 0);
	wrs.push_back(make_wr(Op::write, {good, 0}, 15000, {in, 0}));
	wrs.push_back(make_wr(Op::send, {good, 0}, 100));
	if (bad.opcode != IBV_WR_SEND) {
		bad.remote = in.address + 15000;
		bad.rkey = in.rkey;
	}
	wrs.push_back(bad);
	wrs.push_back(make_wr(Op::write, {good, 0}, 100, {in, 20000}));
	must_post(link.b, std::vector<RecvWr>{{1, {{in.id, 25000, 100, 0}}},
					      {2, {{in.id, 26000, 100, 0}}}});
	must_post(link.a, wrs);
	expect_send(env, link.a, wrs[0].id, "write before");
	expect_send(env, link.a, wrs[1].id, "send before");
	expect_send(env, link.a, bad.id, what, status);
	expect_send(env, link.a, wrs[3].id, "write after", IBV_WC_WR_FLUSH_ERR);
	no_more(link.a, what);
	wait_state(env, link.a, IBV_QPS_ERR);
	expect_recv(env, link.b, 1, "receive");
	no_more(link.b, what);
	must_match(env.b, in, 0, 15000, 9, 0, "written before");
	must_match(env.b, in, 15000, 10000, clean, 15000, "not written");
	must_match(env.b, in, 25000, 100, 9, 0, "received before");
	REQUIRE_EQ(int(state_of(link.b)), IBV_QPS_RTS, "the peer's state");
}

} // namespace

PV_TEST("local_access.bad_lkey",
	"a wrong L_Key is LOC_PROT_ERR after what was posted before it")
{
	for (Op op : {Op::send, Op::write, Op::read}) {
		for (uint32_t flip : {1u, 0x100u, 0xffffffffu}) {
			Mr mr = must_reg(env.a, {4096});
			SendWr wr = make_wr(op, {mr, 0}, 100, {});

			wr.sges[0].key_xor = flip;
			local_error(
				env, wr, IBV_WC_LOC_PROT_ERR,
				str(name_of(op), " with lkey ^ ", flip).c_str());
		}
	}
}

PV_TEST("local_access.second_entry",
	"the fault may be in any entry, the good ones are not sent")
{
	Mr mr = must_reg(env.a, {4096});
	SendWr wr = make_wr(Op::send, {mr, 0}, 50, {});

	wr.sges.push_back({mr.id, 50, 40, 0});
	wr.sges.push_back({mr.id, 100, 10, 0x4400});
	local_error(env, wr, IBV_WC_LOC_PROT_ERR, "third entry's key");
	wr.opcode = IBV_WR_RDMA_WRITE;
	local_error(env, wr, IBV_WC_LOC_PROT_ERR, "third entry's key, write");
}

PV_TEST("local_access.out_of_bounds",
	"an entry that leaves its region is LOC_PROT_ERR")
{
	for (Op op : {Op::send, Op::write, Op::read}) {
		Mr mr = must_reg(env.a, {4096, 32});

		for (int64_t offset : {-1, 3997, 4096, 1 << 30}) {
			SendWr wr = make_wr(op, {mr, offset}, 100, {});

			local_error(env, wr, IBV_WC_LOC_PROT_ERR,
				    str(name_of(op), " at ", offset).c_str());
		}
	}
}

PV_TEST("local_access.other_pd",
	"a region of another protection domain is LOC_PROT_ERR")
{
	Mr mr = must_reg(env.a, {4096}); /* of the default domain */
	Pd pd = env.a.alloc_pd();

	local_error(env, make_wr(Op::send, {mr, 0}, 100, {}),
		    IBV_WC_LOC_PROT_ERR, "region of another PD", pd.id);
}

PV_TEST("local_access.read_into_read_only",
	"read data may not go to a region without LOCAL_WRITE")
{
	Mr mr = must_reg(env.a, {4096, 0, 0}, clean);

	local_error(env, make_wr(Op::read, {mr, 0}, 100, {}),
		    IBV_WC_LOC_PROT_ERR, "read into a read-only region");
}

namespace {

/* A receive that cannot take the message: both sides learn of it. */
void bad_receive(Env &env, const std::vector<Sge> &sges, uint64_t length,
		 ibv_wc_status at_b, ibv_wc_status at_a, const char *what,
		 Op op = Op::send)
{
	env.expect_async();
	Link link = connect(env);
	Mr out = must_reg(env.a, {length + 1});
	SendWr send = make_wr(op, {out, 0}, length);
	SendWr after = make_wr(Op::send, {out, 0}, 1);

	must_post(link.b, std::vector<RecvWr>{{1, sges}, {2, {}}});
	must_post(link.a, std::vector<SendWr>{send, after});
	expect_send(env, link.a, send.id, what, at_a);
	expect_send(env, link.a, after.id, "the send after it",
		    IBV_WC_WR_FLUSH_ERR);
	expect_recv(env, link.b, 1, what, at_b);
	expect_recv(env, link.b, 2, "the receive after it",
		    IBV_WC_WR_FLUSH_ERR);
	wait_state(env, link.a, IBV_QPS_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
}

} // namespace

PV_TEST("receive_error.too_small",
	"a message one byte longer than its receive: LOC_LEN_ERR there, "
	"REM_INV_REQ_ERR here, nothing beyond the entries written")
{
	Mr in = must_reg(env.b, {65536});
	uint64_t mtu = uint64_t(common_mtu(env));

	for (uint64_t length :
	     {uint64_t(1), uint64_t(100), mtu, mtu + 1, 3 * mtu}) {
		env.b.fill(in.id, 0, 65536, clean, 0);
		std::vector<Sge> sges;

		if (length > 1)
			sges = {{in.id, 64, uint32_t(length - 1), 0}};
		bad_receive(env, sges, length, IBV_WC_LOC_LEN_ERR,
			    IBV_WC_REM_INV_REQ_ERR,
			    str("message of ", length).c_str());
		must_match(env.b, in, 0, 64, clean, 0, "before the entry");
		must_match(env.b, in, 63 + int64_t(length), 65536 - 63 - length,
			   clean, 63 + length, "after the entry");
	}
}

PV_TEST("receive_error.bad_lkey",
	"a receive with a wrong L_Key: LOC_PROT_ERR there, REM_OP_ERR here")
{
	Mr in = must_reg(env.b, {4096}, clean);

	bad_receive(env, {{in.id, 0, 4096, 0x10100}}, 100, IBV_WC_LOC_PROT_ERR,
		    IBV_WC_REM_OP_ERR, "receive with a bad key");
	must_match(env.b, in, 0, 4096, clean, 0, "receiver's memory");
}

PV_TEST("receive_error.out_of_bounds",
	"a receive entry that leaves its region: LOC_PROT_ERR, REM_OP_ERR")
{
	Mr in = must_reg(env.b, {4096, 40}, clean);

	bad_receive(env, {{in.id, 4000, 97, 0}}, 97, IBV_WC_LOC_PROT_ERR,
		    IBV_WC_REM_OP_ERR, "receive out of bounds");
	must_match(env.b, in, 0, 4096, clean, 0, "receiver's memory");
}

PV_TEST("receive_error.read_only",
	"a receive into a region without LOCAL_WRITE: LOC_PROT_ERR, REM_OP_ERR")
{
	Mr in = must_reg(env.b, {4096, 0, IBV_ACCESS_REMOTE_READ}, clean);

	bad_receive(env, {{in.id, 0, 4096, 0}}, 100, IBV_WC_LOC_PROT_ERR,
		    IBV_WC_REM_OP_ERR, "receive into a read-only region");
	must_match(env.b, in, 0, 4096, clean, 0, "receiver's memory");
}

PV_TEST("receive_error.second_entry",
	"a bad second entry of a receive that a longer message reaches")
{
	Mr in = must_reg(env.b, {4096});

	bad_receive(env, {{in.id, 0, 50, 0}, {in.id, 100, 50, 0x2000}}, 80,
		    IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR,
		    "bad second entry, reached");
}

PV_TEST("receive_error.write_imm_ignores_entries",
	"a write with immediate consumes a receive but not its entries")
{
	Link link = connect(env);
	Mr out = must_reg(env.a, {256}, 8), in = must_reg(env.b, {4096}, clean);

	must_post(link.b, RecvWr{3, {{in.id, 0, 10, 0}}});
	must_post(link.a, make_wr(Op::write_imm, {out, 0}, 256, {in, 1000}));
	expect_recv(env, link.b, 3, "entry shorter than the write");
	wait_send(env, link.a, "write");
	must_match(env.b, in, 0, 1000, clean, 0, "the receive's own entry");
	must_match(env.b, in, 1000, 256, 8, 0, "written data");
}
