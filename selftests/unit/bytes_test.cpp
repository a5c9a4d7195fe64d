// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bytes_test.cpp - one packet of every opcode, its bytes written out by hand
 * from IBA 9.2 and 9.3: built they must come out, parsed they must mean it.
 *
 * Reading aid: opcode, SE|MigReq|PadCnt|TVer, P_Key, FECN|BECN, destQP,
 * AckReq, PSN | extension headers. MigReq (0x40) is set in all of them.
 */
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <set>

#include "wire_env.h"

namespace {

struct Sample {
	const char *name;
	const char *headers;
	unsigned int payload;
	pavo_pkt pkt;
};

const Sample samples[] = {
	/* ------------------------------------------------------------ RC */
	{ "rc_send_first", "00 40 ffff 00 000012 00 000001", 256,
	  { .opcode = 0x00, .pkey = 0xffff, .dqpn = 0x12, .psn = 1 } },
	{ "rc_send_middle", "01 40 ffff 80 123456 00 fffffe", 256,
	  { .opcode = 0x01, .fecn = true, .pkey = 0xffff, .dqpn = 0x123456,
	    .psn = 0xfffffe } },
	{ "rc_send_last", "02 f0 ffff 00 123456 80 ffffff", 1,
	  { .opcode = 0x02, .pad = 3, .solicited = true, .ack_req = true,
	    .pkey = 0xffff, .dqpn = 0x123456, .psn = 0xffffff } },
	{ "rc_send_last_imm", "03 50 8001 40 abcdef 80 000000 | 01020304", 3,
	  { .opcode = 0x03, .pad = 1, .ack_req = true, .becn = true,
	    .pkey = 0x8001, .dqpn = 0xabcdef, .psn = 0,
	    .imm = htonl(0x01020304) } },
	{ "rc_send_only", "04 60 7fff c0 800001 80 7fffff", 2,
	  { .opcode = 0x04, .pad = 2, .ack_req = true, .fecn = true,
	    .becn = true, .pkey = 0x7fff, .dqpn = 0x800001,
	    .psn = 0x7fffff } },
	{ "rc_send_only_imm", "05 c0 ffff 00 000011 80 800000 | deadbeef", 0,
	  { .opcode = 0x05, .solicited = true, .ack_req = true,
	    .pkey = 0xffff, .dqpn = 0x11, .psn = 0x800000,
	    .imm = htonl(0xdeadbeef) } },
	{ "rc_write_first",
	  "06 40 ffff 00 000011 00 0a0b0c | 00007f1122334450 a1b2c3d4 00010001",
	  4096,
	  { .opcode = 0x06, .pkey = 0xffff, .dqpn = 0x11, .psn = 0x0a0b0c,
	    .va = 0x7f1122334450, .rkey = 0xa1b2c3d4, .dma_len = 0x10001 } },
	{ "rc_write_middle", "07 40 ffff 00 000011 80 0a0b0d", 4096,
	  { .opcode = 0x07, .ack_req = true, .pkey = 0xffff, .dqpn = 0x11,
	    .psn = 0x0a0b0d } },
	{ "rc_write_last", "08 50 ffff 00 000011 80 0a0b0e", 3,
	  { .opcode = 0x08, .pad = 1, .ack_req = true, .pkey = 0xffff,
	    .dqpn = 0x11, .psn = 0x0a0b0e } },
	{ "rc_write_last_imm", "09 e0 ffff 00 000011 80 0a0b0f | 00000001", 2,
	  { .opcode = 0x09, .pad = 2, .solicited = true, .ack_req = true,
	    .pkey = 0xffff, .dqpn = 0x11, .psn = 0x0a0b0f,
	    .imm = htonl(1) } },
	/* As captured from hardware, see icrc_test.cpp. */
	{ "rc_write_only",
	  "0a 70 ffff 00 00010a 80 a788bc | 000055d4c0726000 000047b3 00000005",
	  5,
	  { .opcode = 0x0a, .pad = 3, .ack_req = true, .pkey = 0xffff,
	    .dqpn = 0x10a, .psn = 0xa788bc, .va = 0x55d4c0726000,
	    .rkey = 0x47b3, .dma_len = 5 } },
	{ "rc_write_only_imm",
	  "0b c0 ffff 00 00010a 80 000010 |"
	  "ffffffffffffffff 00000000 7fffffff | fffefdfc",
	  8,
	  { .opcode = 0x0b, .solicited = true, .ack_req = true,
	    .pkey = 0xffff, .dqpn = 0x10a, .psn = 0x10,
	    .va = 0xffffffffffffffff, .rkey = 0, .dma_len = 0x7fffffff,
	    .imm = htonl(0xfffefdfc) } },
	{ "rc_read_request",
	  "0c 40 ffff 00 00010a 80 000011 | 0102030405060708 090a0b0c 0d0e0f10",
	  0,
	  { .opcode = 0x0c, .ack_req = true, .pkey = 0xffff, .dqpn = 0x10a,
	    .psn = 0x11, .va = 0x0102030405060708, .rkey = 0x090a0b0c,
	    .dma_len = 0x0d0e0f10 } },
	{ "rc_read_resp_first", "0d 40 ffff 00 00010b 00 000011 | 1f 000007",
	  1024,
	  { .opcode = 0x0d, .pkey = 0xffff, .dqpn = 0x10b, .psn = 0x11,
	    .syndrome = 0x1f, .msn = 7 } },
	{ "rc_read_resp_middle", "0e 40 ffff 00 00010b 00 000012", 1024,
	  { .opcode = 0x0e, .pkey = 0xffff, .dqpn = 0x10b, .psn = 0x12 } },
	{ "rc_read_resp_last", "0f 60 ffff 00 00010b 00 000013 | 1f fffffe", 6,
	  { .opcode = 0x0f, .pad = 2, .pkey = 0xffff, .dqpn = 0x10b,
	    .psn = 0x13, .syndrome = 0x1f, .msn = 0xfffffe } },
	{ "rc_read_resp_only", "10 70 ffff 40 00010b 00 000014 | 00 ffffff", 1,
	  { .opcode = 0x10, .pad = 3, .becn = true, .pkey = 0xffff,
	    .dqpn = 0x10b, .psn = 0x14, .syndrome = 0, .msn = 0xffffff } },
	/* As captured from hardware, see icrc_test.cpp. */
	{ "rc_acknowledge", "11 40 ffff 00 000109 00 a788c0 | 00 000005", 0,
	  { .opcode = 0x11, .pkey = 0xffff, .dqpn = 0x109, .psn = 0xa788c0,
	    .syndrome = 0, .msn = 5 } },
	{ "rc_atomic_ack",
	  "12 40 ffff 00 000109 00 a788c1 | 1f 000006 | 8070605040302010", 0,
	  { .opcode = 0x12, .pkey = 0xffff, .dqpn = 0x109, .psn = 0xa788c1,
	    .atomic_orig = 0x8070605040302010, .syndrome = 0x1f, .msn = 6 } },
	{ "rc_cmp_swap",
	  "13 40 ffff 00 000108 80 000020 | 1112131415161718 191a1b1c"
	  "2122232425262728 3132333435363738",
	  0,
	  { .opcode = 0x13, .ack_req = true, .pkey = 0xffff, .dqpn = 0x108,
	    .psn = 0x20, .va = 0x1112131415161718, .rkey = 0x191a1b1c,
	    .swap_add = 0x2122232425262728, .compare = 0x3132333435363738 } },
	{ "rc_fetch_add",
	  "14 40 ffff 00 000108 80 000021 | 00007fff00000008 00000100"
	  "ffffffffffffffff 0000000000000000",
	  0,
	  { .opcode = 0x14, .ack_req = true, .pkey = 0xffff, .dqpn = 0x108,
	    .psn = 0x21, .va = 0x7fff00000008, .rkey = 0x100,
	    .swap_add = 0xffffffffffffffff, .compare = 0 } },
	{ "rc_send_last_inv", "16 50 ffff 00 000108 80 000022 | 12345678", 7,
	  { .opcode = 0x16, .pad = 1, .ack_req = true, .pkey = 0xffff,
	    .dqpn = 0x108, .psn = 0x22, .inv_rkey = 0x12345678 } },
	{ "rc_send_only_inv", "17 c0 ffff 00 000108 80 000023 | 87654321", 4,
	  { .opcode = 0x17, .solicited = true, .ack_req = true,
	    .pkey = 0xffff, .dqpn = 0x108, .psn = 0x23,
	    .inv_rkey = 0x87654321 } },

	/* ------------------------------------------------------------ UC */
	{ "uc_send_first", "20 40 ffff 00 000201 00 000100", 512,
	  { .opcode = 0x20, .pkey = 0xffff, .dqpn = 0x201, .psn = 0x100 } },
	{ "uc_send_middle", "21 40 ffff 00 000201 00 000101", 512,
	  { .opcode = 0x21, .pkey = 0xffff, .dqpn = 0x201, .psn = 0x101 } },
	{ "uc_send_last", "22 d0 ffff 00 000201 00 000102", 3,
	  { .opcode = 0x22, .pad = 1, .solicited = true, .pkey = 0xffff,
	    .dqpn = 0x201, .psn = 0x102 } },
	{ "uc_send_last_imm", "23 40 ffff 00 000201 00 000103 | 0badcafe", 4,
	  { .opcode = 0x23, .pkey = 0xffff, .dqpn = 0x201, .psn = 0x103,
	    .imm = htonl(0x0badcafe) } },
	{ "uc_send_only", "24 60 ffff 00 0000d3 00 cf1710", 18,
	  { .opcode = 0x24, .pad = 2, .pkey = 0xffff, .dqpn = 0xd3,
	    .psn = 0xcf1710 } },
	{ "uc_send_only_imm", "25 40 ffff 80 0000d3 00 cf1711 | 00c0ffee", 0,
	  { .opcode = 0x25, .fecn = true, .pkey = 0xffff, .dqpn = 0xd3,
	    .psn = 0xcf1711, .imm = htonl(0x00c0ffee) } },
	{ "uc_write_first",
	  "26 40 ffff 00 0000d3 00 cf1712 | 0000000000001000 00000203 00000400",
	  512,
	  { .opcode = 0x26, .pkey = 0xffff, .dqpn = 0xd3, .psn = 0xcf1712,
	    .va = 0x1000, .rkey = 0x203, .dma_len = 0x400 } },
	{ "uc_write_middle", "27 40 ffff 00 0000d3 00 cf1713", 512,
	  { .opcode = 0x27, .pkey = 0xffff, .dqpn = 0xd3, .psn = 0xcf1713 } },
	{ "uc_write_last", "28 70 ffff 00 0000d3 00 cf1714", 1,
	  { .opcode = 0x28, .pad = 3, .pkey = 0xffff, .dqpn = 0xd3,
	    .psn = 0xcf1714 } },
	{ "uc_write_last_imm", "29 40 ffff 00 0000d3 00 cf1715 | 80000000", 8,
	  { .opcode = 0x29, .pkey = 0xffff, .dqpn = 0xd3, .psn = 0xcf1715,
	    .imm = htonl(0x80000000) } },
	{ "uc_write_only",
	  "2a 50 ffff 00 0000d3 00 cf1716 | 0000000000002003 00000203 00000007",
	  7,
	  { .opcode = 0x2a, .pad = 1, .pkey = 0xffff, .dqpn = 0xd3,
	    .psn = 0xcf1716, .va = 0x2003, .rkey = 0x203, .dma_len = 7 } },
	{ "uc_write_only_imm",
	  "2b 40 ffff 00 0000d3 00 cf1717 |"
	  "0000000000002004 00000203 00000000 | 00000002",
	  0,
	  { .opcode = 0x2b, .pkey = 0xffff, .dqpn = 0xd3, .psn = 0xcf1717,
	    .va = 0x2004, .rkey = 0x203, .dma_len = 0, .imm = htonl(2) } },

	/* ------------------------------------------------------------ UD */
	{ "ud_send_only",
	  "64 40 ffff 00 000001 00 000031 | 80010000 00 000001", 256,
	  { .opcode = 0x64, .pkey = 0xffff, .dqpn = 1, .psn = 0x31,
	    .qkey = 0x80010000, .sqpn = 1 } },
	{ "ud_send_only_imm",
	  "65 f0 ffff 00 000077 00 000032 | 11111111 00 fffffe | 00000009", 5,
	  { .opcode = 0x65, .pad = 3, .solicited = true, .pkey = 0xffff,
	    .dqpn = 0x77, .psn = 0x32, .imm = htonl(9), .qkey = 0x11111111,
	    .sqpn = 0xfffffe } },
};

Bytes headers(const Sample &sample)
{
	std::string text = sample.headers;

	std::erase(text, '|');
	return from_hex(text);
}

class EveryOpcode : public testing::TestWithParam<Sample> {};

TEST_P(EveryOpcode, IsBuiltAsWritten)
{
	EXPECT_EQ(to_hex(build(GetParam().pkt)), to_hex(headers(GetParam())));
}

TEST_P(EveryOpcode, IsParsedAsWritten)
{
	const Sample &sample = GetParam();
	Bytes udp = headers(sample);

	udp.resize(udp.size() + sample.payload + sample.pkt.pad +
		   PAVO_ICRC_LEN);
	Parsed parsed = parse(udp);

	ASSERT_EQ(parsed.status, PAVO_PARSE_OK);
	EXPECT_EQ(parsed.pkt.info, pavo_op_info(sample.pkt.opcode));
	EXPECT_EQ(parsed.pkt.payload, sample.payload);
	expect_same_fields(parsed.pkt, sample.pkt);
}

INSTANTIATE_TEST_SUITE_P(Bytes, EveryOpcode, testing::ValuesIn(samples),
			 [](const testing::TestParamInfo<Sample> &info) {
				 return std::string(info.param.name);
			 });

TEST(Bytes, NoOpcodeWithoutASample)
{
	std::set<uint8_t> sampled;
	std::vector<uint8_t> known = known_opcodes();

	for (const Sample &sample : samples)
		sampled.insert(sample.pkt.opcode);
	EXPECT_EQ(sampled, std::set<uint8_t>(known.begin(), known.end()));
	EXPECT_EQ(std::size(samples), sampled.size());
}

} // namespace
