// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The script machine's verbs on the libibverbs side: the QP, memory, work requests,
 * completions and events. See machine.h.
 */
#include <algorithm>
#include <cstring>

#include <arpa/inet.h>

#include <pavo_dv.h>

#include "machine.h"
#include "pattern.h"

namespace pw {

namespace {

/* The other end exists only in scripts: a number that is no QP of this node's. */
constexpr uint32_t fictional_qpn = 0x5a17e3;
constexpr size_t region_size = 80 << 10;

template <typename T> struct Name {
	std::string_view name;
	T value;
};

constexpr Name<ibv_wc_status> statuses[] = {
	{"ok", IBV_WC_SUCCESS},
	{"loc_len", IBV_WC_LOC_LEN_ERR},
	{"loc_qp_op", IBV_WC_LOC_QP_OP_ERR},
	{"loc_prot", IBV_WC_LOC_PROT_ERR},
	{"mw_bind", IBV_WC_MW_BIND_ERR},
	{"flush", IBV_WC_WR_FLUSH_ERR},
	{"bad_resp", IBV_WC_BAD_RESP_ERR},
	{"loc_access", IBV_WC_LOC_ACCESS_ERR},
	{"rem_inv", IBV_WC_REM_INV_REQ_ERR},
	{"rem_access", IBV_WC_REM_ACCESS_ERR},
	{"rem_op", IBV_WC_REM_OP_ERR},
	{"retry", IBV_WC_RETRY_EXC_ERR},
	{"rnr_retry", IBV_WC_RNR_RETRY_EXC_ERR},
};

constexpr Name<ibv_wc_opcode> wc_opcodes[] = {
	{"send", IBV_WC_SEND},	    {"write", IBV_WC_RDMA_WRITE},
	{"read", IBV_WC_RDMA_READ}, {"cas", IBV_WC_COMP_SWAP},
	{"fadd", IBV_WC_FETCH_ADD}, {"awrite", IBV_WC_ATOMIC_WRITE},
	{"recv", IBV_WC_RECV},	    {"recv_imm", IBV_WC_RECV_RDMA_WITH_IMM},
	{"flush", PAVODV_WC_FLUSH},
};

constexpr Name<ibv_wr_opcode> wr_opcodes[] = {
	{"send", IBV_WR_SEND},
	{"send_imm", IBV_WR_SEND_WITH_IMM},
	{"write", IBV_WR_RDMA_WRITE},
	{"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"read", IBV_WR_RDMA_READ},
	{"cas", IBV_WR_ATOMIC_CMP_AND_SWP},
	{"fadd", IBV_WR_ATOMIC_FETCH_AND_ADD},
	{"awrite", IBV_WR_ATOMIC_WRITE},
	{"send_inv", IBV_WR_SEND_WITH_INV},
};

constexpr Name<Extended::Kind> extended_opcodes[] = {
	{"ext_fadd", Extended::fetch_add}, {"ext_swap", Extended::swap},
	{"ext_cas", Extended::cmp_swap},   {"imm64", Extended::imm64},
	{"flush", Extended::flush},
};

constexpr Name<int> access_flags[] = {
	{"none", 0},
	{"lw", IBV_ACCESS_LOCAL_WRITE},
	{"rw", IBV_ACCESS_REMOTE_WRITE},
	{"rr", IBV_ACCESS_REMOTE_READ},
	{"ra", IBV_ACCESS_REMOTE_ATOMIC},
	{"od", IBV_ACCESS_ON_DEMAND},
	/* Newer verbs have names for them. */
	{"fg", 1 << 8},
	{"fp", 1 << 9},
};

constexpr Name<ibv_send_flags> send_flags[] = {
	{"fence", IBV_SEND_FENCE},
	{"solicited", IBV_SEND_SOLICITED},
	{"inline", IBV_SEND_INLINE},
};

constexpr Name<ibv_qp_state> states[] = {
	{"reset", IBV_QPS_RESET}, {"init", IBV_QPS_INIT}, {"rtr", IBV_QPS_RTR},
	{"rts", IBV_QPS_RTS},	  {"sqd", IBV_QPS_SQD},	  {"sqe", IBV_QPS_SQE},
	{"err", IBV_QPS_ERR},
};

constexpr Name<ibv_qp_type> types[] = {
	{"rc", IBV_QPT_RC},
	{"uc", IBV_QPT_UC},
	{"ud", IBV_QPT_UD},
	{"xrc_tgt", IBV_QPT_XRC_RECV},
};

constexpr Name<ibv_event_type> events[] = {
	{"qp_fatal", IBV_EVENT_QP_FATAL},
	{"qp_req_err", IBV_EVENT_QP_REQ_ERR},
	{"qp_access_err", IBV_EVENT_QP_ACCESS_ERR},
	{"comm_est", IBV_EVENT_COMM_EST},
	{"sq_drained", IBV_EVENT_SQ_DRAINED},
	{"qp_last_wqe", IBV_EVENT_QP_LAST_WQE_REACHED},
};

template <typename T, size_t N>
T by_name(const Name<T> (&table)[N], std::string_view name)
{
	for (const Name<T> &row : table)
		if (row.name == name)
			return row.value;
	throw ScriptError("no such word: " + std::string(name));
}

template <typename T, size_t N>
bool has_name(const Name<T> (&table)[N], std::string_view name)
{
	return std::any_of(table, table + N, [&](const Name<T> &row) {
		return row.name == name;
	});
}

template <typename T, size_t N>
std::string name_of(const Name<T> (&table)[N], T value)
{
	for (const Name<T> &row : table)
		if (row.value == value)
			return std::string(row.name);
	return std::to_string(static_cast<int>(value));
}

int access_of(const std::string &text)
{
	int access = 0;

	for (const std::string &part : split(text, ','))
		access |= by_name(access_flags, part);
	return access;
}

Dut::Queue queue_of(const std::string &word)
{
	if (word == "send")
		return Dut::send_queue;
	if (word == "recv")
		return Dut::recv_queue;
	throw ScriptError("send or recv?");
}

} // namespace

void Machine::step_qp(const Statement &s)
{
	QpConfig c;
	const auto number = [&](const char *key, auto &field) {
		if (const std::string *text = s.find(key))
			field = static_cast<
				std::remove_reference_t<decltype(field)>>(
				value(*text));
	};

	c.type = by_name(types, s.word(0));
	c.remote_qpn = fictional_qpn;
	c.sq_psn = case_.bases.sq;
	c.rq_psn = case_.bases.rq;
	number("mtu", c.mtu);
	number("timeout", c.timeout);
	number("retry", c.retry);
	number("rnr_retry", c.rnr_retry);
	number("min_rnr", c.min_rnr);
	number("rd", c.rd);
	number("dest_rd", c.dest_rd);
	number("depth", c.depth);
	number("sge", c.sges);
	number("inline", c.inline_data);
	number("qkey", c.qkey);
	if (s.find("access"))
		c.access = access_of(s.get("access"));
	if (s.find("state"))
		c.target = by_name(states, s.get("state"));
	c.signal_all = s.has_word("signal_all");
	c.extended = s.has_word("extended");

	/* Two regions everybody needs: l is local, r open to the other end. */
	if (!dut().region("l"))
		dut().add_region("l", region_size, IBV_ACCESS_LOCAL_WRITE);
	if (!dut().region("r"))
		dut().add_region("r", region_size, access_of("lw,rw,rr,ra"));
	dut().create_qp(c);
	envelope_.smac = bench_.mac();
	envelope_.dmac = dut().mac();
	envelope_.src = case_.ip6 ? setup_.peer6 : setup_.peer4;
	envelope_.dst = dut().address();
	snapshot_counters();
}

void Machine::step_mr(const Statement &s)
{
	const int access = s.find("access") ? access_of(s.get("access")) :
					      access_of("lw,rw,rr,ra");
	Placement placement = {.other_pd = s.has_word("other_pd")};

	if (const std::string *text = s.find("from"))
		placement.from = value(*text);
	placement.zero_based = s.has_word("zero_based");
	if (s.has_word("empty"))
		dut().add_empty_region(s.word(0), value(s.get("size")), access);
	else
		dut().add_region(s.word(0), value(s.get("size")), access,
				 placement);
}

void Machine::step_srq(const Statement &s)
{
	dut().add_srq({s.word(0), s.has_word("other_domain"),
		       s.has_word("other_pd")});
}

/* The memory stays, and still must be what the script says at its end. */
void Machine::step_dereg(const Statement &s)
{
	dut().deregister(region(s.word(0)));
}

void Machine::step_hide(const Statement &s)
{
	const Span span = region_span(s.word(0) + ":1");

	dut().hide(region(span.region->name), span.offset);
}

/* name+offset:length */
Span Machine::region_span(const std::string &text)
{
	const size_t colon = text.find(':');
	const size_t plus = std::min(text.find('+'), colon);

	if (colon == std::string::npos)
		throw ScriptError("not a piece of a region: " + text);
	return {&region(text.substr(0, plus)),
		plus < colon ? value(text.substr(plus + 1, colon - plus - 1)) :
			       0,
		static_cast<uint32_t>(value(text.substr(colon + 1)))};
}

/* sge=l+0:10,l+20:5   or   len=15 for the beginning of l */
std::vector<ibv_sge> Machine::gather(const Statement &s)
{
	std::vector<ibv_sge> sges;

	if (s.find("len"))
		sges.push_back({region("l").iova,
				static_cast<uint32_t>(value(s.get("len"))),
				region("l").lkey});
	if (!s.find("sge"))
		return sges;
	for (const std::string &part : split(s.get("sge"), ',')) {
		const bool bad_key = part.starts_with('!');
		const Span span = region_span(bad_key ? part.substr(1) : part);

		sges.push_back(
			{span.region->iova + span.offset, span.length,
			 span.region->lkey ^ (bad_key ? 0x5a5a0000u : 0)});
	}
	return sges;
}

/*
 * ext_fadd add= [mask=]   ext_swap swap=   ext_cas cmp= [cmask=] swap= [mask=]   imm64 imm=
 * flush dlen= feth=
 */
std::optional<Extended> Machine::extended_of(const Statement &s)
{
	Extended e{};
	const auto number = [&](const char *key, uint64_t otherwise) {
		const std::string *text = s.find(key);

		return text ? value(*text) : otherwise;
	};

	if (!has_name(extended_opcodes, s.word(0)))
		return std::nullopt;
	if (!dut().config().extended)
		throw ScriptError("the queue pair is not extended");
	e.kind = by_name(extended_opcodes, s.word(0));
	for (const char *key : {"add", "swap", "imm", "dlen"})
		e.operand |= number(key, 0);
	e.mask = number("mask", e.kind == Extended::cmp_swap ? ~0ull : 0);
	if (e.kind == Extended::flush)
		e.mask = number("feth", PAVO_FLUSH_GLOBAL);
	e.compare = number("cmp", 0);
	e.compare_mask = number("cmask", ~0ull);
	return e;
}

void Machine::step_post(const Statement &s)
{
	SendRequest r;
	const auto number = [&](const char *key, Meaning meaning = numbers) {
		const std::string *text = s.find(key);

		return text ? value(*text, meaning) : 0;
	};

	r.sges = gather(s);
	r.wr.wr_id = value(s.get("wr"));
	r.extended = extended_of(s);
	if (!r.extended)
		r.wr.opcode = by_name(wr_opcodes, s.word(0));
	r.wr.send_flags = s.has_word("unsignaled") ? 0 : IBV_SEND_SIGNALED;
	for (const auto &flag : send_flags)
		if (s.has_word(flag.name))
			r.wr.send_flags |= static_cast<unsigned>(flag.value);
	if (r.wr.opcode == IBV_WR_SEND_WITH_INV)
		r.wr.invalidate_rkey =
			static_cast<uint32_t>(number("inv", keys));
	else
		r.wr.imm_data = htonl(static_cast<uint32_t>(number("imm")));
	if (r.extended || r.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    r.wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		r.wr.wr.atomic.remote_addr = number("va", addresses);
		r.wr.wr.atomic.rkey =
			static_cast<uint32_t>(number("rkey", keys));
		r.wr.wr.atomic.swap = number("swap");
		r.wr.wr.atomic.compare_add =
			number(s.find("add") ? "add" : "cmp");
	} else if (dut().config().type == IBV_QPT_UD) {
		r.wr.wr.ud.ah = dut().peer();
		r.wr.wr.ud.remote_qpn = fictional_qpn;
		r.wr.wr.ud.remote_qkey = static_cast<uint32_t>(number("qkey"));
	} else {
		r.wr.wr.rdma.remote_addr = number("va", addresses);
		r.wr.wr.rdma.rkey = static_cast<uint32_t>(number("rkey", keys));
	}
	chain_.push_back(r);
	if (s.has_word("more"))
		return;
	note('!', s.text);
	dut().post_send(chain_);
	chain_.clear();
}

/* Those of an XRC target come from a queue, if no other then its first. */
void Machine::step_recv(const Statement &s)
{
	if (dut().config().type == IBV_QPT_XRC_RECV)
		dut().post_srq_recv(s.find("srq") ? s.get("srq") :
						    std::string(first_srq),
				    value(s.get("wr")), gather(s));
	else
		dut().post_recv(value(s.get("wr")), gather(s));
}

/* completion send|recv STATUS[|STATUS..] wr= [op=] [len=] [imm=] [imm64=] [sqpn=] */
void Machine::step_completion(const Statement &s)
{
	const Dut::Queue queue = queue_of(s.word(0));
	std::optional<Completion> wc;
	const auto check = [&](const char *key, uint64_t got) {
		if (s.find(key) && value(s.get(key)) != got)
			throw Mismatch(std::string(key) + " is " +
				       std::to_string(got));
	};

	if (!wait_for([&] { return (wc = dut().poll(queue)).has_value(); }))
		throw Mismatch("no completion came");

	const std::string status = name_of(statuses, wc->status);
	const auto allowed = split(s.word(1), '|');

	note('!', s.word(0) + " completion " + status +
			  " wr=" + std::to_string(wc->wr_id));
	if (std::find(allowed.begin(), allowed.end(), status) == allowed.end())
		throw Mismatch(
			"the completion of wr=" + std::to_string(wc->wr_id) +
			" has status " + status);
	check("wr", wc->wr_id);
	if (wc->status != IBV_WC_SUCCESS)
		return;
	check("len", wc->byte_len);
	check("sqpn", wc->src_qp);
	if (wc->qp_num != dut().qpn())
		throw Mismatch("the completion names another QP");
	if (s.find("op") && s.get("op") != name_of(wc_opcodes, wc->opcode))
		throw Mismatch("its opcode is " +
			       name_of(wc_opcodes, wc->opcode));
	if (s.find("imm") != nullptr && !(wc->wc_flags & IBV_WC_WITH_IMM))
		throw Mismatch("it has no immediate data");
	if (queue == Dut::recv_queue && !s.find("imm") &&
	    wc->wc_flags & IBV_WC_WITH_IMM)
		throw Mismatch("it has immediate data");
	check("imm", ntohl(wc->imm_data));
	if ((s.find("imm64") != nullptr) != wc->imm64.has_value())
		throw Mismatch(wc->imm64 ? "it has immediate data of 8 bytes" :
					   "it has none of 8 bytes");
	check("imm64", wc->imm64.value_or(0));
}

void Machine::step_nothing(const Statement &s)
{
	if (auto wc = dut().poll(queue_of(s.word(0))))
		throw Mismatch("there is a completion of wr=" +
			       std::to_string(wc->wr_id) + ", " +
			       name_of(statuses, wc->status));
}

void Machine::step_arm(const Statement &s)
{
	dut().arm(queue_of(s.word(0)), s.has_word("solicited"));
}

/* event recv: one comes.   event recv none: none has come. */
void Machine::step_event(const Statement &s)
{
	const Dut::Queue queue = queue_of(s.word(0));

	if (s.has_word("none")) {
		if (dut().take_event(queue))
			throw Mismatch("there is a completion event");
	} else if (!wait_for([&] { return dut().take_event(queue); })) {
		throw Mismatch("no completion event came");
	}
}

void Machine::step_async(const Statement &s)
{
	const ibv_event_type wanted = by_name(events, s.word(0));
	std::string others;

	if (!wait_for([&] {
		    auto event = dut().take_async();

		    if (event && *event != wanted)
			    others += std::string(" ") +
				      ibv_event_type_str(*event);
		    return event == wanted;
	    }))
		throw Mismatch("no such event came; others:" + others);
}

void Machine::step_state(const Statement &s)
{
	const ibv_qp_state wanted = by_name(states, s.word(0));
	ibv_qp_state got = IBV_QPS_UNKNOWN;

	if (!wait_for([&] { return (got = dut().state()) == wanted; }))
		throw Mismatch("the QP is in state " + name_of(states, got));
}

void Machine::step_set_state(const Statement &s)
{
	ibv_qp_attr attr{};
	int mask = 0;
	const auto number = [&](const char *key, uint8_t &field, int bit) {
		if (const std::string *text = s.find(key)) {
			field = static_cast<uint8_t>(value(*text));
			mask |= bit;
		}
	};

	number("timeout", attr.timeout, IBV_QP_TIMEOUT);
	number("retry", attr.retry_cnt, IBV_QP_RETRY_CNT);
	number("rnr_retry", attr.rnr_retry, IBV_QP_RNR_RETRY);
	number("rd", attr.max_rd_atomic, IBV_QP_MAX_QP_RD_ATOMIC);
	number("dest_rd", attr.max_dest_rd_atomic, IBV_QP_MAX_DEST_RD_ATOMIC);
	if (s.has_word("notify")) {
		attr.en_sqd_async_notify = 1;
		mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
	}
	dut().set_state(by_name(states, s.word(0)), attr, mask);
}

/*
 * mem PIECE DATA: it contains that now, and must at the end.
 * mem PIECE same: it is as it was.   mem PIECE any: anything may be there.
 */
void Machine::step_mem(const Statement &s)
{
	const Span span = region_span(s.word(0));
	Region &r = region(span.region->name);

	if (span.offset + span.length > r.shadow.size())
		throw ScriptError("beyond the region");

	const uint8_t *now = r.at + span.offset;
	Bytes wanted;

	if (s.word(1) == "any")
		wanted.assign(now, now + span.length);
	else if (s.word(1) == "same")
		wanted = stream(r.name, span.offset, span.length);
	else
		wanted = data(s.word(1));
	if (wanted.size() != span.length)
		throw ScriptError("the lengths differ");
	for (size_t i = 0; i < span.length; i++)
		if (now[i] != wanted[i])
			throw Mismatch("byte " + std::to_string(i) + " is " +
				       std::to_string(now[i]) + ", not " +
				       std::to_string(wanted[i]));
	std::copy(wanted.begin(), wanted.end(),
		  r.shadow.begin() + static_cast<long>(span.offset));
}

/* set64 r+8 VALUE: the host stores a 64-bit number, as an atomic's target. */
void Machine::step_set64(const Statement &s)
{
	const Span span = region_span(s.word(0) + ":8");
	Region &r = region(span.region->name);
	const uint64_t number = value(s.word(1));

	std::memcpy(r.at + span.offset, &number, sizeof(number));
	std::memcpy(r.shadow.data() + span.offset, &number, sizeof(number));
}

void Machine::step_mem64(const Statement &s)
{
	const Span span = region_span(s.word(0) + ":8");
	Region &r = region(span.region->name);
	const uint64_t wanted = value(s.word(1));
	uint64_t got;

	std::memcpy(&got, r.at + span.offset, sizeof(got));
	if (got != wanted)
		throw Mismatch("it is " + std::to_string(got));
	std::memcpy(r.shadow.data() + span.offset, &got, sizeof(got));
}

} // namespace pw
