// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The peer's side: see wire.h. Here: answers to what the adapter asks for, right ones and
 * such as a faulty or hostile peer gives.
 */
#include <algorithm>
#include <vector>

#include "wire.h"

namespace wf {

namespace {

constexpr uint64_t credits_unlimited = 0x1f;
constexpr size_t most_of_a_read = 256; /* packets */
constexpr uint64_t xrc_class = 0xa0;

/* In the AETH, by the word of a dialogue. */
uint64_t syndrome_of(const std::string &how)
{
	if (how == "rnr")
		return pw::aeth_rnr | 1;
	if (how == "seq")
		return pw::aeth_nak;
	if (how == "inv")
		return pw::aeth_nak | 1;
	if (how == "access")
		return pw::aeth_nak | 2;
	if (how == "op")
		return pw::aeth_nak | 3;
	return credits_unlimited;
}

uint64_t code_of(const char *name)
{
	return pw::opcode_by_name(name)->code;
}

/* Masked atomics and immediate data of eight bytes; those of XRC have bit 2. */
bool is_extended(uint64_t opcode)
{
	return (opcode & 0xe0) == 0xe0;
}

/* The service that acknowledges it. */
uint64_t service_of(uint64_t opcode)
{
	if (!is_extended(opcode))
		return opcode & 0xe0;
	return opcode & 0x04 ? 0xa0 : 0;
}

bool is_request(const pw::Packet &packet)
{
	const pw::Opcode *opcode =
		pw::opcode_by_code(static_cast<uint8_t>(packet.opcode));

	return opcode && !opcode->response;
}

} // namespace

void Wire::answer_read(Target &target, const pw::Packet &request,
		       const std::string &how)
{
	const uint64_t service = service_of(request.opcode);
	uint64_t left = request.dlen;
	std::vector<pw::Packet> packets;

	if (how == "short" && left)
		left--;
	else if (how == "long")
		left += target.mtu;
	do {
		pw::Packet packet;
		const uint64_t length = std::min<uint64_t>(left, target.mtu);
		const bool first = packets.empty(), last = left <= target.mtu;

		packet.opcode = service |
				code_of(first && last ? "READ_RESP_ONLY" :
					first	      ? "READ_RESP_FIRST" :
					last	      ? "READ_RESP_LAST" :
							"READ_RESP_MIDDLE");
		packet.psn = request.psn + packets.size();
		packet.syn = credits_unlimited;
		packet.msn = target.msn;
		packet.payload.assign(length, static_cast<uint8_t>(packet.psn));
		packets.push_back(std::move(packet));
		left -= length;
	} while (left && packets.size() < most_of_a_read);
	if (how == "late")
		std::reverse(packets.begin(), packets.end());
	for (size_t i = 0; i < packets.size(); i++)
		if (how != "half" || i % 2)
			deliver(target, packets[i]);
}

void Wire::answer_one(Target &target, const pw::Packet &request,
		      const std::string &how)
{
	const uint64_t service = service_of(request.opcode);
	const uint64_t plain = request.opcode & 0x1f;
	const bool ext = is_extended(request.opcode);
	const uint64_t syndrome = syndrome_of(how);
	const bool reads = !ext && plain == code_of("READ_REQ");
	const bool atomic = plain == code_of("CMP_SWAP") ||
			    plain == code_of("FETCH_ADD");
	const bool wrong = how == "wrong";
	pw::Packet packet;

	target.msn++;
	if (syndrome == credits_unlimited && reads != wrong)
		return answer_read(target, request, how);
	packet.opcode = service | code_of("ACK");
	packet.psn = request.psn + (how == "ghost" ? 1000 : 0);
	packet.syn = syndrome;
	packet.msn = target.msn & 0xffffff;
	if (syndrome == credits_unlimited && ext && !(plain & 0x02)) {
		packet.opcode = request.opcode | 0x01;
		packet.id = request.id;
		packet.orig = request.psn;
	} else if (syndrome == credits_unlimited && atomic) {
		packet.opcode = service | code_of("ATOMIC_ACK");
		packet.orig = request.psn;
	} else if (syndrome == credits_unlimited &&
		   (plain == code_of("ATOMIC_WRITE") ||
		    plain == code_of("FLUSH"))) {
		packet.opcode = service | code_of("READ_RESP_ONLY");
	} else if (syndrome == credits_unlimited && !request.ackreq) {
		return;
	}
	deliver(target, packet);
	if (how == "twice")
		deliver(target, packet);
}

void Wire::answer(Target &target, const std::string &how)
{
	auto &queue = inbox_[target.name];
	size_t n = 0;

	listen();
	if (how == "late")
		std::reverse(queue.begin(), queue.end());
	for (; !queue.empty(); queue.pop_front()) {
		const pw::Packet request = queue.front();

		if (!is_request(request) || !target.is_reliable())
			continue;
		if (how == "half" && n++ % 2)
			continue;
		answer_one(target, request, how);
		/* A NAK is said once. */
		if (syndrome_of(how) != credits_unlimited)
			break;
	}
	queue.clear();
}

/* The packet that is to be sent in answer to @packet, to its source; false: none. */
static bool answer_of(WindowPacket &packet, const std::string &how)
{
	switch (packet.opcode) {
	case 0xc2: /* a read: data, or its end */
	case 0xc1: /* data: the end */
		if (packet.opcode == 0xc1 || how == "done") {
			packet.opcode = 0xc3;
			return true;
		}
		packet.opcode = 0xc1;
		packet.pvo = packet.back;
		packet.total = std::min<uint64_t>(packet.total, 4096);
		packet.payload.assign(packet.total, 0x5a);
		return true;
	case 0xc4: /* w0 is a controller: the end, from the target or the source */
		packet.opcode = 0xc3;
		if (how != "status") {
			packet.from = packet.third_window;
			packet.peer_rcxt = packet.third_rcxt;
		}
		return true;
	case 0xc5: /* w0 is a source, which learns no end */
		packet.opcode = 0xc3;
		return how == "wrong";
	default:
		return false;
	}
}

void Wire::answer_window_one(WindowPacket packet, const std::string &how)
{
	const uint64_t own = packet.rcxt, from = packet.from;
	const bool offer = windows_.interface().take_offer(packet);

	packet.qpn = from;
	packet.from = 0x200;
	packet.node = peer_node;
	packet.payload.clear();
	packet.status = how == "status" ? 3 : 0;
	if (how == "wrong")
		packet.tid++;
	if (!offer) {
		packet.rcxt = packet.peer_rcxt;
		packet.peer_rcxt = own;
		if (!answer_of(packet, how))
			return;
	}
	if (from == windows_.interface().window() && packet.payload.size())
		windows_.interface().write_packet(
			packet.payload, 4, packet.node, packet.from, from);
	packet.pad = -packet.payload.size() & 3;
	deliver_bytes(encode(packet, window_layout(uint8_t(packet.opcode))),
		      false);
}

/* A read is answered with data, data with its end, an offer with a read. */
void Wire::answer_window(const std::string &how)
{
	listen();
	for (; !window_inbox_.empty(); window_inbox_.pop_front())
		answer_window_one(window_inbox_.front(), how);
}

} // namespace wf
