/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ext_samples.h - one packet of every opcode of extended operations, SACKs and CNPs, its bytes written out
 * by hand from docs/protocol.md. For bytes_test.cpp; read as bytes_samples.h.
 */
#ifndef PAVO_UNIT_EXT_SAMPLES_H
#define PAVO_UNIT_EXT_SAMPLES_H

#include "bytes_samples.h"

inline const Sample ext_samples[] = {
	{"ext_atomic", 0,
	 "e0 40 ffff 00 000108 80 000020 | 0000000 2 a1b2c3d4 191a1b1c "
	 "1112131415161718 2122232425262728 3132333435363738 "
	 "4142434445464748 5152535455565758",
	 pkt(0xe0, 0x108, 0x20,
	     {.ack_req = true,
	      .va = 0x1112131415161718,
	      .rkey = 0x191a1b1c,
	      .swap_add = 0x2122232425262728,
	      .compare = 0x4142434445464748,
	      .swap_add_mask = 0x3132333435363738,
	      .compare_mask = 0x5152535455565758,
	      .request_id = 0xa1b2c3d4,
	      .aop = PAVO_AOP_CMP_SWAP})},
	{"ext_atomic_ack", 0,
	 "e1 40 ffff 00 000109 00 a788c1 | 1f 000006 | a1b2c3d4 "
	 "8070605040302010",
	 pkt(0xe1, 0x109, 0xa788c1,
	     {.request_id = 0xa1b2c3d4,
	      .atomic_orig = 0x8070605040302010,
	      .syndrome = 0x1f,
	      .msn = 6})},
	{"imm64", 8, "e2 40 ffff 00 000108 80 000021",
	 pkt(0xe2, 0x108, 0x21, {.ack_req = true})},
	{"imm64_se", 8, "e3 c0 ffff 00 000108 00 000022",
	 pkt(0xe3, 0x108, 0x22, {.solicited = true})},
	{"xrc_ext_atomic", 0,
	 "e4 40 ffff 00 000108 80 000020 | 00 abcdef | 0000000 1 a1b2c3d4 "
	 "191a1b1c 1112131415161718 2122232425262728 3132333435363738 "
	 "4142434445464748 5152535455565758",
	 pkt(0xe4, 0x108, 0x20,
	     {.ack_req = true,
	      .va = 0x1112131415161718,
	      .rkey = 0x191a1b1c,
	      .swap_add = 0x2122232425262728,
	      .compare = 0x4142434445464748,
	      .swap_add_mask = 0x3132333435363738,
	      .compare_mask = 0x5152535455565758,
	      .request_id = 0xa1b2c3d4,
	      .aop = PAVO_AOP_SWAP,
	      .srqn = 0xabcdef})},
	{"xrc_ext_atomic_ack", 0,
	 "e5 40 ffff 00 000109 00 a788c1 | 1f 000006 | a1b2c3d4 "
	 "8070605040302010",
	 pkt(0xe5, 0x109, 0xa788c1,
	     {.request_id = 0xa1b2c3d4,
	      .atomic_orig = 0x8070605040302010,
	      .syndrome = 0x1f,
	      .msn = 6})},
	{"xrc_imm64", 8, "e6 40 ffff 00 000108 80 000021 | 00 abcdef",
	 pkt(0xe6, 0x108, 0x21, {.ack_req = true, .srqn = 0xabcdef})},
	{"sack", 0,
	 "e8 40 ffff 00 000109 45 a788c1 | 1f 000006 | 0102 03 2a 91 c0ffee "
	 "8000000000000002 1112131415161718 2122232425262728 3132333435363738",
	 pkt(0xe8, 0x109, 0xa788c1,
	     {.wants_sack = true,
	      .attempt = 5,
	      .syndrome = 0x1f,
	      .msn = 6,
	      .sack = {0x102,
		       3,
		       0x2a,
		       0x91,
		       0xc0ffee,
		       {0x8000000000000002, 0x1112131415161718,
			0x2122232425262728, 0x3132333435363738}}})},
	{"xrc_sack", 0,
	 "ec 40 ffff 00 000109 00 a788c1 | 1f 000006 | 0000 00 00 00 000001 "
	 "0000000000000006 0000000000000000 0000000000000000 0000000000000000",
	 pkt(0xec, 0x109, 0xa788c1,
	     {.syndrome = 0x1f,
	      .msn = 6,
	      .sack = {0, 0, 0, 0, 1, {6, 0, 0, 0}}})},
	{"cnp", 0,
	 "81 40 ffff 40 00010a 00 000000 | 0000000000000000 0000000000000000",
	 pkt(0x81, 0x10a, 0, {.becn = true})},
	{"xrc_imm64_se", 8, "e7 c0 ffff 00 000108 00 000022 | 00 abcdef",
	 pkt(0xe7, 0x108, 0x22, {.solicited = true, .srqn = 0xabcdef})},
};

#endif // PAVO_UNIT_EXT_SAMPLES_H
