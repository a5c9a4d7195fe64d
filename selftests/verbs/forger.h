/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * forger.h - packets of a connection, made by hand: its sender knows the addresses and
 * sees none of the connection's own. Used by: blind_tests.cpp, pair_tests.cpp.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "link.h"
#include "manager.h"

namespace pv {

/* The fields that a forger has to name. */
struct Forged {
	uint8_t opcode = 0;
	uint32_t qpn = 0;
	uint32_t psn = 0;
	uint32_t imm = 0; /* of opcodes that have it */
	uint64_t address = 0; /* of a write: its key, and its 4 bytes */
	uint32_t key = 0;
	uint32_t data = 0;
};

constexpr uint8_t rc_send_only_imm = 0x05;
constexpr uint8_t uc_write_only = 0x2a;

/* Bytes of a packet in front of its BTH. */
constexpr size_t forged_headers = 20 + 8;

/* Sends with the address of end A to end B; both are of IPv4, or it is skipped. */
class Forger {
public:
	/*
	 * @same_host: the ends may be on one machine, where adapters know their peers
	 * @space: network namespace that it sends from; empty: that of this process
	 */
	explicit Forger(Env &env, bool same_host = false,
			const std::string &space = "");
	~Forger();
	Forger(const Forger &) = delete;

	/* From the IP header to the ICRC. */
	std::vector<uint8_t> packet(const Forged &what) const;
	void send(const Forged &what);
	uint64_t sent() const { return sent_; }

private:
	/* the module keeps processes from doing this */
	Parameter allowed_{"allow_user_packets", "Y"};
	uint8_t from_[4], to_[4];
	uint64_t sent_ = 0;
	int fd_ = -1;
};

} // namespace pv
