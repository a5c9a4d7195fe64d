// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Every data operation at every path MTU, with lengths on both sides of each
 * packet boundary; inline data; zero length; large messages.
 */
#include <algorithm>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr Op all_ops[] = {Op::send, Op::send_imm, Op::write, Op::write_imm,
			  Op::read};
constexpr int all_mtus[] = {256, 512, 1024, 2048, 4096};

/* Lengths at which the number or the fill of the packets changes. */
std::vector<uint64_t> boundary_lengths(int mtu)
{
	uint64_t m = uint64_t(mtu);

	return {1,     2,	  3,	 4,	    5,	   m - 1,     m,
		m + 1, 2 * m - 1, 2 * m, 2 * m + 1, 3 * m, 5 * m + 3, 16 * m};
}

void sweep(Env &env, Op op, int mtu)
{
	Link link = connect(env, {.mtu = mtu});
	MrSpec mr = {.length = uint64_t(mtu) * 17 + 1024};

	mr.misalign = 4091; /* five bytes, then a page boundary */
	Place local = {must_reg(env.a, mr), 0},
	      remote = {must_reg(env.b, mr), 0};
	int64_t shift = 0;

	for (uint64_t length : boundary_lengths(mtu)) {
		local.offset = 300 + shift % 7;
		remote.offset = 300 + shift % 5;
		exchange(env, link.a, link.b, op, local, remote, length);
		shift++;
	}
	/* The other direction of the same pair. */
	exchange(env, link.b, link.a, op, remote, local, uint64_t(mtu) * 3 + 1);
}

struct RegisterSweeps {
	RegisterSweeps()
	{
		for (int mtu : all_mtus)
			for (Op op : all_ops)
				Register(
					str("data.", word_of(op), ".mtu_", mtu),
					"every byte of lengths around packet boundaries",
					Needs::any,
					[=](Env &env) { sweep(env, op, mtu); });
	}
} register_sweeps;

void large(Env &env, Op op, uint64_t length)
{
	/* Of half a second at least, as many packets are under way for long. */
	const uint8_t timeout = std::max<uint8_t>(17, env.options.loss_timeout);
	Link link = connect(env, {.timeout = timeout});
	MrSpec mr = {.length = length};
	Place local = {must_reg(env.a, mr), 0},
	      remote = {must_reg(env.b, mr), 0};
	exchange(env, link.a, link.b, op, local, remote, length);
}

struct RegisterLarge {
	RegisterLarge()
	{
		for (Op op : {Op::send, Op::write, Op::read}) {
			Register(str("data.large.", name_of(op)),
				 "a message of --large bytes (64 MiB)",
				 Needs::any, [=](Env &env) {
					 large(env, op, env.options.large - 1);
				 });
			Register(str("data.huge.", name_of(op)),
				 "the longest message there is, 2 GiB - 1",
				 Needs::any, [=](Env &env) {
					 if (!env.options.huge)
						 throw Skip("--huge not given");
					 large(env, op, (2ull << 30) - 1);
				 });
		}
	}
} register_large;

} // namespace

PV_TEST("data.zero_length",
	"each operation without data completes, also with a key that is not one")
{
	Link link = connect(env);
	Place local = {must_reg(env.a, {4096, 0}), 64};
	Place remote = {must_reg(env.b, {4096, 0}), 64};

	for (Op op : all_ops)
		exchange(env, link.a, link.b, op, local, remote, 0);

	/* IBA: the R_Key is not checked when no memory is accessed. */
	remote.mr.rkey ^= 0x00ffff00;
	for (Op op : {Op::write, Op::write_imm, Op::read})
		exchange(env, link.a, link.b, op, local, remote, 0);
}

PV_TEST("data.zero_length_sge",
	"a scatter entry of length zero carries nothing, and receives nothing")
{
	Link link = connect(env);
	Mr mr_a = must_reg(env.a, {4096}), mr_b = must_reg(env.b, {4096}, 77);
	SendWr send = make_wr(Op::send, {mr_a, 0}, 0);

	send.sges = {{mr_a.id, 0, 0, 0}};
	must_post(link.b, RecvWr{.id = 5, .sges = {{mr_b.id, 0, 0, 0}}});
	must_send(env, link.a, send, "send");
	Wc wc = expect_recv(env, link.b, 5, "receive");
	REQUIRE_EQ(wc.byte_len, 0u, "nothing was sent");
	must_match(env.b, mr_b, 0, 4096, 77, 0, "the receiver's memory");
}

PV_TEST("data.inline",
	"inline sends and writes of every length; the source needs no key and "
	"may change at once")
{
	Link link = connect(env, {.cap = inline_cap(64)});
	uint32_t most = link.a.qp.cap.max_inline_data;

	REQUIRE(most >= 64, "max_inline_data ", most);
	MrSpec plain = {.length = 4096, .misalign = 13, .registered = false};
	Mr source = must_reg(env.a, plain), target = must_reg(env.b, {4096, 5});

	for (uint32_t length = 0; length <= most;
	     length += length < 70 ? 1 : 37) {
		for (Op op : {Op::send, Op::write, Op::write_imm}) {
			uint64_t seed = env.seed();
			SendWr wr =
				make_wr(op, {source, 0}, length, {target, 9});
			RecvWr recv;

			wr.flags |= IBV_SEND_INLINE;
			if (op == Op::send)
				recv.sges = {{target.id, 9, length + 1, 0}};
			if (takes_recv(op))
				must_post(link.b, recv);
			env.b.fill(target.id, 0, length + 64, 1, 0);
			env.a.fill(source.id, 0, length, seed, 0);
			must_post(link.a, wr);
			env.a.fill(source.id, 0, length, seed + 9999, 0);
			expect_send(env, link.a, wr.id, "inline");
			if (takes_recv(op))
				REQUIRE_EQ(wait_recv(env, link.b, "inline")
						   .byte_len,
					   length, "receive byte_len");
			must_match(env.b, target, 0, 9, 1, 0, "bytes before");
			must_match(
				env.b, target, 9, length, seed, 0,
				str(name_of(op), " inline ", length).c_str());
			must_match(env.b, target, 9 + length, 55, 1, 9 + length,
				   "bytes after");
		}
	}
}

PV_TEST("data.inline_gather",
	"inline data gathered from several unregistered pieces")
{
	Link link = connect(env, {.cap = inline_cap(60)});
	MrSpec plain = {.length = 4096, .registered = false};
	Mr source = must_reg(env.a, plain), target = must_reg(env.b, {4096});
	SendWr wr = make_wr(Op::write, {}, 0, {target, 1});
	uint32_t lengths[] = {1, 17, 0, 42};
	uint64_t position = 0, seed = env.seed();
	int64_t offset = 11;

	wr.flags |= IBV_SEND_INLINE;
	for (uint32_t length : lengths) {
		wr.sges.push_back({source.id, offset, length, 0});
		env.a.fill(source.id, offset, length, seed, position);
		position += length;
		offset += length + 100;
	}
	env.b.fill(target.id, 0, 256, 1, 0);
	must_send(env, link.a, wr, "inline");
	must_match(env.b, target, 1, position, seed, 0, "gathered inline data");
	must_match(env.b, target, 1 + position, 100, 1, 1 + position,
		   "bytes after");
}

PV_TEST("data.bidirectional",
	"both ends write, read and send to each other at the same time")
{
	Link link = connect(env);
	constexpr uint64_t size = 40007;
	constexpr int rounds = 4;
	struct End {
		Side &self;
		Side &peer;
		Mr out, in, pulled;
		uint64_t seed;
	};
	auto reg = [](Host &h) { return must_reg(h, {size * rounds, 3}); };
	End ends[2] = {
		{link.a, link.b, reg(env.a), reg(env.a), reg(env.a),
		 env.seed()},
		{link.b, link.a, reg(env.b), reg(env.b), reg(env.b),
		 env.seed()},
	};

	for (End &end : ends) {
		std::vector<RecvWr> recvs(rounds);

		end.self.host->fill(end.out.id, 0, size * rounds, end.seed, 0);
		for (int i = 0; i < rounds; i++)
			recvs[i].sges = {{end.in.id, int64_t(size) * i,
					  uint32_t(size), 0}};
		must_post(end.self, recvs);
	}
	for (int i = 0; i < rounds; i++) {
		for (int e = 0; e < 2; e++) {
			End &end = ends[e], &other = ends[1 - e];
			int64_t at = int64_t(size) * i;

			must_post(
				end.self,
				std::vector<SendWr>{
					make_wr(Op::send, {end.out, at}, size),
					make_wr(Op::read, {end.pulled, at},
						size, {other.out, at})});
		}
	}
	for (int e = 0; e < 2; e++) {
		End &end = ends[e], &other = ends[1 - e];

		for (const Wc &wc :
		     wait_completions(env, end.self, end.self.send_cq,
				      rounds * 2, "sender"))
			check_wc(wc, wc.id, IBV_WC_SUCCESS, "sender");
		wait_completions(env, end.self, end.self.recv_cq, rounds,
				 "receiver");
		must_match(*end.self.host, end.in, 0, size * rounds, other.seed,
			   0, "received data");
		must_match(*end.self.host, end.pulled, 0, size * rounds,
			   other.seed, 0, "read data");
	}
}
