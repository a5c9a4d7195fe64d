// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The envelope of a RoCEv2 packet: see frame.h.
 */
#include "frame.h"

#include <algorithm>
#include <arpa/inet.h>

#include "icrc.h"

namespace pw {

namespace {

constexpr uint16_t type_ip4 = 0x0800, type_ip6 = 0x86dd;
constexpr uint8_t proto_udp = 17;
constexpr size_t udp_octets = 8, icrc_octets = 4;
constexpr std::array<uint8_t, 12> mapped = {0, 0, 0, 0, 0,    0,
					    0, 0, 0, 0, 0xff, 0xff};

void append(Bytes &out, View more)
{
	out.insert(out.end(), more.begin(), more.end());
}

View ip_part(const Address &address)
{
	View all(address);

	return is_ip4(address) ? all.last(4) : all;
}

uint16_t udp_checksum(const Address &src, const Address &dst, View udp)
{
	uint64_t sum = sum16(ip_part(src));

	sum = sum16(ip_part(dst), sum);
	sum = sum16(udp, sum + proto_udp + udp.size());
	return fold(sum);
}

void put_ip4(Bytes &out, const Envelope &e, uint16_t length)
{
	size_t at = out.size();

	put(out, 0x45, 1);
	put(out, e.tos, 1);
	put(out, length, 2);
	put(out, e.ip_id, 2);
	put(out, 0x4000, 2); /* do not fragment */
	put(out, e.ttl, 1);
	put(out, proto_udp, 1);
	put(out, 0, 2);
	append(out, ip_part(e.src));
	append(out, ip_part(e.dst));

	uint16_t sum = fold(sum16(View(out).subspan(at)));

	out[at + 10] = static_cast<uint8_t>(sum >> 8);
	out[at + 11] = static_cast<uint8_t>(sum);
}

void put_ip6(Bytes &out, const Envelope &e, uint16_t length)
{
	put(out, 6ull << 28 | static_cast<uint64_t>(e.tos) << 20, 4);
	put(out, length, 2);
	put(out, proto_udp, 1);
	put(out, e.ttl, 1);
	append(out, e.src);
	append(out, e.dst);
}

} // namespace

Address parse_address(const std::string &text)
{
	Address address{};

	if (text.find(':') != std::string::npos) {
		if (inet_pton(AF_INET6, text.c_str(), address.data()) != 1)
			throw std::runtime_error("not an address: " + text);
		return address;
	}
	std::copy(mapped.begin(), mapped.end(), address.begin());
	if (inet_pton(AF_INET, text.c_str(), address.data() + 12) != 1)
		throw std::runtime_error("not an address: " + text);
	return address;
}

std::string print_address(const Address &address)
{
	char text[INET6_ADDRSTRLEN];

	if (is_ip4(address))
		inet_ntop(AF_INET, address.data() + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, address.data(), text, sizeof(text));
	return text;
}

bool is_ip4(const Address &address)
{
	return std::equal(mapped.begin(), mapped.end(), address.begin());
}

Bytes wrap(const Envelope &e, View transport, const Damage &damage)
{
	const bool ip4 = is_ip4(e.src);
	const size_t ip_octets = ip4 ? 20 : 40;
	Bytes body(transport.begin(), transport.end());
	Bytes out;

	for (size_t i = 0; i < damage.extra; i++)
		body.push_back(static_cast<uint8_t>(0xe0 + i));
	if (damage.cut && *damage.cut < body.size())
		body.resize(*damage.cut);

	size_t payload = body.size() + icrc_octets;

	if (damage.truncate)
		payload = std::min(payload, *damage.truncate);

	const auto udp_len = static_cast<uint16_t>(udp_octets + payload);
	const uint16_t ip_len = damage.ip_len.value_or(
		static_cast<uint16_t>(udp_len + (ip4 ? ip_octets : 0)));

	append(out, e.dmac);
	append(out, e.smac);
	put(out, ip4 ? type_ip4 : type_ip6, 2);

	const size_t ip = out.size();

	ip4 ? put_ip4(out, e, ip_len) : put_ip6(out, e, ip_len);

	const size_t udp = out.size();

	put(out, e.sport, 2);
	put(out, e.dport, 2);
	put(out, damage.udp_len.value_or(udp_len), 2);
	put(out, 0, 2);
	append(out, body);

	uint32_t crc = icrc(View(out).subspan(ip));

	if (damage.icrc)
		crc = *damage.icrc;
	if (damage.icrc_flip)
		crc ^= 0x10;
	for (unsigned i = 0; i < icrc_octets; i++)
		out.push_back(static_cast<uint8_t>(crc >> (8 * i)));
	out.resize(udp + udp_octets + payload);

	/* IPv6 has no UDP without a checksum; IPv4 RoCE sends it as zero. */
	uint16_t sum = 0;

	if (damage.udp_csum)
		sum = *damage.udp_csum;
	else if (!ip4)
		sum = udp_checksum(e.src, e.dst, View(out).subspan(udp));
	if (!ip4 && !damage.udp_csum && sum == 0)
		sum = 0xffff;
	out[udp + 6] = static_cast<uint8_t>(sum >> 8);
	out[udp + 7] = static_cast<uint8_t>(sum);
	return out;
}

/* The IP header: fills the envelope, returns the IP payload. */
static View open_ip(Envelope &e, View ip, bool ip4, bool &udp)
{
	View rest = ip;

	if (ip4) {
		/* IGMP has options: none of our business. */
		if (ip.size() > 9 && ip[9] != proto_udp)
			return {};
		if (take(rest, 1, "the IP header") != 0x45)
			throw Malformed("IPv4 header with options");
		e.tos = static_cast<uint8_t>(take(rest, 1, "the IP header"));
		size_t total = take(rest, 2, "the IP header");
		e.ip_id = static_cast<uint16_t>(take(rest, 2, "the IP header"));
		uint64_t fragment = take(rest, 2, "the IP header");
		e.ttl = static_cast<uint8_t>(take(rest, 1, "the IP header"));
		udp = take(rest, 1, "the IP header") == proto_udp;
		if (total < 20 || total > ip.size())
			throw Malformed("IPv4 total length and frame differ");
		if (fold(sum16(ip.first(20))) != 0)
			throw Malformed("IPv4 header checksum wrong");
		udp = udp && (fragment & 0x3fff) == 0;
		std::copy(mapped.begin(), mapped.end(), e.src.begin());
		std::copy_n(ip.begin() + 12, 4, e.src.begin() + 12);
		std::copy(mapped.begin(), mapped.end(), e.dst.begin());
		std::copy_n(ip.begin() + 16, 4, e.dst.begin() + 12);
		return ip.subspan(20, total - 20);
	}
	e.tos = static_cast<uint8_t>(take(rest, 4, "the IPv6 header") >> 20);
	size_t length = take(rest, 2, "the IPv6 header");
	udp = take(rest, 1, "the IPv6 header") == proto_udp;
	e.ttl = static_cast<uint8_t>(take(rest, 1, "the IPv6 header"));
	if (rest.size() < 32 || length > rest.size() - 32)
		throw Malformed("IPv6 payload length and frame differ");
	std::copy_n(rest.begin(), 16, e.src.begin());
	std::copy_n(rest.begin() + 16, 16, e.dst.begin());
	return rest.subspan(32, length);
}

std::optional<Opened> open(View frame, bool udp_csum_done)
{
	Opened result;
	Envelope &e = result.envelope;

	if (frame.size() < 14)
		return std::nullopt;
	std::copy_n(frame.begin(), 6, e.dmac.begin());
	std::copy_n(frame.begin() + 6, 6, e.smac.begin());

	View rest = frame.subspan(12);
	const uint64_t type = take(rest, 2, "the Ethernet header");

	if (type != type_ip4 && type != type_ip6)
		return std::nullopt;

	bool is_udp = false;
	const View ip = rest;
	const View udp = open_ip(e, ip, type == type_ip4, is_udp);

	if (!is_udp)
		return std::nullopt;
	rest = udp;
	e.sport = static_cast<uint16_t>(take(rest, 2, "the UDP header"));
	e.dport = static_cast<uint16_t>(take(rest, 2, "the UDP header"));
	const size_t length = take(rest, 2, "the UDP header");
	const uint64_t sum = take(rest, 2, "the UDP header");

	if (e.dport != roce_port)
		return std::nullopt;
	if (length != udp.size())
		throw Malformed("UDP length " + std::to_string(length) +
				" in an IP payload of " +
				std::to_string(udp.size()));
	if (sum && udp_csum_done && udp_checksum(e.src, e.dst, udp) != 0)
		throw Malformed("UDP checksum wrong");
	if (rest.size() < icrc_octets)
		throw Malformed("no room for an ICRC");

	const View transport = rest.first(rest.size() - icrc_octets);
	const size_t covered =
		static_cast<size_t>(transport.end() - ip.begin());
	const uint32_t crc = icrc(ip.first(covered));

	for (unsigned i = 0; i < icrc_octets; i++)
		if (rest[transport.size() + i] !=
		    static_cast<uint8_t>(crc >> (8 * i)))
			throw Malformed("ICRC wrong");
	result.transport.assign(transport.begin(), transport.end());
	return result;
}

} // namespace pw
