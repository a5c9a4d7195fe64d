// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* striped.cpp - lanes of windows; see striped.hpp, and striped_engine.hpp. */
#include <pavo/striped.hpp>

#include <algorithm>

#include "error.hpp"
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

	/* Return: the contexts that it lends. */
	std::vector<uint32_t> add(Window &window, size_t contexts)
	{
		Lane lane{.window = &window,
			  .rdma = std::make_unique<Rdma>(window, options_.lane),
			  .peer = {},
			  .number = 0};
		std::vector<uint32_t> lent = lane.rdma->lend(contexts);

		lanes_.push_back(std::move(lane));
		listen(lanes_.size() - 1);
		return lent;
	}

	void connect(size_t number, const RdmaPeer &peer)
	{
		Lane &lane = lanes_[number];

		if (!lane.rdma)
			throw error(ENODEV, "the adapter of lane " +
						    std::to_string(number) +
						    " is gone");
		lane.number = lane.rdma->add(peer);
		lane.peer = peer;
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
			if (auto error = lanes_[i].window->kick())
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

	void begin(size_t number, uint64_t chunk, bool write,
		   const RdmaMove &move) override
	{
		Lane &lane = lanes_[number];
		auto over = [this, chunk](std::error_code error) {
			engine_->over(chunk, error);
		};

		if (write)
			lane.rdma->put(lane.number, move, over);
		else
			lane.rdma->get(lane.number, move, over);
	}

	/*
	 * With its Rdma go all contexts of the lane, of operations of both ends: they are
	 * nobody's, and their packets are dropped. The new one has none, for words; there
	 * is none where the adapter is gone.
	 */
	void close(size_t number) override
	{
		Lane &lane = lanes_[number];

		lane.rdma.reset();
		try {
			lane.rdma = std::make_unique<Rdma>(*lane.window,
							   options_.lane);
			listen(number);
		} catch (const std::system_error &) {
			return;
		}
	}

	void send(size_t number, const StripedWord &word) override
	{
		Lane &lane = lanes_[number];

		/* What cannot be sent is said again, like what is lost. */
		if (lane.rdma && !lane.peer.rcxts.empty())
			(void)lane.rdma->send_control(PAVO_MESSAGE_STRIPED,
						      lane.peer.node,
						      lane.peer.window,
						      word.encode());
	}

private:
	struct Lane {
		Window *window;
		std::unique_ptr<Rdma> rdma;
		RdmaPeer peer;
		Rdma::Peer number;
	};

	/* What a lane cannot go on after is its own failure. */
	size_t progress(size_t number)
	{
		Lane &lane = lanes_[number];

		try {
			return lane.rdma ? lane.rdma->progress() : 0;
		} catch (const std::system_error &error) {
			engine_->failed(number, error.code());
		}
		return 0;
	}

	void listen(size_t number)
	{
		lanes_[number].rdma->on_control(
			PAVO_MESSAGE_STRIPED,
			[this, number](const Message &message) {
				hear(number, message);
			});
	}

	/* Windows of others of the job have nothing to say here. */
	void hear(size_t number, const Message &message)
	{
		const RdmaPeer &peer = lanes_[number].peer;

		if (message.node != peer.node ||
		    message.window != peer.window || peer.rcxts.empty())
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

std::vector<uint32_t> Striped::add(Window &window, size_t contexts)
{
	if (!contexts)
		throw error(EINVAL, "a lane needs contexts");
	auto lent = port_->add(window, contexts);

	engine_->add(lent.front());
	return lent;
}

void Striped::connect(size_t lane, const RdmaPeer &peer)
{
	if (lane >= lanes() || peer.rcxts.empty())
		throw error(EINVAL, "lane " + std::to_string(lane) +
					    ": there is none, or it has no "
					    "contexts");
	port_->connect(lane, peer);
	engine_->connect(lane, peer.rcxts.front(), peer.rcxts.size());
}

void Striped::put(const StripedMove &move, Done done)
{
	engine_->begin(true, move, std::move(done), Clock::now());
}

void Striped::get(const StripedMove &move, Done done)
{
	engine_->begin(false, move, std::move(done), Clock::now());
}

void Striped::Transfer::await_suspend(std::coroutine_handle<> handle)
{
	auto over = [this, handle](std::error_code error) {
		error_ = error;
		handle.resume();
	};

	striped_.engine_->begin(write_, move_, over, Clock::now());
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
