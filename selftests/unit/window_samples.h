// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window_samples.h - one packet of every opcode of windows, its bytes written out by hand
 * from docs/protocol.md. For bytes_test.cpp; read as bytes_samples.h.
 */
#ifndef PAVO_UNIT_WINDOW_SAMPLES_H
#define PAVO_UNIT_WINDOW_SAMPLES_H

#include "bytes_samples.h"

inline const Sample window_samples[] = {
	{"window_message", 1,
	 "c0 70 ffff 00 000203 00 000000 | 0123456789abcdef 1a2b 0000 00 "
	 "00fedc",
	 pkt(0xc0, 0x203, 0,
	     {.pad = 3,
	      .window_key = 0x0123456789abcdef,
	      .src_node = 0x1a2b,
	      .src_window = 0xfedc})},
	{"window_data", 3,
	 "c1 50 ffff 00 000203 00 000000 | 0123456789abcdef 1a2b 0000 00 "
	 "00fedc | 40012345 40054321 0000000000000107 8000040000001000 "
	 "00010001 0000002f c0ffee00 0003 02 00",
	 pkt(0xc1, 0x203, 0,
	     {.pad = 1,
	      .window_key = 0x0123456789abcdef,
	      .src_node = 0x1a2b,
	      .src_window = 0xfedc,
	      .rdma = {.rcxt = 0x40012345,
		       .peer_rcxt = 0x40054321,
		       .tid = 0x107,
		       .pvo = 0x8000040000001000,
		       .total = 0x10001,
		       .fragment = 0x2f,
		       .tag = 0xc0ffee00,
		       .attempts = 3,
		       .flags = 2}})},
	{"window_read", 0,
	 "c2 40 ffff 00 000203 00 000000 | 0123456789abcdef 1a2b 0000 00 "
	 "00fedc | 40012345 40054321 8000000000000001 8000040000001000 "
	 "ffffffff 00000000 00000001 0000 03 00 | 9000080000002fff",
	 pkt(0xc2, 0x203, 0,
	     {.window_key = 0x0123456789abcdef,
	      .src_node = 0x1a2b,
	      .src_window = 0xfedc,
	      .rdma = {.rcxt = 0x40012345,
		       .peer_rcxt = 0x40054321,
		       .tid = 0x8000000000000001,
		       .pvo = 0x8000040000001000,
		       .total = 0xffffffff,
		       .tag = 1,
		       .flags = 3,
		       .back_pvo = 0x9000080000002fff}})},
	{"window_done", 0,
	 "c3 40 ffff 00 000203 00 000000 | 0123456789abcdef 1a2b 0000 00 "
	 "00fedc | 40054321 40012345 0000000000000107 0000000000000000 "
	 "00010001 00000000 c0ffee00 ffff 01 04",
	 pkt(0xc3, 0x203, 0,
	     {.window_key = 0x0123456789abcdef,
	      .src_node = 0x1a2b,
	      .src_window = 0xfedc,
	      .rdma = {.rcxt = 0x40054321,
		       .peer_rcxt = 0x40012345,
		       .tid = 0x107,
		       .total = 0x10001,
		       .tag = 0xc0ffee00,
		       .attempts = 0xffff,
		       .flags = 1,
		       .status = 4}})},
	{"window_third_read", 0,
	 "c4 40 ffff 00 000203 00 000000 | 0123456789abcdef 1a2b 0000 00 "
	 "00fedc | 40012345 40054321 8000000000000001 8000040000001000 "
	 "ffffffff 00000000 00000001 0000 00 00 | 9000080000002fff | "
	 "3c4d 0000 00 0a0b0c 40076543",
	 pkt(0xc4, 0x203, 0,
	     {.window_key = 0x0123456789abcdef,
	      .src_node = 0x1a2b,
	      .src_window = 0xfedc,
	      .rdma = {.rcxt = 0x40012345,
		       .peer_rcxt = 0x40054321,
		       .tid = 0x8000000000000001,
		       .pvo = 0x8000040000001000,
		       .total = 0xffffffff,
		       .tag = 1,
		       .back_pvo = 0x9000080000002fff,
		       .third_node = 0x3c4d,
		       .third_window = 0xa0b0c,
		       .third_rcxt = 0x40076543}})},
	{"window_third_data", 2,
	 "c5 60 ffff 00 000203 00 000000 | 0123456789abcdef 1a2b 0000 00 "
	 "00fedc | 40012345 40054321 0000000000000107 8000040000001000 "
	 "00010001 0000002f c0ffee00 0003 00 00 | 3c4d 0000 00 0a0b0c "
	 "40076543",
	 pkt(0xc5, 0x203, 0,
	     {.pad = 2,
	      .window_key = 0x0123456789abcdef,
	      .src_node = 0x1a2b,
	      .src_window = 0xfedc,
	      .rdma = {.rcxt = 0x40012345,
		       .peer_rcxt = 0x40054321,
		       .tid = 0x107,
		       .pvo = 0x8000040000001000,
		       .total = 0x10001,
		       .fragment = 0x2f,
		       .tag = 0xc0ffee00,
		       .attempts = 3,
		       .third_node = 0x3c4d,
		       .third_window = 0xa0b0c,
		       .third_rcxt = 0x40076543}})},
};

#endif // PAVO_UNIT_WINDOW_SAMPLES_H
