// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_feeder.hpp - data that the process makes while it is sent, in frames
 * (sources.md#windows-half). Private to the library.
 */
#ifndef PAVO_RDMA_FEEDER_HPP
#define PAVO_RDMA_FEEDER_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <system_error>

#include <pavo/rdma.hpp>

namespace pavo {

/** Frames, as the feeder sees them. */
class PiecePort {
public:
	virtual ~PiecePort() = default;

	/** Bytes of data in a frame. */
	virtual uint32_t max_piece() const = 0;
	/** Some data. Return: no_buffer_space: not now. */
	virtual std::error_code
	piece(WindowAddress to, const PieceFrame &piece, uint32_t length,
	      const std::function<void(std::span<std::byte>)> &fill) = 0;
};

/** One attempt at an operation. */
struct RdmaFeed {
	WindowAddress to;
	/** As all pieces of it begin; pvo: where the first byte goes. */
	PieceFrame head;
	/** Number of the first byte, for @fill. */
	uint64_t at;
	RdmaFill fill;
};

class RdmaFeeder {
public:
	explicit RdmaFeeder(PiecePort &port) : port_(port) {}

	/** Begins; ends what this context is at. */
	void start(const RdmaFeed &feed);
	void stop(uint32_t rcxt) { feeds_.erase(rcxt); }
	bool busy(uint32_t rcxt) const { return feeds_.contains(rcxt); }
	void stop() { feeds_.clear(); }
	bool busy() const { return !feeds_.empty(); }

	/**
	 * Writes frames while there are some, in turns.
	 * @ended: all of a context's are written, or @error was the answer
	 */
	using Ended = std::function<void(uint32_t rcxt, std::error_code error)>;
	void pump(const Ended &ended);

private:
	struct Progress {
		RdmaFeed feed;
		uint32_t offset = 0;
		uint32_t fragment = 0;
	};

	std::error_code next(Progress &progress);

	PiecePort &port_;
	/** By this end's contexts. */
	std::map<uint32_t, Progress> feeds_;
};

} // namespace pavo

#endif // PAVO_RDMA_FEEDER_HPP
