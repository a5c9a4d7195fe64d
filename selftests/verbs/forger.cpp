// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* forger.cpp - see forger.h. */
#include "forger.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../wire/tool/icrc.h"
#include "tap.h"

namespace pv {

namespace {

using Bytes = std::vector<uint8_t>;

/* A number of so many bytes, as it is on the wire. */
void put(Bytes &packet, uint64_t value, int bytes)
{
	while (bytes--)
		packet.push_back(uint8_t(value >> (8 * bytes)));
}

/* BTH and what follows it up to the ICRC. */
Bytes make_transport(const Forged &what)
{
	Bytes packet;

	put(packet, what.opcode, 1);
	put(packet, 0x40, 1); /* migrated, no pad */
	put(packet, 0xffff, 2); /* P_Key */
	put(packet, what.qpn, 4);
	put(packet, what.psn, 4); /* asks for no acknowledgment */
	if (what.opcode == uc_write_only) {
		put(packet, what.address, 8);
		put(packet, what.key, 4);
		put(packet, 4, 4);
		put(packet, what.data, 4);
	} else {
		put(packet, what.imm, 4);
	}
	return packet;
}

/* A raw socket of another network namespace; in a thread of its own. */
int open_raw_in(const std::string &space)
{
	if (!space.empty()) {
		int fd = open(space.c_str(), O_RDONLY | O_CLOEXEC);
		int err = setns(fd, CLONE_NEWNET);

		close(fd);
		if (err)
			return -1;
	}
	return socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
}

} // namespace

Forger::Forger(Env &env, bool same_host, const std::string &space)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0,    0,
					   0, 0, 0, 0, 0xff, 0xff};

	if (!same_host && dynamic_cast<LocalHost *>(&env.b))
		throw Skip(
			"on one machine no such packet is taken: pair.forged");
	if (memcmp(env.info_a.gid.raw, mapped, sizeof(mapped)))
		throw Skip("of IPv4 only");
	std::thread([&] { fd_ = open_raw_in(space); }).join();
	REQUIRE(fd_ >= 0, "raw socket: ", strerror(errno));
	std::copy_n(env.info_a.gid.raw + 12, 4, from_);
	std::copy_n(env.info_b.gid.raw + 12, 4, to_);
}

Forger::~Forger()
{
	close(fd_);
}

Bytes Forger::packet(const Forged &what) const
{
	const Bytes transport = make_transport(what);
	const size_t udp = 8 + transport.size() + 4;
	Bytes packet;

	put(packet, 0x4500, 2);
	put(packet, 20 + udp, 2);
	put(packet, 1, 2); /* 0 would be replaced by the kernel */
	put(packet, 0x4000, 2); /* whole */
	put(packet, 64 << 8 | IPPROTO_UDP, 2);
	put(packet, 0, 2); /* the kernel's */
	packet.insert(packet.end(), from_, from_ + 4);
	packet.insert(packet.end(), to_, to_ + 4);
	put(packet, 0xc123, 2);
	put(packet, 4791, 2);
	put(packet, udp, 2);
	put(packet, 0, 2);
	packet.insert(packet.end(), transport.begin(), transport.end());
	uint32_t crc = pw::icrc(packet);
	for (int i = 0; i < 4; i++, crc >>= 8)
		packet.push_back(uint8_t(crc));
	return packet;
}

void Forger::send(const Forged &what)
{
	const Bytes packet = this->packet(what);
	sockaddr_in to = {.sin_family = AF_INET};

	memcpy(&to.sin_addr, to_, sizeof(to_));
	REQUIRE_EQ(sendto(fd_, packet.data(), packet.size(), 0,
			  reinterpret_cast<sockaddr *>(&to), sizeof(to)),
		   ssize_t(packet.size()), "sendto: ", strerror(errno));
	sent_++;
}

} // namespace pv
