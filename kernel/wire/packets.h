/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * packets.h - the packets: lists of the extension headers with their fields, and of the BTH
 * opcodes with their headers (IBA 9.2 and 9.3, tables 38 and 39; annex A14 for XRC;
 * docs/protocol.md for pavo's own).
 *
 * Derived from these lists: lengths and flags below, the parser (parse.c), the builder (build.c),
 * the opcode table (opcode.c), the language of wire scripts (selftests/wire/tool/packet.cpp), the
 * comparison of packets in unit tests, and the rows of the Wireshark dissector
 * (packaging/wireshark/rows.lua.in). All but the last read this file as C or C++; the last one
 * has the preprocessor only, and __ASSEMBLER__ hides what is not for it.
 */
#ifndef PAVO_WIRE_PACKETS_H
#define PAVO_WIRE_PACKETS_H

/* clang-format off */

/*
 * PAVO_HEADERS - the extension headers, in the order in which they stand in a packet.
 * @H: H(NAME, name, more); the fields are PAVO_NAME_FIELDS. The flag of an opcode that has the
 *     header is PAVO_OPF_NAME, and the length PAVO_NAME_LEN
 * @more: passed on
 */
#define PAVO_HEADERS(H, more)				\
	PAVO_QP_HEADERS(H, more)			\
	PAVO_WINDOW_HEADERS(H, more)

#define PAVO_QP_HEADERS(H, more)			\
	H(XRCETH,       xrceth,       more)		\
	H(DETH,         deth,         more)		\
	H(FETH,         feth,         more)		\
	H(RETH,         reth,         more)		\
	H(ATOMICETH,    atomiceth,    more)		\
	H(EXTATOMICETH, extatomiceth, more)		\
	H(AETH,         aeth,         more)		\
	H(SACKETH,      sacketh,      more)		\
	H(ATOMICACK,    atomicack,    more)		\
	H(EXTATOMICACK, extatomicack, more)		\
	H(IMM,          imm,          more)		\
	H(IETH,         ieth,         more)		\
	H(CNPETH,       cnpeth,       more)

#define PAVO_WINDOW_HEADERS(H, more)			\
	H(WETH,         weth,         more)		\
	H(WRETH,        wreth,        more)		\
	H(PVO,          pvoeth,       more)		\
	H(WTETH,        wteth,        more)

/*
 * Fields of a header, in the order of the wire.
 * @F: F(bits, used, name, member): a number in network order. Of its bits, the lower ones are
 *     used; those above are reserved, sent as 0 and ignored. name: in wire scripts and in
 *     Wireshark; member: of struct pavo_pkt
 * @B: B(bits, name, member): bytes that are kept in network order
 * @R: R(bits): reserved
 */
#define PAVO_XRCETH_FIELDS(F, B, R)			\
	F(32, 24, srqn,  srqn)

#define PAVO_DETH_FIELDS(F, B, R)			\
	F(32, 32, qkey,  qkey)				\
	F(32, 24, sqpn,  sqpn)

/* Window extended transport header, pavo's own */
#define PAVO_WETH_FIELDS(F, B, R)			\
	F(64, 64, key,    window_key)			\
	F(16, 16, node,   src_node)			\
	F(8,  8,  kind,   kind)				\
	R(8)						\
	F(32, 24, window, src_window)

/* Window RDMA extended transport header, pavo's own */
#define PAVO_WRETH_FIELDS(F, B, R)			\
	F(32, 32, rcxt,      rdma.rcxt)			\
	F(32, 32, peer_rcxt, rdma.peer_rcxt)		\
	F(64, 64, tid,       rdma.tid)			\
	F(64, 64, pvo,       rdma.pvo)			\
	F(32, 32, total,     rdma.total)		\
	F(32, 32, fragment,  rdma.fragment)		\
	F(32, 32, tag,       rdma.tag)			\
	F(16, 16, attempts,  rdma.attempts)		\
	F(8,  8,  flags,     rdma.flags)		\
	F(8,  8,  status,    rdma.status)

/* Placement types in the lower four bits, selectivity level in two above (enum pavo_feth) */
#define PAVO_FETH_FIELDS(F, B, R)			\
	F(32, 6,  feth,  feth)

#define PAVO_RETH_FIELDS(F, B, R)			\
	F(64, 64, va,    va)				\
	F(32, 32, rkey,  rkey)				\
	F(32, 32, dlen,  dma_len)

#define PAVO_ATOMICETH_FIELDS(F, B, R)			\
	F(64, 64, va,    va)				\
	F(32, 32, rkey,  rkey)				\
	F(64, 64, swap,  swap_add)			\
	F(64, 64, cmp,   compare)

/* Extended atomic request (sources.md#ext-request) */
#define PAVO_EXTATOMICETH_FIELDS(F, B, R)		\
	F(32, 4,  aop,   aop)				\
	F(32, 32, id,    request_id)			\
	F(32, 32, rkey,  rkey)				\
	F(64, 64, va,    va)				\
	F(64, 64, swap,  swap_add)			\
	F(64, 64, mask,  swap_add_mask)			\
	F(64, 64, cmp,   compare)			\
	F(64, 64, cmask, compare_mask)

#define PAVO_AETH_FIELDS(F, B, R)			\
	F(8,  8,  syn,   syndrome)			\
	F(24, 24, msn,   msn)

/*
 * Selective acknowledgment extended transport header, pavo's own (docs/protocol.md). Bit n of the
 * map, counted from the lowest one of map0, is the PSN 64 * from + n behind the expected one.
 */
#define PAVO_SACKETH_FIELDS(F, B, R)			\
	F(16, 16, dups,  sack.dups)			\
	F(8,  8,  from,  sack.from)			\
	F(8,  6,  tries, sack.attempt)			\
	F(8,  8,  space, sack.space)			\
	F(24, 24, echo,  sack.echo)			\
	F(64, 64, map0,  sack.map[0])			\
	F(64, 64, map1,  sack.map[1])			\
	F(64, 64, map2,  sack.map[2])			\
	F(64, 64, map3,  sack.map[3])

#define PAVO_ATOMICACK_FIELDS(F, B, R)			\
	F(64, 64, orig,  atomic_orig)

/* Extended atomic response (sources.md#ext-response) */
#define PAVO_EXTATOMICACK_FIELDS(F, B, R)		\
	F(32, 32, id,    request_id)			\
	F(64, 64, orig,  atomic_orig)

/* Of requests for data of windows: where the data goes */
#define PAVO_PVO_FIELDS(F, B, R)			\
	F(64, 64, back_pvo, rdma.back_pvo)

/*
 * Window third party extended transport header, pavo's own: of the three ends of an operation, the
 * one that neither sends nor takes the packet
 */
#define PAVO_WTETH_FIELDS(F, B, R)			\
	F(16, 16, third_node,   rdma.third_node)	\
	R(16)						\
	F(32, 24, third_window, rdma.third_window)	\
	F(32, 32, third_rcxt,   rdma.third_rcxt)

#define PAVO_IMM_FIELDS(F, B, R)			\
	B(32, imm,   imm)

#define PAVO_IETH_FIELDS(F, B, R)			\
	F(32, 32, inv,   inv_rkey)

/* Behind the BTH of a congestion notification packet: 16 bytes that are reserved (A17.9.3) */
#define PAVO_CNPETH_FIELDS(F, B, R)			\
	R(64)						\
	R(64)

/*
 * The opcodes, by the services that have them.
 * @O: O(service, base, NAME, code, kind, flags): service and base are passed on; the opcode is
 *     base | code. kind: enum pavo_kind without its prefix; flags: enum pavo_op_flag
 * @x: flag of a header that all requests of the service have
 */
/* Of all services. */
#define PAVO_OPCODES_ALL(O, svc, base, x)							\
	O(svc, base, SEND_ONLY,        0x04, SEND,  PAVO_OPF_DATA | PAVO_OPF_ONLY | (x))	\
	O(svc, base, SEND_ONLY_IMM,    0x05, SEND,  PAVO_OPF_DATA | PAVO_OPF_ONLY |		\
						    PAVO_OPF_IMM | (x))

/* Of connected services. */
#define PAVO_OPCODES_CONNECTED(O, svc, base, x)							\
	O(svc, base, SEND_FIRST,       0x00, SEND,  PAVO_OPF_DATA | PAVO_OPF_FIRST | (x))	\
	O(svc, base, SEND_MIDDLE,      0x01, SEND,  PAVO_OPF_DATA | (x))			\
	O(svc, base, SEND_LAST,        0x02, SEND,  PAVO_OPF_DATA | PAVO_OPF_LAST | (x))	\
	O(svc, base, SEND_LAST_IMM,    0x03, SEND,  PAVO_OPF_DATA | PAVO_OPF_LAST |		\
						    PAVO_OPF_IMM | (x))				\
	O(svc, base, WRITE_FIRST,      0x06, WRITE, PAVO_OPF_DATA | PAVO_OPF_FIRST |		\
						    PAVO_OPF_RETH | (x))			\
	O(svc, base, WRITE_MIDDLE,     0x07, WRITE, PAVO_OPF_DATA | (x))			\
	O(svc, base, WRITE_LAST,       0x08, WRITE, PAVO_OPF_DATA | PAVO_OPF_LAST | (x))	\
	O(svc, base, WRITE_LAST_IMM,   0x09, WRITE, PAVO_OPF_DATA | PAVO_OPF_LAST |		\
						    PAVO_OPF_IMM | (x))				\
	O(svc, base, WRITE_ONLY,       0x0a, WRITE, PAVO_OPF_DATA | PAVO_OPF_ONLY |		\
						    PAVO_OPF_RETH | (x))			\
	O(svc, base, WRITE_ONLY_IMM,   0x0b, WRITE, PAVO_OPF_DATA | PAVO_OPF_ONLY |		\
						    PAVO_OPF_RETH | PAVO_OPF_IMM | (x))

/* Of reliable services. Responses have no @x. */
#define PAVO_OPCODES_RELIABLE(O, svc, base, x)							\
	O(svc, base, READ_REQ,         0x0c, READ,  PAVO_OPF_REQUEST | PAVO_OPF_ONLY |		\
						    PAVO_OPF_RETH | (x))			\
	O(svc, base, READ_RESP_FIRST,  0x0d, READ,  PAVO_OPF_PAYLOAD | PAVO_OPF_FIRST |		\
						    PAVO_OPF_AETH)				\
	O(svc, base, READ_RESP_MIDDLE, 0x0e, READ,  PAVO_OPF_PAYLOAD)				\
	O(svc, base, READ_RESP_LAST,   0x0f, READ,  PAVO_OPF_PAYLOAD | PAVO_OPF_LAST |		\
						    PAVO_OPF_AETH)				\
	O(svc, base, READ_RESP_ONLY,   0x10, READ,  PAVO_OPF_PAYLOAD | PAVO_OPF_ONLY |		\
						    PAVO_OPF_AETH)				\
	O(svc, base, ACK,              0x11, ACK,   PAVO_OPF_ONLY | PAVO_OPF_AETH)		\
	O(svc, base, ATOMIC_ACK,       0x12, ATOMIC, PAVO_OPF_ONLY | PAVO_OPF_AETH |		\
						    PAVO_OPF_ATOMICACK)				\
	O(svc, base, CMP_SWAP,         0x13, ATOMIC, PAVO_OPF_REQUEST | PAVO_OPF_ONLY |		\
						    PAVO_OPF_ATOMICETH | (x))			\
	O(svc, base, FETCH_ADD,        0x14, ATOMIC, PAVO_OPF_REQUEST | PAVO_OPF_ONLY |		\
						    PAVO_OPF_ATOMICETH | (x))			\
	O(svc, base, SEND_LAST_INV,    0x16, SEND,  PAVO_OPF_DATA | PAVO_OPF_LAST |		\
						    PAVO_OPF_IETH | (x))			\
	O(svc, base, SEND_ONLY_INV,    0x17, SEND,  PAVO_OPF_DATA | PAVO_OPF_ONLY |		\
						    PAVO_OPF_IETH | (x))			\
	O(svc, base, FLUSH,            0x1c, FLUSH, PAVO_OPF_REQUEST | PAVO_OPF_ONLY |		\
						    PAVO_OPF_FETH | PAVO_OPF_RETH | (x))	\
	O(svc, base, ATOMIC_WRITE,     0x1d, ATOMIC_WRITE, PAVO_OPF_DATA | PAVO_OPF_ONLY |	\
						    PAVO_OPF_RETH | (x))

/*
 * Masked atomics and immediate data of eight bytes, of reliable services (sources.md#ext), and
 * selective acknowledgments. IBA leaves these opcodes and those of windows to manufacturers.
 * Another protocol on the same UDP port uses 0xc6 to 0xde.
 */
#define PAVO_OPCODES_EXT(O, svc, base, x)							\
	O(svc, base, EXT_ATOMIC,       0xe0, ATOMIC, PAVO_OPF_REQUEST | PAVO_OPF_ONLY |		\
						    PAVO_OPF_EXTATOMICETH | (x))		\
	O(svc, base, EXT_ATOMIC_ACK,   0xe1, ATOMIC, PAVO_OPF_ONLY | PAVO_OPF_AETH |		\
						    PAVO_OPF_EXTATOMICACK)			\
	O(svc, base, IMM64,            0xe2, IMM64, PAVO_OPF_DATA | PAVO_OPF_ONLY | (x))	\
	O(svc, base, IMM64_SE,         0xe3, IMM64, PAVO_OPF_DATA | PAVO_OPF_ONLY | (x))	\
	O(svc, base, SACK,             0xe8, ACK,   PAVO_OPF_ONLY | PAVO_OPF_AETH |		\
						    PAVO_OPF_SACKETH)

/* Congestion notification packet (CNP, annex A17.9.3): of no service, and without a PSN. */
#define PAVO_OPCODES_CNP(O, svc, base, x)							\
	O(svc, base, CNP,              0x81, CNP,   PAVO_OPF_ONLY | PAVO_OPF_CNPETH)

/*
 * Of windows; the BTH's destination QP is the destination window. A message is a frame, from FIFO
 * to FIFO; data is that of a write or a read; a read requests data; done is the end of an
 * operation: all data arrived, or an error. A third-party read requests data for another window
 * than its sender's, and third-party data is such data.
 */
#define PAVO_OPCODES_WINDOW(O, svc, base, x)							\
	O(svc, base, WINDOW_MESSAGE,   0xc0, WINDOW, PAVO_OPF_DATA | PAVO_OPF_ONLY |		\
						    PAVO_OPF_WETH)				\
	O(svc, base, WINDOW_DATA,      0xc1, WINDOW, PAVO_OPF_DATA | PAVO_OPF_ONLY |		\
						    PAVO_OPF_WETH | PAVO_OPF_WRETH)		\
	O(svc, base, WINDOW_READ,      0xc2, WINDOW, PAVO_OPF_REQUEST | PAVO_OPF_ONLY |		\
						    PAVO_OPF_WETH | PAVO_OPF_WRETH |		\
						    PAVO_OPF_PVO)				\
	O(svc, base, WINDOW_DONE,      0xc3, WINDOW, PAVO_OPF_REQUEST | PAVO_OPF_ONLY |		\
						    PAVO_OPF_WETH | PAVO_OPF_WRETH)		\
	O(svc, base, WINDOW_THIRD_READ, 0xc4, WINDOW, PAVO_OPF_REQUEST | PAVO_OPF_ONLY |	\
						    PAVO_OPF_WETH | PAVO_OPF_WRETH |		\
						    PAVO_OPF_PVO | PAVO_OPF_WTETH)		\
	O(svc, base, WINDOW_THIRD_DATA, 0xc5, WINDOW, PAVO_OPF_DATA | PAVO_OPF_ONLY |		\
						    PAVO_OPF_WETH | PAVO_OPF_WRETH |		\
						    PAVO_OPF_WTETH)

/* PAVO_QP_OPCODES - all opcodes of queue pairs; @O as above. */
#define PAVO_QP_OPCODES(O)						\
	PAVO_OPCODES_ALL(O, RC, 0x00, 0)				\
	PAVO_OPCODES_CONNECTED(O, RC, 0x00, 0)				\
	PAVO_OPCODES_RELIABLE(O, RC, 0x00, 0)				\
	PAVO_OPCODES_EXT(O, RC, 0x00, 0)				\
	PAVO_OPCODES_ALL(O, UC, 0x20, 0)				\
	PAVO_OPCODES_CONNECTED(O, UC, 0x20, 0)				\
	PAVO_OPCODES_ALL(O, UD, 0x60, PAVO_OPF_DETH)			\
	PAVO_OPCODES_ALL(O, XRC, 0xa0, PAVO_OPF_XRCETH)			\
	PAVO_OPCODES_CONNECTED(O, XRC, 0xa0, PAVO_OPF_XRCETH)		\
	PAVO_OPCODES_RELIABLE(O, XRC, 0xa0, PAVO_OPF_XRCETH)		\
	PAVO_OPCODES_EXT(O, XRC, 0x04, PAVO_OPF_XRCETH)			\
	PAVO_OPCODES_CNP(O, CNP, 0x00, 0)

/*
 * PAVO_REQUEST_KINDS - the kinds of requests of queue pairs: one for each handler at the responder.
 * @K: K(NAME, name): PAVO_KIND_NAME, carried out by pavo_execute_name()
 */
#define PAVO_REQUEST_KINDS(K)				\
	K(SEND,         send)				\
	K(WRITE,        write)				\
	K(READ,         read)				\
	K(ATOMIC,       atomic)				\
	K(ATOMIC_WRITE, atomic_write)			\
	K(FLUSH,        flush)				\
	K(IMM64,        imm64)

#ifndef __ASSEMBLER__

/* Operations of queue pairs: BTH opcodes without the bits of the service, PAVO_OP_NAME. */
enum pavo_bth_op {
#define OPCODE(svc, base, name, code, kind, flags) PAVO_OP_##name = (code),
	PAVO_OPCODES_ALL(OPCODE, 0, 0, 0)
	PAVO_OPCODES_CONNECTED(OPCODE, 0, 0, 0)
	PAVO_OPCODES_RELIABLE(OPCODE, 0, 0, 0)
	PAVO_OPCODES_EXT(OPCODE, 0, 0, 0)
	PAVO_OPCODES_CNP(OPCODE, 0, 0, 0)
};

/* BTH opcodes of windows: PAVO_OP_NAME. */
enum pavo_window_op {
	PAVO_OPCODES_WINDOW(OPCODE, 0, 0, 0)
#undef OPCODE
};

/* Kinds of packets (struct pavo_op_info.kind): PAVO_KIND_NAME. */
enum pavo_kind {
	PAVO_KIND_NONE,
	/*
	 * Reads and atomics: request or response. An atomic write and a flush are answered by an
	 * empty read response. The payload of IMM64 is eight bytes of immediate data.
	 */
#define KIND(NAME, name) PAVO_KIND_##NAME,
	PAVO_REQUEST_KINDS(KIND)
#undef KIND
	PAVO_KIND_ACK,
	PAVO_KIND_CNP,
	PAVO_KIND_WINDOW, /* for a window, not a queue pair */
	PAVO_KIND_COUNT,
};

/* Numbers of the flags of headers. */
enum pavo_op_header {
	PAVO_OPH_BEFORE = 3,
#define HEADER(NAME, name, more) PAVO_OPH_##NAME,
	PAVO_HEADERS(HEADER, 0)
#undef HEADER
};

/* Properties of an opcode (struct pavo_op_info.flags); PAVO_OPF_NAME: it has that header. */
enum pavo_op_flag {
	PAVO_OPF_REQUEST = 1 << 0, /* for the responder; else a response */
	PAVO_OPF_FIRST = 1 << 1, /* begins a message (First, Only) */
	PAVO_OPF_LAST = 1 << 2, /* ends a message (Last, Only) */
	PAVO_OPF_PAYLOAD = 1 << 3, /* may carry payload */
#define HEADER(NAME, name, more) PAVO_OPF_##NAME = 1 << PAVO_OPH_##NAME,
	PAVO_HEADERS(HEADER, 0)
#undef HEADER
	PAVO_OPF_DATA = PAVO_OPF_REQUEST | PAVO_OPF_PAYLOAD,
	PAVO_OPF_ONLY = PAVO_OPF_FIRST | PAVO_OPF_LAST,
};

/* Lengths of the headers, bytes: PAVO_NAME_LEN. */
enum pavo_header_len {
	PAVO_BTH_LEN = 12,
#define LEN_OF_NUMBER(bits, used, name, member) + (bits) / 8
#define LEN_OF_BYTES(bits, name, member) + (bits) / 8
#define LEN_OF_RESERVED(bits) + (bits) / 8
#define HEADER(NAME, name, more) \
	PAVO_##NAME##_LEN = 0 PAVO_##NAME##_FIELDS(LEN_OF_NUMBER, LEN_OF_BYTES, \
						   LEN_OF_RESERVED),
	PAVO_HEADERS(HEADER, 0)
#undef HEADER
#undef LEN_OF_RESERVED
#undef LEN_OF_BYTES
#undef LEN_OF_NUMBER
};

/** PAVO_HEADERS_LEN - bytes of BTH and the extension headers that @flags name; a constant. */
#define PAVO_HEADERS_LEN(flags) (PAVO_BTH_LEN PAVO_HEADERS(PAVO_LEN_IF, flags))
#define PAVO_LEN_IF(NAME, name, flags) \
	+ ((flags) & PAVO_OPF_##NAME ? PAVO_##NAME##_LEN : 0)

#endif /* __ASSEMBLER__ */

/* clang-format on */

#endif /* PAVO_WIRE_PACKETS_H */
