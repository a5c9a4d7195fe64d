// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_control.hpp - control messages between two Rdma about contexts that ended by a recovery of
 * an adapter: messages of kind message_kind::rdma. They may be lost or duplicated. Private to
 * the library.
 */
#ifndef PAVO_RDMA_CONTROL_HPP
#define PAVO_RDMA_CONTROL_HPP

#include <optional>

#include "control_message.hpp"

namespace pavo {

struct RdmaControl {
	enum Type : uint8_t {
		/** Has context @rcxt another number now? The peer answers only if it has. */
		query = 1,
		/** Answer: context @rcxt is @now; operations up to tid @ended are over. */
		renewed = 2,
	};
	Type type = query;
	uint32_t rcxt = 0;
	/** Of renewed; 0 in query. */
	uint32_t now = 0;
	uint64_t ended = 0;

	static constexpr size_t size = 20;

	std::array<std::byte, size> encode() const
	{
		ControlWriter<size> to;

		to.put(type, 1);
		to.put(0, 3);
		to.put(rcxt, 4);
		to.put(now, 4);
		to.put(ended, 8);
		return to.bytes();
	}

	/** Return: none if @bytes are no valid message. */
	static std::optional<RdmaControl>
	decode(std::span<const std::byte> bytes)
	{
		ControlReader from(bytes);
		RdmaControl control;

		if (bytes.size() != size)
			return {};
		uint64_t type = from.get(1), reserved = from.get(3);
		control.type = Type(type);
		control.rcxt = uint32_t(from.get(4));
		control.now = uint32_t(from.get(4));
		control.ended = from.get(8);
		if (reserved || (type != query && type != renewed))
			return {};
		if (type == query ? control.now || control.ended :
				    control.now == control.rcxt)
			return {};
		return control;
	}
};

} // namespace pavo

#endif // PAVO_RDMA_CONTROL_HPP
