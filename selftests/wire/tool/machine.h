/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The machine that runs one case of one script against one device.
 *
 * Owns: the meaning of every verb of the language, the expected contents of
 * memory and the trace of packets. Used by: main.cpp, in a process of its own.
 * machine.cpp has control flow and the table of verbs, packet_steps.cpp what
 * happens on the wire, verbs_steps.cpp what happens through libibverbs.
 */
#pragma once

#include <memory>
#include <set>

#include "bench.h"
#include "dut.h"
#include "packet.h"
#include "script.h"

namespace pw {

struct Setup {
	std::string device;
	Address peer4{}, peer6{};
	int64_t patience = 10000000000; /* ns, for things that must happen */
	bool pavo = false; /* the device: has every counter, sets MigReq */
};

/* A script's statement about a packet. */
struct PacketSpec {
	std::string name;
	const Opcode *opcode = nullptr;
	std::vector<std::pair<const Field *, uint64_t>> fields;
	std::set<std::string, std::less<>> ignored; /* field=any */
	bool has_data = false; /* payload is stated */
	Bytes data;

	bool mentions(std::string_view field) const;
	/* It is called that, of whichever service. */
	bool is(std::string_view plain) const;
};

/* A parameter of the module that a script has set, up to its end. */
class SetParameter {
public:
	SetParameter(Bench &bench, const std::string &name, int value)
		: bench_(bench), name_(name),
		  old_(bench.set_parameter(name, value))
	{
	}
	~SetParameter() { bench_.set_parameter(name_, old_); }
	SetParameter(const SetParameter &) = delete;
	SetParameter &operator=(const SetParameter &) = delete;

private:
	Bench &bench_;
	const std::string name_;
	const int old_;
};

class Machine {
public:
	Machine(Bench &bench, const Setup &setup, const Case &chosen);

	/* Throws Mismatch, ScriptError or runtime_error with "line N: ...". */
	void run(const Script &script);

	/*
	 * Grammar only: verbs, words and keys of every line, and that something is
	 * expected; no device needed.
	 */
	static void check(const Script &script, const Case &chosen);

	const std::vector<std::string> &trace() const { return trace_; }

private:
	struct Verb {
		std::string_view name;
		void (Machine::*run)(const Statement &);
		size_t words_min, words_max;
		std::string_view keys; /* separated by spaces */
	};
	static std::span<const Verb> verbs();
	static const Verb &verb_of(const Statement &s);

	void run_block(const std::vector<Line> &lines, size_t begin,
		       size_t end);
	void run_loop(const std::vector<Line> &lines, size_t begin, size_t end);
	void finish();
	void snapshot_counters();
	void note(char direction, const std::string &text);
	bool wait_for(const std::function<bool()> &condition);

	/* Control flow and counters: machine.cpp */
	void step_let(const Statement &s);
	void step_counter(const Statement &s);
	void step_parameter(const Statement &s);

	/* The wire: packet_steps.cpp */
	void step_inject(const Statement &s);
	void step_expect(const Statement &s);
	void step_inject_message(const Statement &s);
	void step_expect_message(const Statement &s);
	void step_allow(const Statement &s);
	void step_silence(const Statement &s);
	void step_refuse(const Statement &s);
	void step_probe(const Statement &s);
	void step_asked(const Statement &s);
	std::vector<Statement> segment(const Statement &s,
				       std::string_view verb);
	PacketSpec packet_spec(const Statement &s, bool inbound);
	Damage damage(const Statement &s);
	Packet decode_arrival(const Arrival &arrival);
	void check_reserved(const Packet &packet) const;
	std::string difference(const PacketSpec &spec, const Packet &packet,
			       bool complete) const;
	bool tolerated(const Packet &packet) const;
	void check_timing(const Statement &s, int64_t time) const;
	uint32_t psn_base(bool response, bool inbound) const;

	/* The verbs side: verbs_steps.cpp */
	void step_qp(const Statement &s);
	void step_mr(const Statement &s);
	void step_srq(const Statement &s);
	void step_dereg(const Statement &s);
	void step_hide(const Statement &s);
	void step_post(const Statement &s);
	void step_recv(const Statement &s);
	void step_completion(const Statement &s);
	void step_nothing(const Statement &s);
	void step_arm(const Statement &s);
	void step_event(const Statement &s);
	void step_async(const Statement &s);
	void step_state(const Statement &s);
	void step_set_state(const Statement &s);
	void step_mem(const Statement &s);
	void step_set64(const Statement &s);
	void step_mem64(const Statement &s);
	std::vector<ibv_sge> gather(const Statement &s);
	std::optional<Extended> extended_of(const Statement &s);
	Span region_span(const std::string &text);
	Region &region(std::string_view name);

	/*
	 * Values: a region's name is its address, its key, or neither, that of a
	 * shared receive queue is its number.
	 */
	enum Meaning { numbers, addresses, keys, local_keys, queues };
	uint64_t value(std::string_view text, Meaning meaning = numbers);
	Bytes data(const std::string &text);
	Dut &dut();

	const Setup &setup_;
	const Case &case_;
	Variables variables_;
	Bench &bench_;
	std::vector<std::unique_ptr<SetParameter>> parameters_;
	std::unique_ptr<Dut> dut_;
	Envelope envelope_; /* of injected packets */
	std::vector<PacketSpec> allowed_;
	unsigned unasked_ = 0, unasked_max_ = 0; /* requests without AckReq */
	std::vector<SendRequest> chain_; /* posted with `more` */
	std::map<std::string, uint64_t> counters_; /* when the QP was made */
	std::set<std::string> counters_named_;
	int64_t start_ = 0, last_event_ = 0;
	std::vector<std::string> trace_;
};

} // namespace pw
