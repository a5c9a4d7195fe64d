// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The peer's side: see wire.h.
 */
#include "wire.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace wf {

namespace {

constexpr size_t inbox_most = 512;
constexpr size_t payload_most = 8192, frame_most = 9014;
constexpr size_t ip_at = 14, ip4_octets = 20;
constexpr uint64_t burst_most = 64;
constexpr uint16_t fence_port = 9999;
constexpr int fence_ms = 20, fence_tries = 1000;
/* Steps with these may not reach the adapter, or not as one packet. */
constexpr std::string_view may_get_lost[] = {"udp_len",	 "ip_len", "udp_csum",
					     "truncate", "frag",   "fragonly",
					     "vlan",	 "group",  "dport",
					     "ttl",	 "src"};

int open_fence()
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	sockaddr_in address = {.sin_family = AF_INET,
			       .sin_port = htons(fence_port)};

	if (fd < 0 ||
	    bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)))
		throw std::runtime_error("no socket for fences");
	return fd;
}

pw::Bytes filler(size_t length, uint64_t seed)
{
	pw::Bytes bytes(std::min(length, payload_most));

	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = static_cast<uint8_t>(i * 7 + seed * 31 + (i >> 8));
	return bytes;
}

/* Two fragments of an IPv4 packet; the second begins at 8 * @at. */
std::vector<pw::Bytes> fragment(const pw::Bytes &frame, size_t at)
{
	const size_t body = ip_at + ip4_octets;
	std::vector<pw::Bytes> parts;

	/* It may be any number of 64 bits. */
	if (at > frame.size() || frame.size() <= body + 8 * at)
		return {frame};
	for (int second = 0; second < 2; second++) {
		const size_t from = second ? body + 8 * at : body;
		const size_t to = second ? frame.size() : body + 8 * at;
		pw::Bytes part(frame.begin(),
			       frame.begin() + static_cast<long>(body));
		const size_t length = ip4_octets + to - from;
		const size_t flags = second ? at : 0x2000;

		part[ip_at + 2] = static_cast<uint8_t>(length >> 8);
		part[ip_at + 3] = static_cast<uint8_t>(length);
		part[ip_at + 6] = static_cast<uint8_t>(flags >> 8);
		part[ip_at + 7] = static_cast<uint8_t>(flags);
		part[ip_at + 10] = part[ip_at + 11] = 0;
		const uint16_t sum = pw::fold(
			pw::sum16(pw::View(part).subspan(ip_at, ip4_octets)));

		part[ip_at + 10] = static_cast<uint8_t>(sum >> 8);
		part[ip_at + 11] = static_cast<uint8_t>(sum);
		part.insert(part.end(), frame.begin() + static_cast<long>(from),
			    frame.begin() + static_cast<long>(to));
		parts.push_back(std::move(part));
	}
	return parts;
}

pw::Damage damage_of(const Step &step)
{
	pw::Damage damage;

	if (const Value *icrc = step.find("icrc"))
		damage.icrc = static_cast<uint32_t>(icrc->number);
	damage.icrc_flip = step.number("flip", 0);
	damage.extra = std::min<uint64_t>(step.number("extra", 0), 64);
	if (const Value *cut = step.find("cut"))
		damage.cut = cut->number;
	if (const Value *truncate = step.find("truncate"))
		damage.truncate = truncate->number;
	if (const Value *length = step.find("udp_len"))
		damage.udp_len = static_cast<uint16_t>(length->number);
	if (const Value *length = step.find("ip_len"))
		damage.ip_len = static_cast<uint16_t>(length->number);
	if (const Value *sum = step.find("udp_csum"))
		damage.udp_csum = static_cast<uint16_t>(sum->number);
	return damage;
}

} // namespace

Wire::Wire(const std::string &interface, const pw::Mac &adapter, World &world,
	   Windows &windows)
	: link_(interface), fence_(open_fence()),
	  own_mac_(pw::mac_of(interface)), adapter_mac_(adapter), world_(world),
	  windows_(windows)
{
}

Wire::~Wire()
{
	close(fence_);
}

/* While memory lacks a frame may not be sent. */
bool Wire::put_on_wire(const pw::Bytes &frame)
{
	try {
		link_.send(frame);
		return true;
	} catch (const std::runtime_error &) {
		return false;
	}
}

/* A datagram for another port goes the same way, behind the others. */
void Wire::settle()
{
	const uint32_t number = ++fences_;
	pw::Envelope envelope;
	pw::Bytes payload(sizeof(number));

	envelope.smac = own_mac_;
	envelope.dmac = adapter_mac_;
	envelope.src = peer_address(false);
	envelope.dst = world_.address(false);
	envelope.dport = fence_port;
	std::memcpy(payload.data(), &number, sizeof(number));
	for (int tries = 0; tries < fence_tries; tries++) {
		pollfd wait{fence_, POLLIN, 0};
		uint32_t came = 0;

		put_on_wire(pw::wrap(envelope, payload));
		while (::poll(&wait, 1, fence_ms) > 0)
			if (recv(fence_, &came, sizeof(came), 0) > 0 &&
			    came == number)
				return;
	}
	throw Violation("the wire is blocked");
}

std::set<std::string> Wire::take_names()
{
	return std::exchange(names_, {});
}

/* PSNs count from the first of the direction; abs: they do not. */
uint64_t Wire::psn_of(const Value &value, uint64_t first) const
{
	return value.number + (value.symbol.empty() ? first : 0);
}

void Wire::fill_packet(pw::Packet &packet, const Step &step,
		       const pw::Opcode &opcode, Target &target)
{
	const uint64_t first = opcode.response ? target.sq : target.rq;
	Value usual{"r", 0};

	packet.opcode = opcode.code;
	packet.qpn = target.qp ? target.qp->qp_num : 0;
	packet.psn = first;
	packet.migreq = 1;
	packet.syn = 0x1f;
	packet.va = world_.resolve("va", usual);
	packet.rkey = world_.resolve("rkey", usual);
	packet.srqn = world_.resolve("srqn", {"s0", 0});
	packet.inv = world_.resolve("inv", {"mw2", 0});
	packet.qkey = datagram_qkey;
	packet.sqpn = target.remote_qpn;
	packet.payload = filler(step.number("data", 0), step.number("psn", 0));
	packet.pad = -packet.payload.size() & 3;
	packet.dlen = packet.payload.size();
	for (auto &[key, value] : step.args) {
		const pw::Field *field = pw::field_by_name(key);

		if (!field)
			continue;
		packet.*field->member = key == "psn" ?
						psn_of(value, first) :
						world_.resolve(key, value);
	}
}

Wire::Built Wire::build(const Step &step)
{
	const pw::Opcode *opcode = pw::opcode_by_name(step.name);
	Target *target = world_.target(step.subject);
	pw::Packet packet;
	Built built;

	if (!opcode || !target)
		return built;
	fill_packet(packet, step, *opcode, *target);
	built.transport = pw::encode(packet, opcode->headers);
	built.ipv6 = target->ipv6;
	built.qpn = packet.qpn & 0xffffff;
	return built;
}

/* Payload for the interface: a packet of `ether`, or an offer of `offer` bytes. */
void Wire::fill_for_interface(WindowPacket &packet, const Step &step)
{
	auto value = [&](const char *key, uint64_t usual) {
		const Value *given = step.find(key);

		return given ? windows_.resolve(*given) : usual;
	};

	if (const Value *type = step.find("ether"))
		windows_.interface().write_packet(
			packet.payload, type->number,
			value("node", packet.node), value("from", packet.from),
			value("to", windows_.interface().window()));
	if (const Value *length = step.find("offer"))
		packet.payload = windows_.interface().make_offer(
			value("tid", 1), value("pvo", 0x3000), value("rcxt", 9),
			length->number);
}

Wire::Built Wire::build_window(const Step &step)
{
	WindowPacket packet;
	const unsigned layout =
		window_layout(window_opcode(step.name).value_or(0));

	packet.opcode = window_opcode(step.name).value_or(0);
	packet.qpn = windows_.number();
	packet.key = windows_.resolve({"k", 0});
	packet.rcxt = windows_.resolve({"c0", 0});
	packet.pvo = windows_.resolve({"m", 0});
	packet.payload =
		filler(step.number("data", 0), step.number("fragment", 0));
	fill_for_interface(packet, step);
	packet.pad = -packet.payload.size() & 3;
	packet.total = packet.payload.size();
	for (const WindowField &field : window_fields())
		if (const Value *value = step.find(field.name))
			packet.*field.member = windows_.resolve(*value);
	for (auto &[name, member] : std::initializer_list<
		     std::pair<const char *, uint64_t WindowPacket::*>>{
		     {"opcode", &WindowPacket::opcode},
		     {"pad", &WindowPacket::pad},
		     {"pkey", &WindowPacket::pkey},
		     {"tver", &WindowPacket::tver}})
		packet.*member = step.number(name, packet.*member);
	Built built = {.transport = encode(packet, layout),
		       .qpn = uint32_t(packet.qpn & 0xffffff)};
	return built;
}

void Wire::note_rights(const Built &built)
{
	const pw::Opcode *opcode = pw::opcode_by_code(built.transport[0]);
	Target *target = world_.target_of_qpn(built.qpn);
	pw::View in(built.transport);

	/* By any number: no harm is done by one that nothing has. */
	windows_.allow();
	const unsigned memory = PAVO_OPF_RETH | PAVO_OPF_ATOMICETH |
				PAVO_OPF_EXTATOMICETH;

	if (!opcode || !(opcode->headers & memory) || !target)
		return;

	const bool ext = opcode->headers & PAVO_OPF_EXTATOMICETH;

	const size_t at = 12 + (opcode->headers & PAVO_OPF_XRCETH ? 4 : 0) +
			  (ext ? 8 : 0);

	if (in.size() < at + 16)
		return;
	in = in.subspan(at);
	/* Of an extended atomic the key is in front. */
	const uint64_t early_key = ext ? pw::take(in, 4, "rkey") : 0;
	const uint64_t va = pw::take(in, 8, "va");
	const uint64_t key = ext ? early_key : pw::take(in, 4, "rkey");
	const uint64_t length =
		opcode->headers & PAVO_OPF_RETH ? pw::take(in, 4, "dlen") : 8;

	world_.regions().allow_remote(static_cast<uint32_t>(key), va, length,
				      target->name, target->is_xrc());
}

void Wire::send_frame(pw::Bytes frame, const Step &step)
{
	const bool lost = std::ranges::any_of(may_get_lost, [&](auto name) {
		return step.find(name) != nullptr;
	});
	const size_t at = step.number("frag", step.number("fragonly", 0));

	if (const Value *vlan = step.find("vlan")) {
		pw::Bytes tag;

		pw::put(tag, 0x81000000u | (vlan->number & 0xffff), 4);
		frame.insert(frame.begin() + 12, tag.begin(), tag.end());
	}
	std::vector<pw::Bytes> parts = {frame};

	if (at && frame[12] == 8)
		parts = fragment(frame, at);
	if (step.find("fragonly"))
		parts.resize(1);
	bool all = true;

	for (const pw::Bytes &part : parts)
		all &= part.size() < frame_most && put_on_wire(part);
	sent_++;
	sure_ += all && !lost;
}

void Wire::emit(const Step &step, const Built &built)
{
	pw::Envelope envelope;

	envelope.smac = own_mac_;
	envelope.dmac = adapter_mac_;
	envelope.src = peer_address(built.ipv6);
	envelope.dst = world_.address(built.ipv6);
	envelope.sport = static_cast<uint16_t>(step.number("sport", 0xc123));
	envelope.dport =
		static_cast<uint16_t>(step.number("dport", pw::roce_port));
	envelope.tos = static_cast<uint8_t>(step.number("tos", 0));
	envelope.ttl = static_cast<uint8_t>(step.number("ttl", 64));
	if (const Value *source = step.find("src"))
		envelope.src[15] = static_cast<uint8_t>(source->number);
	if (step.number("group", 0) && !built.ipv6) {
		envelope.dst = pw::parse_address("239.9.0.1");
		envelope.dmac = {0x01, 0x00, 0x5e, 9, 0, 1};
	}
	send_frame(pw::wrap(envelope, built.transport, damage_of(step)), step);
}

void Wire::send(const Step &step)
{
	const uint64_t times =
		std::clamp<uint64_t>(step.number("times", 1), 1, burst_most);
	const uint64_t stride = step.number("stride", 0);

	for (uint64_t i = 0; i < times; i++) {
		Step one = step;
		const char *counts = step.name.starts_with("W_") ? "tid" :
								   "psn";

		if (stride) {
			Value value = step.find(counts) ? *step.find(counts) :
							  Value{};
			value.number += i * stride;
			one.set(counts, value);
		}
		const Built built = step.name.starts_with("W_") ?
					    build_window(one) :
					    build(one);

		if (built.transport.empty())
			return;
		note_rights(built);
		emit(one, built);
	}
}

/* By the peer itself, as it should be but for what is inside. */
void Wire::deliver(Target &target, pw::Packet packet)
{
	const pw::Opcode *opcode =
		pw::opcode_by_code(static_cast<uint8_t>(packet.opcode));

	packet.qpn = target.qp ? target.qp->qp_num : 0;
	packet.migreq = 1;
	packet.pad = -packet.payload.size() & 3;
	deliver_bytes(pw::encode(packet, opcode->headers), target.ipv6);
}

void Wire::deliver_bytes(pw::View transport, bool ipv6)
{
	emit({}, {{transport.begin(), transport.end()}, ipv6, 0});
}

void Wire::take(const pw::Opened &opened)
{
	const pw::Bytes &transport = opened.transport;

	heard_++;
	if (transport.size() > 12 && !window_name(transport[0]).empty()) {
		WindowPacket packet = decode_window(transport);

		windows_.learn_key(packet.from, packet.key);
		names_.insert(std::string(window_name(transport[0])));
		if (window_inbox_.size() < inbox_most)
			window_inbox_.push_back(std::move(packet));
		return;
	}
	pw::Packet packet = pw::decode(transport);

	names_.insert(pw::name_of(packet));
	if (Target *target =
		    world_.target_of_peer(static_cast<uint32_t>(packet.qpn)))
		if (auto &queue = inbox_[target->name];
		    queue.size() < inbox_most)
			queue.push_back(std::move(packet));
}

/* Return: there was one. */
bool Wire::hear_one()
{
	try {
		auto arrival = link_.next(0);

		if (arrival)
			take(arrival->frame);
		return arrival.has_value();
	} catch (const pw::Mismatch &wrong) {
		const std::string what = wrong.what();

		if (changing_ && what.ends_with("ICRC wrong"))
			return true;
		throw Violation("the adapter sent this: " + what);
	} catch (const pw::Malformed &wrong) {
		throw Violation(std::string("the adapter sent this: ") +
				wrong.what());
	}
}

void Wire::listen()
{
	while (hear_one())
		;
}

} // namespace wf
