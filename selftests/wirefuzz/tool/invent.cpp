// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * New dialogues: see invent.h.
 */
#include <algorithm>
#include <array>

#include "invent.h"

namespace wf {

namespace {

constexpr uint64_t mtu_bytes(uint64_t code)
{
	return 128u << code;
}

/* Bytes of a message: short, around multiples of the MTU, and some long ones. */
uint64_t some_length(Random &random, uint64_t mtu)
{
	switch (random.below(5)) {
	case 0:
		return random.below(9);
	case 1:
		return mtu * (1 + random.below(3));
	case 2:
		return mtu * (1 + random.below(3)) + random.below(3) - 1;
	case 3:
		return random.below(4 * mtu);
	default:
		return random.below(mtu);
	}
}

uint64_t some_psn(Random &random)
{
	return random.one_in(2) ? 0xffffff - random.below(4) :
				  random.below(1 << 24);
}

/* The steps so far, and how far the PSNs of both directions are. */
class Inventor {
public:
	Inventor(Random &random, std::string target)
		: random_(random), target_(std::move(target))
	{
	}

	Dialogue take() { return std::move(said_); }

	void begin()
	{
		Step &step = add("begin", target_);

		mtu_ = 1 + random_.below(4);
		step.set("rq", {"", some_psn(random_)});
		step.set("sq", {"", some_psn(random_)});
		step.set("mtu", {"", mtu_});
		if (random_.one_in(3))
			step.set("timeout", {"", random_.below(12)});
		if (random_.one_in(3))
			step.set("retry", {"", random_.below(8)});
		if (random_.one_in(3))
			step.set("rnr", {"", random_.below(8)});
		if (random_.one_in(3))
			step.set("rd", {"", 1 + random_.below(8)});
		if (random_.one_in(3))
			step.set("dest_rd", {"", random_.below(9)});
		if (random_.one_in(6))
			step.set("access", {"", random_.below(16)});
	}

	void receives()
	{
		Step &step = add("recv", target_);

		step.set("len", {"", some_length(random_, 4 * mtu())});
		step.set("at", {"l", random_.below(8192)});
		step.set("n", {"", 1 + random_.below(4)});
		if (random_.one_in(4))
			step.set("split", {"", 1});
		if (target_ == "xt0" && random_.one_in(4))
			step.set("srq", {"s1", 0});
	}

	/* A message of the peer's, in as many packets as it has. */
	void message(const std::string &what, bool immediate)
	{
		const uint64_t length = some_length(random_, mtu());
		const uint64_t packets =
			std::max<uint64_t>(1, (length + mtu() - 1) / mtu());
		const std::string service = service_prefix();
		const Value va = place();

		for (uint64_t i = 0; i < packets; i++) {
			const bool first = i == 0, last = i + 1 == packets;
			std::string name = service + what +
					   (first && last ? "_ONLY" :
					    first	  ? "_FIRST" :
					    last	  ? "_LAST" :
							    "_MIDDLE");
			if (last && immediate)
				name += random_.one_in(4) && what == "SEND" &&
							target_[0] != 'u' ?
						"_INV" :
						"_IMM";
			Step &step = packet(name, ask_++);

			step.set("data",
				 {"", last ? length - i * mtu() : mtu()});
			if (what == "WRITE" && first) {
				step.set("dlen", {"", length});
				step.set("va", va);
				step.set("rkey", {va.symbol, 0});
			}
			if (last || random_.one_in(5))
				step.set("ackreq", {"", 1});
		}
	}

	void read()
	{
		const uint64_t length = some_length(random_, 2 * mtu());
		const Value va = place();
		Step &step = packet(service_prefix() + "READ_REQ", ask_);

		step.set("va", va);
		step.set("rkey", {va.symbol, 0});
		step.set("dlen", {"", length});
		ask_ += std::max<uint64_t>(1, (length + mtu() - 1) / mtu());
	}

	void atomic()
	{
		Step &step = packet(service_prefix() + (random_.one_in(2) ?
								"CMP_SWAP" :
								"FETCH_ADD"),
				    ask_++);

		/* Regions begin at a multiple of 8. */
		step.set("va", {random_.one_in(4) ? "o" : "r",
				8 * random_.below(4000)});
		step.set("rkey", {step.find("va")->symbol, 0});
		step.set("swap", {"", random_.any()});
	}

	void extended_atomic()
	{
		Step &step = packet(service_prefix() + "EXT_ATOMIC", ask_++);

		step.set("va", {random_.one_in(4) ? "o" : "r",
				8 * random_.below(4000)});
		step.set("rkey", {step.find("va")->symbol, 0});
		step.set("aop", {"", random_.one_in(8) ? random_.below(16) :
							 random_.below(3)});
		for (const char *field : {"id", "swap", "mask", "cmp", "cmask"})
			if (!random_.one_in(3))
				step.set(field, {"", random_.any()});
	}

	/* Eight bytes, and now and then another number of them. */
	void immediate()
	{
		Step &step = packet(service_prefix() + (random_.one_in(2) ?
								"IMM64" :
								"IMM64_SE"),
				    ask_++);

		step.set("data",
			 {"", random_.one_in(8) ? random_.below(20) : 8});
		if (random_.one_in(2))
			step.set("ackreq", {"", 1});
	}

	void ask()
	{
		switch (random_.below(target_[0] == 'u' ? 2 : 8)) {
		case 0:
			return message("SEND", random_.one_in(3));
		case 1:
		case 2:
			return message("WRITE", random_.one_in(4));
		case 3:
			return atomic();
		case 4:
			return extended_atomic();
		case 5:
			return immediate();
		default:
			return read();
		}
	}

	/* The adapter asks. */
	void post()
	{
		static constexpr std::array<const char *, 12> operations = {
			"SEND",	    "SEND_IMM", "WRITE",   "WRITE_IMM",
			"READ",	    "CAS",	"FADD",	   "READ",
			"EXT_FADD", "EXT_SWAP", "EXT_CAS", "IMM64"};
		Step &step = add("post", target_);

		step.name = operations[random_.below(target_[1] == 'd' ? 2 :
						     target_[0] == 'u' ? 4 :
									 12)];
		step.set("len", {"", some_length(random_, 2 * mtu())});
		if (step.name.ends_with("CAS") || step.name.ends_with("FADD") ||
		    step.name == "EXT_SWAP") {
			step.set("len", {"", 8});
			step.set("at", {"l", random_.below(1000)});
			step.set("va", {"", 0x1000});
		}
		if (!random_.one_in(3))
			step.set("signal", {"", 1});
		if (random_.one_in(5))
			step.set("fence", {"", 1});
		if (random_.one_in(5))
			step.set("n", {"", 1 + random_.below(20)});
		if (random_.one_in(5))
			step.set("split", {"", 1});
		posted_++;
	}

	void answer()
	{
		static constexpr std::array<const char *, 16> ways = {
			"all",	 "all",	  "all",   "all",   "all",   "seq",
			"rnr",	 "inv",	  "late",  "half",  "short", "long",
			"twice", "ghost", "wrong", "access"};

		add("answer", target_).name = random_.pick(ways);
	}

	/* A response by hand, which may be the right one. */
	void respond()
	{
		static constexpr std::array<const char *, 7> names = {
			"ACK",
			"ACK",
			"READ_RESP_ONLY",
			"READ_RESP_FIRST",
			"READ_RESP_LAST",
			"ATOMIC_ACK",
			"EXT_ATOMIC_ACK"};
		static constexpr std::array<uint64_t, 6> syndromes = {
			0x1f, 0x1f, 0x60, 0x21, 0x62, 0x10};
		Step &step = packet(service_prefix() + random_.pick(names),
				    random_.below(2 + posted_ * 2));

		step.set("syn", {"", random_.pick(syndromes)});
		step.set("msn", {"", random_.below(4)});
		if (step.name.ends_with("EXT_ATOMIC_ACK"))
			step.set("id", {"", random_.below(4)});
		if (step.name.find("RESP") != std::string::npos)
			step.set("data", {"", some_length(random_, mtu())});
	}

	void datagram()
	{
		Step &step = add("<", target_);

		step.name = random_.one_in(2) ? "UD_SEND_ONLY" :
						"UD_SEND_ONLY_IMM";
		step.set("data", {"", some_length(random_, mtu())});
		step.set("psn", {"", random_.below(9)});
		if (random_.one_in(4)) {
			step.set("group", {"", 1});
			step.set("qpn", {"", 0xffffff});
		}
	}

	Step &add(const std::string &verb, const std::string &subject = "")
	{
		Step step = {.verb = verb, .subject = subject};

		said_.push_back(std::move(step));
		return said_.back();
	}

	void pause()
	{
		static constexpr std::array<const char *, 4> verbs = {
			"poll", "listen", "arm", "wait"};
		const std::string verb = random_.pick(verbs);
		Step &step = add(verb);

		if (verb == "wait")
			step.set("us", {"", random_.below(2000)});
	}

private:
	uint64_t mtu() const { return mtu_bytes(mtu_); }

	std::string service_prefix() const
	{
		return target_[0] == 'x' ? "XRC_" :
		       target_[0] == 'u' ? "UC_" :
					   "";
	}

	Value place()
	{
		static constexpr std::array<const char *, 8> names = {
			"r", "r", "r", "r", "r", "o", "mw1", "mw2"};

		return {random_.pick(names), random_.below(16384)};
	}

	Step &packet(const std::string &name, uint64_t psn)
	{
		Step &step = add("<", target_);

		step.name = name;
		step.set("psn", {"", psn});
		return step;
	}

	Random &random_;
	std::string target_;
	Dialogue said_;
	uint64_t mtu_ = 3, ask_ = 0, posted_ = 0;
};

Dialogue invent_asking(Random &random)
{
	static constexpr std::array<const char *, 6> targets = {
		"rc0", "rc0", "rc1", "xt0", "uc0", "uc1"};
	Inventor talk(random, random.pick(targets));

	talk.begin();
	for (uint64_t n = random.below(4); n; n--)
		talk.receives();
	for (uint64_t n = 1 + random.below(6); n; n--) {
		talk.ask();
		if (random.one_in(6))
			talk.pause();
	}
	return talk.take();
}

Dialogue invent_answering(Random &random)
{
	static constexpr std::array<const char *, 3> targets = {"rc0", "rc1",
								"xi0"};
	Inventor talk(random, random.pick(targets));

	talk.begin();
	for (uint64_t n = 1 + random.below(4); n; n--) {
		for (uint64_t m = 1 + random.below(3); m; m--)
			talk.post();
		for (uint64_t m = random.below(4); m; m--)
			random.one_in(3) ? talk.respond() : talk.answer();
		if (random.one_in(4))
			talk.pause();
	}
	return talk.take();
}

Dialogue invent_both(Random &random)
{
	Inventor talk(random, random.one_in(2) ? "rc0" : "rc1");

	talk.begin();
	if (random.one_in(2)) {
		Step &bind = talk.add("bind", "rc0");

		bind.name = random.one_in(2) ? "mw1" : "mw2";
		bind.set("at", {"", random.below(8192)});
		bind.set("len", {"", random.below(16384)});
		bind.set("access", {"", 14});
	}
	talk.receives();
	for (uint64_t n = 2 + random.below(8); n; n--)
		switch (random.below(4)) {
		case 0:
			talk.post();
			break;
		case 1:
			talk.answer();
			break;
		case 2:
			talk.respond();
			break;
		default:
			talk.ask();
		}
	return talk.take();
}

Dialogue invent_unanswered(Random &random)
{
	static constexpr std::array<const char *, 3> targets = {"uc0", "uc1",
								"ud0"};
	const std::string target = random.pick(targets);
	Inventor talk(random, target);

	talk.begin();
	if (target == "ud0" && random.one_in(3))
		talk.add("attach", target);
	for (uint64_t n = 1 + random.below(5); n; n--)
		switch (random.below(3)) {
		case 0:
			talk.post();
			break;
		case 1:
			talk.receives();
			[[fallthrough]];
		default:
			target == "ud0" ? talk.datagram() : talk.ask();
		}
	return talk.take();
}

} // namespace

Dialogue invent(Random &random)
{
	switch (random.below(9)) {
	case 0:
	case 1:
	case 2:
		return invent_asking(random);
	case 3:
	case 4:
		return invent_answering(random);
	case 5:
		return invent_both(random);
	case 6:
		return invent_unanswered(random);
	default:
		return invent_windows(random);
	}
}

} // namespace wf
