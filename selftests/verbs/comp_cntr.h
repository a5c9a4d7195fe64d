/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completion counters of the kernel (ibv_create_comp_cntr(3)), by methods of uverbs: libibverbs has
 * calls for them from rdma-core 65 on, and the kernel has them from Linux 7.3 on.
 */
#pragma once

#include "../common/comp_cntr_methods.h"
#include "link.h"
#include "local_host.h"
#include "method_call.h"
#include "tap.h"

namespace pv {

/* Capabilities of the device's counters. Throws Skip where the kernel has none. */
struct CounterCaps {
	explicit CounterCaps(const ibv_context &context)
	{
		std::vector<Attribute> attributes = {
			{0, 4, uint64_t(&counters)},
			{1, 8, uint64_t(&max_value)},
			{2, 4, uint64_t(&ops)}};
		const int error = call_method(context, UVERBS_OBJECT_DEVICE,
					      cntr::caps_method, attributes);

		if (error == EPROTONOSUPPORT || error == EOPNOTSUPP)
			throw Skip("the kernel has no completion counters");
		REQUIRE_EQ(error, 0, "QUERY_COMP_CNTR_CAPS");
	}

	uint32_t counters = 0;
	uint64_t max_value = 0;
	uint32_t ops = 0;
};

inline bool has_counters(const ibv_context &context)
{
	try {
		return CounterCaps(context).counters;
	} catch (const Skip &) {
		return false;
	}
}

/* A counter; it is destroyed with this, unless a queue pair has it then. */
class Counter {
public:
	explicit Counter(Host &host) : context_(*local(host).raw_pd(0)->context)
	{
		std::vector<Attribute> attributes = {{0, 0, 0}};

		CounterCaps caps(context_);
		REQUIRE_EQ(call_method(context_, cntr::object, cntr::create,
				       attributes),
			   0, "COMP_CNTR_CREATE");
		handle_ = attributes[0].value;
	}
	~Counter()
	{
		if (!gone_)
			(void)try_destroy();
	}
	Counter(const Counter &) = delete;

	/* Return: errno. */
	int try_destroy()
	{
		std::vector<Attribute> attributes = {{0, 0, handle_}};
		const int error = call_method(context_, cntr::object,
					      cntr::destroy, attributes);

		gone_ |= !error;
		return error;
	}

	int try_attach(const ibv_qp &qp, uint64_t ops)
	{
		std::vector<Attribute> attributes = {
			{0, 0, qp.handle}, {1, 0, handle_}, {2, 8, ops}};

		return call_method(context_, UVERBS_OBJECT_QP,
				   cntr::attach_method, attributes);
	}

	int try_change(uint64_t entry, uint64_t change, uint64_t value)
	{
		std::vector<Attribute> attributes = {{0, 0, handle_},
						     {1, 8, entry},
						     {2, 8, change},
						     {3, 8, value}};

		return call_method(context_, cntr::object, cntr::modify,
				   attributes);
	}

	void attach(Side &side, uint64_t ops)
	{
		REQUIRE_EQ(try_attach(*local(*side.host).raw_qp(side.qp.id),
				      ops),
			   0, "QP_ATTACH_COMP_CNTR");
	}

	uint64_t value(cntr::Entry entry = cntr::completed)
	{
		uint64_t value = 0;
		std::vector<Attribute> attributes = {{0, 0, handle_},
						     {1, 8, entry},
						     {2, 8, uint64_t(&value)}};

		REQUIRE_EQ(call_method(context_, cntr::object, cntr::read,
				       attributes),
			   0, "COMP_CNTR_READ");
		return value;
	}

private:
	const ibv_context &context_;
	uint64_t handle_ = 0;
	bool gone_ = false;
};

} // namespace pv
