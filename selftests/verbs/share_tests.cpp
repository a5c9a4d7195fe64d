// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs that send as much as they can share their adapter by the weights of their service
 * levels; none starves, and one that sends little waits for few packets of others.
 */
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <thread>

#include <unistd.h>

#include "qdisc.h"
#include "share.h"

using namespace pv;

namespace {

/* Messages whose order is looked at. Each link has posted more before the first is sent. */
constexpr uint32_t counted = 200, deep = 256;

/* The peer's wire may have no room for a while: 4 s. */
const LinkSpec patient = {.timeout = 20};

void need_timely_answers()
{
	if (!access("/sys/kernel/debug/kcsan", F_OK))
		throw Skip("answers are later than rounds on this kernel");
}

/* Messages of the second link for each of the first. */
double ratio_of(const std::vector<uint64_t> &count)
{
	return double(count[1]) / double(std::max<uint64_t>(count[0], 1));
}

/* Messages of each link, of all that @load has waiting for @wire, which gets room. */
std::vector<uint64_t> count_shares(Qdisc &wire, Saturation &load)
{
	wire.change(room);
	const auto count = load.run(counted);

	load.drain();
	wire.change(no_room);
	load.fill();
	return count;
}

/*
 * The order of completions says how links shared the adapter, whenever the process came to look at
 * them. Where a busy host lets the guest stand, answers come too late for a round of a link, so the
 * best of some counts. An emulated guest with more CPUs is always too late: another CPU takes the turn.
 */
void must_share(Qdisc &wire, Saturation &load, double want, const char *what)
{
	double ratio;
	int left = 4;

	if (std::thread::hardware_concurrency() > 1)
		throw Skip("counted with one CPU");

	do {
		const auto count = count_shares(wire, load);

		ratio = ratio_of(count);
		show(str(what, ": ", count[0], " and ", count[1],
			 " messages, 1:", ratio));
	} while ((ratio <= want * 0.8 || ratio >= want * 1.2) && --left);
	REQUIRE(left, what, ": 1:", ratio, ", not 1:", want);
}

/* Messages of each of many links; none has less than a quarter of another. */
void must_not_starve(Env &env, uint32_t many, uint32_t length, const char *what)
{
	Saturation load(env, {}, std::vector<uint8_t>(many, 0), length, 8);

	load.run(many * 4);
	const auto count = load.run(many * 8);
	const auto [least, most] =
		std::minmax_element(count.begin(), count.end());

	show(str(what, ": ", many, " queue pairs, ", *least, " to ", *most,
		 " messages each"));
	REQUIRE(*least > 0 && *most <= 4 * *least, what, ": ", *least, " to ",
		*most);
	load.drain();
}

} // namespace

PV_TEST_LOCAL("share.weights",
	      "two that send all they can share 1:4 by the weights of their "
	      "service levels, which change meanwhile")
{
	/* A round of four quanta is a whole window, which answers have to open in time. */
	need_timely_answers();
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "1:1 2:4");
	Qdisc wire(env.a, no_room);
	Saturation load(env, {}, {1, 2}, uint32_t(env.options.large / 32),
			deep);

	must_share(wire, load, 4, "weights 1 and 4");
	weights.set("1:4 2:1");
	must_share(wire, load, 0.25, "weights 4 and 1");
	weights.set("1:2 2:2 3:3");
	must_share(wire, load, 1, "weights 2 and 2");
	weights.set("1:1 2:4");
	wire.change(room);
	load.run(deep / 4);
	weights.set(
		"1:1 2:1 3:1"); /* rounds are off: those that waited go on */
	load.drain();
	wire.change(no_room);
	load.fill();
	weights.set("1:1 2:4");
	must_share(wire, load, 4, "weights 1 and 4 again");
	wire.change(room);
	load.drain();
}

PV_TEST_LOCAL(
	"share.strict",
	"one whose service level has strict priority sends nearly all, "
	"as long as it has more; then the other does, which has not failed")
{
	need_timely_answers();
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "1:1 2:strict");
	Qdisc wire(env.a, no_room);
	Saturation load(env, {}, {1, 2}, uint32_t(env.options.large / 32),
			deep);
	std::vector<uint64_t> count;
	int left = 4;

	do {
		count = count_shares(wire, load);
		show(str("strict priority: ", count[1], " messages, the other ",
			 count[0]));
	} while (count[0] > counted / 20 && --left);
	REQUIRE(left, "strict priority: ", count[1], " messages, the other ",
		count[0]);
	wire.change(room);
	load.drain();
}

PV_TEST_LOCAL("share.responses",
	      "two that read all they can share their peer's adapter 1:4 by "
	      "the weights of its service levels")
{
	need_timely_answers();
	Policy quantum(env.b, "quantum", "32");
	Policy weights(env.b, "weights", "1:1 2:4");
	Qdisc wire(env.b, no_room);
	Saturation load(env, patient, {1, 2}, uint32_t(env.options.large / 32),
			deep, Op::read);

	must_share(wire, load, 4, "responses, weights 1 and 4");
	weights.set("1:4 2:1");
	must_share(wire, load, 0.25, "responses, weights 4 and 1");
	wire.change(room);
	load.drain();
}

PV_TEST_LOCAL("share.reader_among_writers",
	      "a peer that reads from an adapter gets as much of it as each of "
	      "seven queue pairs that write, to a tenth")
{
	need_timely_answers();
	constexpr uint64_t each = 100;
	const uint32_t length = uint32_t(env.options.large / 64);
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "15:2");
	Qdisc wire(env.a, room);
	Env reverse(env.b, env.a, env.options, env.device_b, env.device_a);
	int left = 4;

	for (;;) {
		wire.change(no_room);
		Saturation writing(env, {}, std::vector<uint8_t>(7, 0), length,
				   deep);
		Saturation reading(reverse, patient, {0}, length, deep,
				   Op::read);

		wire.change(room);
		const auto writes = writing.run(7 * each);
		const double reads = double(reading.take_complete()[0]);
		const auto [least, most] =
			std::minmax_element(writes.begin(), writes.end());

		writing.drain();
		reading.drain();
		show(str("writers: ", *least, " to ", *most,
			 " messages, the reader: ", reads));
		if (reads >= 0.9 * each && reads <= 1.1 * each)
			return;
		REQUIRE(--left, "the reader: ", reads, " messages, not ", each);
	}
}

PV_TEST_LOCAL("share.response_weights",
	      "at one service level a peer that reads gets twice as much as a "
	      "queue pair that writes, or half, by the weights of responses")
{
	need_timely_answers();
	constexpr uint64_t writes = 200; /* the beginnings differ */
	const uint32_t length = uint32_t(env.options.large / 64);
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "0:1");
	Policy responses(env.a, "response_weights", "0:2");
	Qdisc wire(env.a, room);
	Env reverse(env.b, env.a, env.options, env.device_b, env.device_a);

	for (const double want : {2.0, 0.5}) {
		int left = 4;
		double ratio;

		weights.set(want < 1 ? "0:2" : "0:1");
		responses.set(want < 1 ? "0:1" : "0:2");
		do {
			wire.change(no_room);
			Saturation writing(env, {}, {0}, length, 2 * deep);
			Saturation reading(reverse, patient, {0}, length,
					   2 * deep, Op::read);

			wire.change(room);
			writing.run(writes);
			ratio = double(reading.take_complete()[0]) /
				double(writes);
			writing.drain();
			reading.drain();
			show(str("weights of writes and responses: 1:", ratio));
		} while ((ratio <= want * 0.7 || ratio >= want * 1.4) &&
			 --left);
		REQUIRE(left, "1:", ratio, ", not 1:", want);
	}
}

PV_TEST_LOCAL("share.eight",
	      "eight that send all they can: Jain's index of their messages is "
	      "0.99 or more")
{
	need_timely_answers();
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "15:2");
	Qdisc wire(env.a, no_room);
	Saturation load(env, {}, std::vector<uint8_t>(8, 0),
			uint32_t(env.options.large / 64), deep);
	int left = 4;
	double jain;

	do {
		wire.change(room);
		const auto count = load.run(8 * 100);
		double sum = 0, squares = 0;

		load.drain();
		wire.change(no_room);
		load.fill();
		for (uint64_t one : count) {
			sum += double(one);
			squares += double(one) * double(one);
		}
		jain = sum * sum / (8 * squares);
		show(str("eight queue pairs: Jain's index ", jain));
	} while (jain < 0.99 && --left);
	REQUIRE(left, "Jain's index ", jain);
	wire.change(room);
	load.drain();
}

PV_TEST_LOCAL("share.crowd",
	      "of 256 queue pairs that send all they can none starves, with and "
	      "without rounds")
{
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "15:1");

	must_not_starve(env, 256, 1 << 12, "without rounds");
	weights.set("15:2");
	must_not_starve(env, 256, 1 << 12, "with rounds");

	Policy sends(env.a, "send_credits", "32");
	Qdisc slow(env.a, narrow);

	must_not_starve(env, 256, 1 << 16, "with few credits on a slow wire");
}

PV_TEST_LOCAL("share.refused", "a policy that is out of range, or is none")
{
	Policy quantum(env.a, "quantum", "512");
	Policy weights(env.a, "weights", "0:1");
	Policy responses(env.a, "response_weights", "0:1");
	Policy sends(env.a, "send_credits", "0");
	Policy reads(env.a, "read_credits", "0");
	const std::string before = weights.now();

	for (const char *bad : {"31", "65537", "-1", "4294967297", "x"})
		REQUIRE(!quantum.takes(bad), "quantum ", bad);
	for (const char *bad :
	     {"16:1", "0:0", "0:65", "1", "1:", ":1", "1:2x", "1:2 2:3 16:4",
	      "-1:1", "1:-1", "1:stric", "1:strictly", "16:strict", "strict"})
		REQUIRE(!weights.takes(bad) && !responses.takes(bad),
			"weights ", bad);
	REQUIRE_EQ(weights.now(), before, "weights");
	for (Policy *credits : {&sends, &reads})
		for (const char *bad : {"1048577", "-1", "many"})
			REQUIRE(!credits->takes(bad), "credits ", bad);
	quantum.set("32");
	quantum.set("65536");
	weights.set("0:64 15:1");
	weights.set("7:strict");
	REQUIRE(weights.now().find(" 7:strict ") != std::string::npos,
		weights.now());
	/* Responses have weights of their own until those of requests are set. */
	responses.set("7:3");
	REQUIRE(responses.now().find(" 7:3 ") != std::string::npos,
		responses.now());
	REQUIRE(weights.now().find(" 7:strict ") != std::string::npos,
		weights.now());
	weights.set("6:2");
	REQUIRE(responses.now().find(" 6:2 7:3 ") != std::string::npos,
		responses.now());
	sends.set("1048576");
}
