// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * xrc_faults.cpp - requests of XRC whose XrcSeg says what it must not: numbers
 * of more than 24 bits, of a queue that is not there, and none at all.
 */
#include <fcntl.h>
#include <memory>

#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

template <typename Object>
using Owned = std::unique_ptr<Object, int (*)(Object *)>;

Owned<ibv_xrcd> open_domain(Device &device)
{
	ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
						IBV_XRCD_INIT_ATTR_OFLAGS,
				   .fd = -1,
				   .oflags = O_CREAT};

	Owned<ibv_xrcd> xrcd(ibv_open_xrcd(device.context(), &attr),
			     ibv_close_xrcd);

	REQUIRE(xrcd, "ibv_open_xrcd: errno ", errno);
	return xrcd;
}

Owned<ibv_srq> make_queue(Device &device, ibv_xrcd *xrcd, ibv_cq *cq)
{
	ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC};

	attr.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
	attr.pd = device.pd();
	attr.xrcd = xrcd;
	attr.cq = cq;
	Owned<ibv_srq> srq(ibv_create_srq_ex(device.context(), &attr),
			   ibv_destroy_srq);

	REQUIRE(srq, "ibv_create_srq_ex: errno ", errno);
	return srq;
}

/* An initiator, @a, with its target, @b, and a queue with one receive. */
struct XrcPair {
	explicit XrcPair(Hostile &hostile)
		: xrcd(open_domain(hostile.b)),
		  a(hostile.a, {.type = IBV_QPT_XRC_SEND}),
		  b(hostile.b, {.type = IBV_QPT_XRC_RECV, .xrcd = xrcd.get()}),
		  queue(make_queue(hostile.b, xrcd.get(), b.recv_cq())),
		  source(hostile.a.pd(), 4096), sink(hostile.b.pd(), 4096)
	{
		REQUIRE_EQ(ibv_get_srq_num(queue.get(), &number), 0);
		a.connect(b, 1000);
		b.connect(a, 1000);
		receive(queue.get(), 70, sink, 1024);
		source.fill(1);
	}

	/* A send, whose body begins with @srqn. */
	Wqe send(uint32_t srqn) { return send({.srqn = srqn, .reserved = {}}); }

	Wqe send(const pavo_xrc_seg &segment)
	{
		return Wqe(PAVO_WQE_SEND)
			.add(segment)
			.add(pavo_data_seg{.byte_count = 64,
					   .lkey = source.lkey(),
					   .va = source.address()});
	}

	ibv_wc post(const Wqe &wqe)
	{
		RawSq(a).post(0, wqe, 0x1d);
		return a.sent();
	}

	Owned<ibv_xrcd> xrcd;
	End a, b;
	Owned<ibv_srq> queue;
	Memory source, sink;
	uint32_t number = 0;
};

void arrives(Hostile &hostile)
{
	XrcPair pair(hostile);
	ibv_wc wc = pair.post(pair.send(pair.number));

	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "vendor ", wc.vendor_err);
	wc = pair.b.received();
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
	REQUIRE_EQ(wc.wr_id, 70);
	REQUIRE(pair.sink.holds(1, 64));
	hostile.world.witness->testify();
}

/* No receive is taken, whichever side refused. */
void refused(Hostile &hostile, XrcPair &pair, const Wqe &wqe,
	     ibv_wc_status status, pavo_vendor_err vendor)
{
	ibv_wc wc = pair.post(wqe);

	REQUIRE_EQ(wc.status, status, "vendor ", wc.vendor_err);
	REQUIRE_EQ(wc.vendor_err, vendor);
	REQUIRE_EQ(wc.wr_id, 0x1d);
	REQUIRE_EQ(pair.a.state(), IBV_QPS_ERR);
	REQUIRE(!ibv_poll_cq(pair.b.recv_cq(), 1, &wc), "a receive completed");
	REQUIRE(!pair.sink.bytes()[0], "the other side was written to");
	hostile.world.witness->testify();
}

void too_large(Hostile &hostile, int bit)
{
	XrcPair pair(hostile);

	refused(hostile, pair, pair.send(pair.number | 1u << bit),
		IBV_WC_LOC_QP_OP_ERR, PAVO_VE_WQE_SEGMENT);
	REQUIRE_EQ(pair.b.state(), IBV_QPS_RTS);
}

void reserved(Hostile &hostile, int word)
{
	XrcPair pair(hostile);
	pavo_xrc_seg segment = {.srqn = pair.number, .reserved = {}};

	segment.reserved[word] = 0x80;
	refused(hostile, pair, pair.send(segment), IBV_WC_LOC_QP_OP_ERR,
		PAVO_VE_WQE_SEGMENT);
	REQUIRE_EQ(pair.b.state(), IBV_QPS_RTS);
}

void missing(Hostile &hostile)
{
	XrcPair pair(hostile);

	refused(hostile, pair, Wqe(PAVO_WQE_SEND), IBV_WC_LOC_QP_OP_ERR,
		PAVO_VE_WQE_SEGMENT);
}

void of_nobody(Hostile &hostile, uint32_t srqn)
{
	XrcPair pair(hostile);
	uint64_t naks = hostile.b.counter("rx_nak_sent_invalid_request");

	REQUIRE(srqn != pair.number, "the test's number");
	refused(hostile, pair, pair.send(srqn), IBV_WC_REM_INV_REQ_ERR,
		PAVO_VE_REMOTE_NAK);
	REQUIRE_EQ(pair.b.state(), IBV_QPS_ERR);
	expect_counted(hostile.b, "rx_nak_sent_invalid_request", naks);
}

} // namespace

void add_xrc_faults(Faults &faults)
{
	faults.add("XrcSeg: nothing wrong", arrives);
	for (int bit : {24, 25, 31})
		faults.add("XrcSeg: a number with bit " + std::to_string(bit),
			   too_large, bit);
	for (int word : {0, 1, 2})
		faults.add("XrcSeg: reserved word " + std::to_string(word),
			   reserved, word);
	faults.add("XrcSeg: there is none", missing);
	for (uint32_t srqn : {0u, 0xffffffu})
		faults.add(/* lint-words: a name */ "XrcSeg: nobody's number " +
				   std::to_string(srqn),
			   of_nobody, srqn);
}

} // namespace faults
