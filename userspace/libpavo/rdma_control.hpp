// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_word.hpp - what Rdma says to the other end's about contexts that a recovery took away,
 * in messages of kind message_kind::rdma. Any may be lost, or come twice. Private to the
 * library.
 */
#ifndef PAVO_RDMA_WORD_HPP
#define PAVO_RDMA_WORD_HPP

#include <optional>

#include "word.hpp"

namespace pavo {

struct RdmaWord {
	enum What : uint8_t {
		/** Is your context @rcxt what it was? No answer: it is. */
		ask = 1,
		/** My context @rcxt is @now; operations up to tid @ended are over. */
		renewed = 2,
	};
	What what = ask;
	uint32_t rcxt = 0;
	/** Of renewed; 0 in ask. */
	uint32_t now = 0;
	uint64_t ended = 0;

	static constexpr size_t size = 20;

	std::array<std::byte, size> encode() const
	{
		WordWriter<size> to;

		to.put(what, 1);
		to.put(0, 3);
		to.put(rcxt, 4);
		to.put(now, 4);
		to.put(ended, 8);
		return to.bytes();
	}

	/** None: it is none of these. */
	static std::optional<RdmaWord> decode(std::span<const std::byte> bytes)
	{
		WordReader from(bytes);
		RdmaWord word;

		if (bytes.size() != size)
			return {};
		uint64_t what = from.get(1), reserved = from.get(3);
		word.what = What(what);
		word.rcxt = uint32_t(from.get(4));
		word.now = uint32_t(from.get(4));
		word.ended = from.get(8);
		if (reserved || (what != ask && what != renewed))
			return {};
		if (what == ask ? word.now || word.ended :
				  word.now == word.rcxt)
			return {};
		return word;
	}
};

} // namespace pavo

#endif // PAVO_RDMA_WORD_HPP
