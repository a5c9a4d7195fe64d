// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A forger that is not on the path: it knows the addresses of a connection and all but one of
 * its numbers. How often it hits is what docs/security.md calculates.
 */
#include <cstdio>
#include <random>
#include <set>

#include <arpa/inet.h>

#include "forger.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint32_t number_mask = 0xffffff;
/* So many packets at a time: none is lost for want of room. */
constexpr unsigned burst = 64;

/*
 * The forger's packets are behind the receiver when a message of another connection has
 * been answered, which goes the same way.
 */
void let_pass(Env &env, Link &other)
{
	must_post(other.b, RecvWr{});
	must_send(env, other.a, make_wr(Op::send, {}, 0),
		  "a message behind the forged ones");
	wait_recv(env, other.b, "receive");
}

/* The forged messages that were received there, by their immediate data. */
std::vector<uint32_t> taken(Side &side)
{
	std::vector<uint32_t> numbers;

	for (const Wc &wc : side.host->poll(side.recv_cq.id, 64, 0)) {
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "a forged message");
		numbers.push_back(wc.imm);
	}
	return numbers;
}

} // namespace

PV_TEST("blind.any_psn",
	"of the PSNs that a forger draws, those ahead are answered by a NAK: half")
{
	constexpr int draws = 2000;
	std::mt19937 random(env.seed());
	Link link = connect(env);
	Moved naks(env.a, "rx_naks");
	Forger forger(env);
	uint32_t expected = link.spec.psn_a;
	unsigned ahead = 0;

	for (int i = 0; i < draws; i++) {
		uint32_t psn = random() & number_mask;
		uint32_t distance = (psn - expected) & number_mask;

		if (!distance)
			continue;
		ahead += distance < 1 << 23;
		forger.send({rc_send_only_imm, link.b.qp.number, psn});
		/* the gap is closed: the next one is complained of anew */
		let_pass(env, link);
		expected = (expected + 1) & number_mask;
	}
	printf("# shown: %lu of %d random PSNs were answered by a NAK\n",
	       static_cast<unsigned long>(naks.by()), draws);
	REQUIRE_EQ(naks.by(), ahead, "NAKs");
	/* five times the standard deviation of 2000 tosses of a coin */
	REQUIRE(ahead > 888 && ahead < 1112, "ahead ", ahead);
}

PV_TEST("blind.psn",
	"a forged send is executed with one PSN of a range only, once the "
	"forger has guessed one that no loss explains")
{
	constexpr int range = 2048; /* on either side */
	constexpr uint32_t far = 1 << 20;
	Link link = connect(env), other = connect(env);
	Forger forger(env);

	forger.send({rc_send_only_imm, link.b.qp.number,
		     (link.spec.psn_a + far) & number_mask, far});
	must_post(link.b, std::vector<RecvWr>(8));
	/* Down, so that none that is executed makes the next one right. */
	for (int i = range; i >= -range; i--) {
		uint32_t psn = (link.spec.psn_a + uint32_t(i)) & number_mask;

		forger.send({rc_send_only_imm, link.b.qp.number, psn, psn});
		if (!(i % int(burst)))
			let_pass(env, other);
	}
	const auto executed = taken(link.b);
	printf("# shown: %zu of %lu PSNs had a send executed\n",
	       executed.size(), static_cast<unsigned long>(forger.sent()));
	REQUIRE_EQ(executed.size(), 1u, "messages");
	REQUIRE_EQ(executed[0], link.spec.psn_a, "PSN of the one");
}

PV_TEST("blind.qpn",
	"of the numbers of queue pairs those that are there are hit")
{
	constexpr int range = 256; /* on either side of each */
	std::vector<Link> links;
	std::set<uint32_t> tried;
	Forger forger(env);

	for (int i = 0; i < 8; i++) {
		links.push_back(connect(env));
		must_post(links[i].b, std::vector<RecvWr>(8));
		for (int near = -range; near <= range; near++)
			tried.insert((links[i].b.qp.number + uint32_t(near)) &
				     number_mask);
	}
	Link other = connect(env);
	tried.erase(other.b.qp.number);
	for (uint32_t qpn : tried) {
		forger.send({rc_send_only_imm, qpn, links[0].spec.psn_a, qpn});
		if (!(forger.sent() % burst))
			let_pass(env, other);
	}
	let_pass(env, other);
	for (Link &link : links) {
		const auto executed = taken(link.b);

		REQUIRE_EQ(executed.size(), 1u, "messages");
		REQUIRE_EQ(executed[0], link.b.qp.number, "its number");
	}
	printf("# shown: 8 of %zu numbers hit one of 8 queue pairs\n",
	       tried.size());
}

PV_TEST("blind.key", "of 65536 keys that differ in low bits one writes")
{
	constexpr uint32_t keys = 1 << 16;

	/* RC ends with the first wrong key */
	Link link = connect(env, {.type = IBV_QPT_UC}), other = connect(env);
	Mr in = must_reg(env.b, {4 * keys}, 7);
	Forger forger(env);

	for (uint32_t i = 0; i < keys; i++) {
		Forged write = {uc_write_only, link.b.qp.number,
				(link.spec.psn_a + i) & number_mask};

		/* the right one is in the middle; each writes elsewhere */
		write.key = in.rkey ^ i ^ keys / 2;
		write.address = in.address + 4 * i;
		write.data = 0xf04bed00 ^ i;
		forger.send(write);
		if (!(i % burst))
			let_pass(env, other);
	}
	let_pass(env, other);
	must_match(env.b, in, 0, 4 * (keys / 2), 7, 0, "before");
	must_match(env.b, in, 4 * (keys / 2 + 1), 4 * (keys / 2 - 1), 7,
		   4 * (keys / 2 + 1), "behind");
	uint64_t word = env.b.load(in.id, 4 * (keys / 2));
	REQUIRE_EQ(ntohl(uint32_t(word)), 0xf04bed00 ^ keys / 2, "written");
	printf("# shown: 1 of %u keys wrote\n", keys);
}
