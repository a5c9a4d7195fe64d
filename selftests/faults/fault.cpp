// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fault.cpp - see fault.h: one hostile WQE alone on a fresh QP. It has to
 * complete with the exact reason, take its QP to Error, write nothing to the
 * other side and disturb no other pair.
 */
#include "fault.h"

#include <algorithm>

#include "../common/eventually.h"

namespace faults {

ibv_wc_status status_of(pavo_vendor_err vendor)
{
	switch (vendor) {
	case PAVO_VE_NONE:
		return IBV_WC_SUCCESS;
	case PAVO_VE_FLUSHED:
		return IBV_WC_WR_FLUSH_ERR;
	case PAVO_VE_WQE_LENGTH:
		return IBV_WC_LOC_LEN_ERR;
	case PAVO_VE_LKEY:
	case PAVO_VE_LKEY_PD:
	case PAVO_VE_LKEY_ACCESS:
	case PAVO_VE_LKEY_RANGE:
		return IBV_WC_LOC_PROT_ERR;
	default:
		return IBV_WC_LOC_QP_OP_ERR;
	}
}

void expect_counted(const Device &device, const std::string &name,
		    uint64_t before)
{
	REQUIRE(common::eventually([&] { return device.counter(name) > before; },
				   std::chrono::seconds(patience)),
		name, " stays at ", before);
}

static void run_fault(Hostile &hostile, const std::function<Wqe(Pair &)> &base,
		      pavo_vendor_err vendor,
		      const std::function<void(Attempt &)> &spoil,
		      ibv_wc_status status, QpSize size)
{
	Pair pair(hostile.a, hostile.b, size);
	RawSq sq(pair.a);
	Wqe wqe = base(pair);
	Attempt attempt{.pair = pair,
			.wqe = wqe,
			.doorbell = sq.doorbell(0, wqe),
			.sq = sq};
	constexpr uint64_t id = 0x1d;

	spoil(attempt);
	sq.place(0, attempt.wqe);
	sq.ring(attempt.doorbell, 1, id);

	ibv_wc wc = pair.a.sent();

	REQUIRE_EQ(wc.status, status, ibv_wc_status_str(wc.status), ", vendor ",
		   wc.vendor_err);
	REQUIRE_EQ(wc.vendor_err, vendor);
	REQUIRE_EQ(wc.wr_id, id);
	REQUIRE_EQ(wc.qp_num, pair.a.qp()->qp_num);
	if (status != IBV_WC_SUCCESS) {
		REQUIRE_EQ(pair.a.state(), IBV_QPS_ERR);
		REQUIRE(std::all_of(pair.sink.bytes(),
				    pair.sink.bytes() + pair.sink.size(),
				    [](uint8_t byte) { return !byte; }),
			"the other side was written to");
	}
	REQUIRE(!ibv_poll_cq(pair.a.send_cq(), 1, &wc), "a second completion");
	hostile.world.witness->testify();
}

void add_fault(Faults &faults, const std::string &name,
	       std::function<Wqe(Pair &)> base, pavo_vendor_err vendor,
	       std::function<void(Attempt &)> spoil, ibv_wc_status status,
	       QpSize size)
{
	if (!status)
		status = status_of(vendor);
	faults.add(name, run_fault, std::move(base), vendor, std::move(spoil),
		   status, size);
}

} // namespace faults
