// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting, waiting and checking: one message across a connected pair.
 *
 * Owns: what a good completion looks like, which bytes are compared.
 * Called by: tests.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "link.h"
#include "tap.h"

namespace pv {

namespace {

/* Bytes checked around a target: all of a small region, else so many. */
constexpr uint64_t small_region = 1 << 17, least_margin = 256;
constexpr uint32_t imm_mix = 0x9e3779b9;

/* The part of a region around a place, margins included. */
struct Surroundings {
	int64_t before;
	int64_t after; /* end of the trailing margin */
};

Surroundings around(const Place &place, uint64_t length)
{
	int64_t limit = int64_t(place.mr.length);
	int64_t end = place.offset + int64_t(length);
	int64_t margin = limit <= int64_t(small_region) ? limit :
							  int64_t(least_margin);

	return {std::max<int64_t>(0, place.offset - margin),
		std::min<int64_t>(limit, end + margin)};
}

void paint(Host &host, const Place &place, uint64_t length, uint64_t seed,
	   uint64_t background)
{
	Surroundings s = around(place, length);

	host.fill(place.mr.id, s.before, s.after - s.before, background, 0);
	host.fill(place.mr.id, place.offset, length, seed, 0);
}

void check_painted(Host &host, const Place &place, uint64_t length,
		   uint64_t seed, uint64_t background, const char *what)
{
	Surroundings s = around(place, length);
	int64_t end = place.offset + int64_t(length);

	must_match(host, place.mr, place.offset, length, seed, 0, what);
	must_match(host, place.mr, s.before, place.offset - s.before,
		   background, 0, "bytes before it");
	must_match(host, place.mr, end, s.after - end, background,
		   end - s.before, "bytes after it");
}

} // namespace

void must_match(Host &host, const Mr &mr, int64_t offset, uint64_t length,
		uint64_t seed, uint64_t position, const char *what)
{
	int64_t bad = host.verify(mr.id, offset, length, seed, position);

	REQUIRE(bad < 0, what, ": byte ", bad, " of ", length,
		" is wrong (region offset ", offset + bad, ")");
}

void must_post(Side &side, const std::vector<SendWr> &wrs)
{
	PostResult result = side.host->post_send(side.qp.id, wrs);

	REQUIRE(!result.error, "post_send: ", strerror(result.error),
		" at request ", result.bad_index);
}

void must_post(Side &side, const std::vector<RecvWr> &wrs)
{
	PostResult result = side.srq ? side.host->post_srq(side.srq, wrs) :
				       side.host->post_recv(side.qp.id, wrs);

	REQUIRE(!result.error, "post_recv: ", strerror(result.error),
		" at request ", result.bad_index);
}

void must_post(Side &side, const SendWr &wr)
{
	must_post(side, std::vector{wr});
}

void must_post(Side &side, const RecvWr &wr)
{
	must_post(side, std::vector{wr});
}

static void must_be_refused(const PostResult &result, int error, int bad,
			    const std::string &what)
{
	REQUIRE_EQ(result.error, error, what);
	REQUIRE_EQ(result.bad_index, bad, what, ": bad_wr");
}

void must_not_post(Side &side, const std::vector<SendWr> &wrs, int error,
		   int bad, const std::string &what)
{
	must_be_refused(side.host->post_send(side.qp.id, wrs), error, bad,
			what);
}

void must_not_post(Side &side, const std::vector<RecvWr> &wrs, int error,
		   int bad, const std::string &what)
{
	must_be_refused(side.host->post_recv(side.qp.id, wrs), error, bad,
			what);
}

void post_raw_recv(Side &side, ibv_sge sge, uint64_t id)
{
	ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	REQUIRE_EQ(ibv_post_recv(local(*side.host).raw_qp(side.qp.id), &wr,
				 &bad),
		   0, "post_recv");
}

void post_raw_send(Side &side, ibv_send_wr wr, ibv_sge sge)
{
	ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	REQUIRE_EQ(ibv_post_send(local(*side.host).raw_qp(side.qp.id), &wr,
				 &bad),
		   0, "post_send");
}

Srq must_srq(Host &host, const SrqSpec &spec)
{
	Srq srq = host.create_srq(spec);

	if (srq.error == EOPNOTSUPP)
		throw Skip("no shared receive queues");
	REQUIRE(!srq.error, "create_srq: ", strerror(srq.error));
	return srq;
}

void must_post_srq(Host &host, const Srq &srq, const std::vector<RecvWr> &wrs)
{
	PostResult result = host.post_srq(srq.id, wrs);

	REQUIRE(!result.error, "post_srq_recv: ", strerror(result.error),
		" at request ", result.bad_index);
}

Mr must_reg(Host &host, const MrSpec &spec, std::optional<uint64_t> seed)
{
	Mr mr = host.reg_mr(spec);

	REQUIRE(!mr.error, "reg_mr of ", spec.length, ": ", strerror(mr.error));
	if (seed)
		host.fill(mr.id, 0, spec.length, *seed, 0);
	return mr;
}

std::vector<Wc> wait_completions(Env &env, Side &side, Cq cq, uint32_t count,
				 const char *what, uint64_t bytes)
{
	std::vector<Wc> wcs = side.host->poll(
		cq.id, count, env.options.patience_ms + uint32_t(bytes / 1048));

	if (wcs.size() < count) {
		const Wc *last = wcs.empty() ? nullptr : &wcs.back();

		common::fail(__FILE__, __LINE__,
			     str(what, ": ", wcs.size(), " of ", count,
				 " completions came; the last says ",
				 last ? ibv_wc_status_str(last->status) :
					"nothing",
				 "; QP state ", int(state_of(side))));
	}
	return wcs;
}

Wc wait_send(Env &env, Side &side, const char *what, uint64_t bytes)
{
	return wait_completions(env, side, side.send_cq, 1, what, bytes)[0];
}

Wc wait_recv(Env &env, Side &side, const char *what, uint64_t bytes)
{
	return wait_completions(env, side, side.recv_cq, 1, what, bytes)[0];
}

void no_more(Side &side, const char *what)
{
	for (Cq cq : {side.send_cq, side.recv_cq}) {
		std::vector<Wc> wcs = side.host->poll(cq.id, 1, 0);

		REQUIRE(wcs.empty(), what, ": a completion too many, wr_id ",
			wcs[0].id, " ", ibv_wc_status_str(wcs[0].status));
	}
}

void none_sent(Side &side, uint32_t ms, const char *what)
{
	REQUIRE(side.host->poll(side.send_cq.id, 1, ms).empty(), what);
}

void must_wake(Env &env, Host &host, Cq cq, const char *what)
{
	REQUIRE(host.wait_event(cq.id, env.options.patience_ms), what);
}

void must_event(Env &env, Host &host, ibv_event_type type, Handle object)
{
	AsyncEvent event = host.async_event(env.options.patience_ms);

	while (event.type == IBV_EVENT_COMM_EST && type != IBV_EVENT_COMM_EST)
		event = host.async_event(env.options.patience_ms);
	REQUIRE_EQ(event.type, int(type), "event ", ibv_event_type_str(type));
	REQUIRE_EQ(event.object, object, "the event's object");
}

void check_wc(const Wc &wc, uint64_t id, ibv_wc_status status, const char *what)
{
	REQUIRE(wc.status == status && wc.id == id, what, ": wr_id ", wc.id,
		" ", ibv_wc_status_str(wc.status), ", wanted wr_id ", id, " ",
		ibv_wc_status_str(status));
}

Wc expect_send(Env &env, Side &side, uint64_t id, const char *what,
	       ibv_wc_status status)
{
	Wc wc = wait_send(env, side, what);

	check_wc(wc, id, status, what);
	return wc;
}

Wc expect_recv(Env &env, Side &side, uint64_t id, const char *what,
	       ibv_wc_status status)
{
	Wc wc = wait_recv(env, side, what);

	check_wc(wc, id, status, what);
	return wc;
}

void expect_all(Env &env, Side &side, Cq cq, const std::vector<uint64_t> &ids,
		const char *what, ibv_wc_status status)
{
	auto wcs = wait_completions(env, side, cq, uint32_t(ids.size()), what);

	for (size_t i = 0; i < ids.size(); i++)
		check_wc(wcs[i], ids[i], status, what);
}

std::vector<uint64_t> numbers(uint64_t first, uint64_t count)
{
	std::vector<uint64_t> ids(count);

	std::iota(ids.begin(), ids.end(), first);
	return ids;
}

std::vector<uint64_t> ids_of(const std::vector<SendWr> &wrs)
{
	std::vector<uint64_t> ids;

	for (const SendWr &wr : wrs)
		ids.push_back(wr.id);
	return ids;
}

std::vector<RecvWr> numbered_receives(uint64_t first, uint64_t count)
{
	std::vector<RecvWr> recvs;

	for (uint64_t id : numbers(first, count))
		recvs.push_back({id, {}});
	return recvs;
}

Wc must_send(Env &env, Side &side, const SendWr &wr, const char *what,
	     ibv_wc_status status)
{
	must_post(side, wr);
	return expect_send(env, side, wr.id, what, status);
}

/* By Op. */
static constexpr struct {
	const char *name;
	ibv_wr_opcode wr;
	ibv_wc_opcode wc;
} ops[] = {
	{"send", IBV_WR_SEND, IBV_WC_SEND},
	{"send with immediate", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND},
	{"write", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
	{"write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE},
	{"read", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ},
};

const char *name_of(Op op)
{
	return ops[int(op)].name;
}

std::string word_of(Op op)
{
	std::string word = name_of(op);

	std::ranges::replace(word, ' ', '_');
	return word;
}

bool takes_recv(Op op)
{
	return op == Op::send || op == Op::send_imm || op == Op::write_imm;
}

ibv_wr_opcode wr_opcode(Op op)
{
	return ops[int(op)].wr;
}

ibv_wc_opcode wc_opcode(Op op)
{
	return ops[int(op)].wc;
}

SendWr make_wr(Op op, const Place &local, uint64_t length, const Place &remote)
{
	static uint64_t last_id = 0x0123456700000000;
	SendWr wr;

	wr.id = ++last_id;
	wr.opcode = wr_opcode(op);
	wr.imm = uint32_t(wr.id) * imm_mix;
	if (length)
		wr.sges = {{local.mr.id, local.offset, uint32_t(length), 0}};
	if (op != Op::send && op != Op::send_imm) {
		wr.remote = remote.mr.address + remote.offset;
		wr.rkey = remote.mr.rkey;
	}
	return wr;
}

static void check_recv(const Wc &wc, Op op, const SendWr &wr, const Side &side,
		       uint64_t id, uint64_t length)
{
	bool imm = op != Op::send;

	check_wc(wc, id, IBV_WC_SUCCESS, "receive completion");
	REQUIRE_EQ(int(wc.opcode),
		   op == Op::write_imm ? IBV_WC_RECV_RDMA_WITH_IMM :
					 IBV_WC_RECV,
		   "receive opcode");
	REQUIRE_EQ(wc.byte_len, length, "receive byte_len");
	REQUIRE_EQ(wc.qp_number, side.qp.number, "receive qp_num");
	REQUIRE_EQ(bool(wc.flags & IBV_WC_WITH_IMM), imm, "IBV_WC_WITH_IMM");
	if (imm)
		REQUIRE_EQ(wc.imm, wr.imm, "immediate data");
}

void exchange(Env &env, Side &active, Side &passive, Op op, const Place &local,
	      const Place &remote, uint64_t length, unsigned flags)
{
	uint64_t seed = env.seed(), background = env.seed();
	bool read = op == Op::read;
	/* A responder of UC does not see the end of a plain write: a send tells. */
	const bool marked = op == Op::write && active.type == IBV_QPT_UC;
	const bool told = takes_recv(op) || marked;
	SendWr wr = make_wr(op, local, length, remote);

	paint(*active.host, local, length, read ? background : seed,
	      background);
	paint(*passive.host, remote, length, read ? seed : background,
	      background);
	RecvWr recv = {.id = ~wr.id};
	if (op != Op::write_imm && !marked && length)
		recv.sges = {
			{remote.mr.id, remote.offset, uint32_t(length), 0}};
	if (told)
		must_post(passive, recv);
	wr.flags = IBV_SEND_SIGNALED | flags;
	wr.srqn = active.srqn;
	std::vector<SendWr> wrs = {wr};
	if (marked)
		wrs.push_back(make_wr(Op::send, {}, 0));
	must_post(active, wrs);

	std::string what = str(name_of(op), " of ", length);
	Wc done = wait_send(env, active, what.c_str(), length);

	check_wc(done, wr.id, IBV_WC_SUCCESS, what.c_str());
	REQUIRE_EQ(int(done.opcode), wc_opcode(op), what, ": send opcode");
	REQUIRE_EQ(done.qp_number, active.qp.number, what, ": send qp_num");
	if (marked)
		expect_send(env, active, wrs[1].id, "the send behind a write");
	if (told)
		check_recv(wait_recv(env, passive, what.c_str(), length),
			   marked ? Op::send : op, wr, passive, recv.id,
			   marked ? 0 : length);
	no_more(active, what.c_str());
	no_more(passive, what.c_str());
	check_painted(*active.host, local, length, seed, background,
		      str(what, ": local data").c_str());
	check_painted(*passive.host, remote, length, seed, background,
		      str(what, ": remote data").c_str());
}

void prove_alive(Env &env, Link &link)
{
	Place at_a = {must_reg(env.a, {4096, 8}), 1};
	Place at_b = {must_reg(env.b, {4096, 16}), 3};

	exchange(env, link.a, link.b, Op::write_imm, at_a, at_b, 1025);
	exchange(env, link.b, link.a, Op::write_imm, at_b, at_a, 1025);
	env.a.destroy(Kind::mr, at_a.mr.id);
	env.b.destroy(Kind::mr, at_b.mr.id);
}

} // namespace pv
