// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* both.h - both ends of exactly-once RDMA in one program. */
#ifndef PAVO_WINDOW_BOTH_H
#define PAVO_WINDOW_BOTH_H

#include <algorithm>
#include <cstring>
#include <map>

#include <pavo/rdma.hpp>

#include "adapter.h"

namespace windows {

constexpr size_t memory_size = 4 << 20;

/* Makes @there, which takes @contexts for it, a peer of @here. */
inline pavo::Rdma::Peer introduce(pavo::Rdma &here, pavo::Rdma &there,
				  uint16_t node, uint32_t window,
				  size_t contexts)
{
	std::vector<uint32_t> taken(contexts);

	must(there.take_rcxts(taken));
	return must(here.add({{node, window}, taken}));
}

/* Both ends of a pair with memory, and what has come to each. */
struct Both : Pair {
	explicit Both(size_t contexts = 4,
		      const pavo::RdmaOptions &options = {},
		      uint32_t recv_frames = 1024)
		: Pair(false, recv_frames, 256), memory_a(memory_size),
		  memory_b(memory_size),
		  mapping_a(pavo::Mapping::open(job_a, memory_a.all()).value()),
		  mapping_b(pavo::Mapping::open(job_b, memory_b.all()).value()),
		  rdma_a(pavo::Rdma::open(a, options).value()),
		  rdma_b(pavo::Rdma::open(b, options).value())
	{
		b_of_a =
			introduce(rdma_a, rdma_b, node_b, b.number(), contexts);
		a_of_b =
			introduce(rdma_b, rdma_a, node_a, a.number(), contexts);
		rdma_b.on_arrival([this](const pavo::RdmaArrival &arrival) {
			arrived_b[arrival.tag]++;
			lengths[arrival.tag] = arrival.length;
		});
		rdma_a.on_arrival([this](const pavo::RdmaArrival &arrival) {
			arrived_a[arrival.tag]++;
			lengths[arrival.tag] = arrival.length;
		});
	}

	/* Until nothing is pending at either end. */
	/*
	 * Until all are over. The news for one end is there when the other hears of the
	 * end, which may be after the one has looked: both look once more.
	 */
	bool run()
	{
		bool over = eventually([&] {
			(void)rdma_a.progress();
			(void)rdma_b.progress();
			return !rdma_a.pending() && !rdma_b.pending();
		});

		(void)rdma_a.progress();
		(void)rdma_b.progress();
		return over;
	}

	world::Memory memory_a;
	world::Memory memory_b;
	pavo::Mapping mapping_a;
	pavo::Mapping mapping_b;
	pavo::Rdma rdma_a;
	pavo::Rdma rdma_b;
	pavo::Rdma::Peer b_of_a;
	pavo::Rdma::Peer a_of_b;
	std::map<uint32_t, int> arrived_a;
	std::map<uint32_t, int> arrived_b;
	/* Notifications of an end, by tag. */
	std::map<uint32_t, uint32_t> lengths;
};

inline void fill(world::Memory &memory, size_t from, size_t bytes,
		 uint32_t number)
{
	common::fill(memory.part(from, bytes), number);
}

inline bool equal(const world::Memory &a, size_t from_a, const world::Memory &b,
		  size_t from_b, size_t bytes)
{
	return std::ranges::equal(a.part(from_a, bytes), b.part(from_b, bytes));
}

} // namespace windows

#endif // PAVO_WINDOW_BOTH_H
