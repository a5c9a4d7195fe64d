// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The player: see play.h.
 */
#include "play.h"

#include <algorithm>
#include <bit>

#include <unistd.h>

#include "../../common/adapter.h"

namespace wf {

namespace {

constexpr uint64_t wait_most_us = 20000;
/* The witness moves these, too. */
constexpr std::string_view of_everyone[] = {"tx_packets",	 "tx_bytes",
					    "rx_packets",	 "rx_bytes",
					    "tx_acks",		 "rx_acks",
					    "rx_write_requests", "rkm_walk_ns"};

std::string states_name(ibv_qp_state state)
{
	for (auto &[name, value] : Player::states())
		if (value == state)
			return std::string(name);
	return "?";
}

} // namespace

const std::map<std::string_view, ibv_qp_state> &Player::states()
{
	static const std::map<std::string_view, ibv_qp_state> table = {
		{"RESET", IBV_QPS_RESET}, {"INIT", IBV_QPS_INIT},
		{"RTR", IBV_QPS_RTR},	  {"RTS", IBV_QPS_RTS},
		{"SQD", IBV_QPS_SQD},	  {"SQE", IBV_QPS_SQE},
		{"ERR", IBV_QPS_ERR}};

	return table;
}

Player::Player(const std::string &device, const std::string &interface,
	       const std::string &netif, Counters &counters, Failures *failures)
	: world_(device), windows_(device, netif, world_.regions()),
	  wire_(interface, pw::mac_of(common::interface_of(device)), world_,
		windows_),
	  counters_(counters), failures_(failures)
{
	wire_.listen();
}

void Player::poll()
{
	world_.poll([&](const ibv_wc &wc) {
		completions_++;
		reached_.insert(std::string("cq ") +
				ibv_wc_status_str(wc.status) + " " +
				std::to_string(wc.status ? 0 : wc.opcode));
	});
}

/*
 * Packets to what it was before are over: it has its number still. Where making an XRC
 * target fails rdma core forgets to count it off its domain (create_xrc_qp_user()), which
 * cannot go then: that would be no fault of the adapter.
 */
void Player::begin(Target &target, const Step &step)
{
	world_.reset(target);
	if (!target.qp && target.type == IBV_QPT_XRC_RECV && failures_)
		failures_->stop();
	wire_.settle();
	wire_.forget(target);
	world_.begin(target, step);
}

bool Player::memory_step(const Step &step)
{
	Region *region = world_.regions().find(step.subject);

	if (!region)
		return false;
	if (step.verb == "dereg")
		world_.regions().deregister(*region);
	else if (step.verb == "reg")
		world_.regions().register_one(*region);
	else if (step.verb == "rereg") {
		wire_.settle();
		world_.regions().reregister(
			*region,
			static_cast<int>(step.number("access", 15) & 31));
	} else if (step.verb == "drop")
		world_.regions().drop_pages(*region, step.number("at", 0),
					    step.number("len", page_size));
	else
		return false;
	return true;
}

bool Player::target_step(Target &target, const Step &step)
{
	if (step.verb == "begin") {
		begin(target, step);
		return true;
	}
	if (step.verb == "destroy") {
		world_.destroy(target);
		return true;
	}
	/* A dialogue that does not say how begins as usual. */
	if (!target.begun)
		begin(target, {});
	if (step.verb == verb_packet)
		wire_.send(step);
	else if (step.verb == "post")
		world_.post(target, step);
	else if (step.verb == "recv")
		world_.receive(target, step);
	else if (step.verb == "answer")
		wire_.answer(target, step.name);
	else if (step.verb == "bind")
		world_.bind(step);
	else if (step.verb == "attach")
		world_.attach(target, step.number("on", 1));
	else if (step.verb == "state" && states().contains(step.name))
		world_.set_state(target, states().at(step.name), step);
	else
		return false;
	return true;
}

/* Regions s and ms are there to be sent from. */
void Player::note_changes(const Step &step)
{
	const Value *source = step.find("at");

	const bool data = step.name == "W_DATA" || step.name == "W_THIRD_DATA";
	const bool read = step.name == "W_READ" || step.name == "W_THIRD_READ";

	if (step.verb == "wrdma" || step.verb == "wheld" || read)
		source = step.find("pvo");
	else if (step.verb != "post")
		source = data ? step.find("pvo") : nullptr;
	if (source && (data ? source->symbol == "ms" :
			      source->symbol != "s" && source->symbol != "ms"))
		wire_.expect_changes();
}

void Player::carry_out(const Step &step)
{
	note_changes(step);
	if (Target *target = world_.target(step.subject)) {
		target_step(*target, step);
		return;
	}
	if (memory_step(step))
		return;
	if (step.verb == verb_packet)
		wire_.send(step);
	else if (step.verb == "answer")
		wire_.answer_window(step.name);
	else if (step.verb == "poll")
		poll();
	else if (step.verb == "arm")
		world_.arm();
	else if (step.verb == "listen")
		wire_.listen();
	else if (step.verb == "complete")
		world_.complete();
	else if (step.verb == "wait")
		usleep(static_cast<useconds_t>(
			std::min(step.number("us", 100), wait_most_us)));
	else if (step.verb == "fault" && failures_)
		failures_->start(step.subject, step.number("percent", 10),
				 step.number("times", 10));
	else
		windows_.carry_out(step);
}

void Player::note_counters(const std::vector<uint64_t> &before,
			   const Dialogue &dialogue)
{
	const std::vector<uint64_t> &now = counters_.read();
	const auto &names = counters_.names();

	for (size_t i = 0; i < std::min(now.size(), before.size()); i++) {
		if (now[i] == before[i] ||
		    std::ranges::find(of_everyone, names[i]) !=
			    std::end(of_everyone))
			continue;
		const uint64_t by = now[i] - before[i];

		reached_.insert("counter " + names[i]);
		reached_.insert("amount " + names[i] + " " +
				std::to_string(std::bit_width(by)));
		for (const Step &step : dialogue)
			if (step.verb == verb_packet)
				reached_.insert("with " + step.name + " " +
						names[i]);
	}
}

void Player::note_states()
{
	for (Target &target : world_.targets())
		if (target.begun) {
			reached_.insert("state " + target.name + " " +
					states_name(world_.state(target)));
			target.begun = false;
		}
	for (const std::string &name : wire_.take_names())
		reached_.insert("sent " + name);
}

Reached Player::play(const Dialogue &dialogue)
{
	const std::vector<uint64_t> before = counters_.read();

	reached_.clear();
	wire_.begin_dialogue();
	try {
		for (const Step &step : dialogue)
			carry_out(step);
	} catch (...) {
		if (failures_)
			failures_->stop();
		throw;
	}
	if (failures_)
		failures_->stop();
	wire_.settle();
	poll();
	wire_.listen();
	note_states();
	note_counters(before, dialogue);
	world_.regions().check();
	world_.complete();
	windows_.complete();
	windows_.interface().carry_out({.verb = "iup"});
	return std::move(reached_);
}

} // namespace wf
