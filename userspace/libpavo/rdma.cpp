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

void Rdma::take(const Message &message, Clock::time_point now)
{
	if (message.type != PAVO_FRAME_RDMA_DONE) {
		auto found = message_.find(message.kind);

		if (found != message_.end() && found->second)
			found->second(message);
		return;
	}
	pavo_rdma_done done = message.done();

	if (engine_->done(done, now))
		return;
	/* What failed here fails there, too, and is asked for again or given up. */
	if (arrival_ && done.target && !done.status)
		arrival_({message.node, message.window, done.rcxt, done.tag,
			  done.length});
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
