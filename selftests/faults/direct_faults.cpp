// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_faults.cpp - doorbells that come with the call that arms a range of a direct window.
 * One that is refused leaves the range as it was.
 */
#include <cerrno>

#include "pavo_dv_direct.h"

#include "../../userspace/common/command.hpp"
#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

constexpr uint32_t range = 1, bytes = 64;

/* A window of the hostile device and a pair there. */
struct Armed {
	Pair pair;
	RawSq sq;
	pavodv_direct window = {};

	explicit Armed(Hostile &hostile)
		: pair(hostile.a, hostile.b), sq(pair.a)
	{
		const pavodv_direct_attr shape = {0, 2, 4096, 2};
		int err = pavodv_direct_open(hostile.a.pd(), &shape, &window);

		if (err == EOPNOTSUPP)
			throw common::Skip("no direct windows");
		REQUIRE_EQ(err, 0, "window");
	}
	~Armed() { pavodv_direct_close(&window); }
	Armed(const Armed &) = delete;

	/* Return: 0 or errno. */
	int arm(uint64_t doorbell) const
	{
		const pavo_direct_arm_args args = {range, bytes, 0, 0};

		return pavo::Command(PAVO_OBJECT_DIRECT, PAVO_METHOD_DIRECT_ARM)
			.handle(PAVO_ATTR_DIRECT_HANDLE, window.handle)
			.in(PAVO_ATTR_DIRECT_ARM_ARGS, args)
			.in(PAVO_ATTR_DIRECT_DOORBELL, doorbell)
			.run(window.context->cmd_fd);
	}
	bool is_armed() const { return window.registers[range].bus_valid; }

	/* A write from the range. */
	Wqe direct_write()
	{
		const pavo_data_seg from = {
			.byte_count = bytes,
			.lkey = window.lkey,
			.va = pavodv_direct_address(&window, range, 0)};
		const pavo_raddr_seg to = {.va = pair.sink.address(),
					   .rkey = pair.sink.rkey(),
					   .length = bytes};

		return Wqe(PAVO_WQE_WRITE).add(to).add(from);
	}
	void fill(uint8_t value)
	{
		memset(static_cast<uint8_t *>(window.memory) +
			       range * window.range_size,
		       value, bytes);
		REQUIRE_EQ(pavodv_direct_count(&window, range, bytes), 0);
	}
	void must_hold(uint8_t value)
	{
		for (uint32_t i = 0; i < bytes; i++)
			REQUIRE_EQ(int(pair.sink.bytes()[i]), int(value));
	}
};

void refuse(Hostile &hostile, uint32_t qpn, const std::string &counter)
{
	Armed armed(hostile);
	Wqe wqe = armed.direct_write();
	Doorbell doorbell = armed.sq.doorbell(0, wqe);
	const uint64_t before = hostile.a.counter(counter);

	armed.sq.place(0, wqe);
	doorbell.qpn = qpn;
	REQUIRE_EQ(armed.arm(doorbell.pack()), EINVAL);
	expect_counted(hostile.a, counter, before);
	REQUIRE(!armed.is_armed());

	/* Its own number works. */
	REQUIRE_EQ(pavodv_skip_send(armed.pair.a.qp(), 1, 9), 0);
	REQUIRE_EQ(armed.arm(armed.sq.doorbell(0, wqe).pack()), 0);
	REQUIRE(armed.is_armed());
	armed.fill(7);
	REQUIRE_EQ(armed.pair.a.sent().status, IBV_WC_SUCCESS);
	armed.must_hold(7);
	hostile.world.witness->testify();
}

void refuse_other_context(Hostile &hostile)
{
	Device other(hostile.world.name_a);
	End end(other);

	refuse(hostile, end.qp()->qp_num, "db_foreign_qp");
}

void refuse_not_ready(Hostile &hostile)
{
	End end(hostile.a);

	refuse(hostile, end.qp()->qp_num, "db_bad_state");
}

/* A doorbell waits in the ring; its WQE is the first of the queue. */
void keep_order(Hostile &hostile)
{
	Armed armed(hostile);
	Wqe first = good_write(armed.pair, bytes),
	    second = armed.direct_write();

	armed.pair.source.fill(3);
	armed.sq.place(0, first);
	armed.sq.place(1, second);
	REQUIRE_EQ(pavodv_skip_send(armed.pair.a.qp(), 1, 11), 0);
	REQUIRE_EQ(pavodv_ring(hostile.a.context(),
			       armed.sq.doorbell(0, first).pack()),
		   0);
	REQUIRE_EQ(pavodv_skip_send(armed.pair.a.qp(), 1, 12), 0);
	REQUIRE_EQ(armed.arm(armed.sq.doorbell(1, second).pack()), 0);
	/* No kick came. */
	ibv_wc wc = armed.pair.a.sent();

	REQUIRE_EQ(wc.wr_id, 11u);
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
	REQUIRE(armed.pair.sink.holds(3, bytes));
	armed.fill(9);
	wc = armed.pair.a.sent();
	REQUIRE_EQ(wc.wr_id, 12u);
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
	armed.must_hold(9);
	hostile.world.witness->testify();
}

/* The range is armed, and the queue pair finds no request there. */
void point_nowhere(Hostile &hostile)
{
	Armed armed(hostile);
	Wqe wqe = armed.direct_write();
	Doorbell doorbell = armed.sq.doorbell(0, wqe);

	doorbell.units = PAVO_DB_OFFSET_MAX;
	REQUIRE_EQ(pavodv_skip_send(armed.pair.a.qp(), 1, 0), 0);
	REQUIRE_EQ(armed.arm(doorbell.pack()), 0);
	REQUIRE_EQ(armed.pair.a.sent().vendor_err, PAVO_VE_WQE_OFFSET);
	REQUIRE(armed.is_armed());
	REQUIRE_EQ(pavodv_direct_disarm(&armed.window, range), 0);
	hostile.world.witness->testify();
}

} // namespace

void add_direct_faults(Faults &faults)
{
	faults.add("doorbell by arming: QP 0", refuse, 0, "db_bad_qpn");
	faults.add("doorbell by arming: the kernel's QP 1", refuse, 1,
		   "db_foreign_qp");
	faults.add("doorbell by arming: a QP of another context",
		   refuse_other_context);
	faults.add("doorbell by arming: a QP in RESET", refuse_not_ready);
	faults.add("doorbell by arming: no WQE there", point_nowhere);
	faults.add("doorbell by arming: behind those of the ring", keep_order);
}

} // namespace faults
