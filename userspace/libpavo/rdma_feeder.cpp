// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_feeder.cpp - from operations to frames; see rdma_feeder.hpp. */
#include "rdma_feeder.hpp"

#include <algorithm>

namespace pavo {

void RdmaFeeder::start(const RdmaFeed &feed)
{
	feeds_[feed.head.local_rcxt] = {.feed = feed};
}

/* One more frame of it. */
std::error_code RdmaFeeder::next(Progress &progress)
{
	const RdmaFeed &feed = progress.feed;
	PieceFrame piece = feed.head;
	uint32_t length =
		std::min(piece.total - progress.offset, port_.max_piece());
	std::error_code error;

	piece.pvo += progress.offset;
	piece.fragment = progress.fragment;
	error = port_.piece(feed.to, piece, length,
			    [&](std::span<std::byte> to) {
				    feed.fill(feed.at + progress.offset, to);
			    });
	if (!error) {
		progress.offset += length;
		progress.fragment++;
	}
	return error;
}

void RdmaFeeder::pump(const Ended &ended)
{
	while (!feeds_.empty()) {
		for (auto at = feeds_.begin(); at != feeds_.end();) {
			auto &[rcxt, progress] = *at;
			std::error_code error = next(progress);

			if (error == std::errc::no_buffer_space)
				return;
			if (!error &&
			    progress.offset < progress.feed.head.total) {
				++at;
				continue;
			}
			ended(rcxt, error);
			at = feeds_.erase(at);
		}
	}
}

} // namespace pavo
