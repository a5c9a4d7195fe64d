// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Scatter and gather: many entries of odd sizes at odd offsets on both sides,
 * entries that cross pages and regions, packets that span entries.
 */
#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "link.h"
#include "tap.h"
#include "gso_counts.h"

using namespace pv;

namespace {

constexpr uint64_t background = 4;

/* Cuts `total` into `count` pieces, many of them tiny, none empty. */
std::vector<uint32_t> cut(std::mt19937 &random, uint64_t total, unsigned count)
{
	std::vector<uint64_t> cuts = {0, total};

	while (cuts.size() < count + 1) {
		uint64_t at = random() % 3 ?
				      1 + random() % (total - 1) :
				      1 + random() % std::min<uint64_t>(
							     total - 1, 64);

		if (std::find(cuts.begin(), cuts.end(), at) == cuts.end())
			cuts.push_back(at);
	}
	std::sort(cuts.begin(), cuts.end());

	std::vector<uint32_t> pieces;

	for (size_t i = 1; i < cuts.size(); i++)
		pieces.push_back(uint32_t(cuts[i] - cuts[i - 1]));
	return pieces;
}

/* Pieces of a message laid out over regions, with gaps between. */
struct Layout {
	std::vector<Mr> regions;
	std::vector<Sge> sges;
	uint64_t region_length;
};

Layout lay_out(Host &host, std::mt19937 &random,
	       const std::vector<uint32_t> &pieces)
{
	uint64_t total = std::accumulate(pieces.begin(), pieces.end(), 0ull);
	int64_t at[2] = {0, 0};

	Layout layout = {.region_length = total + pieces.size() * 600 + 8192};
	for (uint32_t misalign : {1u, 4093u})
		layout.regions.push_back(
			must_reg(host, {layout.region_length, misalign}));
	for (Mr &mr : layout.regions)
		host.fill(mr.id, 0, layout.region_length, background, 0);
	for (size_t i = 0; i < pieces.size(); i++) {
		int which = random() & 1;

		at[which] += 1 + random() % 599;
		layout.sges.push_back(
			{layout.regions[which].id, at[which], pieces[i], 0});
		at[which] += pieces[i];
	}
	return layout;
}

void fill_pieces(Host &host, const Layout &layout, uint64_t seed)
{
	uint64_t position = 0;

	for (const Sge &sge : layout.sges) {
		host.fill(sge.mr, sge.offset, sge.length, seed, position);
		position += sge.length;
	}
}

/* Each piece has its part of the message, and the gaps are untouched. */
void check_pieces(Host &host, const Layout &layout, uint64_t length,
		  uint64_t seed)
{
	uint64_t position = 0;
	std::map<Handle, int64_t> end;

	for (const Sge &sge : layout.sges) {
		const Mr &mr = sge.mr == layout.regions[0].id ?
				       layout.regions[0] :
				       layout.regions[1];
		uint64_t here =
			std::min<uint64_t>(sge.length, length - position);
		int64_t gap = end[sge.mr];

		must_match(host, mr, gap, sge.offset - gap, background, gap,
			   "gap between entries");
		must_match(host, mr, sge.offset, here, seed, position,
			   "scattered data");
		position += here;
		end[sge.mr] = sge.offset + here;
	}
	for (const Mr &mr : layout.regions)
		must_match(host, mr, end[mr.id],
			   layout.region_length - end[mr.id], background,
			   end[mr.id], "memory after the last entry");
}

uint32_t most_sges(const HostInfo &info)
{
	return uint32_t(std::min(info.device.max_sge, 30));
}

void gather_scatter(Env &env, Op op, unsigned seed_of_cuts)
{
	uint32_t count_a = most_sges(env.info_a),
		 count_b = most_sges(env.info_b);

	Link link = connect(env, {.cap = {16, 16, count_a, count_b, 0}});
	std::mt19937 random(seed_of_cuts);
	uint64_t m = uint64_t(link.mtu);

	for (uint64_t total :
	     {uint64_t(61), m - 1, m, m + 1, 4 * m + 7, 10 * m - 3}) {
		uint64_t seed = env.seed();
		Layout out =
			lay_out(env.a, random, cut(random, total, count_a));
		Layout in = lay_out(env.b, random, cut(random, total, count_b));
		SendWr wr = make_wr(op, {}, 0);

		wr.sges = out.sges;
		if (op == Op::send) {
			must_post(link.b, RecvWr{.sges = in.sges});
			fill_pieces(env.a, out, seed);
		} else {
			Mr whole = must_reg(env.b, {total + 64, 4095});

			wr.remote = whole.address + 7;
			wr.rkey = whole.rkey;
			env.b.fill(whole.id, 0, total + 64, background, 0);
			if (op == Op::read)
				env.b.fill(whole.id, 7, total, seed, 0);
			else
				fill_pieces(env.a, out, seed);
			in.regions = {whole, whole};
			in.sges = {{whole.id, 7, uint32_t(total), 0}};
			in.region_length = total + 64;
		}
		must_send(env, link.a, wr, str("gather of ", total).c_str());
		if (op == Op::send)
			REQUIRE_EQ(wait_recv(env, link.b, "scattered").byte_len,
				   total, "receive byte_len");
		check_pieces(env.a, out, total, seed);
		check_pieces(env.b, in, total, seed);
	}
}

} // namespace

PV_TEST("sgl.send",
	"send gathers and receive scatters over as many odd entries as allowed")
{
	gather_scatter(env, Op::send, 1);
}

PV_TEST("sgl.write", "write gathers many odd entries from two regions")
{
	gather_scatter(env, Op::write, 2);
}

PV_TEST("sgl.read", "read scatters over many odd entries of two regions")
{
	gather_scatter(env, Op::read, 3);
}

PV_TEST("sgl.recv_longer",
	"a message shorter than its receive leaves the rest of the entries alone")
{
	Link link = connect(env, {.cap = {16, 16, 4, 4, 0}});
	std::mt19937 random(4);
	Layout in = lay_out(env.b, random, {501, 1, 3000, 2000});
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {8192, 2}, seed);

	/* Ends inside the first entry, at its end, in the third one. */
	for (uint64_t length : {1, 501, 502, 503, 2222, 5502}) {
		SendWr wr = make_wr(Op::send, {out, 0}, length);

		for (const Mr &mr : in.regions)
			env.b.fill(mr.id, 0, in.region_length, background, 0);
		must_post(link.b, RecvWr{.sges = in.sges});
		must_send(env, link.a, wr, "send");
		REQUIRE_EQ(wait_recv(env, link.b, "receive").byte_len, length,
			   "byte_len is the message's, not the buffer's");
		check_pieces(env.b, in, length, seed);
	}
}

PV_TEST("sgl.same_bytes_twice",
	"entries of one request may name the same source bytes")
{
	Link link = connect(env);
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {4096, 9}, seed),
	   in = must_reg(env.b, {8192, 1});
	SendWr wr = make_wr(Op::write, {}, 0, {in, 0});

	wr.sges = {{out.id, 0, 1001, 0},
		   {out.id, 500, 1001, 0},
		   {out.id, 0, 1001, 0}};
	must_send(env, link.a, wr, "write");
	must_match(env.b, in, 0, 1001, seed, 0, "first piece");
	must_match(env.b, in, 1001, 1001, seed, 500, "overlapping piece");
	must_match(env.b, in, 2002, 1001, seed, 0, "repeated piece");
}

PV_TEST_LOCAL(
	"sgl.super_packet",
	"a page for each entry: those of one key are a super-packet, those of two keys "
	"another one that is copied, and both arrive")
{
	constexpr uint32_t pages = 12;
	const uint64_t seed = env.seed();
	Link link = connect(env, {.cap = {16, 16, pages, 1, 0}});
	Mr one = must_reg(env.a, {pages * page}, seed),
	   other = must_reg(env.a, {pages * page}, seed),
	   in = must_reg(env.b, {pages * page});

	/* The peer is known to be on the same host from its first answer on. */
	exchange(env, link.a, link.b, Op::write, {one, 0}, {in, 0}, 64);
	env.a.fill(one.id, 0, one.length, seed, 0);
	for (bool mixed : {false, true}) {
		SendWr wr = make_wr(Op::write, {}, 0, {in, 0});
		const unsigned before = super_packets();

		/* In another order than they lie. */
		for (uint32_t i = 0; i < pages; i++)
			wr.sges.push_back({mixed && i % 2 ? other.id : one.id,
					   int64_t(page * (pages - 1 - i)),
					   uint32_t(page), 0});
		env.b.fill(in.id, 0, in.length, background, 0);
		must_send(env, link.a, wr, "write");
		REQUIRE(super_packets() > before, "no super-packet");
		for (uint32_t i = 0; i < pages; i++)
			must_match(env.b, in, int64_t(page * i), page, seed,
				   page * (pages - 1 - i), "page");
	}
}
