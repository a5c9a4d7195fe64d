// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* striped.cpp - lanes of windows; see striped.hpp, and striped_engine.hpp. */
#include <pavo/striped.hpp>

#include <algorithm>

#include "error.hpp"
#include "shared_window.hpp"
#include "striped_engine.hpp"

namespace pavo {

namespace {

/* How often adapters are looked for while something is under way. */
constexpr std::chrono::milliseconds probe_interval(10);

} // namespace

/* Lanes as the engine sees them: an Rdma for each, with one peer. */
class Striped::LanePort : public StripedPort {
public:
	explicit LanePort(const StripedOptions &options) : options_(options)
	{
		options_.lane.piece = std::max(options.chunk, 1u);
	}

	void bind(StripedEngine &engine) { engine_ = &engine; }

	std::error_code add(Window &window, std::span<uint32_t> contexts)
	{
		Lane lane{
			.window = &window, .rdma = {}, .peer = {}, .number = 0};

		if (auto error = open(lane))
			return error;
		if (auto error = lane.rdma->lend(contexts))
			return error;
		lanes_.push_back(std::move(lane));
		listen(lanes_.size() - 1);
		return {};
	}

	std::error_code connect(size_t number, const RdmaPeer &peer)
	{
		Lane &lane = lanes_[number];
		std::error_code error;

		if (!lane.rdma)
			return code(std::errc::no_such_device);
		Rdma::Peer added = lane.rdma->add(peer, error);
		if (error)
			return error;
		lane.peer = peer;
		lane.number = added;
		return {};
	}

	size_t progress()
	{
		size_t did = 0;

		for (size_t i = 0; i < lanes_.size(); i++)
			did += progress(i);
		return did;
	}

	/* An adapter that is gone does not answer to its windows. */
	void probe()
	{
		for (size_t i = 0; i < lanes_.size(); i++)
			if (auto error = shared_of(*lanes_[i].window).kick())
				engine_->failed(i, error);
	}

	Clock::time_point due() const
	{
		auto due = Clock::time_point::max();

		for (const Lane &lane : lanes_)
			if (lane.rdma)
				due = std::min(due, lane.rdma->due());
		return due;
	}

	void begin(size_t number, uint64_t chunk, Direction direction,
		   const RdmaMove &move) override
	{
		Lane &lane = lanes_[number];
		auto over = [this, chunk](std::error_code error) {
			engine_->over(chunk, error);
		};
		std::error_code error =
			direction == Direction::write ?
				lane.rdma->put(lane.number, move, over) :
				lane.rdma->get(lane.number, move, over);

		if (error)
			over(error);
	}

	/*
	 * With its Rdma go all contexts of the lane, of operations of both ends: they are
	 * in no window, and their packets are dropped. The new one has none, for words; there
	 * is none where the adapter is gone.
	 */
	void close(size_t number) override
	{
		Lane &lane = lanes_[number];

		lane.rdma.reset();
		if (!open(lane))
			listen(number);
	}

	void send(size_t number, const StripedWord &word) override
	{
		Lane &lane = lanes_[number];

		/* The engine repeats words that cannot be sent, like those that are lost. */
		if (lane.rdma && !lane.peer.rcxts.empty())
			(void)lane.rdma->send_kind(message_kind::striped,
						   lane.peer.address,
						   word.encode());
	}

private:
	struct Lane {
		Window *window;
		std::unique_ptr<Rdma> rdma;
		RdmaPeer peer;
		Rdma::Peer number;
	};

	std::error_code open(Lane &lane) const
	{
		try {
			lane.rdma = std::make_unique<Rdma>(*lane.window,
							   options_.lane);
		} catch (const std::system_error &error) {
			return error.code();
		}
		return {};
	}

	/* An error after which a lane cannot go on is its own failure. */
	size_t progress(size_t number)
	{
		Lane &lane = lanes_[number];
		std::error_code error;
		size_t did = lane.rdma ? lane.rdma->progress(error) : 0;

		if (error)
			engine_->failed(number, error);
		return did;
	}

	void listen(size_t number)
	{
		lanes_[number].rdma->on_control(
			message_kind::striped,
			[this, number](const Message &message) {
				hear(number, message);
			});
	}

	/* Windows of others of the job have nothing to say here. */
	void hear(size_t number, const Message &message)
	{
		const RdmaPeer &peer = lanes_[number].peer;

		if (message.from != peer.address || peer.rcxts.empty())
			return;
		if (auto word = StripedWord::decode(message.payload))
			engine_->heard(number, *word);
	}

	StripedOptions options_;
	StripedEngine *engine_ = nullptr;
	std::vector<Lane> lanes_;
};

Striped::Striped(const StripedOptions &options)
	: port_(std::make_unique<LanePort>(options)),
	  engine_(std::make_unique<StripedEngine>(*port_, options))
{
	port_->bind(*engine_);
}

Striped::~Striped() = default;

std::error_code Striped::add(Window &window,
			     std::span<uint32_t> contexts) noexcept
{
	if (contexts.empty())
		return code(std::errc::invalid_argument);
	return unless_no_memory([&] {
		std::error_code error = port_->add(window, contexts);

		if (!error)
			engine_->add(contexts.front());
		return error;
	});
}

std::error_code Striped::connect(size_t lane, const RdmaPeer &peer) noexcept
{
	if (lane >= lanes() || peer.rcxts.empty())
		return code(std::errc::invalid_argument);
	return unless_no_memory([&] {
		std::error_code error = port_->connect(lane, peer);

		if (!error)
			engine_->connect(lane, peer.rcxts.front(),
					 peer.rcxts.size());
		return error;
	});
}

std::error_code Striped::begin(Direction direction, const StripedMove &move,
			       Done done)
{
	return unless_no_memory([&] {
		engine_->begin(direction, move, std::move(done), Clock::now());
		return std::error_code();
	});
}

std::error_code Striped::put(const StripedMove &move, Done done)
{
	return begin(Direction::write, move, std::move(done));
}

std::error_code Striped::get(const StripedMove &move, Done done)
{
	return begin(Direction::read, move, std::move(done));
}

std::error_code Striped::begin(Direction direction, const StripedMove &move,
			       Completion &completion) noexcept
{
	return unless_no_memory(
		[&] { return begin(direction, move, completion.begun()); });
}

std::error_code Striped::put(const StripedMove &move,
			     Completion &completion) noexcept
{
	return begin(Direction::write, move, completion);
}

std::error_code Striped::get(const StripedMove &move,
			     Completion &completion) noexcept
{
	return begin(Direction::read, move, completion);
}

Transfer Striped::put(const StripedMove &move)
{
	return Transfer([this, move](Done done) {
		return begin(Direction::write, move, std::move(done));
	});
}

Transfer Striped::get(const StripedMove &move)
{
	return Transfer([this, move](Done done) {
		return begin(Direction::read, move, std::move(done));
	});
}

void Striped::on_arrival(std::function<void(const StripedArrival &)> call)
{
	engine_->on_arrival(std::move(call));
}

size_t Striped::progress()
{
	size_t did = port_->progress();
	Clock::time_point now = Clock::now();

	if (pending() && probe_ <= now) {
		port_->probe();
		probe_ = now + probe_interval;
	}
	return did + engine_->look(now);
}

size_t Striped::pending() const
{
	return engine_->pending();
}

Striped::Clock::time_point Striped::due() const
{
	auto due = std::min(engine_->due(), port_->due());

	return pending() ? std::min(due, probe_) : due;
}

size_t Striped::lanes() const
{
	return engine_->lanes();
}

StripedLane Striped::lane(size_t number) const
{
	return engine_->lane(number);
}

} // namespace pavo
