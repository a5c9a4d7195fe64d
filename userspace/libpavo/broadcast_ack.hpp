// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * broadcast_ack.hpp - acknowledgment of a piece by a member of a group: a message of kind
 * message_kind::broadcast. It may be lost or duplicated. Private to the library.
 */
#ifndef PAVO_BROADCAST_ACK_HPP
#define PAVO_BROADCAST_ACK_HPP

#include <optional>

#include <pavo/frame.hpp>

#include "control_message.hpp"

namespace pavo {

struct BroadcastAck {
	/** Number of the group, and group context. */
	uint32_t group = 0;
	uint32_t rcxt = 0;
	/** Tid of an attempt at the piece. */
	uint64_t tid = 0;
	/** Other than ok: the member has no memory for it. */
	PvoResult status = PvoResult::ok;

	static constexpr size_t size = 20;

	std::array<std::byte, size> encode() const
	{
		ControlWriter<size> to;

		to.put(uint8_t(status), 1);
		to.put(0, 3);
		to.put(group, 4);
		to.put(rcxt, 4);
		to.put(tid, 8);
		return to.bytes();
	}

	/** Return: none if @bytes are no valid message. */
	static std::optional<BroadcastAck>
	decode(std::span<const std::byte> bytes)
	{
		ControlReader from(bytes);
		BroadcastAck ack;

		if (bytes.size() != size)
			return {};
		uint64_t status = from.get(1), reserved = from.get(3);
		ack.group = uint32_t(from.get(4));
		ack.rcxt = uint32_t(from.get(4));
		ack.tid = from.get(8);
		ack.status = PvoResult(status);
		if (reserved || status > uint64_t(PvoResult::key) ||
		    ack.rcxt >= group_rcxts)
			return {};
		return ack;
	}
};

} // namespace pavo

#endif // PAVO_BROADCAST_ACK_HPP
