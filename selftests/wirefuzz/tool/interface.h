/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A network interface over another window of the adapter, of a job of its own. Its only peer
 * is window 0x200 of node 1. Made before the program is started.
 *
 * Owns: the sockets by which it is set and sends. Used by: the windows and the wire.
 */
#pragma once

#include <string>

#include "../../wire/tool/bytes.h"
#include "dialogue.h"
#include "window_packet.h"

namespace wf {

class Interface {
public:
	/* @name: of it, and it has the window of interface_window; empty: there is none */
	explicit Interface(std::string name);
	~Interface();
	Interface(const Interface &) = delete;

	uint32_t window() const;
	void learn_key(uint64_t key) { key_ = key; }
	uint64_t key() const { return key_; }

	/*
	 * Makes the first bytes of @payload those of a packet from that node and window, for the
	 * interface of window @to. @type: 4, 6: IP; 1: ARP; others: of no protocol
	 */
	void write_packet(pw::Bytes &payload, uint64_t type, uint64_t node,
			  uint64_t from, uint64_t to) const;
	/* The payload of an offer: @length bytes at @pvo, to be read by @rcxt. */
	pw::Bytes make_offer(uint64_t tid, uint64_t pvo, uint64_t rcxt,
			     uint64_t length) const;
	/* If @packet is an offer of the interface it becomes the read of it. */
	bool take_offer(WindowPacket &packet) const;

	/* isend, iup, idown */
	bool carry_out(const Step &step);

private:
	void send(const Step &step);
	void set_up(bool up);

	std::string name_;
	unsigned index_ = 0;
	int control_ = -1, packets_ = -1;
	uint64_t key_ = 0;
};

} // namespace wf
