/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wqe_env.h - WQEs for the tests of the parser: put together segment by
 * segment, parsed from a private copy that ends where the WQE ends.
 */
#ifndef PAVO_UNIT_WQE_ENV_H
#define PAVO_UNIT_WQE_ENV_H

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <endian.h>

extern "C" {
#include "requester/parser.h"
}

/* A correct UDSeg. */
inline pavo_ud_seg ud_seg(uint32_t dest_qpn = 0x123456)
{
	pavo_ud_seg seg = {.dest_qpn = dest_qpn, .port_num = PAVO_PORT};

	return seg;
}

/* The bytes of a WQE under construction. */
class Wqe {
public:
	Wqe() { add(pavo_next_seg{}); }

	template <typename Segment> Wqe &add(const Segment &segment)
	{
		static_assert(sizeof(Segment) % PAVO_WQE_UNIT == 0);
		return append(&segment, sizeof(segment));
	}

	Wqe &sge(uint32_t len, uint32_t lkey = 0, uint64_t va = 0)
	{
		return add(pavo_data_seg{len, lkey, va});
	}

	Wqe &raddr(uint64_t va, uint32_t rkey, uint32_t len)
	{
		return add(pavo_raddr_seg{va, rkey, len});
	}

	Wqe &atomic(uint64_t swap_add, uint64_t compare)
	{
		return add(pavo_atomic_seg{swap_add, compare});
	}

	Wqe &ext_atomic(uint64_t swap_add, uint64_t swap_add_mask,
			uint64_t compare, uint64_t compare_mask)
	{
		return add(pavo_ext_atomic_seg{swap_add, swap_add_mask, compare,
					       compare_mask});
	}

	Wqe &imm64(uint64_t imm, uint64_t reserved = 0)
	{
		return add(pavo_imm64_seg{htobe64(imm), reserved});
	}

	/* Placement types and level of a flush (PAVO_FLUSH_*) */
	Wqe &flush(uint32_t bits)
	{
		next().imm = bits;
		return *this;
	}

	Wqe &bind(uint64_t va, uint64_t length, uint32_t mw_rkey,
		  uint32_t new_rkey, uint32_t mr_lkey, uint32_t access)
	{
		return add(pavo_bind_seg{va, length, mw_rkey, new_rkey, mr_lkey,
					 access});
	}

	/* InlineSeg that claims @claim bytes and brings those of @data. */
	Wqe &inline_data(uint32_t claim, std::span<const uint8_t> data)
	{
		uint32_t word = claim | PAVO_INLINE_SEG;

		append(&word, sizeof(word));
		append(data.data(), data.size());
		while (bytes_.size() % PAVO_WQE_UNIT)
			bytes_.push_back(0xee);
		return *this;
	}

	pavo_next_seg &next()
	{
		return *reinterpret_cast<pavo_next_seg *>(bytes_.data());
	}

	std::vector<uint8_t> &bytes() { return bytes_; }
	const std::vector<uint8_t> &bytes() const { return bytes_; }

private:
	Wqe &append(const void *data, size_t size)
	{
		auto *from = static_cast<const uint8_t *>(data);

		bytes_.insert(bytes_.end(), from, from + size);
		return *this;
	}

	std::vector<uint8_t> bytes_;
};

inline pavo_parser_limits rc_limits()
{
	return {PAVO_FOR_RC, false, 30, PAVO_MAX_MSG};
}

inline pavo_parser_limits ud_limits(uint32_t mtu = 1024)
{
	return {PAVO_FOR_UD, false, 30, mtu};
}

inline pavo_parser_limits uc_limits()
{
	return {PAVO_FOR_UC, false, 30, PAVO_MAX_MSG};
}

inline pavo_parser_limits xrc_limits()
{
	return {PAVO_FOR_XRC, false, 30, PAVO_MAX_MSG};
}

struct FreeSwqe {
	void operator()(pavo_swqe *wqe) const { std::free(wqe); }
};

/* A parsed WQE in a block of exactly its size. */
struct ParsedWqe {
	std::unique_ptr<pavo_swqe, FreeSwqe> wqe;
	pavo_status err;

	const pavo_swqe *operator->() const { return wqe.get(); }
};

inline ParsedWqe parse_wqe(const Wqe &source, uint64_t db,
			   const pavo_parser_limits &limits)
{
	size_t size = source.bytes().size();
	size_t whole = sizeof(pavo_swqe) + size;
	auto *wqe = static_cast<pavo_swqe *>(std::aligned_alloc(16, whole));
	ParsedWqe parsed;

	/* A field that the parser forgets to write shall be noticed. */
	std::memset(static_cast<void *>(wqe), 0xa5, whole);
	std::memcpy(wqe->raw, source.bytes().data(), size);
	parsed.wqe.reset(wqe);
	parsed.err =
		pavo_parse_wqe(wqe, db, static_cast<uint32_t>(size), &limits);
	return parsed;
}

#endif /* PAVO_UNIT_WQE_ENV_H */
