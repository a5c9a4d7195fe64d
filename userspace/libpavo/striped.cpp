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

	Result<void> add(Window &window, std::span<uint32_t> contexts)
	{
		Lane lane{
			.window = &window, .rdma = {}, .peer = {}, .number = 0};

		if (auto opened = open(lane); !opened)
			return opened;
		if (auto lent = lane.rdma->lend(contexts); !lent)
			return lent;
		lanes_.push_back(std::move(lane));
		listen(lanes_.size() - 1);
		return {};
	}

	Result<void> connect(size_t number, const RdmaPeer &peer)
	{
		Lane &lane = lanes_[number];

		if (!lane.rdma)
			return Unexpected(std::errc::no_such_device);
		auto added = lane.rdma->add(peer);
		if (!added)
			return Unexpected(added.error());
		lane.peer = peer;
		lane.number = added.value();
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
			if (auto kicked = shared_of(*lanes_[i].window).kick();
			    !kicked)
				engine_->failed(i, kicked.error().code());
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
		auto over = [this, chunk](const Result<void> &ended) {
			engine_->over(chunk, ended.error_or({}).code());
		};
		auto begun = direction == Direction::write ?
				     lane.rdma->put(lane.number, move, over) :
				     lane.rdma->get(lane.number, move, over);

		if (!begun)
			over(begun);
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
		if (open(lane).has_value())
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

	Result<void> open(Lane &lane) const
	{
		auto opened = Rdma::open(*lane.window, options_.lane);

		if (!opened)
			return Unexpected(opened.error());
		lane.rdma = std::make_unique<Rdma>(std::move(opened).value());
		return {};
	}

	/* An error after which a lane cannot go on is its own failure. */
	size_t progress(size_t number)
	{
		Lane &lane = lanes_[number];

		if (!lane.rdma)
			return 0;
		auto did = lane.rdma->progress();

		if (!did)
			engine_->failed(number, did.error().code());
		return std::move(did).value_or(0);
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

Result<void> Striped::add(Window &window, std::span<uint32_t> contexts) noexcept
{
	if (contexts.empty())
		return Unexpected(std::errc::invalid_argument);
	return guarded([&] {
		auto added = port_->add(window, contexts);

		if (added.has_value())
			engine_->add(contexts.front());
		return added;
	});
}

Result<void> Striped::connect(size_t lane, const RdmaPeer &peer) noexcept
{
	if (lane >= lanes() || peer.rcxts.empty())
		return Unexpected(std::errc::invalid_argument);
	return guarded([&] {
		auto connected = port_->connect(lane, peer);

		if (connected.has_value())
			engine_->connect(lane, peer.rcxts.front(),
					 peer.rcxts.size());
		return connected;
	});
}

Result<void> Striped::begin(Direction direction, const StripedMove &move,
			    Done done)
{
	return guarded([&] {
		engine_->begin(direction, move, std::move(done), Clock::now());
		return Result<void>();
	});
}

Result<void> Striped::put(const StripedMove &move, Done done)
{
	return begin(Direction::write, move, std::move(done));
}

Result<void> Striped::get(const StripedMove &move, Done done)
{
	return begin(Direction::read, move, std::move(done));
}

Result<void> Striped::begin(Direction direction, const StripedMove &move,
			    Completion &completion) noexcept
{
	return guarded(
		[&] { return begin(direction, move, completion.begun()); });
}

Result<void> Striped::put(const StripedMove &move,
			  Completion &completion) noexcept
{
	return begin(Direction::write, move, completion);
}

Result<void> Striped::get(const StripedMove &move,
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
