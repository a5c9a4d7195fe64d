// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bytes_samples.h - one packet of every opcode, its bytes written out by hand from IBA
 * 9.2 and 9.3; those of XRC are made of those of RC. For bytes_test.cpp.
 *
 * Reading aid: opcode, SE|MigReq|PadCnt|TVer, P_Key, FECN|BECN, destQP,
 * AckReq, PSN | extension headers. MigReq (0x40) is set in all of them.
 */
#ifndef PAVO_UNIT_BYTES_SAMPLES_H
#define PAVO_UNIT_BYTES_SAMPLES_H

#include <arpa/inet.h>

#include "wire_env.h"

struct Sample {
	std::string name;
	unsigned int payload;
	std::string headers;
	pavo_pkt pkt;
};

inline pavo_pkt pkt(uint8_t opcode, uint32_t dqpn, uint32_t psn,
		    pavo_pkt rest = {.pkey = 0xffff})
{
	rest.opcode = opcode;
	rest.dqpn = dqpn;
	rest.psn = psn;
	if (!rest.pkey)
		rest.pkey = 0xffff;
	return rest;
}

/* The RC packet as XRC sends it: a request has an XRCETH behind its BTH (annex A14). */
inline Sample xrc_sample(const Sample &rc)
{
	constexpr size_t bth =
		std::string_view("00 40 ffff 00 000012 00 000001").size();
	const bool response = rc.pkt.opcode >= 0x0d && rc.pkt.opcode <= 0x12;
	Sample sample = rc;

	sample.name = "x" + rc.name;
	sample.pkt.opcode |= 0xa0;
	sample.headers.replace(0, 2, to_hex({sample.pkt.opcode}));
	if (!response) {
		sample.pkt.srqn = 0x0a1b00 + rc.pkt.opcode;
		sample.headers.insert(bth,
				      " | 00 0a1b" + to_hex({rc.pkt.opcode}));
	}
	return sample;
}

inline const Sample samples[] = {
	/* ------------------------------------------------------------ RC */
	{"rc_send_first", 256, "00 40 ffff 00 000012 00 000001",
	 pkt(0x00, 0x12, 1)},
	{"rc_send_middle", 256, "01 40 ffff 80 123456 00 fffffe",
	 pkt(0x01, 0x123456, 0xfffffe, {.fecn = true})},
	{"rc_send_last", 1, "02 f0 ffff 00 123456 80 ffffff",
	 pkt(0x02, 0x123456, 0xffffff,
	     {.pad = 3, .solicited = true, .ack_req = true})},
	{"rc_send_last_imm", 3, "03 50 8001 40 abcdef 80 000000 | 01020304",
	 pkt(0x03, 0xabcdef, 0,
	     {.pad = 1,
	      .ack_req = true,
	      .becn = true,
	      .pkey = 0x8001,
	      .imm = htonl(0x01020304)})},
	{"rc_send_only", 2, "04 60 7fff c0 800001 80 7fffff",
	 pkt(0x04, 0x800001, 0x7fffff,
	     {.pad = 2,
	      .ack_req = true,
	      .fecn = true,
	      .becn = true,
	      .pkey = 0x7fff})},
	{"rc_send_only_imm", 0, "05 c0 ffff 00 000011 80 800000 | deadbeef",
	 pkt(0x05, 0x11, 0x800000,
	     {.solicited = true, .ack_req = true, .imm = htonl(0xdeadbeef)})},
	{"rc_write_first", 4096,
	 "06 40 ffff 00 000011 00 0a0b0c | 00007f1122334450 a1b2c3d4 00010001",
	 pkt(0x06, 0x11, 0x0a0b0c,
	     {.va = 0x7f1122334450, .rkey = 0xa1b2c3d4, .dma_len = 0x10001})},
	{"rc_write_middle", 4096, "07 40 ffff 00 000011 80 0a0b0d",
	 pkt(0x07, 0x11, 0x0a0b0d, {.ack_req = true})},
	{"rc_write_last", 3, "08 50 ffff 00 000011 80 0a0b0e",
	 pkt(0x08, 0x11, 0x0a0b0e, {.pad = 1, .ack_req = true})},
	{"rc_write_last_imm", 2, "09 e0 ffff 00 000011 80 0a0b0f | 00000001",
	 pkt(0x09, 0x11, 0x0a0b0f,
	     {.pad = 2, .solicited = true, .ack_req = true, .imm = htonl(1)})},
	/* As captured from hardware, see icrc_test.cpp. */
	{"rc_write_only", 5,
	 "0a 70 ffff 00 00010a 80 a788bc | 000055d4c0726000 000047b3 00000005",
	 pkt(0x0a, 0x10a, 0xa788bc,
	     {.pad = 3,
	      .ack_req = true,
	      .va = 0x55d4c0726000,
	      .rkey = 0x47b3,
	      .dma_len = 5})},
	{"rc_write_only_imm", 8,
	 "0b c0 ffff 00 00010a 80 000010 | ffffffffffffffff 00000000 "
	 "7fffffff | fffefdfc",
	 pkt(0x0b, 0x10a, 0x10,
	     {.solicited = true,
	      .ack_req = true,
	      .va = 0xffffffffffffffff,
	      .rkey = 0,
	      .dma_len = 0x7fffffff,
	      .imm = htonl(0xfffefdfc)})},
	{"rc_read_request", 0,
	 "0c 40 ffff 00 00010a 80 000011 | 0102030405060708 090a0b0c 0d0e0f10",
	 pkt(0x0c, 0x10a, 0x11,
	     {.ack_req = true,
	      .va = 0x0102030405060708,
	      .rkey = 0x090a0b0c,
	      .dma_len = 0x0d0e0f10})},
	{"rc_read_resp_first", 1024,
	 "0d 40 ffff 00 00010b 00 000011 | 1f 000007",
	 pkt(0x0d, 0x10b, 0x11, {.syndrome = 0x1f, .msn = 7})},
	{"rc_read_resp_middle", 1024, "0e 40 ffff 00 00010b 00 000012",
	 pkt(0x0e, 0x10b, 0x12)},
	{"rc_read_resp_last", 6, "0f 60 ffff 00 00010b 00 000013 | 1f fffffe",
	 pkt(0x0f, 0x10b, 0x13, {.pad = 2, .syndrome = 0x1f, .msn = 0xfffffe})},
	{"rc_read_resp_only", 1, "10 70 ffff 40 00010b 00 000014 | 00 ffffff",
	 pkt(0x10, 0x10b, 0x14,
	     {.pad = 3, .becn = true, .syndrome = 0, .msn = 0xffffff})},
	/* As captured from hardware, see icrc_test.cpp. */
	{"rc_acknowledge", 0, "11 40 ffff 00 000109 00 a788c0 | 00 000005",
	 pkt(0x11, 0x109, 0xa788c0, {.syndrome = 0, .msn = 5})},
	{"rc_atomic_ack", 0,
	 "12 40 ffff 00 000109 00 a788c1 | 1f 000006 | 8070605040302010",
	 pkt(0x12, 0x109, 0xa788c1,
	     {.atomic_orig = 0x8070605040302010, .syndrome = 0x1f, .msn = 6})},
	{"rc_cmp_swap", 0,
	 "13 40 ffff 00 000108 80 000020 | 1112131415161718 191a1b1c "
	 "2122232425262728 3132333435363738",
	 pkt(0x13, 0x108, 0x20,
	     {.ack_req = true,
	      .va = 0x1112131415161718,
	      .rkey = 0x191a1b1c,
	      .swap_add = 0x2122232425262728,
	      .compare = 0x3132333435363738})},
	{"rc_fetch_add", 0,
	 "14 40 ffff 00 000108 80 000021 | 00007fff00000008 00000100 "
	 "ffffffffffffffff 0000000000000000",
	 pkt(0x14, 0x108, 0x21,
	     {.ack_req = true,
	      .va = 0x7fff00000008,
	      .rkey = 0x100,
	      .swap_add = 0xffffffffffffffff,
	      .compare = 0})},
	{"rc_send_last_inv", 7, "16 50 ffff 00 000108 80 000022 | 12345678",
	 pkt(0x16, 0x108, 0x22,
	     {.pad = 1, .ack_req = true, .inv_rkey = 0x12345678})},
	{"rc_send_only_inv", 4, "17 c0 ffff 00 000108 80 000023 | 87654321",
	 pkt(0x17, 0x108, 0x23,
	     {.solicited = true, .ack_req = true, .inv_rkey = 0x87654321})},
	{"rc_flush", 0,
	 "1c 40 ffff 00 000108 80 000025 | 00000011 | 00007fff00000018 00000101 "
	 "00000040",
	 pkt(0x1c, 0x108, 0x25,
	     {.ack_req = true,
	      .feth = PAVO_FETH_GLOBAL | PAVO_FETH_REGION,
	      .va = 0x7fff00000018,
	      .rkey = 0x101,
	      .dma_len = 0x40})},
	{"rc_atomic_write", 8,
	 "1d 40 ffff 00 000108 80 000024 | 00007fff00000010 00000100 00000008",
	 pkt(0x1d, 0x108, 0x24,
	     {.ack_req = true,
	      .va = 0x7fff00000010,
	      .rkey = 0x100,
	      .dma_len = 8})},

	/* ------------------------------------------------------------ UC */
	{"uc_send_first", 512, "20 40 ffff 00 000201 00 000100",
	 pkt(0x20, 0x201, 0x100)},
	{"uc_send_middle", 512, "21 40 ffff 00 000201 00 000101",
	 pkt(0x21, 0x201, 0x101)},
	{"uc_send_last", 3, "22 d0 ffff 00 000201 00 000102",
	 pkt(0x22, 0x201, 0x102, {.pad = 1, .solicited = true})},
	{"uc_send_last_imm", 4, "23 40 ffff 00 000201 00 000103 | 0badcafe",
	 pkt(0x23, 0x201, 0x103, {.imm = htonl(0x0badcafe)})},
	{"uc_send_only", 18, "24 60 ffff 00 0000d3 00 cf1710",
	 pkt(0x24, 0xd3, 0xcf1710, {.pad = 2})},
	{"uc_send_only_imm", 0, "25 40 ffff 80 0000d3 00 cf1711 | 00c0ffee",
	 pkt(0x25, 0xd3, 0xcf1711, {.fecn = true, .imm = htonl(0x00c0ffee)})},
	{"uc_write_first", 512,
	 "26 40 ffff 00 0000d3 00 cf1712 | 0000000000001000 00000203 00000400",
	 pkt(0x26, 0xd3, 0xcf1712,
	     {.va = 0x1000, .rkey = 0x203, .dma_len = 0x400})},
	{"uc_write_middle", 512, "27 40 ffff 00 0000d3 00 cf1713",
	 pkt(0x27, 0xd3, 0xcf1713)},
	{"uc_write_last", 1, "28 70 ffff 00 0000d3 00 cf1714",
	 pkt(0x28, 0xd3, 0xcf1714, {.pad = 3})},
	{"uc_write_last_imm", 8, "29 40 ffff 00 0000d3 00 cf1715 | 80000000",
	 pkt(0x29, 0xd3, 0xcf1715, {.imm = htonl(0x80000000)})},
	{"uc_write_only", 7,
	 "2a 50 ffff 00 0000d3 00 cf1716 | 0000000000002003 00000203 00000007",
	 pkt(0x2a, 0xd3, 0xcf1716,
	     {.pad = 1, .va = 0x2003, .rkey = 0x203, .dma_len = 7})},
	{"uc_write_only_imm", 0,
	 "2b 40 ffff 00 0000d3 00 cf1717 |0000000000002004 00000203 "
	 "00000000 | 00000002",
	 pkt(0x2b, 0xd3, 0xcf1717,
	     {.va = 0x2004, .rkey = 0x203, .dma_len = 0, .imm = htonl(2)})},

	/* ------------------------------------------------------------ UD */
	{"ud_send_only", 256,
	 "64 40 ffff 00 000001 00 000031 | 80010000 00 000001",
	 pkt(0x64, 1, 0x31, {.qkey = 0x80010000, .sqpn = 1})},
	{"ud_send_only_imm", 5,
	 "65 f0 ffff 00 000077 00 000032 | 11111111 00 fffffe | 00000009",
	 pkt(0x65, 0x77, 0x32,
	     {.pad = 3,
	      .solicited = true,
	      .imm = htonl(9),
	      .qkey = 0x11111111,
	      .sqpn = 0xfffffe})},
};

#endif // PAVO_UNIT_BYTES_SAMPLES_H
