// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fuzz_icrc.cpp - pavo_icrc_build_head() on any headers: it copies what is
 * invariant, puts ones where it is not, and writes nothing else.
 *
 * Input: a byte for the IP version, then IP, UDP and BTH headers.
 */
#include "fuzz.h"

extern "C" {
#include "wire/wire.h"
}

namespace {

/* Ones where a header field may change on the way (annex A17.3.3). */
const uint8_t ipv4_variant[20] = {0, 0xff, 0,	 0, 0,	  0,
				  0, 0,	   0xff, 0, 0xff, 0xff};
const uint8_t ipv6_variant[40] = {0x0f, 0xff, 0xff, 0xff, 0, 0, 0, 0xff};
const uint8_t udp_variant[8] = {0, 0, 0, 0, 0, 0, 0xff, 0xff};
const uint8_t bth_variant[12] = {0, 0, 0, 0, 0xff};

const uint8_t *check_part(const uint8_t *out, const uint8_t *in,
			  const uint8_t *variant, size_t size)
{
	for (size_t i = 0; i < size; i++)
		CHECK(out[i] == (in[i] | variant[i]));
	return out + size;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input input(data, size);
	bool ipv6 = input.take<uint8_t>() & 1;
	size_t ip_len = ipv6 ? sizeof(ipv6_variant) : sizeof(ipv4_variant);
	auto ip = input.block(ip_len);
	auto udp = input.block(sizeof(udp_variant));
	auto bth = input.block(sizeof(bth_variant));
	size_t len = 8 + ip_len + sizeof(udp_variant) + sizeof(bth_variant);
	std::unique_ptr<uint8_t[]> out(new uint8_t[len]);

	CHECK(len <= PAVO_ICRC_HEAD_MAX);
	CHECK(pavo_icrc_build_head(out.get(), ip.get(), ipv6, udp.get(),
				   bth.get()) == len);

	const uint8_t *pos = out.get();

	for (int i = 0; i < 8; i++)
		CHECK(*pos++ == 0xff);
	pos = check_part(pos, ip.get(), ipv6 ? ipv6_variant : ipv4_variant,
			 ip_len);
	pos = check_part(pos, udp.get(), udp_variant, sizeof(udp_variant));
	check_part(pos, bth.get(), bth_variant, sizeof(bth_variant));
	return 0;
}
