// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The script machine: control flow, the table of verbs, values, counters and the
 * checks at the end. See machine.h.
 */
#include "machine.h"

#include <algorithm>

#include "pattern.h"

namespace pw {

namespace {

constexpr size_t any_number = 1000;

/* Every field of BTH and extension headers is a key, too, whatever the packet. */
constexpr std::string_view packet_keys =
	"data code timer credits src sport tos ttl icrc cut truncate extra "
	"udp_len ip_len udp_csum after within";
constexpr std::string_view message_keys =
	"psn len data va rkey imm ackreq se msn credits pkey srqn";
/* Of these a script has at least one, or it would pass whatever happens. */
constexpr std::string_view expectations =
	"> >> probe completion event async state counter";

bool contains(std::string_view list, std::string_view key)
{
	for (size_t at = 0; at < list.size();) {
		const size_t end = std::min(list.find(' ', at), list.size());

		if (list.substr(at, end - at) == key)
			return true;
		at = end + 1;
	}
	return false;
}

/* The line with the `end` that belongs to the `for` at `begin`. */
size_t end_of_loop(const std::vector<Line> &lines, size_t begin)
{
	int depth = 0;

	for (size_t i = begin; i < lines.size(); i++) {
		const std::string text = lines[i].text;
		const size_t at = text.find_first_not_of(" \t");

		if (text.compare(at, 4, "for ") == 0)
			depth++;
		else if (text.compare(at, 3, "end") == 0 && --depth == 0)
			return i;
	}
	throw ScriptError("for without end");
}

struct Loop {
	std::string variable;
	std::vector<std::string> values;
};

/* for n 0..27    or    for op SEND WRITE */
Loop parse_loop(const Statement &s)
{
	Loop loop{s.word(0), {s.words.begin() + 1, s.words.end()}};
	const size_t dots = s.word(1).find("..");

	if (dots == std::string::npos)
		return loop;

	const uint64_t first = evaluate(s.word(1).substr(0, dots));
	const uint64_t last = evaluate(s.word(1).substr(dots + 2));

	loop.values.clear();
	for (uint64_t i = first; i <= last; i++)
		loop.values.push_back(std::to_string(i));
	return loop;
}

template <typename Error>
[[noreturn]] void rethrow(const Statement &s, const Error &error)
{
	throw Error("line " + std::to_string(s.line) + ": " + s.text + ": " +
		    error.what());
}

} // namespace

std::span<const Machine::Verb> Machine::verbs()
{
	static const Verb table[] = {
		{"let", &Machine::step_let, 2, 2, ""},
		{"counter", &Machine::step_counter, 2, 2, ""},
		{"<", &Machine::step_inject, 1, any_number, packet_keys},
		{">", &Machine::step_expect, 1, any_number, packet_keys},
		{"<<", &Machine::step_inject_message, 1, any_number,
		 message_keys},
		{">>", &Machine::step_expect_message, 1, any_number,
		 message_keys},
		{"allow", &Machine::step_allow, 1, any_number, packet_keys},
		{"silence", &Machine::step_silence, 1, 1, ""},
		{"refuse", &Machine::step_refuse, 1, 1, ""},
		{"parameter", &Machine::step_parameter, 2, 2, ""},
		{"probe", &Machine::step_probe, 0, 0, "psn msn"},
		{"asked-every", &Machine::step_asked, 1, 1, ""},
		{"qp", &Machine::step_qp, 1, 3,
		 "mtu timeout retry rnr_retry min_rnr "
		 "rd dest_rd access depth sge inline qkey state"},
		{"mr", &Machine::step_mr, 1, 3, "size access from"},
		{"srq", &Machine::step_srq, 1, 3, ""},
		{"dereg", &Machine::step_dereg, 1, 1, ""},
		{"hide", &Machine::step_hide, 1, 1, ""},
		{"post", &Machine::step_post, 1, any_number,
		 "wr len sge va rkey imm "
		 "swap cmp add mask cmask inv qkey dlen feth"},
		{"recv", &Machine::step_recv, 0, 0, "wr len sge srq"},
		{"completion", &Machine::step_completion, 2, 2,
		 "wr op len imm imm64 sqpn"},
		{"nothing", &Machine::step_nothing, 1, 1, ""},
		{"arm", &Machine::step_arm, 1, 2, ""},
		{"event", &Machine::step_event, 1, 2, ""},
		{"async", &Machine::step_async, 1, 1, ""},
		{"state", &Machine::step_state, 1, 1, ""},
		{"set-state", &Machine::step_set_state, 1, 2,
		 "timeout retry rnr_retry rd dest_rd"},
		{"mem", &Machine::step_mem, 2, 2, ""},
		{"set64", &Machine::step_set64, 2, 2, ""},
		{"mem64", &Machine::step_mem64, 2, 2, ""},
	};
	return table;
}

const Machine::Verb &Machine::verb_of(const Statement &s)
{
	for (const Verb &verb : verbs()) {
		if (verb.name != s.verb)
			continue;
		if (s.words.size() < verb.words_min ||
		    s.words.size() > verb.words_max)
			throw ScriptError("wrong number of words");
		for (const auto &[key, value] : s.args)
			if (!contains(verb.keys, key) &&
			    !(verb.keys == packet_keys && field_by_name(key)))
				throw ScriptError("no key " + key + "= here");
		return verb;
	}
	throw ScriptError("no such verb");
}

Machine::Machine(Bench &bench, const Setup &setup, const Case &chosen)
	: setup_(setup), case_(chosen), variables_(chosen.variables),
	  bench_(bench), start_(bench.now()), last_event_(start_)
{
}

void Machine::run(const Script &script)
{
	/* Packets that are on the wire before the script began are not its business. */
	while (bench_.next(bench_.now()))
		;
	for (const Line &line : script.lines)
		if (line.text.find("counter ") != std::string::npos)
			counters_named_.insert(
				parse_statement(line, variables_).word(0));
	run_block(script.lines, 0, script.lines.size());
	finish();
}

void Machine::run_block(const std::vector<Line> &lines, size_t begin,
			size_t end)
{
	for (size_t i = begin; i < end; i++) {
		const Statement s = parse_statement(lines[i], variables_);

		if (s.verb == "for") {
			const size_t last = end_of_loop(lines, i);

			run_loop(lines, i, last);
			i = last;
			continue;
		}
		try {
			(this->*verb_of(s).run)(s);
		} catch (const Mismatch &error) {
			rethrow(s, error);
		} catch (const ScriptError &error) {
			rethrow(s, error);
		} catch (const std::runtime_error &error) {
			rethrow(s, error);
		}
	}
}

void Machine::run_loop(const std::vector<Line> &lines, size_t begin, size_t end)
{
	const Loop loop = parse_loop(parse_statement(lines[begin], variables_));

	for (const std::string &value : loop.values) {
		variables_[loop.variable] = value;
		run_block(lines, begin + 1, end);
	}
}

void Machine::check(const Script &script, const Case &chosen)
{
	Variables variables = chosen.variables;
	bool expects = false;

	for (size_t i = 0; i < script.lines.size(); i++) {
		const Statement s = parse_statement(script.lines[i], variables);

		expects |= contains(expectations, s.verb);
		try {
			if (s.verb == "for") {
				const Loop loop = parse_loop(s);

				end_of_loop(script.lines, i);
				variables[loop.variable] =
					loop.values.empty() ? "0" :
							      loop.values[0];
			} else if (s.verb == "let") {
				variables[s.word(0)] = s.word(1);
			} else if (s.verb != "end") {
				verb_of(s);
			}
		} catch (const ScriptError &error) {
			rethrow(s, error);
		}
	}
	if (!expects)
		throw ScriptError(script.path + ": it expects nothing");
}

/* Nothing may be left over that no statement spoke of. */
void Machine::finish()
{
	if (!dut_ || !dut_->has_qp())
		return;
	while (auto arrival = bench_.next(bench_.now())) {
		const Packet packet = decode_arrival(*arrival);

		if (!tolerated(packet))
			throw Mismatch("end of script: unexpected " +
				       describe(packet));
	}
	for (auto queue : {Dut::send_queue, Dut::recv_queue})
		if (auto wc = dut_->poll(queue))
			throw Mismatch(
				"end of script: unexpected completion wr=" +
				std::to_string(wc->wr_id) + " " +
				ibv_wc_status_str(wc->status));

	const std::string changed = dut_->check_regions();

	if (!changed.empty())
		throw Mismatch("end of script: " + changed);
}

void Machine::note(char direction, const std::string &text)
{
	char time[32];

	std::snprintf(time, sizeof(time), "%9.3f ms %c ",
		      static_cast<double>(bench_.now() - start_) / 1e6,
		      direction);
	trace_.push_back(time + text);
}

bool Machine::wait_for(const std::function<bool()> &condition)
{
	const int64_t deadline = bench_.now() + setup_.patience;

	while (!condition()) {
		if (bench_.now() >= deadline)
			return false;
		bench_.pass(deadline);
	}
	return true;
}

Dut &Machine::dut()
{
	if (!dut_)
		dut_ = std::make_unique<Dut>(bench_, setup_.device,
					     case_.ip6 ? setup_.peer6 :
							 setup_.peer4,
					     bench_.now() + setup_.patience);
	return *dut_;
}

Region &Machine::region(std::string_view name)
{
	Region *found = dut().region(name);

	if (!found)
		throw ScriptError("no region " + std::string(name));
	return *found;
}

uint64_t Machine::value(std::string_view text, Meaning meaning)
{
	return evaluate(text, [&](std::string_view name) -> uint64_t {
		if (meaning == queues) {
			if (auto number = dut().srqn(name))
				return *number;
			throw ScriptError("no queue is called " +
					  std::string(name));
		}

		const Region &r = region(name);

		switch (meaning) {
		case addresses:
			return r.iova;
		case keys:
			return r.rkey;
		case local_keys:
			return r.lkey;
		case numbers:
		case queues:
			break;
		}
		throw ScriptError("a region has no value here");
	});
}

/* none    hex:00ff    stream+offset:length */
Bytes Machine::data(const std::string &text)
{
	if (text == "none")
		return {};

	const size_t colon = text.find(':');

	if (colon == std::string::npos)
		throw ScriptError("not data: " + text);

	const std::string left = text.substr(0, colon);
	const std::string right = text.substr(colon + 1);

	if (left == "hex") {
		Bytes bytes;

		for (size_t i = 0; i + 1 < right.size(); i += 2)
			bytes.push_back(static_cast<uint8_t>(
				std::stoul(right.substr(i, 2), nullptr, 16)));
		return bytes;
	}

	const size_t plus = std::min(left.find('+'), left.size());
	const uint64_t offset =
		plus < left.size() ? value(left.substr(plus + 1)) : 0;

	return stream(left.substr(0, plus), offset, value(right));
}

void Machine::step_let(const Statement &s)
{
	variables_[s.word(0)] = std::to_string(value(s.word(1)));
}

void Machine::snapshot_counters()
{
	if (counters_named_.empty())
		return;
	bench_.settle_counters();
	for (const std::string &name : counters_named_)
		if (auto now = dut().counter(name))
			counters_[name] = *now;
}

/* parameter NAME VALUE: the module has it up to the end of the script. */
void Machine::step_parameter(const Statement &s)
{
	parameters_.push_back(std::make_unique<SetParameter>(
		bench_, s.word(0), int(value(s.word(1)))));
}

/*
 * counter NAME +N: since the QP was made, or since the last such line, the counter
 * grew by exactly N, or does so in time.
 */
void Machine::step_counter(const Statement &s)
{
	const std::string &name = s.word(0);
	auto first = counters_.find(name);
	uint64_t growth = 0;

	if (!s.word(1).starts_with('+'))
		throw ScriptError("counters grow: +N");
	if (first == counters_.end()) {
		if (setup_.pavo)
			throw Mismatch("the device has no such counter");
		note('!', "no counter " + name + " on this device");
		return;
	}

	const uint64_t wanted = value(s.word(1).substr(1));

	bench_.settle_counters();

	const bool grew = wait_for([&] {
		growth = dut().counter(name).value_or(0) - first->second;
		return growth >= wanted;
	});

	if (!grew || growth != wanted)
		throw Mismatch("it grew by " + std::to_string(growth));
	first->second += growth;
}

} // namespace pw
