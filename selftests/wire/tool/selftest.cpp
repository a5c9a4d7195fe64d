// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Self-test of the tool's own codec, ICRC and arithmetic: a tool that is wrong
 * in the same way as the device proves nothing.
 *
 * Owns: published and hand-made vectors. Run by: meson test and run.sh, on the
 * build machine. Touches: nothing.
 */
#include "../../common/cases.h"
#include "expr.h"
#include "frame.h"
#include "icrc.h"
#include "packet.h"
#include "pattern.h"

using namespace pw;

namespace {

Bytes from_hex(const char *text)
{
	Bytes bytes;

	while (*text) {
		if (*text == ' ') {
			text++;
			continue;
		}
		bytes.push_back(static_cast<uint8_t>(
			std::stoul(std::string(text, 2), nullptr, 16)));
		text += 2;
	}
	return bytes;
}

bool is_malformed(const std::function<void()> &action)
{
	try {
		action();
	} catch (const Malformed &) {
		return true;
	}
	return false;
}

/*
 * A congestion notification sent by a ConnectX-4 Lx, as in the tests of Scapy's RoCE
 * layer: from the Ethernet header to the ICRC 82 fd 00 2a.
 */
const char *cnp_frame =
	"e41d2dab2bc2 7cfe90643b32 0800"
	"45c2003c718c400040119161 0a001101 0a001201"
	"000012b700280000"
	"8100ffff4000011800000000 00000000000000000000000000000000"
	"82fd002a";

/* UC SEND Only, 22 bytes and 2 of pad, from the same tests: ICRC 78 f3 53 f3. */
const char *uc_frame = "248a07a8fa22 248a07a8fa22 0800"
		       "450100400478400040 11b4d5 c0a80007 c0a80007"
		       "c00012b7002caca2"
		       "2460ffff000000d300cf1710"
		       "4630818be28935d90e9a95505401be885e500000"
		       "78f353f3";

void published_icrc(const char *text)
{
	const Bytes frame = from_hex(text);
	const View ip = View(frame).subspan(14);
	const uint32_t crc = icrc(ip.first(ip.size() - 4));

	for (unsigned i = 0; i < 4; i++)
		REQUIRE(ip[ip.size() - 4 + i] ==
			static_cast<uint8_t>(crc >> 8 * i));
	REQUIRE(open(frame, true).has_value());
}

void icrc_cnp()
{
	published_icrc(cnp_frame);
}
void icrc_uc_send()
{
	published_icrc(uc_frame);
}

Envelope some_envelope(bool ip6)
{
	Envelope e;

	e.smac = {2, 0, 0, 0, 0, 1};
	e.dmac = {2, 0, 0, 0, 0, 2};
	e.src = parse_address(ip6 ? "fd00:9::2" : "10.9.0.2");
	e.dst = parse_address(ip6 ? "fd00:9::1" : "10.9.0.1");
	e.ip_id = 0x1234;
	return e;
}

/* Bits that routers change must not change the ICRC; every other bit must. */
void icrc_variant_fields()
{
	for (bool ip6 : {false, true}) {
		const Bytes frame = wrap(some_envelope(ip6), Bytes(20, 0x11));
		const View ip = View(frame).subspan(14, frame.size() - 14 - 4);
		const size_t udp = ip6 ? 40 : 20;

		for (size_t i = 0; i < ip.size(); i++) {
			Bytes changed(ip.begin(), ip.end());
			const bool version = i == 0;
			const bool free4 = i == 1 || i == 8 || i == 10 ||
					   i == 11;
			const bool free6 = i == 1 || i == 2 || i == 3 || i == 7;
			const bool variant = (ip6 ? free6 : free4) ||
					     i == udp + 6 || i == udp + 7 ||
					     i == udp + 8 + 4;

			changed[i] ^= version ? 0x01 : 0x80;
			REQUIRE((icrc(changed) == icrc(ip)) ==
				(version ? ip6 : variant));
		}
	}
}

/* A write request, byte by byte from IBA figures 18.. (BTH, RETH). */
void golden_write()
{
	Packet p;

	p.opcode = opcode_by_name("WRITE_ONLY")->code;
	p.se = 1;
	p.migreq = 1;
	p.pad = 3;
	p.qpn = 0x123456;
	p.ackreq = 1;
	p.psn = 0xabcdef;
	p.va = 0x1122334455667788;
	p.rkey = 0x99aabbcc;
	p.dlen = 5;
	p.payload = {1, 2, 3, 4, 5};
	REQUIRE(encode(p, PAVO_OPF_RETH | PAVO_OPF_PAYLOAD) ==
		from_hex("0a f0 ffff 00 123456 80 abcdef 1122334455667788"
			 "99aabbcc 00000005 0102030405 000000"));
}

void golden_atomic_and_ack()
{
	Packet p;

	p.opcode = opcode_by_name("CMP_SWAP")->code;
	p.qpn = 1;
	p.psn = 2;
	p.va = 3;
	p.rkey = 4;
	p.swap = 5;
	p.cmp = 6;
	REQUIRE(encode(p, PAVO_OPF_ATOMICETH) ==
		from_hex(
			"13 00 ffff 00 000001 00 000002 0000000000000003 00000004"
			"0000000000000005 0000000000000006"));
	p.opcode = opcode_by_name("ATOMIC_ACK")->code;
	p.syn = 0x1f;
	p.msn = 7;
	p.orig = 8;
	REQUIRE(encode(p, PAVO_OPF_AETH | PAVO_OPF_ATOMICACK) ==
		from_hex("12 00 ffff 00 000001 00 000002 1f 000007"
			 "0000000000000008"));
}

void golden_flush()
{
	Packet p;

	p.opcode = opcode_by_name("FLUSH")->code;
	p.qpn = 1;
	p.psn = 2;
	p.resv26 = 0x2abcdef;
	p.feth = 0x21;
	p.va = 0x0102030405060708;
	p.rkey = 0x11223344;
	p.dlen = 0x55667788;
	REQUIRE(encode(p, PAVO_OPF_FETH | PAVO_OPF_RETH) ==
		from_hex("1c 00 ffff 00 000001 00 000002 aaf37be1"
			 "0102030405060708 11223344 55667788"));
	REQUIRE(opcode_by_name("XRC_FLUSH")->code == 0xbc);
}

void golden_extended()
{
	Packet p;

	p.opcode = opcode_by_name("EXT_ATOMIC")->code;
	p.qpn = 1;
	p.psn = 2;
	p.resv28 = 0xabcdef1;
	p.aop = 2;
	p.id = 0x11223344;
	p.rkey = 0x55667788;
	p.va = 0x0102030405060708;
	p.swap = 0x1112131415161718;
	p.mask = 0x2122232425262728;
	p.cmp = 0x3132333435363738;
	p.cmask = 0x4142434445464748;
	REQUIRE(encode(p, PAVO_OPF_EXTATOMICETH) ==
		from_hex("e0 00 ffff 00 000001 00 000002 abcdef12 11223344"
			 "55667788 0102030405060708 1112131415161718"
			 "2122232425262728 3132333435363738"
			 "4142434445464748"));
	p.opcode = opcode_by_name("EXT_ATOMIC_ACK")->code;
	p.syn = 0x1f;
	p.msn = 7;
	p.orig = 0x5152535455565758;
	REQUIRE(encode(p, PAVO_OPF_AETH | PAVO_OPF_EXTATOMICACK) ==
		from_hex("e1 00 ffff 00 000001 00 000002 1f 000007"
			 "11223344 5152535455565758"));
	REQUIRE(opcode_by_name("IMM64")->code == 0xe2);
	REQUIRE(opcode_by_name("IMM64_SE")->code == 0xe3);
	REQUIRE(opcode_by_name("XRC_EXT_ATOMIC")->code == 0xe4);
	REQUIRE(opcode_by_name("XRC_EXT_ATOMIC_ACK")->code == 0xe5);
	REQUIRE(opcode_by_name("XRC_IMM64")->code == 0xe6);
	REQUIRE(opcode_by_name("XRC_IMM64_SE")->code == 0xe7);
}

/* Every opcode, every field its headers have at a value of its own. */
void round_trip()
{
	for (unsigned code = 0; code < 256; code++) {
		const Opcode *op = opcode_by_code(static_cast<uint8_t>(code));
		Packet p;
		uint64_t n = 0x0123456789abcdef;

		if (!op)
			continue;
		for (const Field &field : fields()) {
			if (field.header && !(field.header & op->headers))
				continue;
			n = n * 6364136223846793005u + 1442695040888963407u;
			p.*field.member =
				field.bits == 64 ?
					n :
					n >> 7 & ((1ull << field.bits) - 1);
		}
		p.opcode = code;
		p.payload = op->headers & PAVO_OPF_PAYLOAD ?
				    stream("x", 0, 21) :
				    Bytes();
		p.pad = op->headers & PAVO_OPF_PAYLOAD ? 3 : 0;

		const Bytes bytes = encode(p, op->headers);
		const Packet q = decode(bytes);

		for (const Field &field : fields())
			REQUIRE(p.*field.member == q.*field.member);
		REQUIRE(p.payload == q.payload);
		for (size_t k = 0; k < bytes.size() - p.payload.size() - p.pad;
		     k++)
			REQUIRE(is_malformed(
				[&] { decode(View(bytes).first(k)); }));
	}
}

void decode_refuses()
{
	Packet p;

	p.opcode = opcode_by_name("ACK")->code;

	Bytes surplus = encode(p, PAVO_OPF_AETH);

	surplus.resize(surplus.size() + 4);
	REQUIRE(is_malformed([&] { decode(surplus); }));
	p.opcode = opcode_by_name("SEND_ONLY")->code;
	p.payload = {1};
	p.pad = 2;
	REQUIRE(is_malformed([&] { decode(encode(p, PAVO_OPF_PAYLOAD)); }));
	p.pad = 3;

	Bytes bytes = encode(p, PAVO_OPF_PAYLOAD);

	decode(bytes);
	bytes.back() = 1;
	REQUIRE(is_malformed([&] { decode(bytes); }));
	p.opcode = 0x15;
	REQUIRE(is_malformed([&] { decode(encode(p, PAVO_OPF_PAYLOAD)); }));
	p.opcode = opcode_by_name("UD_SEND_ONLY")->code;
	bytes = encode(p, PAVO_OPF_DETH | PAVO_OPF_PAYLOAD);
	decode(bytes);
	bytes[16] = 1;
	REQUIRE(is_malformed([&] { decode(bytes); }));
}

void envelope_round_trip()
{
	for (bool ip6 : {false, true}) {
		const Envelope e = some_envelope(ip6);
		const Bytes body = stream("body", 0, 64);
		const Bytes frame = wrap(e, body);
		const auto opened = open(frame, true);

		REQUIRE(opened && opened->transport == body);
		REQUIRE(opened->envelope.src == e.src &&
			opened->envelope.dst == e.dst);
		REQUIRE(opened->envelope.smac == e.smac);
		/* Every byte from the IP header on is covered by some check. */
		for (size_t i = 14; i < frame.size(); i++) {
			Bytes bad = frame;
			const bool type_of_service = ip6 &&
						     (i == 15 || i == 14);
			const bool label_or_ttl = ip6 && (i <= 17 || i == 21);
			const bool resv8a = i == (ip6 ? 66u : 46u);
			const bool udp4_sum = !ip6 && (i == 40 || i == 41);
			const bool not_roce = i == (ip6 ? 20u : 23u) ||
					      i == (ip6 ? 56u : 36u) ||
					      i == (ip6 ? 57u : 37u);

			bad[i] ^= 0x04;
			if (type_of_service || label_or_ttl || not_roce ||
			    (resv8a && !ip6) || udp4_sum)
				continue;
			REQUIRE(is_malformed([&] { open(bad, true); }));
		}
	}
}

void damages()
{
	const Envelope e = some_envelope(false);
	const Bytes body(32, 7);
	Damage d = {.icrc_flip = true};

	REQUIRE(is_malformed([&] { open(wrap(e, body, d), true); }));
	d = {};
	d.cut = 5;
	REQUIRE(open(wrap(e, body, d), true)->transport == Bytes(5, 7));
	d = {};
	d.extra = 3;
	REQUIRE(open(wrap(e, body, d), true)->transport.size() == 35);
	d = {};
	d.truncate = 10;
	REQUIRE(wrap(e, body, d).size() == 14 + 20 + 8 + 10);
	REQUIRE(is_malformed([&] { open(wrap(e, body, d), true); }));
	d = {};
	d.udp_len = 9;
	REQUIRE(is_malformed([&] { open(wrap(e, body, d), true); }));
	d = {};
	d.ip_len = 500;
	REQUIRE(is_malformed([&] { open(wrap(e, body, d), true); }));
}

void streams_differ()
{
	const Bytes a = stream("l", 0, 8192), b = stream("r", 0, 8192);

	REQUIRE(a != b);
	REQUIRE(stream("l", 5, 100) == Bytes(a.begin() + 5, a.begin() + 105));
	/* No 8 bytes repeat at another place: a misplaced piece shows. */
	for (size_t shift = 1; shift < 4200; shift += shift < 64 ? 1 : 61)
		for (size_t i = 0; i + shift + 8 < 8192; i += 256)
			REQUIRE(!std::equal(
				a.begin() + static_cast<long>(i),
				a.begin() + static_cast<long>(i) + 8,
				a.begin() + static_cast<long>(i + shift)));
}

void arithmetic()
{
	const Lookup lookup = [](std::string_view name) -> uint64_t {
		return name == "r" ? 0x1000 : throw ScriptError("unknown");
	};

	REQUIRE(evaluate("1+2*3") == 7);
	REQUIRE(evaluate("(1+2)*3-10/4%2") == 9);
	REQUIRE(evaluate("0xff-1") == 254);
	REQUIRE(evaluate("-1") == ~0ull);
	REQUIRE(evaluate("r+16", lookup) == 0x1010);
	for (const char *bad : {"", "1+", "(1", "1/0", "x", "1 2", "0x"}) {
		bool refused = false;

		try {
			evaluate(bad);
		} catch (const ScriptError &) {
			refused = true;
		}
		REQUIRE(refused);
	}
	REQUIRE(duration("20ms") == 20000000 && duration("3us") == 3000 &&
		duration("2s") == 2000000000);
}

const common::Cases cases = {
	{"codec icrc of a published CNP", icrc_cnp},
	{"codec icrc of a published UC send", icrc_uc_send},
	{"codec icrc leaves variant fields out and no others",
	 icrc_variant_fields},
	{"codec write request, byte by byte", golden_write},
	{"codec atomic request and answer, byte by byte",
	 golden_atomic_and_ack},
	{"codec flush, byte by byte", golden_flush},
	{"codec extended atomic request and answer, byte by byte",
	 golden_extended},
	{"codec every opcode encodes, decodes, and refuses to be short",
	 round_trip},
	{"codec decoding refuses surplus, bad pad, unknown opcode",
	 decode_refuses},
	{"codec every byte of an envelope is checked", envelope_round_trip},
	{"codec damage does what it says", damages},
	{"codec streams do not repeat", streams_differ},
	{"codec arithmetic of scripts", arithmetic},
};

} // namespace

int main()
{
	return common::run(cases);
}
