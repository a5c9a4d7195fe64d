// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma.cpp - exactly-once RDMA by a window; see rdma.hpp, and rdma_engine.hpp. */
#include <pavo/rdma.hpp>

#include <unordered_map>

#include "rdma_engine.hpp"

namespace pavo {

/* The window as the engine sees it; counts its frames and keeps their marks. */
class Rdma::WindowPort : public RdmaPort {
public:
	explicit WindowPort(Window &window) : window_(window) {}

	std::error_code request(bool write, uint16_t node, uint32_t window,
				const pavo_rdma_request &request,
				uint32_t &frame) override
	{
		take_marks();
		std::error_code error =
			window_.prepare_rdma(write, node, window, request);

		if (!error) {
			frame = written_++;
			marks_[frame] = PAVO_FRAME_EMPTY;
		}
		return error;
	}

	uint32_t piece_room() const override { return window_.piece_room(); }

	std::error_code
	piece(uint16_t node, uint32_t window, const pavo_rdma_piece &piece,
	      uint32_t length,
	      const std::function<void(std::span<std::byte>)> &fill) override
	{
		take_marks();
		if (dead_)
			return std::make_error_code(std::errc::owner_dead);
		std::error_code error = window_.prepare_piece(
			node, window, piece, length, fill);

		if (!error)
			written_++;
		return error;
	}

	std::error_code send(uint16_t node, uint32_t window,
			     std::span<const std::byte> payload, uint8_t kind)
	{
		take_marks();
		std::error_code error =
			window_.prepare(node, window, payload, kind);

		if (!error)
			written_++;
		return error;
	}

	pavo_frame_state result(uint32_t frame) override
	{
		auto found = marks_.find(frame);
		pavo_frame_state state = found->second;

		if (state != PAVO_FRAME_EMPTY)
			marks_.erase(found);
		return state;
	}

	void forget(uint32_t frame) override { marks_.erase(frame); }

	void cancel(uint32_t rcxt) override { window_.cancel({&rcxt, 1}); }

	/* Before slots are used again. */
	void take_marks()
	{
		pavo_frame_state state;

		for (; window_.sent({&state, 1}); marked_++) {
			dead_ = dead_ || state == PAVO_FRAME_DEAD;
			auto found = marks_.find(marked_);

			if (found != marks_.end())
				found->second = state;
		}
	}

private:
	Window &window_;
	/* Frames written, and of those marked, in their order. */
	uint32_t written_ = 0;
	uint32_t marked_ = 0;
	std::unordered_map<uint32_t, pavo_frame_state> marks_;
	/* The window is, after a PVO that was none. */
	bool dead_ = false;
};

Rdma::Rdma(Window &window, const RdmaOptions &options)
	: window_(window), port_(std::make_unique<WindowPort>(window)),
	  engine_(std::make_unique<RdmaEngine>(*port_, options))
{
}

Rdma::~Rdma()
{
	engine_->stop();
	window_.cancel(taken_);
	window_.return_rcxts(taken_);
}

std::vector<uint32_t> Rdma::lend(size_t n)
{
	std::vector<uint32_t> rcxts(n);

	window_.take_rcxts(rcxts);
	taken_.insert(taken_.end(), rcxts.begin(), rcxts.end());
	return rcxts;
}

Rdma::Peer Rdma::add(const RdmaPeer &peer)
{
	return engine_->add(peer, lend(peer.rcxts.size()));
}

void Rdma::begin(bool write, Peer peer, const RdmaMove &move, Done done)
{
	engine_->begin(write, peer, move, std::move(done), Clock::now());
	window_.start();
}

void Rdma::put(Peer peer, const RdmaMove &move, Done done)
{
	begin(true, peer, move, std::move(done));
}

void Rdma::get(Peer peer, const RdmaMove &move, Done done)
{
	begin(false, peer, move, std::move(done));
}

void Rdma::Transfer::await_suspend(std::coroutine_handle<> handle)
{
	rdma_.begin(write_, peer_, move_,
		    [this, handle](std::error_code error) {
			    error_ = error;
			    handle.resume();
		    });
}

std::error_code Rdma::send(uint16_t node, uint32_t window,
			   std::span<const std::byte> payload) noexcept
{
	return send_control(PAVO_MESSAGE_PLAIN, node, window, payload);
}

std::error_code Rdma::send_control(uint8_t kind, uint16_t node, uint32_t window,
				   std::span<const std::byte> payload) noexcept
{
	std::error_code error = port_->send(node, window, payload, kind);

	return error ? error : window_.start();
}

void Rdma::on_message(std::function<void(const Message &)> call)
{
	on_control(PAVO_MESSAGE_PLAIN, std::move(call));
}

void Rdma::on_control(uint8_t kind, std::function<void(const Message &)> call)
{
	message_[kind] = std::move(call);
}

void Rdma::on_arrival(std::function<void(const RdmaArrival &)> call)
{
	arrival_ = std::move(call);
}

void Rdma::on_piece(std::function<void(const RdmaPiece &)> call)
{
	piece_ = std::move(call);
}

void Rdma::on_feed(std::function<RdmaFill(const RdmaAsked &)> call)
{
	feed_ = std::move(call);
}

void Rdma::take_done(const Message &message, Clock::time_point now)
{
	pavo_rdma_done done = message.done();

	if (engine_->done(done, now))
		return;
	/* What failed here fails there, too, and is asked for again or given up. */
	if (arrival_ && done.target && !done.status)
		arrival_({message.node, message.window, done.rcxt, done.tag,
			  done.length});
}

void Rdma::take_piece(const Message &message)
{
	pavo_rdma_piece piece = message.piece();

	if (piece_)
		piece_({message.node, message.window, piece.tag, piece.pvo,
			message.piece_bytes()});
}

void Rdma::take_asked(const Message &message)
{
	pavo_rdma_request request = message.request();
	RdmaFill fill;

	if (feed_)
		fill = feed_({message.node, message.window, request.tag,
			      request.local_pvo, request.length});
	if (fill)
		engine_->feed(message.node, message.window, request,
			      std::move(fill));
}

void Rdma::take(const Message &message, Clock::time_point now)
{
	auto found = message_.find(message.kind);

	switch (message.type) {
	case PAVO_FRAME_RDMA_DONE:
		take_done(message, now);
		break;
	case PAVO_FRAME_RDMA_PIECE:
		take_piece(message);
		break;
	case PAVO_FRAME_RDMA_READ:
		take_asked(message);
		break;
	default:
		if (found != message_.end() && found->second)
			found->second(message);
	}
}

size_t Rdma::progress()
{
	Clock::time_point now = Clock::now();
	size_t frames = window_.receive(
		[&](const Message &message) { take(message, now); });

	port_->take_marks();
	frames += engine_->look(now);
	window_.start();
	return frames;
}

size_t Rdma::pending() const
{
	return engine_->pending();
}

Rdma::Clock::time_point Rdma::due() const
{
	return engine_->due();
}

uint64_t Rdma::repeated() const
{
	return engine_->repeated();
}

} // namespace pavo
