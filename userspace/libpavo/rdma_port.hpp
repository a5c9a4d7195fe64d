// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_port.hpp - a window as the engines of RDMA know it: numbers the frames that they write, and
 * keeps the outcomes of these until they ask. Included by rdma.cpp.
 */
#ifndef PAVO_RDMA_PORT_HPP
#define PAVO_RDMA_PORT_HPP

#include <unordered_map>
#include <utility>

#include <pavo/rdma.hpp>

#include "error.hpp"
#include "rdma_control.hpp"
#include "rdma_engine.hpp"
#include "shared_window.hpp"

namespace pavo {

/* The program's callbacks for data and arrivals. */
struct RdmaCalls {
	std::function<void(const RdmaArrival &)> arrival = {};
	std::function<void(const RdmaPiece &)> piece = {};
	std::function<RdmaFill(const RdmaReadRequest &)> feed = {};
};

/*
 * The engine's interface to the window, and that of transfers by the FIFOs; counts frames and keeps
 * their outcomes. Stays where it is when the Rdma is moved.
 */
class Rdma::WindowPort : public RdmaPort, public FifoPort {
public:
	explicit WindowPort(Window &window)
		: window_(window), job_(shared_of(window).job_id())
	{
		/* Outcomes of frames that were sent before are not its own. */
		window.forget_sent();
		base_ = window.frames();
	}

	std::error_code request(Direction direction, WindowAddress to,
				const RequestFrame &request,
				uint32_t &frame) override
	{
		take_marks();
		return note_frame(window_.prepare_rdma(direction, to, request),
				  frame);
	}

	std::error_code request_third(WindowAddress source,
				      const ThirdFrame &third,
				      uint32_t &frame) override
	{
		take_marks();
		return note_frame(window_.prepare_third(source, third), frame);
	}

	uint32_t max_piece() const override { return window_.max_piece(); }

	std::error_code
	piece(WindowAddress to, const PieceFrame &piece, uint32_t length,
	      const std::function<void(std::span<std::byte>)> &fill) override
	{
		take_marks();
		if (dead_)
			return std::make_error_code(std::errc::owner_dead);
		std::error_code error =
			window_.prepare_piece(to, piece, length, fill)
				.error_or({})
				.code();

		if (!error)
			written_++;
		return error;
	}

	Result<void> send(WindowAddress to, std::span<const std::byte> payload,
			  uint8_t kind)
	{
		take_marks();
		auto prepared = window_.prepare(to, payload, kind);

		if (prepared)
			written_++;
		return prepared;
	}

	std::error_code hold(const RdmaCondition &condition,
			     const HeldRequest &request,
			     uint32_t &frame) override
	{
		take_marks();
		std::error_code error = window_.prepare_held(condition.counter,
							     condition.value,
							     {&request, 1})
						.error_or({})
						.code();

		if (!error) {
			/* The first one holds the second. */
			frame = written_ + 1;
			written_ += 2;
			marks_[frame] = FrameState::empty;
		}
		return error;
	}

	std::error_code set_counter(uint32_t counter, uint64_t value) override
	{
		take_marks();
		return count_frame(window_.set_counter(counter, value));
	}

	std::error_code bind_counter(uint32_t counter, uint32_t rcxt)
	{
		take_marks();
		return count_frame(window_.bind_counter(counter, rcxt));
	}

	FrameState result(uint32_t frame) override
	{
		auto found = marks_.find(frame);
		FrameState state = found->second;

		if (state != FrameState::empty && state != FrameState::held)
			marks_.erase(found);
		return state;
	}

	void forget(uint32_t frame) override { marks_.erase(frame); }

	void cancel(uint32_t rcxt) override
	{
		(void)window_.cancel({&rcxt, 1});
	}

	void query_context(WindowAddress to, uint32_t rcxt) override
	{
		send_control(to, {.type = RdmaControl::query, .rcxt = rcxt});
	}

	/* By FIFOs: of the memory of this process, only what it has mapped for the job. */
	size_t max_message() const override { return window_.max_payload(); }

	std::error_code message(WindowAddress to,
				std::span<const std::byte> bytes) override
	{
		if (dead_)
			return std::make_error_code(std::errc::owner_dead);
		return send(to, bytes, message_kind::fifo).error_or({}).code();
	}

	bool holds(uint64_t pvo, uint64_t length) override
	{
		return mapped_memory::holds(job_, pvo, length);
	}

	bool read(uint64_t pvo, std::span<std::byte> to) override
	{
		return mapped_memory::read(job_, pvo, to);
	}

	bool write(uint64_t pvo, std::span<const std::byte> from) override
	{
		return mapped_memory::write(job_, pvo, from);
	}

	void arrive(WindowAddress from, uint32_t tag, uint32_t length) override
	{
		if (calls.arrival)
			calls.arrival({from, ~0u, tag, length});
	}

	void take(const RdmaPiece &piece) override
	{
		if (auto length = RdmaNotification::length(piece.at))
			arrive(piece.from, piece.tag, *length);
		else if (calls.piece)
			calls.piece(piece);
	}

	RdmaFill feed(const RdmaReadRequest &request) override
	{
		return calls.feed ? calls.feed(request) : RdmaFill();
	}

	RdmaCalls calls;

	/* Send with the next start(). A peer that gets no answer repeats its query. */
	void send_control(WindowAddress to, const RdmaControl &control)
	{
		(void)send(to, control.encode(), message_kind::rdma);
	}

	/* Return whether a frame failed for a context that is not this window's; then reset. */
	bool lost_contexts() { return std::exchange(lost_, false); }

	/* Take outcomes of frames before their slots are reused. */
	void take_marks()
	{
		FrameState state;

		for (; window_.sent({&state, 1}); marked_++) {
			dead_ = dead_ || state == FrameState::dead;
			lost_ = lost_ || state == FrameState::bad_rcxt;
			note(marked_, state);
		}
		for (HeldOutcome held; window_.released({&held, 1});)
			note(held.frame - base_, held.state);
	}

private:
	/* Number a frame that was written, whose outcome is to be kept. */
	std::error_code note_frame(const Result<void> &prepared,
				   uint32_t &frame)
	{
		if (!prepared)
			return prepared.error().code();
		frame = written_++;
		marks_[frame] = FrameState::empty;
		return {};
	}

	void note(uint32_t frame, FrameState state)
	{
		auto found = marks_.find(frame);

		if (found != marks_.end())
			found->second = state;
	}

	std::error_code count_frame(const Result<void> &written)
	{
		if (written)
			written_++;
		return written.error_or({}).code();
	}

	Window &window_;
	uint32_t job_;
	/* Frames written, and those whose outcome is known, in order. */
	uint32_t written_ = 0;
	uint32_t marked_ = 0;
	/* Number of the first one, as the window counts. */
	uint32_t base_ = 0;
	std::unordered_map<uint32_t, FrameState> marks_;
	/* The window is disabled by an invalid PVO. */
	bool dead_ = false;
	bool lost_ = false;
};

} // namespace pavo

#endif
