/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The peer's side: packets as steps describe them, with all that may be wrong in them, and
 * what the adapter sends, which has to be well formed.
 *
 * Owns: the packet socket and what came by it. Used by: the player.
 */
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "../../wire/tool/link.h"
#include "../../wire/tool/packet.h"
#include "window_packet.h"
#include "windows.h"
#include "world.h"

namespace wf {

class Wire {
public:
	Wire(const std::string &interface, const pw::Mac &adapter, World &world,
	     Windows &windows);
	~Wire();
	Wire(const Wire &) = delete;

	void send(const Step &step);
	/* Takes what the adapter sent. Throws Violation where it is malformed. */
	void listen();
	/*
	 * The adapter takes data from an application's memory as packets leave: where that
	 * may change meanwhile, their ICRC may be wrong, for so many dialogues.
	 */
	void expect_changes() { changing_ = changing_for; }
	void begin_dialogue() { changing_ -= changing_ > 0; }
	/* Waits until all that was sent has been taken off the wire. */
	void settle();
	/* The peer of a target answers what came, rightly or not (answer.cpp). */
	void answer(Target &target, const std::string &how);
	void answer_window(const std::string &how);
	/* Packets that came for it are answered no more. */
	void forget(Target &target) { inbox_[target.name].clear(); }
	void forget_all() { inbox_.clear(); }

	uint64_t sent() const { return sent_; }
	/* Of those, what has to reach the adapter whatever is inside. */
	uint64_t sure() const { return sure_; }
	uint64_t heard() const { return heard_; }
	/* Names of packets that came since it was called. */
	std::set<std::string> take_names();

private:
	static constexpr int changing_for = 64;

	struct Built {
		pw::Bytes transport;
		bool ipv6 = false;
		uint32_t qpn = 0;
	};

	Built build(const Step &step);
	Built build_window(const Step &step);
	void fill_for_interface(WindowPacket &packet, const Step &step);
	void answer_window_one(WindowPacket packet, const std::string &how);
	void fill_packet(pw::Packet &packet, const Step &step,
			 const pw::Opcode &opcode, Target &target);
	uint64_t psn_of(const Value &value, uint64_t first) const;
	/* Notes the memory that its peer may change by it. */
	void note_rights(const Built &built);
	void emit(const Step &step, const Built &built);
	void send_frame(pw::Bytes frame, const Step &step);
	bool put_on_wire(const pw::Bytes &frame);
	void deliver(Target &target, pw::Packet packet);
	void deliver_bytes(pw::View transport, bool ipv6);
	void take(const pw::Opened &opened);
	bool hear_one();
	void answer_read(Target &target, const pw::Packet &request,
			 const std::string &how);
	void answer_one(Target &target, const pw::Packet &request,
			const std::string &how);

	pw::Link link_;
	int fence_; /* a socket of the adapter's machine */
	uint32_t fences_ = 0;
	pw::Mac own_mac_, adapter_mac_;
	World &world_;
	Windows &windows_;
	std::map<std::string, std::deque<pw::Packet>> inbox_;
	std::deque<WindowPacket> window_inbox_;
	std::set<std::string> names_;
	int changing_ = 0;
	uint64_t sent_ = 0, sure_ = 0, heard_ = 0;
};

} // namespace wf
