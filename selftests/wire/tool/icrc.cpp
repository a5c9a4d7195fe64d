// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The invariant CRC of RoCEv2 packets: see icrc.h.
 */
#include "icrc.h"

#include <array>

namespace pw {

namespace {

constexpr uint32_t polynomial = 0xedb88320; /* CRC-32, bits reflected */
constexpr size_t udp_header_octets = 8;
constexpr size_t bth_resv8a = 4; /* offset in the BTH */

constexpr std::array<uint32_t, 256> make_table()
{
	std::array<uint32_t, 256> table{};

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
		table[i] = crc;
	}
	return table;
}

constexpr auto table = make_table();

void ones(Bytes &bytes, size_t at, size_t count)
{
	for (size_t i = at; i < at + count && i < bytes.size(); i++)
		bytes[i] = 0xff;
}

} // namespace

uint32_t icrc(View ip_packet)
{
	/* A local route header stands in front as 8 bytes of ones. */
	Bytes covered(8, 0xff);
	const size_t ip = covered.size();
	size_t udp;

	covered.insert(covered.end(), ip_packet.begin(), ip_packet.end());
	if (ip_packet.size() && ip_packet[0] >> 4 == 6) {
		covered[ip] |= 0x0f; /* traffic class, flow label */
		ones(covered, ip + 1, 3);
		ones(covered, ip + 7, 1); /* hop limit */
		udp = ip + 40;
	} else {
		ones(covered, ip + 1, 1); /* type of service */
		ones(covered, ip + 8, 1); /* time to live */
		ones(covered, ip + 10, 2); /* header checksum */
		udp = ip + 20;
	}
	ones(covered, udp + 6, 2); /* UDP checksum */
	ones(covered, udp + udp_header_octets + bth_resv8a, 1);

	uint32_t crc = 0xffffffff;

	for (uint8_t byte : covered)
		crc = crc >> 8 ^ table[(crc ^ byte) & 0xff];
	return ~crc;
}

} // namespace pw
