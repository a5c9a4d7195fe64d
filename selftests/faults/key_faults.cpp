// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * key_faults.cpp - WQEs that change keys, with wrong values: binds of windows
 * and invalidations.
 */
#include <memory>

#include "fault.h"

namespace faults {
namespace {

constexpr size_t SIZE = 8192;

/* A region that windows can show, and a window. */
struct Shown {
	Shown(ibv_pd *pd, ibv_mw_type type)
		: memory(pd, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		  window(ibv_alloc_mw(pd, type), ibv_dealloc_mw)
	{
		REQUIRE(window);
	}

	Memory memory;
	std::unique_ptr<ibv_mw, int (*)(ibv_mw *)> window;
};

/* The same in a domain of its own. */
struct Foreign {
	Foreign(ibv_context *context, ibv_mw_type type)
		: pd(ibv_alloc_pd(context), ibv_dealloc_pd),
		  shown(pd.get(), type)
	{
	}

	std::unique_ptr<ibv_pd, int (*)(ibv_pd *)> pd;
	Shown shown;
};

pavo_bind_seg good_bind(const Memory &memory, const ibv_mw &window)
{
	return {.va = memory.address(),
		.length = SIZE,
		.mw_rkey = window.rkey,
		.new_rkey = ibv_inc_rkey(window.rkey),
		.mr_lkey = memory.lkey(),
		.access = IBV_ACCESS_REMOTE_WRITE};
}

Wqe empty_bind(Pair &)
{
	return Wqe(PAVO_WQE_BIND_MW).add(pavo_bind_seg{});
}

Wqe invalidation(Pair &)
{
	return Wqe(PAVO_WQE_LOCAL_INV);
}

/* Makes the WQE a correct bind, then lets @spoil have it. */
auto bind(std::function<void(pavo_bind_seg &, Shown &)> spoil)
{
	return [spoil](Attempt &a) {
		auto shown = std::make_shared<Shown>(a.pair.a.device().pd(),
						     IBV_MW_TYPE_2);
		auto &seg = a.wqe.at<pavo_bind_seg>(1);

		seg = good_bind(shown->memory, *shown->window);
		spoil(seg, *shown);
		a.kept.push_back(shown);
	};
}

/* Queue pair, window and region are of one domain (IBA C10-72); one of two is not. */
auto bind_across(ibv_mw_type type, bool foreign_window, bool foreign_region)
{
	return [=](Attempt &a) {
		Device &device = a.pair.a.device();
		auto own = std::make_shared<Shown>(device.pd(), type);
		auto other = std::make_shared<Foreign>(device.context(), type);

		a.wqe.at<pavo_bind_seg>(1) = good_bind(
			(foreign_region ? other->shown : *own).memory,
			*(foreign_window ? other->shown : *own).window);
		a.kept.push_back(own);
		a.kept.push_back(other);
	};
}

void add_domains(Faults &faults)
{
	struct {
		const char *what;
		ibv_mw_type type;
		bool window, region;
	} list[] = {
		{"type 1, another domain's region", IBV_MW_TYPE_1, false, true},
		{"type 1, another domain's window", IBV_MW_TYPE_1, true, false},
		{"type 1, both of another domain", IBV_MW_TYPE_1, true, true},
		{"type 2, another domain's region", IBV_MW_TYPE_2, false, true},
		{"type 2, another domain's window", IBV_MW_TYPE_2, true, false},
		{"type 2, both of another domain", IBV_MW_TYPE_2, true, true},
	};

	for (auto &entry : list)
		add_fault(faults, std::string("BindSeg: ") + entry.what,
			  empty_bind, PAVO_VE_MW_BIND,
			  bind_across(entry.type, entry.window, entry.region),
			  IBV_WC_MW_BIND_ERR);
}

void add_binds(Faults &faults)
{
	struct {
		const char *what;
		std::function<void(pavo_bind_seg &, Shown &)> spoil;
		pavo_vendor_err vendor;
	} list[] = {
		{"nothing wrong", [](auto &, auto &) {}, PAVO_VE_NONE},
		{"window 0", [](auto &seg, auto &) { seg.mw_rkey = 0; },
		 PAVO_VE_MW_BIND},
		{"window ffffffff",
		 [](auto &seg, auto &) { seg.mw_rkey = ~0u; }, PAVO_VE_MW_BIND},
		{"a region as the window",
		 [](auto &seg, auto &) { seg.mw_rkey = seg.mr_lkey; },
		 PAVO_VE_MW_BIND},
		{"no length", [](auto &seg, auto &) { seg.length = 0; },
		 PAVO_VE_MW_BIND},
		{"region 0", [](auto &seg, auto &) { seg.mr_lkey = 0; },
		 PAVO_VE_LKEY},
		{"region ffffffff",
		 [](auto &seg, auto &) { seg.mr_lkey = ~0u; }, PAVO_VE_LKEY},
		{"the window as its own region",
		 [](auto &seg, auto &) { seg.mr_lkey = seg.mw_rkey; },
		 PAVO_VE_LKEY},
		{"one byte before", [](auto &seg, auto &) { seg.va--; },
		 PAVO_VE_MW_RANGE},
		{"one byte too long", [](auto &seg, auto &) { seg.length++; },
		 PAVO_VE_MW_RANGE},
		{"an address that wraps",
		 [](auto &seg, auto &) { seg.va = ~0ull - 10; },
		 PAVO_VE_MW_RANGE},
		{"a length that wraps",
		 [](auto &seg, auto &) { seg.length = ~0ull - seg.va + 10; },
		 PAVO_VE_MW_RANGE},
		{"all rights there are",
		 [](auto &seg, auto &) { seg.access = ~0u; }, PAVO_VE_MW_RANGE},
	};

	for (auto &entry : list) {
		bool good = entry.vendor == PAVO_VE_NONE;

		add_fault(faults, std::string("BindSeg: ") + entry.what,
			  empty_bind, entry.vendor, bind(entry.spoil),
			  good ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR);
	}
	add_fault(faults, "BindSeg: missing", empty_bind, PAVO_VE_WQE_SEGMENT,
		  [](Attempt &a) { a.doorbell.size = 1; });
	add_fault(faults, "BindSeg: half of it", empty_bind,
		  PAVO_VE_WQE_SEGMENT, [](Attempt &a) { a.doorbell.size = 2; });
	add_fault(faults, "BindSeg: for a fast registration", empty_bind,
		  PAVO_VE_WQE_OPCODE,
		  [](Attempt &a) { a.doorbell.op = PAVO_WQE_REG_MR; });
}

void add_invalidations(Faults &faults)
{
	struct {
		const char *what;
		std::function<uint32_t(Pair &)> key;
		pavo_vendor_err vendor;
	} list[] = {
		{"key 0", [](Pair &) { return 0u; }, PAVO_VE_LKEY},
		{"key ffffffff", [](Pair &) { return ~0u; }, PAVO_VE_LKEY},
		{"a region", [](Pair &pair) { return pair.source.rkey(); },
		 PAVO_VE_LKEY_ACCESS},
		{"a region by another tag",
		 [](Pair &pair) { return pair.source.rkey() ^ 1; },
		 PAVO_VE_LKEY},
	};

	for (auto &entry : list)
		add_fault(
			faults, std::string("LOCAL_INV: ") + entry.what,
			invalidation, entry.vendor,
			[entry](Attempt &a) {
				a.wqe.next().imm = entry.key(a.pair);
			},
			IBV_WC_MW_BIND_ERR);
	add_fault(
		faults, "LOCAL_INV: with a data entry",
		[](Pair &pair) { return good_send(pair); }, PAVO_VE_WQE_SEGMENT,
		[](Attempt &a) { a.doorbell.op = PAVO_WQE_LOCAL_INV; });
}

} // namespace

void add_key_faults(Faults &faults)
{
	add_binds(faults);
	add_domains(faults);
	add_invalidations(faults);
}

} // namespace faults
