// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The script machine's verbs on the wire: packets injected, expected, tolerated,
 * and whole messages cut into packets. See machine.h.
 */
#include <algorithm>

#include "machine.h"

namespace pw {

namespace {

constexpr uint64_t psn_mask = 0xffffff;
constexpr uint64_t unlimited_credits = 31;
constexpr uint64_t all_ones = ~0ull;
constexpr uint64_t ext_fetch_add = 0; /* of the AOpCodes */
constexpr uint64_t feth_global = 1; /* of the placement types */

struct NamedCode {
	const char *name;
	uint64_t value;
};

constexpr NamedCode nak_codes[] = {
	{"seq", 0}, {"inv", 1}, {"access", 2}, {"op", 3}, {"rd", 4},
};

/* Fields that a packet of the device has whenever a script does not say else. */
constexpr std::string_view checked_by_default[] = {
	"se", "pad", "tver", "pkey", "fecn", "becn", "qpn", "attempt",
};

uint64_t nak_code(const std::string &text)
{
	for (const NamedCode &code : nak_codes)
		if (text == code.name)
			return code.value;
	return evaluate(text);
}

std::string hex(uint64_t value)
{
	char text[32];

	std::snprintf(text, sizeof(text), "0x%llx",
		      static_cast<unsigned long long>(value));
	return text;
}

uint64_t pad_of(const Bytes &payload)
{
	return -payload.size() & 3;
}

bool signed_before(uint64_t a, uint64_t b)
{
	return ((a - b) & psn_mask) > psn_mask / 2;
}

} // namespace

bool PacketSpec::is(std::string_view plain) const
{
	return without_service(name) == plain;
}

bool PacketSpec::mentions(std::string_view field) const
{
	return ignored.contains(field) ||
	       std::any_of(fields.begin(), fields.end(),
			   [&](auto &f) { return f.first->name == field; });
}

uint32_t Machine::psn_base(bool response, bool inbound) const
{
	/* The device's requests are answered in the PSNs of its send queue. */
	return response == inbound ? case_.bases.sq : case_.bases.rq;
}

/* ACK, NAK and RNR are one opcode; the syndrome is made of what is said of it. */
static std::optional<uint64_t> syndrome(const Statement &s,
					std::string_view name)
{
	if (name == "RNR")
		return aeth_rnr | evaluate(s.get("timer"));
	if (name == "NAK")
		return aeth_nak | nak_code(s.get("code"));
	if (const std::string *credits = s.find("credits"))
		return aeth_ack | evaluate(*credits);
	return std::nullopt;
}

PacketSpec Machine::packet_spec(const Statement &s, bool inbound)
{
	std::string op = s.word(0);
	PacketSpec spec = {.name = op};

	if (spec.is("NAK") || spec.is("RNR"))
		op.replace(op.size() - 3, 3, "ACK");
	spec.opcode = opcode_by_name(op);
	if (!spec.opcode)
		throw ScriptError("no packet is called " + spec.name);
	for (size_t i = 1; i < s.words.size(); i++) {
		const Field *flag = field_by_name(s.word(i));

		if (s.word(i) == "coalesced")
			continue;
		if (!flag || flag->bits != 1)
			throw ScriptError("no flag is called " + s.word(i));
		spec.fields.push_back({flag, 1});
	}
	for (const auto &[key, text] : s.args) {
		const Field *field = field_by_name(key);

		if (!field)
			continue;
		if (text == "any") {
			spec.ignored.insert(key);
			continue;
		}

		uint64_t v = value(text, key == "va" ? addresses :
					 key == "rkey" || key == "inv" ? keys :
					 key == "srqn" ? queues :
							 numbers);

		/* A CNP has no PSN: its field is 0. */
		if ((key == "psn" || key == "echo") && !spec.is("CNP"))
			v = (v + psn_base(spec.opcode->response, inbound)) &
			    psn_mask;
		spec.fields.push_back({field, v});
	}
	if (spec.opcode->headers & PAVO_OPF_AETH)
		if (auto syn = syndrome(s, without_service(spec.name)))
			spec.fields.push_back({field_by_name("syn"), *syn});
	if (const std::string *text = s.find("data")) {
		spec.has_data = *text != "any";
		if (spec.has_data)
			spec.data = data(*text);
		else
			spec.ignored.insert("data");
	}
	return spec;
}

Damage Machine::damage(const Statement &s)
{
	const auto number = [&](const char *key) -> std::optional<uint64_t> {
		const std::string *text = s.find(key);

		return text ? std::optional(value(*text)) : std::nullopt;
	};

	Damage d = {.icrc_flip = s.find("icrc") && s.get("icrc") == "bad"};
	if (!d.icrc_flip && s.find("icrc"))
		d.icrc = static_cast<uint32_t>(*number("icrc"));
	d.cut = number("cut");
	d.truncate = number("truncate");
	d.extra = number("extra").value_or(0);
	if (auto n = number("udp_len"))
		d.udp_len = static_cast<uint16_t>(*n);
	if (auto n = number("ip_len"))
		d.ip_len = static_cast<uint16_t>(*n);
	if (auto n = number("udp_csum"))
		d.udp_csum = static_cast<uint16_t>(*n);
	return d;
}

void Machine::step_inject(const Statement &s)
{
	const PacketSpec spec = packet_spec(s, true);
	Envelope envelope = envelope_;
	Packet packet;

	packet.opcode = spec.opcode->code;
	packet.qpn = dut().qpn();
	packet.srqn = dut().srqn(first_srq).value_or(0);
	packet.migreq = 1;
	packet.syn = aeth_ack | unlimited_credits;
	packet.payload = spec.data;
	packet.pad = pad_of(packet.payload);
	packet.dlen = packet.payload.size();
	packet.feth = feth_global;
	packet.mask = all_ones;
	packet.cmask = all_ones;
	for (const auto &[field, value] : spec.fields)
		packet.*field->member = value;
	/* Without a mask fields are added, and one of 64 bits is the usual one. */
	if (packet.aop == ext_fetch_add && !spec.mentions("mask"))
		packet.mask = 0;
	if (const std::string *text = s.find("src"))
		envelope.src = parse_address(*text);
	if (const std::string *text = s.find("sport"))
		envelope.sport = static_cast<uint16_t>(value(*text));
	if (const std::string *text = s.find("tos"))
		envelope.tos = static_cast<uint8_t>(value(*text));
	if (const std::string *text = s.find("ttl"))
		envelope.ttl = static_cast<uint8_t>(value(*text));

	const Bytes frame =
		wrap(envelope, encode(packet, spec.opcode->headers), damage(s));

	note('<', describe(packet));
	last_event_ = bench_.now();
	bench_.send(frame);
}

/* Of every packet, also those that a script allows or skips. */
void Machine::check_reserved(const Packet &packet) const
{
	const std::string name = name_of(packet);
	const bool unreliable = name.starts_with("UC_") ||
				name.starts_with("UD_");

	if (packet.resv6 || packet.resv28 || packet.resv26 ||
	    ((!setup_.pavo || unreliable) && (packet.sack || packet.attempt)))
		throw Mismatch("a reserved field is not 0: " +
			       describe(packet));
	/* rdma_rxe has it 0; there is no path but one */
	if (setup_.pavo && !packet.migreq)
		throw Mismatch("MigReq is not set: " + describe(packet));
}

Packet Machine::decode_arrival(const Arrival &arrival)
{
	const Envelope &e = arrival.frame.envelope;
	Packet packet;

	try {
		packet = decode(arrival.frame.transport);
	} catch (const Malformed &bad) {
		throw Mismatch(std::string("a malformed packet arrived: ") +
			       bad.what());
	}
	note('>', describe(packet));
	unasked_ = packet.ackreq ? 0 : unasked_ + 1;
	unasked_max_ = std::max(unasked_max_, unasked_);
	if (e.src != envelope_.dst || e.dst != envelope_.src)
		throw Mismatch("packet from " + print_address(e.src) + " to " +
			       print_address(e.dst));
	if (e.smac != envelope_.dmac || e.dmac != envelope_.smac)
		throw Mismatch("packet with a foreign Ethernet address");
	check_reserved(packet);
	return packet;
}

/*
 * "" or what differs. `complete`: what the script does not mention must be as a
 * correct sender has it, and no payload mentioned means none.
 */
std::string Machine::difference(const PacketSpec &spec, const Packet &packet,
				bool complete) const
{
	Packet usual;

	if (name_of(packet) != spec.name)
		return "it is a " + name_of(packet);
	for (const auto &[field, value] : spec.fields) {
		const uint64_t got = packet.*field->member;

		if (field->name == "syn" && spec.is("READ_RESP_MIDDLE"))
			continue;
		if (got != value)
			return std::string(field->name) + " is " + hex(got) +
			       ", not " + hex(value);
	}
	if (spec.opcode->headers & PAVO_OPF_AETH && !spec.is("NAK") &&
	    !spec.is("RNR") && (packet.syn & aeth_kind_mask) != aeth_ack)
		return "its syndrome is " + hex(packet.syn);
	if (complete) {
		usual.qpn = dut_->config().remote_qpn;
		usual.pad = pad_of(packet.payload);
		for (std::string_view name : checked_by_default) {
			const Field *field = field_by_name(name);

			if (!spec.mentions(name) &&
			    packet.*field->member != usual.*field->member)
				return std::string(name) + " is " +
				       hex(packet.*field->member) + ", not " +
				       hex(usual.*field->member);
		}
		if (spec.opcode->headers & PAVO_OPF_DETH &&
		    !spec.mentions("sqpn") && packet.sqpn != dut_->qpn())
			return "sqpn is " + hex(packet.sqpn) + ", not the QP's";
	}
	if (!spec.has_data && (!complete || spec.ignored.contains("data")))
		return "";
	if (packet.payload.size() != spec.data.size())
		return "its payload has " +
		       std::to_string(packet.payload.size()) + " bytes, not " +
		       std::to_string(spec.data.size());

	const auto wrong = std::mismatch(spec.data.begin(), spec.data.end(),
					 packet.payload.begin());

	if (wrong.first == spec.data.end())
		return "";
	return "byte " + std::to_string(wrong.first - spec.data.begin()) +
	       " of its payload is " + hex(*wrong.second) + ", not " +
	       hex(*wrong.first);
}

bool Machine::tolerated(const Packet &packet) const
{
	return std::any_of(allowed_.begin(), allowed_.end(), [&](auto &spec) {
		return difference(spec, packet, false).empty();
	});
}

void Machine::check_timing(const Statement &s, int64_t time) const
{
	const int64_t passed = time - last_event_;

	if (s.find("after") && passed < duration(s.get("after")))
		throw Mismatch("it came too early, after " +
			       std::to_string(passed / 1000) + " us");
	if (s.find("within") && passed > duration(s.get("within")))
		throw Mismatch("it came too late, after " +
			       std::to_string(passed / 1000) + " us");
}

/* An earlier packet of the same name, as a responder that does not coalesce sends. */
static bool earlier(const PacketSpec &spec, const Packet &packet)
{
	for (const auto &[field, value] : spec.fields)
		if (field->name == "psn")
			return name_of(packet) == spec.name &&
			       signed_before(packet.psn, value);
	return false;
}

void Machine::step_expect(const Statement &s)
{
	const PacketSpec spec = packet_spec(s, false);
	const int64_t deadline = bench_.now() + setup_.patience;

	if (!spec.mentions("psn"))
		throw ScriptError("an expected packet needs a psn=");
	for (;;) {
		const auto arrival = bench_.next(deadline);

		if (!arrival)
			throw Mismatch("nothing arrived");

		const Packet packet = decode_arrival(*arrival);
		const std::string why = difference(spec, packet, true);

		if (why.empty()) {
			check_timing(s, arrival->time);
			last_event_ = arrival->time;
			return;
		}
		if (tolerated(packet) ||
		    (s.has_word("coalesced") && earlier(spec, packet))) {
			last_event_ = arrival->time;
			continue;
		}
		throw Mismatch("instead arrived " + describe(packet) + ": " +
			       why);
	}
}

/*
 * A message of `kind` SEND, WRITE or READ_RESP as the statements of its packets,
 * each with only the keys its opcode has.
 */
std::vector<Statement> Machine::segment(const Statement &s,
					std::string_view verb)
{
	const uint64_t mtu = dut().config().mtu;
	const uint64_t length = value(s.get("len")), psn = value(s.get("psn"));
	const uint64_t packets =
		std::max<uint64_t>(1, (length + mtu - 1) / mtu);
	const std::string where = length ? s.get("data") : "none";
	const size_t plus = std::min(where.find('+'), where.size());
	const uint64_t offset =
		plus < where.size() ? value(where.substr(plus + 1)) : 0;
	std::vector<Statement> out;

	for (uint64_t i = 0; i < packets; i++) {
		const bool last = i + 1 == packets;
		const uint64_t size = std::min(mtu, length - i * mtu);
		Statement p{s.line, s.text, std::string(verb), {}, {}};
		std::string name = s.word(0);

		name += packets == 1 ? "_ONLY" :
			i == 0	     ? "_FIRST" :
			last	     ? "_LAST" :
				       "_MIDDLE";
		if (last && s.find("imm"))
			name += "_IMM";

		const Opcode *op = opcode_by_name(name);

		if (!op)
			throw ScriptError("no message is called " + s.word(0));
		p.words.push_back(name);
		p.args.push_back({"psn", std::to_string(psn + i)});
		if (size)
			p.args.push_back(
				{"data",
				 where.substr(0, plus) + "+" +
					 std::to_string(offset + i * mtu) +
					 ":" + std::to_string(size)});
		if (op->headers & PAVO_OPF_RETH)
			p.args.push_back({"dlen", std::to_string(length)});
		for (const auto &[key, text] : s.args) {
			const Field *field =
				field_by_name(key == "credits" ? "syn" : key);
			const bool only_last = key == "se" || key == "ackreq";

			if (key == "psn" || key == "len" || key == "data" ||
			    !field ||
			    (field->header && !(op->headers & field->header)))
				continue;
			p.args.push_back(
				{key, only_last && !last ? "0" : text});
		}
		for (size_t w = 1; last && w < s.words.size(); w++)
			p.words.push_back(s.word(w));
		out.push_back(p);
	}
	return out;
}

void Machine::step_inject_message(const Statement &s)
{
	for (const Statement &packet : segment(s, "<"))
		step_inject(packet);
}

/* asked-every N: of N packets in a row that came so far one asked for an ACK. */
void Machine::step_asked(const Statement &s)
{
	if (unasked_max_ >= value(s.word(0)))
		throw Mismatch(std::to_string(unasked_max_) +
			       " packets in a row did not ask for an ACK");
}

void Machine::step_expect_message(const Statement &s)
{
	for (const Statement &packet : segment(s, ">"))
		step_expect(packet);
}

/* Packets that may come at any time from here on: duplicates, resends. */
void Machine::step_allow(const Statement &s)
{
	if (s.word(0) == "none")
		allowed_.clear();
	else
		allowed_.push_back(packet_spec(s, false));
}

void Machine::step_silence(const Statement &s)
{
	const int64_t deadline = bench_.now() + duration(s.word(0));

	while (auto arrival = bench_.next(deadline)) {
		const Packet packet = decode_arrival(*arrival);

		if (!tolerated(packet))
			throw Mismatch("there was " + describe(packet));
	}
}

void Machine::step_refuse(const Statement &s)
{
	bench_.refuse(unsigned(evaluate(s.word(0))));
}

/*
 * A write of nothing that asks for an ACK: when it comes, everything before was
 * dealt with, and the PSN and MSN in it tell how.
 */
void Machine::step_probe(const Statement &s)
{
	const bool xrc = dut().config().type == IBV_QPT_XRC_RECV;
	const std::string service(xrc ? xrc_prefix : "");
	const Statement ask{s.line,
			    s.text,
			    "<",
			    {service + "WRITE_ONLY", "ackreq"},
			    {{"psn", s.get("psn")}}};
	Statement answer{s.line, s.text, ">", {service + "ACK"}, s.args};

	step_inject(ask);
	step_expect(answer);
}

} // namespace pw
