// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended completion queues: what they tell, their clock, moderated events.
 */
#include <cerrno>
#include <ctime>

#include <arpa/inet.h>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint64_t all_fields =
	uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
	IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

/* The fields of one completion of an extended CQ. */
struct Entry {
	uint64_t id;
	ibv_wc_status status;
	ibv_wc_opcode opcode;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t qp_number;
	uint32_t vendor_err;
	unsigned flags;
	uint64_t stamp;
	uint64_t wallclock;
};

uint64_t now_ns(clockid_t clock)
{
	timespec ts = {};

	clock_gettime(clock, &ts);
	return uint64_t(ts.tv_sec) * 1000000000 + uint64_t(ts.tv_nsec);
}

ibv_cq_init_attr_ex attributes(uint32_t depth)
{
	ibv_cq_init_attr_ex attr = {.cqe = depth, .wc_flags = all_fields};

	return attr;
}

Cq make_extended(Host &host, ibv_cq_init_attr_ex attr, bool events = false)
{
	LocalHost &here = local(host);

	return here.make_cq(
		[&](ibv_comp_channel *channel, void *id) -> ibv_cq * {
			attr.channel = channel;
			attr.cq_context = id;
			ibv_cq_ex *cq = ibv_create_cq_ex(here.context(), &attr);

			return cq ? ibv_cq_ex_to_cq(cq) : nullptr;
		},
		events);
}

/* The CQ as an extended one; libibverbs has no call for that way. */
ibv_cq_ex *extended(Host &host, const Cq &cq)
{
	return reinterpret_cast<ibv_cq_ex *>(local(host).raw_cq(cq.id));
}

Entry read_entry(ibv_cq_ex *cq)
{
	return {cq->wr_id,
		cq->status,
		ibv_wc_read_opcode(cq),
		ibv_wc_read_byte_len(cq),
		ntohl(ibv_wc_read_imm_data(cq)),
		ibv_wc_read_qp_num(cq),
		ibv_wc_read_vendor_err(cq),
		ibv_wc_read_wc_flags(cq),
		ibv_wc_read_completion_ts(cq),
		ibv_wc_read_completion_wallclock_ns(cq)};
}

/* One batch of whatever is there, `most` at most. */
std::vector<Entry> batch(ibv_cq_ex *cq, size_t most)
{
	ibv_poll_cq_attr attr = {};
	std::vector<Entry> found;
	int error = ibv_start_poll(cq, &attr);

	if (error) {
		REQUIRE_EQ(error, ENOENT, "ibv_start_poll");
		return found;
	}
	while (!error) {
		found.push_back(read_entry(cq));
		if (found.size() == most)
			break;
		error = ibv_next_poll(cq);
	}
	ibv_end_poll(cq);
	REQUIRE(!error || error == ENOENT, "ibv_next_poll: ", error);
	return found;
}

std::vector<Entry> wait_entries(Env &env, ibv_cq_ex *cq, size_t count)
{
	std::vector<Entry> all;

	eventually(env, [&] {
		for (const Entry &entry : batch(cq, count - all.size()))
			all.push_back(entry);
		return all.size() == count;
	});
	REQUIRE_EQ(all.size(), count, "entries that came");
	return all;
}

struct ExtendedLink {
	Link link;
	ibv_cq_ex *a;
	ibv_cq_ex *b;
};

ExtendedLink extended_link(Env &env, uint32_t depth = 64)
{
	LinkSpec spec = {.cq_a = make_extended(env.a, attributes(depth)),
			 .cq_b = make_extended(env.b, attributes(depth))};

	REQUIRE_EQ(spec.cq_a.error, 0, "ibv_create_cq_ex");
	REQUIRE_EQ(spec.cq_b.error, 0, "ibv_create_cq_ex");
	return {connect(env, spec), extended(env.a, spec.cq_a),
		extended(env.b, spec.cq_b)};
}

int error_of(Host &host, const ibv_cq_init_attr_ex &attr)
{
	return make_extended(host, attr).error;
}

void moderate(Host &host, const Cq &cq, uint16_t count, uint16_t us)
{
	ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
				   .moderate = {count, us}};

	REQUIRE_EQ(ibv_modify_cq(local(host).raw_cq(cq.id), &attr), 0,
		   "ibv_modify_cq");
}

/* Empty sends whose completions are not polled yet. */
void complete_sends(Env &env, Link &link, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		must_post(link.b, RecvWr{});
		must_send(env, link.a, make_wr(Op::send, {}, 0), "send");
	}
}

/* The longest time there is: 65 ms, far more than four sends take. */
constexpr uint16_t longest_us = UINT16_MAX;

/*
 * Four completions of a CQ whose events come by fours: none after three, one
 * after the fourth. False: it took so long that the time may have ended the
 * wait, which tells nothing.
 */
bool event_by_count(Env &env, Link &link)
{
	const Handle cq = link.b.recv_cq.id;
	const uint64_t end =
		now_ns(CLOCK_MONOTONIC) + uint64_t{longest_us} * 1000;
	bool early, in_time;

	REQUIRE_EQ(env.b.arm(cq, false), 0);
	complete_sends(env, link, 3);
	early = env.b.wait_event(cq, 5);
	in_time = now_ns(CLOCK_MONOTONIC) < end;
	REQUIRE(!early || !in_time, "an event after three completions");
	complete_sends(env, link, 1);
	REQUIRE(early || env.b.wait_event(cq, env.options.patience_ms),
		"no event after four completions");
	in_time = in_time && now_ns(CLOCK_MONOTONIC) < end;
	wait_completions(env, link.b, link.b.recv_cq, 4, "receives");
	return in_time;
}

} // namespace

PV_TEST_LOCAL("cqex.fields",
	      "every field of an entry is what happened, on both sides")
{
	ExtendedLink x = extended_link(env);
	Mr out = must_reg(env.a, {100}), in = must_reg(env.b, {100});
	uint64_t before = now_ns(CLOCK_MONOTONIC);
	uint64_t wall_before = now_ns(CLOCK_REALTIME);
	SendWr wr = make_wr(Op::write_imm, {out, 0}, 77, {in, 5});

	wr.id = 0x1234567890abcdef;
	wr.imm = 0xcafe0001;
	must_post(x.link.b, RecvWr{0xfedcba0987654321, {}});
	must_post(x.link.a, wr);

	Entry sent = wait_entries(env, x.a, 1)[0];
	Entry received = wait_entries(env, x.b, 1)[0];
	uint64_t after = now_ns(CLOCK_MONOTONIC);
	uint64_t wall_after = now_ns(CLOCK_REALTIME);

	REQUIRE_EQ(sent.id, wr.id);
	REQUIRE_EQ(int(sent.status), IBV_WC_SUCCESS);
	REQUIRE_EQ(int(sent.opcode), IBV_WC_RDMA_WRITE);
	REQUIRE_EQ(sent.qp_number, x.link.a.qp.number);
	REQUIRE_EQ(sent.flags & IBV_WC_WITH_IMM, 0u);
	REQUIRE_EQ(received.id, 0xfedcba0987654321);
	REQUIRE_EQ(int(received.status), IBV_WC_SUCCESS);
	REQUIRE_EQ(int(received.opcode), IBV_WC_RECV_RDMA_WITH_IMM);
	REQUIRE_EQ(received.byte_len, 77u);
	REQUIRE_EQ(received.imm, wr.imm);
	REQUIRE_EQ(received.qp_number, x.link.b.qp.number);
	REQUIRE_EQ(received.flags & IBV_WC_WITH_IMM, unsigned(IBV_WC_WITH_IMM));
	REQUIRE_EQ(received.vendor_err, 0u);
	REQUIRE_EQ(ibv_wc_read_slid(x.b), 0u);
	REQUIRE_EQ(unsigned(ibv_wc_read_dlid_path_bits(x.b)), 0u);
	REQUIRE_EQ(unsigned(ibv_wc_read_cvlan(x.b)), 0u);
	REQUIRE_EQ(unsigned(ibv_wc_read_sl(x.b)), 0u);
	for (const Entry &entry : {sent, received}) {
		REQUIRE(entry.stamp >= before && entry.stamp <= after,
			entry.stamp, " is not in ", before, "..", after);
		/* CLOCK_REALTIME is adjusted while time goes by */
		REQUIRE(entry.wallclock + 1000000 >= wall_before &&
				entry.wallclock <= wall_after + 1000000,
			entry.wallclock, " is not in ", wall_before, "..",
			wall_after);
	}
}

PV_TEST_LOCAL("cqex.clock",
	      "the device's clock is the one of the time stamps, and says so")
{
	ibv_device_attr_ex attr = {};
	ibv_context *context = local(env.a).context();
	uint64_t before, after;

	REQUIRE_EQ(ibv_query_device_ex(context, nullptr, &attr), 0);
	REQUIRE_EQ(attr.hca_core_clock, 1000000u, "kHz");
	REQUIRE_EQ(attr.completion_timestamp_mask, UINT64_MAX);
	ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	before = now_ns(CLOCK_MONOTONIC);
	REQUIRE_EQ(ibv_query_rt_values_ex(context, &values), 0);
	after = now_ns(CLOCK_MONOTONIC);
	REQUIRE_EQ(values.comp_mask, uint32_t(IBV_VALUES_MASK_RAW_CLOCK));
	REQUIRE(uint64_t(values.raw_clock.tv_nsec) >= before &&
		uint64_t(values.raw_clock.tv_nsec) <= after);
	values.comp_mask = ~uint32_t(IBV_VALUES_MASK_RAW_CLOCK);
	REQUIRE_EQ(ibv_query_rt_values_ex(context, &values), 0);
	REQUIRE_EQ(values.comp_mask, 0u, "what it does not know is not there");
}

PV_TEST_LOCAL("cqex.batches",
	      "batches of all sizes through many rounds of a small ring")
{
	ExtendedLink x = extended_link(env, 8);
	uint64_t posted = 0, seen = 0;
	uint64_t last = 0;

	for (uint32_t round = 0; round < 40; round++) {
		uint32_t count = 1 + round % 8;

		for (uint32_t i = 0; i < count; i++) {
			SendWr wr = make_wr(Op::send, {}, 0);

			wr.id = posted++;
			must_post(x.link.b, RecvWr{wr.id, {}});
			must_post(x.link.a, wr);
		}
		for (ibv_cq_ex *cq : {x.a, x.b}) {
			uint64_t id = seen;

			for (const Entry &entry :
			     wait_entries(env, cq, count)) {
				REQUIRE_EQ(int(entry.status), IBV_WC_SUCCESS);
				REQUIRE_EQ(entry.id, id++);
				REQUIRE(cq != x.a || entry.stamp >= last,
					"stamps go backwards");
				if (cq == x.a)
					last = entry.stamp;
			}
			REQUIRE(batch(cq, 1).empty(), "an entry too many");
		}
		seen = posted;
	}
}

PV_TEST_LOCAL("cqex.both_ways",
	      "ibv_poll_cq works on an extended CQ, between its batches")
{
	ExtendedLink x = extended_link(env);

	for (int i = 0; i < 6; i++) {
		must_post(x.link.b, RecvWr{});
		must_post(x.link.a, make_wr(Op::send, {}, 0));
		if (i & 1)
			wait_send(env, x.link.a, "ibv_poll_cq");
		else
			wait_entries(env, x.a, 1);
	}
	no_more(x.link.a, "after both");
}

PV_TEST_LOCAL("cqex.errors", "an error's status and reason can be read")
{
	ExtendedLink x = extended_link(env);
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64});
	SendWr wr = make_wr(Op::write, {out, 0}, 64, {in, 0});

	env.expect_async();
	wr.sges[0].key_xor = 0x100;
	wr.id = 5;
	must_post(x.link.a, std::vector<SendWr>{wr, make_wr(Op::send, {}, 0)});
	std::vector<Entry> entries = wait_entries(env, x.a, 2);
	REQUIRE_EQ(entries[0].id, 5u);
	REQUIRE_EQ(int(entries[0].status), IBV_WC_LOC_PROT_ERR);
	REQUIRE(entries[0].vendor_err != 0);
	REQUIRE_EQ(int(entries[1].status), IBV_WC_WR_FLUSH_ERR);
}

PV_TEST_LOCAL("cqex.refused",
	      "what is not supported is refused, what is wrong is invalid")
{
	ibv_cq_init_attr_ex attr = attributes(10);
	ibv_pd *pd = local(env.a).raw_pd(0);

	attr.wc_flags = IBV_WC_EX_WITH_FLOW_TAG;
	REQUIRE_EQ(error_of(env.a, attr), EOPNOTSUPP, "flow tag");
	attr.wc_flags = IBV_WC_EX_WITH_TM_INFO;
	REQUIRE_EQ(error_of(env.a, attr), EOPNOTSUPP, "tag matching");
	attr = attributes(10);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	REQUIRE_EQ(error_of(env.a, attr), EOPNOTSUPP, "ignoring overruns");
	attr = attributes(10);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	attr.parent_domain = pd;
	REQUIRE_EQ(error_of(env.a, attr), EINVAL, "a PD of no parent domain");
	REQUIRE_EQ(error_of(env.a, attributes(0)), EINVAL, "no entries");
	REQUIRE_EQ(
		error_of(env.a,
			 attributes(uint32_t(env.info_a.device.max_cqe) + 1)),
		EINVAL, "too many entries");
}

PV_TEST_LOCAL("cqex.single_threaded",
	      "a CQ for one thread, and one in a thread domain's parent domain")
{
	ibv_context *context = local(env.a).context();
	ibv_td_init_attr td_attr = {};
	ibv_td *td = ibv_alloc_td(context, &td_attr);
	REQUIRE(td, "ibv_alloc_td");
	ibv_parent_domain_init_attr pd_attr = {.pd = local(env.a).raw_pd(0),
					       .td = td};
	ibv_pd *parent = ibv_alloc_parent_domain(context, &pd_attr);
	REQUIRE(parent, "ibv_alloc_parent_domain");
	ibv_cq_init_attr_ex attr = attributes(16);

	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	attr.parent_domain = parent;
	LinkSpec spec = {.cq_a = make_extended(env.a, attr)};
	attr = attributes(16);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	spec.cq_b = make_extended(env.b, attr);
	REQUIRE_EQ(spec.cq_a.error, 0);
	REQUIRE_EQ(spec.cq_b.error, 0);

	Link link = connect(env, spec);

	must_post(link.b, RecvWr{9, {}});
	must_post(link.a, make_wr(Op::send, {}, 0));
	wait_entries(env, extended(env.a, spec.cq_a), 1);
	REQUIRE_EQ(wait_entries(env, extended(env.b, spec.cq_b), 1)[0].id, 9u);
	REQUIRE_EQ(ibv_dealloc_pd(parent), EBUSY, "it has a CQ");
	REQUIRE_EQ(env.a.destroy(Kind::qp, link.a.qp.id), 0);
	REQUIRE_EQ(env.a.destroy(Kind::cq, spec.cq_a.id), 0);
	REQUIRE_EQ(ibv_dealloc_pd(parent), 0);
	REQUIRE_EQ(ibv_dealloc_td(td), 0);
}

PV_TEST_LOCAL("cqex.moderation_count",
	      "an event after so many completions and not before")
{
	int told = 0;

	Link link = connect(env, {.events = true});

	moderate(env.b, link.b.recv_cq, 4, longest_us);
	for (int round = 0; round < 50 && told < 3; round++)
		told += event_by_count(env, link);
	moderate(env.b, link.b.recv_cq, 0, 0);
	REQUIRE_EQ(env.b.arm(link.b.recv_cq.id, false), 0);
	complete_sends(env, link, 1);
	must_wake(env, env.b, link.b.recv_cq, "no event without moderation");
	if (!told)
		throw Skip("four sends take longer than events are held back");
}

PV_TEST_LOCAL("cqex.moderation_limits", "as much moderation as the device says")
{
	ibv_device_attr_ex attr = {};
	Cq cq = make_extended(env.a, attributes(16));

	REQUIRE_EQ(ibv_query_device_ex(local(env.a).context(), nullptr, &attr),
		   0);
	/* the request has 16 bits for each: more cannot be asked for */
	REQUIRE_EQ(int(attr.cq_mod_caps.max_cq_count), UINT16_MAX);
	REQUIRE_EQ(int(attr.cq_mod_caps.max_cq_period), UINT16_MAX);
	moderate(env.a, cq, UINT16_MAX, UINT16_MAX);
	moderate(env.a, cq, 0, 0);
}

PV_TEST_LOCAL("cqex.moderation_period",
	      "an event so long after the first completion, and not before")
{
	constexpr uint16_t period_us = 60000;
	ibv_cq_init_attr_ex attr = attributes(64);
	LinkSpec spec = {.cq_b = make_extended(env.b, attr, true)};

	REQUIRE_EQ(spec.cq_b.error, 0);
	Link link = connect(env, spec);
	moderate(env.b, spec.cq_b, 1000, period_us);
	REQUIRE_EQ(env.b.arm(spec.cq_b.id, false), 0);
	complete_sends(env, link, 3);
	must_wake(env, env.b, spec.cq_b, "no event when the time was over");
	uint64_t woken = now_ns(CLOCK_MONOTONIC);
	Entry first = wait_entries(env, extended(env.b, spec.cq_b), 3)[0];
	REQUIRE(woken - first.stamp >= period_us * 1000ull,
		"the event came after ", woken - first.stamp, " ns");
	/* what is held back when the rule ends comes at once */
	REQUIRE_EQ(env.b.arm(spec.cq_b.id, false), 0);
	moderate(env.b, spec.cq_b, 1000, UINT16_MAX);
	complete_sends(env, link, 1);
	moderate(env.b, spec.cq_b, 1, 0);
	must_wake(env, env.b, spec.cq_b, "no event at the end of moderation");
}
