// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * InfiniBand transport packets: see packet.h.
 */
#include "packet.h"

#include <array>
#include <cstdio>

namespace pw {

namespace {

/* Those of a reliable connection have no prefix, it is what most scripts speak. */
#define PREFIX_RC ""
#define PREFIX_UC "UC_"
#define PREFIX_UD "UD_"
#define PREFIX_XRC "XRC_"
/* The opcodes of no service */
#define PREFIX_CNP ""

// clang-format off
#define ROW(svc, base, name, code, kind, flags) \
	Opcode{(base) | (code), PREFIX_##svc #name, flags, !((flags) & PAVO_OPF_REQUEST)},

constexpr Opcode opcodes[] = {PAVO_QP_OPCODES(ROW)};
#undef ROW

constexpr Field bth_fields[] = {
	{"opcode", 8, in_bth, &Packet::opcode},
	{"se", 1, in_bth, &Packet::se},
	{"migreq", 1, in_bth, &Packet::migreq},
	{"pad", 2, in_bth, &Packet::pad},
	{"tver", 4, in_bth, &Packet::tver},
	{"pkey", 16, in_bth, &Packet::pkey},
	{"fecn", 1, in_bth, &Packet::fecn},
	{"becn", 1, in_bth, &Packet::becn},
	{"resv6", 6, in_bth, &Packet::resv6},
	{"qpn", 24, in_bth, &Packet::qpn},
	{"ackreq", 1, in_bth, &Packet::ackreq},
	{"sack", 1, in_bth, &Packet::sack},
	{"attempt", 6, in_bth, &Packet::attempt},
	{"psn", 24, in_bth, &Packet::psn},
};

uint64_t cut(uint64_t value, unsigned bits)
{
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

/* The fields, each once, with all headers that have it. */
struct FieldTable {
	std::array<Field, 64> rows = {};
	size_t count = 0;

	constexpr void add(const Field &field)
	{
		for (size_t i = 0; i < count; i++) {
			if (rows[i].name == field.name) {
				rows[i].header |= field.header;
				return;
			}
		}
		rows[count++] = field;
	}
};

constexpr FieldTable make_field_table()
{
	FieldTable table;

	for (const Field &field : bth_fields)
		table.add(field);
#define NUMBER(bits, used, name, member) \
	table.add({#name, used, flag, &Packet::name});
#define BYTES(bits, name, member) NUMBER(bits, bits, name, member)
#define RESERVED(bits)
#define HEADER(NAME, name, more)                                      \
	{                                                             \
		[[maybe_unused]] constexpr unsigned flag = PAVO_OPF_##NAME;           \
		PAVO_##NAME##_FIELDS(NUMBER, BYTES, RESERVED)         \
	}
	PAVO_QP_HEADERS(HEADER, 0)
#undef HEADER
#undef RESERVED
#undef NUMBER
	table.add({"resv28", 28, PAVO_OPF_EXTATOMICETH, &Packet::resv28});
	table.add({"resv26", 26, PAVO_OPF_FETH, &Packet::resv26});
	/* The same as swap, for requests that add. */
	table.add({"add", 64, PAVO_OPF_ATOMICETH | PAVO_OPF_EXTATOMICETH,
		   &Packet::swap});
	return table;
}

constexpr FieldTable field_table = make_field_table();

void encode_extensions(Bytes &out, const Packet &p, unsigned layout)
{
#define NUMBER(bits, used, name, member) put(out, p.name, (bits) / 8);
#define RESERVED(bits) put(out, 0, (bits) / 8);
#define HEADER(NAME, name, more)           \
	if (layout & PAVO_OPF_##NAME) {    \
		PAVO_##NAME##_FIELDS(NUMBER, BYTES, RESERVED) \
	}
	PAVO_QP_HEADERS(HEADER, 0)
#undef HEADER
#undef RESERVED
#undef NUMBER
}

/* A number that uses the lower bits of its field; the others are added to `rest`. */
uint64_t take_number(View &in, unsigned bits, unsigned used, const char *what,
		     uint64_t &rest)
{
	const uint64_t word = take(in, bits / 8, what);

	rest |= used < 64 ? word >> used : 0;
	return cut(word, used);
}

void decode_extensions(Packet &p, View &in, unsigned layout)
{
#define NUMBER(bits, used, name, member) \
	p.name = take_number(in, bits, used, what, rest);
#define RESERVED(bits) rest |= take(in, (bits) / 8, what);
#define HEADER(NAME, name, more)                                      \
	if (layout & PAVO_OPF_##NAME) {                               \
		constexpr const char *what = "the " #NAME;            \
		uint64_t rest = 0;                                    \
		PAVO_##NAME##_FIELDS(NUMBER, BYTES, RESERVED)         \
		if (PAVO_OPF_##NAME == PAVO_OPF_EXTATOMICETH)         \
			p.resv28 = rest;                              \
		else if (PAVO_OPF_##NAME == PAVO_OPF_FETH)            \
			p.resv26 = rest;                              \
		else if (rest)                                        \
			throw Malformed("reserved bits are set in " + \
					std::string(what));           \
	}
	PAVO_QP_HEADERS(HEADER, 0)
#undef HEADER
#undef RESERVED
#undef BYTES
#undef NUMBER
}
// clang-format on

} // namespace

const Opcode *opcode_by_name(std::string_view name)
{
	for (const Opcode &op : opcodes)
		if (op.name == name)
			return &op;
	return nullptr;
}

const Opcode *opcode_by_code(uint8_t code)
{
	for (const Opcode &op : opcodes)
		if (op.code == code)
			return &op;
	return nullptr;
}

std::span<const Field> fields()
{
	return std::span(field_table.rows).first(field_table.count);
}

const Field *field_by_name(std::string_view name)
{
	for (const Field &field : fields())
		if (field.name == name)
			return &field;
	return nullptr;
}

Bytes encode(const Packet &packet, unsigned layout)
{
	Packet p = packet;
	Bytes out;

	for (const Field &field : fields())
		p.*field.member = cut(p.*field.member, field.bits);
	put(out, p.opcode, 1);
	put(out, p.se << 7 | p.migreq << 6 | p.pad << 4 | p.tver, 1);
	put(out, p.pkey, 2);
	put(out, p.fecn << 7 | p.becn << 6 | p.resv6, 1);
	put(out, p.qpn, 3);
	put(out, p.ackreq << 7 | p.sack << 6 | p.attempt, 1);
	put(out, p.psn, 3);
	/* The reserved bits above these are fields of their own. */
	p.aop |= p.resv28 << 4;
	p.feth |= p.resv26 << 6;
	encode_extensions(out, p, layout);
	out.insert(out.end(), p.payload.begin(), p.payload.end());
	out.insert(out.end(), p.pad, 0);
	return out;
}

static void decode_bth(Packet &p, View &in)
{
	uint64_t word = take(in, 4, "the BTH");

	p.opcode = word >> 24;
	p.se = word >> 23 & 1;
	p.migreq = word >> 22 & 1;
	p.pad = word >> 20 & 3;
	p.tver = word >> 16 & 15;
	p.pkey = word & 0xffff;
	word = take(in, 4, "the BTH");
	p.fecn = word >> 31;
	p.becn = word >> 30 & 1;
	p.resv6 = word >> 24 & 0x3f;
	p.qpn = word & 0xffffff;
	word = take(in, 4, "the BTH");
	p.ackreq = word >> 31;
	p.sack = word >> 30 & 1;
	p.attempt = word >> 24 & 0x3f;
	p.psn = word & 0xffffff;
}

Packet decode(View in)
{
	Packet p;

	decode_bth(p, in);

	const Opcode *op = opcode_by_code(static_cast<uint8_t>(p.opcode));

	if (!op)
		throw Malformed("unknown opcode " + std::to_string(p.opcode));
	decode_extensions(p, in, op->headers);
	if (in.size() % 4)
		throw Malformed("payload and pad are not whole 4-byte words");
	if (in.size() < p.pad)
		throw Malformed("pad count beyond the payload");
	if (!(op->headers & PAVO_OPF_PAYLOAD) && in.size())
		throw Malformed("payload on " + std::string(op->name));
	p.payload.assign(in.begin(), in.end() - static_cast<long>(p.pad));
	for (uint8_t byte : in.last(p.pad))
		if (byte)
			throw Malformed("pad bytes are not zero");
	return p;
}

std::string_view without_service(std::string_view name)
{
	return name.substr(name.starts_with(xrc_prefix) ? xrc_prefix.size() :
							  0);
}

std::string name_of(const Packet &packet)
{
	const Opcode *op = opcode_by_code(static_cast<uint8_t>(packet.opcode));

	if (!op)
		return "OPCODE_" + std::to_string(packet.opcode);

	const std::string_view plain = without_service(op->name);
	const std::string service(op->name, 0, op->name.size() - plain.size());

	if (plain == "ACK" && (packet.syn & aeth_kind_mask) == aeth_rnr)
		return service + "RNR";
	if (plain == "ACK" && (packet.syn & aeth_kind_mask) == aeth_nak)
		return service + "NAK";
	return std::string(op->name);
}

std::string describe(const Packet &packet)
{
	const Opcode *op = opcode_by_code(static_cast<uint8_t>(packet.opcode));
	const Packet defaults;
	std::string text = name_of(packet);
	char buffer[64];

	std::snprintf(buffer, sizeof(buffer), " psn=%06llx",
		      static_cast<unsigned long long>(packet.psn));
	text += buffer;
	for (const Field &field : fields()) {
		uint64_t value = packet.*field.member;
		bool of_bth = field.header == in_bth;

		if (field.name == "psn" || field.name == "opcode" ||
		    field.name == "add")
			continue;
		/* Of the BTH only what is unusual, of the rest everything. */
		if (of_bth ? value == defaults.*field.member :
			     !op || !(op->headers & field.header))
			continue;
		std::snprintf(buffer, sizeof(buffer), " %.*s=0x%llx",
			      static_cast<int>(field.name.size()),
			      field.name.data(),
			      static_cast<unsigned long long>(value));
		text += buffer;
	}
	if (!packet.payload.empty())
		text += " payload=" + std::to_string(packet.payload.size());
	return text;
}

} // namespace pw
