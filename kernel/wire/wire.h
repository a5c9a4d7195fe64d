/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wire.h - interface of wire/: parses and builds headers of RoCEv2 packets (IBA volume 1 chapter 9,
 * annex A17).
 *
 * Pure functions over bytes: no kernel objects, no allocation, no locks. The
 * same C files are built into the unit tests in user space.
 */
#ifndef PAVO_WIRE_H
#define PAVO_WIRE_H

#include <linux/stddef.h>
#include <linux/types.h>
#include "packets.h"
#include "psn.h"

/** UDP destination port of RoCEv2 (IANA). */
#define PAVO_UDP_PORT 4791
#define PAVO_ICRC_LEN 4
/** BTH and the longest extension headers of an opcode. */
#define PAVO_MAX_HDR_LEN                                                \
	(PAVO_BTH_LEN + PAVO_WETH_LEN + PAVO_WRETH_LEN + PAVO_PVO_LEN + \
	 PAVO_WTETH_LEN)
#define PAVO_QPN_MASK 0xffffffu
/** The P_Key that every port has: full member of the default partition (IBA 10.9.1) */
#define PAVO_PKEY_DEFAULT 0xffffu

/* BTH opcodes: service in the upper 3 bits, operation in the lower 5. */
enum pavo_service {
	PAVO_SVC_RC = 0x00,
	PAVO_SVC_UC = 0x20,
	PAVO_SVC_UD = 0x60,
	PAVO_SVC_XRC = 0xa0, /* annex A14 */
	PAVO_SVC_MASK = 0xe0,
};

/** Service bits of opcodes of extended operations, on RC and on XRC. */
#define PAVO_SVC_EXT 0xe0
/** Bit that is set in these opcodes on XRC. */
#define PAVO_EXT_XRC 0x04

/** pavo_opcode_make - return the opcode of an operation on a service (enum pavo_service). */
static inline u8 pavo_opcode_make(u8 service, u8 op)
{
	if ((op & PAVO_SVC_MASK) != PAVO_SVC_EXT)
		return service | op;
	return service == PAVO_SVC_XRC ? op | PAVO_EXT_XRC : op;
}

/** pavo_opcode_get_service - return the service of an opcode of queue pairs. */
static inline u8 pavo_opcode_get_service(u8 opcode)
{
	if ((opcode & PAVO_SVC_MASK) != PAVO_SVC_EXT)
		return opcode & PAVO_SVC_MASK;
	return opcode & PAVO_EXT_XRC ? PAVO_SVC_XRC : PAVO_SVC_RC;
}

/* AOpCode of an extended atomic request (sources.md#ext-request). */
enum pavo_aop {
	PAVO_AOP_FETCH_ADD = 0,
	PAVO_AOP_SWAP = 1,
	PAVO_AOP_CMP_SWAP = 2,
};

/**
 * struct pavo_op_info - one row of the opcode table.
 * @flags:   enum pavo_op_flag
 * @kind:    enum pavo_kind
 * @hdr_len: BTH and extension headers, bytes; 0: no such opcode
 */
struct pavo_op_info {
	u32 flags;
	u8 kind;
	u8 hdr_len;
};

/** pavo_op_table - a row for each BTH opcode. */
extern const struct pavo_op_info pavo_op_table[256];

/** pavo_opcode_get_info - return the row of a BTH opcode; NULL: unknown to pavo. */
static inline const struct pavo_op_info *pavo_opcode_get_info(u8 opcode)
{
	const struct pavo_op_info *info = &pavo_op_table[opcode];

	return info->hdr_len ? info : NULL;
}

/*
 * Bits of a FETH: the placement types that are requested, of which two are defined, and the
 * selectivity level: a range of the region, or all of it. The values of PAVO_FLUSH_*.
 */
enum pavo_feth {
	PAVO_FETH_GLOBAL = 0x01,
	PAVO_FETH_PERSISTENT = 0x02,
	PAVO_FETH_TYPES = 0x0f,
	PAVO_FETH_REGION = 0x10,
	PAVO_FETH_LEVEL = 0x30,
};

/** pavo_feth_is_valid - true if the bits name a placement type and a level, and none undefined. */
static inline bool pavo_feth_is_valid(u32 feth)
{
	const u32 types = PAVO_FETH_GLOBAL | PAVO_FETH_PERSISTENT;

	return feth & types && !(feth & ~(types | PAVO_FETH_REGION));
}

/* AETH syndrome (IBA 9.7.5.2): class in bits 7..5, value in bits 4..0. */
enum pavo_aeth {
	PAVO_AETH_CLASS = 0xe0,
	PAVO_AETH_ACK = 0x00,
	PAVO_AETH_RNR = 0x20,
	PAVO_AETH_NAK = 0x60,
	PAVO_AETH_VALUE = 0x1f,
	/* ACK without end-to-end credits: the responder sets no limit */
	PAVO_AETH_ACK_UNLIMITED = 0x1f,
	PAVO_NAK_PSN_SEQ = 0x60,
	PAVO_NAK_INV_REQ = 0x61,
	PAVO_NAK_REM_ACCESS = 0x62,
	PAVO_NAK_REM_OP = 0x63,
};

/** Bits of the number of transmissions of a packet that it carries, and that a SACK echoes. */
#define PAVO_ATTEMPT_MASK 0x3fu

/** One so many generations before another is older than that, and than those that follow soon. */
#define PAVO_GENERATION_PAST 16u

/*
 * How much newer generation @a of a read's data is than @b. It is in the place of the number of
 * transmissions in a response, and wraps likewise.
 */
static inline int pavo_generation_diff(u8 a, u8 b)
{
	return (s8)((u8)(a - b) << 2) >> 2;
}

/** PSNs in the map of a SACK. */
#define PAVO_SACK_PSNS 256u
/** Most packets that a SACK says there is space for; more are enough. */
#define PAVO_SACK_SPACE_MAX 254u

/**
 * struct pavo_sack - a selective acknowledgment. Its BTH has the PSN before the expected one, which
 * all is acknowledged up to, as that of an ACK.
 * @dups:    requests without a response that came more than once, modulo 2^16
 * @from:    where @map begins, in words: 64 PSNs
 * @attempt: of the request that came last: how often it was sent before, modulo 2^6
 * @space:   1 + how many packets the responder could hold besides those of @map; 0: enough, or
 *           it does not say
 * @echo:    PSN of that request, or that of its last packet
 * @map:     PSNs that the responder holds: bit n of @map[i] is 64 * (@from + i) + n behind the
 *           expected one
 */
struct pavo_sack {
	u16 dups;
	u8 from;
	u8 attempt;
	u8 space;
	u32 echo;
	u64 map[PAVO_SACK_PSNS / 64];
};

/**
 * struct pavo_wreth - RDMA between windows (sources.md#windows-write).
 * @rcxt:      rCxt of the window that the packet is for
 * @peer_rcxt: rCxt of the window that it comes from
 * @tid:       transaction id
 * @pvo:       where the payload goes; in a request for data: where the data is
 * @total:     bytes of the whole operation
 * @fragment:  number of the packet in the operation, from 0
 * @tag:       value from the process that began the operation; both ends get it when that ends
 * @attempts:  number of tids since the first attempt at the operation
 * @flags:     enum pavo_rdma_flag
 * @status:    enum pavo_pvo_result, in a packet that ends the operation
 * @back_pvo:  in a request for data: where the data goes
 * @third_node:   WTETH: in a request, the end that the data goes to; in data, the end that
 *                requested it
 * @third_window: likewise
 * @third_rcxt:   likewise
 */
struct pavo_wreth {
	u32 rcxt;
	u32 peer_rcxt;
	u64 tid;
	u64 pvo;
	u32 total;
	u32 fragment;
	u32 tag;
	u16 attempts;
	u8 flags;
	u8 status;
	u64 back_pvo;
	u16 third_node;
	u32 third_window;
	u32 third_rcxt;
};

/**
 * struct pavo_pkt - the headers of a packet, in host byte order.
 *
 * After parsing, only the fields of headers that the opcode has are defined; building uses
 * only these.
 *
 * @info:    row of the opcode table; set by parse, not needed by build
 * @opcode:  BTH opcode
 * @pad:     PadCnt, 0..3
 * @solicited: BTH: SE
 * @ack_req: BTH: A
 * @wants_sack: BTH, a bit that IBA reserves: the sender understands SACKs
 * @attempt: BTH, bits that IBA reserves, modulo 2^6. A request: how often it was sent before; a
 *           read response: generation of its data; others: how many requests came with a mark
 * @fecn:    BTH: congestion mark
 * @becn:    BTH: likewise
 * @pkey:    partition key
 * @dqpn:    destination QP, 24 bits
 * @psn:     24 bits
 * @payload: payload bytes without pad and ICRC (set by parse only)
 * @npkts:   number of packets: 1, or more in a GSO super-packet; set to 1 by parse, not read by
 *           build
 * @feth:    FETH: enum pavo_feth, 6 bits
 * @va:      RETH, AtomicETH, ExtAtomicETH
 * @rkey:    likewise
 * @dma_len: RETH
 * @swap_add: AtomicETH, ExtAtomicETH
 * @compare: likewise
 * @swap_add_mask: ExtAtomicETH
 * @compare_mask: likewise
 * @request_id: ExtAtomicETH, ExtAtomicAckETH
 * @aop:     ExtAtomicETH: enum pavo_aop, 4 bits
 * @atomic_orig: AtomicAckETH, ExtAtomicAckETH
 * @syndrome: AETH
 * @msn:     AETH
 * @sack:    SACKETH
 * @imm:     immediate data, network order as user space sees it
 * @inv_rkey: IETH
 * @qkey:    DETH
 * @sqpn:    DETH
 * @srqn:    XRCETH, 24 bits
 * @window_key: WETH
 * @src_node: WETH
 * @kind:    WETH
 * @src_window: WETH, 24 bits
 * @rdma:    WRETH
 */
struct pavo_pkt {
	const struct pavo_op_info *info;
	u8 opcode;
	u8 pad;
	bool solicited;
	bool ack_req;
	bool wants_sack;
	u8 attempt;
	bool fecn;
	bool becn;
	u16 pkey;
	u32 dqpn;
	u32 psn;
	u32 payload;
	u32 npkts;
	u8 feth;
	u64 va;
	u32 rkey;
	u32 dma_len;
	u64 swap_add;
	u64 compare;
	u64 swap_add_mask;
	u64 compare_mask;
	u32 request_id;
	u8 aop;
	u64 atomic_orig;
	u8 syndrome;
	u32 msn;
	struct pavo_sack sack;
	__be32 imm;
	u32 inv_rkey;
	u32 qkey;
	u32 sqpn;
	u32 srqn;
	u64 window_key;
	u16 src_node;
	u8 kind;
	u32 src_window;
	struct pavo_wreth rdma;
};

/** pavo_pkey_matches - true if both are of one partition, and one is a full member (IBA 10.9.3). */
static inline bool pavo_pkey_matches(u16 a, u16 b)
{
	return !((a ^ b) & 0x7fff) && ((a | b) & 0x8000);
}

/* Results of pavo_parse(). */
enum pavo_parse_status {
	PAVO_PARSE_OK = 0,
	PAVO_PARSE_SHORT, /* ends inside its headers, pad or ICRC */
	PAVO_PARSE_VERSION, /* transport header version not 0 */
	PAVO_PARSE_OPCODE, /* opcode unknown */
	PAVO_PARSE_SURPLUS, /* payload where the opcode has none */
};

/**
 * pavo_parse - parse the headers of a packet.
 * @pkt:   result
 * @hdr:   first bytes behind the UDP header
 * @avail: number of bytes at @hdr. Longer headers are PAVO_PARSE_SHORT; min(@len,
 *         PAVO_MAX_HDR_LEN) bytes are always enough
 * @len:   length of the UDP payload, headers to ICRC
 *
 * MigReq and all reserved fields are ignored (IBA 9.2).
 */
enum pavo_parse_status pavo_parse(struct pavo_pkt *pkt, const u8 *hdr,
				  unsigned int avail, unsigned int len);

/** pavo_peek_qpn - return the destination QP of a BTH. */
u32 pavo_peek_qpn(const u8 *bth);

/**
 * pavo_build - write BTH and extension headers.
 * @hdr: at least PAVO_MAX_HDR_LEN bytes
 * @pkt: with all fields of the headers that its opcode has
 *
 * MigReq is sent as 1 (migrated), which is right for a port without path migration
 * (IBA 17.2.8).
 *
 * Return: length of the headers, 0 if the opcode is unknown.
 */
unsigned int pavo_build(u8 *hdr, const struct pavo_pkt *pkt);

/** pavo_gso_is_allowed - true if messages with @opcode may have many packets. */
bool pavo_gso_is_allowed(u8 opcode);

/**
 * pavo_gso_segment_head - write the headers of one packet of a super-packet.
 * @hdr: at least PAVO_MAX_HDR_LEN bytes
 * @gso: headers of the super-packet, with npkts
 * @i:   index of the packet, 0 .. npkts - 1
 *
 * AckReq, solicited event and pad go to the last packet.
 *
 * Return: as pavo_build().
 */
unsigned int pavo_gso_segment_head(u8 *hdr, const struct pavo_pkt *gso, u32 i);

/* pavo_gso_count_many - pavo_gso_count_bytes() of two packets or more. */
u32 pavo_gso_count_many(const struct pavo_pkt *gso, u32 payload);

/**
 * pavo_gso_count_bytes - return the bytes behind the UDP headers of all packets of a super-packet.
 * @gso:     headers of the super-packet, or of one packet, with npkts
 * @payload: bytes of payload
 */
static inline u32 pavo_gso_count_bytes(const struct pavo_pkt *gso, u32 payload)
{
	if (gso->npkts > 1)
		return pavo_gso_count_many(gso, payload);
	return pavo_opcode_get_info(gso->opcode)->hdr_len + payload + gso->pad +
	       PAVO_ICRC_LEN;
}

/**
 * pavo_gso_append - append a packet to a super-packet, if it is the next one of the message.
 * @gso:  headers of the super-packet so far, or of one packet; its npkts packets have @unit bytes
 *        each. Updated
 * @unit: bytes of payload of each packet
 * @next: headers of the packet
 *
 * The headers of @gso keep their length, so Last with Immediate, or with an AETH behind Middle, is
 * not appended. The peer waits for the response to a packet with AckReq, so none is appended to it.
 *
 * Return: 0; -EINVAL: it is not the next packet, or cannot be appended.
 */
int pavo_gso_append(struct pavo_pkt *gso, u32 unit,
		    const struct pavo_pkt *next);

/**
 * pavo_gso_skip - remove the first packets from a super-packet.
 * @gso:  headers of the super-packet; updated
 * @unit: bytes of payload of each packet
 * @n:    number of packets to remove, fewer than it has
 */
void pavo_gso_skip(struct pavo_pkt *gso, u32 unit, u32 n);

/** pavo_gso_may_grow - true if another packet may be appended. */
bool pavo_gso_may_grow(const struct pavo_pkt *gso);

/** Most bytes that pavo_icrc_build_head() writes: 8 + IPv6 40 + UDP 8 + BTH 12. */
#define PAVO_ICRC_HEAD_MAX 68

/** pavo_mtu_to_bytes - return the bytes of an IB MTU code 1..5 (256..4096); 0: invalid. */
static inline unsigned int pavo_mtu_to_bytes(int code)
{
	return code >= 1 && code <= 5 ? 128u << code : 0;
}

/**
 * pavo_rnr_ns - return the delay of an RNR NAK's 5-bit timer field, in ns (IBA table 45: 0 is
 * 655.36 ms, 1 is 10 us, 31 is 491.52 ms).
 * @code: the field
 */
u64 pavo_rnr_ns(u8 code);

/** pavo_timeout_to_ns - return 4.096 us * 2^code in ns, code 1..31 (IBA 9.9.2.1); 0 for 0. */
static inline u64 pavo_timeout_to_ns(u8 code)
{
	return code ? 4096ull << (code & 31) : 0;
}

#include "icrc.h"

#endif /* PAVO_WIRE_H */
