// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fifo_message.hpp - messages by which two Rdma move bytes through their FIFOs alone, without
 * contexts: messages of kind message_kind::fifo. They may be lost or duplicated. Private to the
 * library.
 */
#ifndef PAVO_FIFO_MESSAGE_HPP
#define PAVO_FIFO_MESSAGE_HPP

#include <algorithm>
#include <optional>

#include <pavo/frame.hpp>

#include "control_message.hpp"

namespace pavo {

/** The beginning of every such message; put and data have the bytes of a chunk behind it. */
struct FifoMessage {
	enum Type : uint8_t {
		/** A chunk for the receiver's memory, or for its process. */
		put = 1,
		/** Answer to put: the chunks that have arrived. */
		answer = 2,
		/** Request for chunks of the receiver's memory, or of its process. */
		get = 3,
		/** Answer to get: a chunk. */
		data = 4,
	};
	Type type = put;
	/** Of rdma_flag: notify_target, to_fifo, from_fifo. */
	uint8_t flags = 0;
	/** Of answer and data. */
	PvoResult status = PvoResult::ok;
	/** Bytes of all chunks but the last. */
	uint16_t chunk_bytes = 0;
	/** Number of the transfer, higher than all earlier ones of the window that requests it. */
	uint64_t id = 0;
	/** Of put: all transfers to this receiver with lower numbers are over. */
	uint64_t oldest = 0;
	/** The receiver's memory at which the transfer begins, or number of the first byte. */
	uint64_t pvo = 0;
	/** Bytes of the transfer. */
	uint32_t total = 0;
	uint32_t tag = 0;
	/** Of put and data: index of the chunk; else of the chunk that is bit 0 of @mask. */
	uint32_t chunk = 0;
	/** Of answer: chunks that have arrived, beside all below @chunk. Of get: the wanted ones. */
	uint64_t mask = 0;

	static constexpr size_t size = 56;
	static constexpr uint16_t least_chunk = 64;
	static constexpr uint8_t known_flags = rdma_flag::notify_target |
					       rdma_flag::to_fifo |
					       rdma_flag::from_fifo;

	/** Chunks of the transfer; one of no bytes has one. */
	uint32_t chunks() const
	{
		return total ? uint32_t((uint64_t(total) + chunk_bytes - 1) /
					chunk_bytes) :
			       1;
	}
	/** Bytes of a chunk, and the number of its first byte. */
	uint32_t length_of(uint32_t index) const
	{
		return uint32_t(std::min<uint64_t>(chunk_bytes,
						   total - start_of(index)));
	}
	uint64_t start_of(uint32_t index) const
	{
		return uint64_t(index) * chunk_bytes;
	}

	std::array<std::byte, size> encode() const
	{
		ControlWriter<size> to;

		to.put(type, 1);
		to.put(flags, 1);
		to.put(uint8_t(status), 1);
		to.put(0, 1);
		to.put(chunk_bytes, 2);
		to.put(0, 2);
		to.put(id, 8);
		to.put(oldest, 8);
		to.put(pvo, 8);
		to.put(total, 4);
		to.put(tag, 4);
		to.put(chunk, 4);
		to.put(0, 4);
		to.put(mask, 8);
		return to.bytes();
	}

	/** Return: none if @bytes do not begin a valid message, or its chunk is not all there. */
	static std::optional<FifoMessage>
	decode(std::span<const std::byte> bytes)
	{
		ControlReader from(bytes);
		FifoMessage message;

		if (bytes.size() < size)
			return {};
		message.type = Type(from.get(1));
		message.flags = uint8_t(from.get(1));
		message.status = PvoResult(from.get(1));
		uint64_t reserved = from.get(1);
		message.chunk_bytes = uint16_t(from.get(2));
		reserved |= from.get(2);
		message.id = from.get(8);
		message.oldest = from.get(8);
		message.pvo = from.get(8);
		message.total = uint32_t(from.get(4));
		message.tag = uint32_t(from.get(4));
		message.chunk = uint32_t(from.get(4));
		reserved |= from.get(4);
		message.mask = from.get(8);
		if (reserved || !message.is_valid(bytes.size() - size))
			return {};
		return message;
	}

private:
	/* @behind: bytes behind the header */
	bool is_valid(size_t behind) const
	{
		if (type < put || type > data || flags & ~known_flags ||
		    status > PvoResult::key || chunk_bytes < least_chunk ||
		    chunk > chunks())
			return false;
		if (type == put || (type == data && status == PvoResult::ok))
			return chunk < chunks() && behind == length_of(chunk);
		return !behind;
	}
};

} // namespace pavo

#endif // PAVO_FIFO_MESSAGE_HPP
