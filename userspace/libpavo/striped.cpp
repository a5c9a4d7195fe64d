// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* striped.cpp - paths of windows; see striped.hpp, and striped_engine.hpp. */
#include <pavo/striped.hpp>

#include <algorithm>

#include "error.hpp"
#include "shared_window.hpp"
#include "striped_engine.hpp"

namespace pavo {

namespace {

/* Interval of checks for adapters that are gone while something is under way. */
constexpr std::chrono::milliseconds probe_interval(10);

} // namespace

/* The engine's paths: each has an Rdma with one peer. */
class Striped::PathPort : public StripedPort {
public:
	explicit PathPort(const StripedOptions &options) : options_(options)
	{
		options_.path.piece = std::max(options.chunk, 1u);
	}

	void bind(StripedEngine &engine) { engine_ = &engine; }

	Result<void> add(Window &window, std::span<uint32_t> contexts)
	{
		Path path{
			.window = &window, .rdma = {}, .peer = {}, .number = 0};

		if (auto opened = open(path); !opened)
			return opened;
		if (auto taken = path.rdma->take_rcxts(contexts); !taken)
			return taken;
		paths_.push_back(std::move(path));
		listen(paths_.size() - 1);
		return {};
	}

	Result<void> connect(size_t number, const RdmaPeer &peer)
	{
		Path &path = paths_[number];

		if (!path.rdma)
			return Unexpected(std::errc::no_such_device);
		auto added = path.rdma->add(peer);
		if (!added)
			return Unexpected(added.error());
		path.peer = peer;
		path.number = added.value();
		return {};
	}

	size_t progress()
	{
		size_t did = 0;

		for (size_t i = 0; i < paths_.size(); i++)
			did += progress(i);
		return did;
	}

	/* A window's doorbell fails if its adapter is gone. */
	void probe()
	{
		for (size_t i = 0; i < paths_.size(); i++)
			if (auto kicked = shared_of(*paths_[i].window).kick();
			    !kicked)
				engine_->failed(i, kicked.error().code());
	}

	Clock::time_point due() const
	{
		auto due = Clock::time_point::max();

		for (const Path &path : paths_)
			if (path.rdma)
				due = std::min(due, path.rdma->due());
		return due;
	}

	void begin(size_t number, uint64_t chunk, Direction direction,
		   const RdmaMove &move) override
	{
		Path &path = paths_[number];
		auto over = [this, chunk](const Result<void> &ended) {
			engine_->over(chunk, ended.error_or({}).code());
		};
		auto begun = direction == Direction::write ?
				     path.rdma->put(path.number, move, over) :
				     path.rdma->get(path.number, move, over);

		if (!begun)
			over(begun);
	}

	/*
	 * Destroying the Rdma gives back all contexts of the path, those of the peer's operations
	 * too: the adapter drops their packets from then on. The new Rdma has no contexts and
	 * carries control messages only. There is none where the adapter is gone.
	 */
	void close(size_t number) override
	{
		Path &path = paths_[number];

		path.rdma.reset();
		if (open(path).has_value())
			listen(number);
	}

	void send(size_t number, const StripedControl &control) override
	{
		Path &path = paths_[number];

		/* The engine repeats messages that cannot be sent like those that are lost. */
		if (path.rdma && !path.peer.rcxts.empty())
			(void)path.rdma->send_kind(message_kind::striped,
						   path.peer.address,
						   control.encode());
	}

private:
	struct Path {
		Window *window;
		std::unique_ptr<Rdma> rdma;
		RdmaPeer peer;
		Rdma::Peer number;
	};

	Result<void> open(Path &path) const
	{
		auto opened = Rdma::open(*path.window, options_.path);

		if (!opened)
			return Unexpected(opened.error());
		path.rdma = std::make_unique<Rdma>(std::move(opened).value());
		return {};
	}

	/* An error of progress() fails the path. */
	size_t progress(size_t number)
	{
		Path &path = paths_[number];

		if (!path.rdma)
			return 0;
		auto did = path.rdma->progress();

		if (!did)
			engine_->failed(number, did.error().code());
		return std::move(did).value_or(0);
	}

	void listen(size_t number)
	{
		paths_[number].rdma->on_control(
			message_kind::striped,
			[this, number](const Message &message) {
				take(number, message);
			});
	}

	/* Ignore messages of windows other than the peer's. */
	void take(size_t number, const Message &message)
	{
		const RdmaPeer &peer = paths_[number].peer;

		if (message.from != peer.address || peer.rcxts.empty())
			return;
		if (auto control = StripedControl::decode(message.payload))
			engine_->receive(number, *control);
	}

	StripedOptions options_;
	StripedEngine *engine_ = nullptr;
	std::vector<Path> paths_;
};

Striped::Striped(const StripedOptions &options)
	: port_(std::make_unique<PathPort>(options)),
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

Result<void> Striped::connect(size_t path, const RdmaPeer &peer) noexcept
{
	if (path >= paths() || peer.rcxts.empty())
		return Unexpected(std::errc::invalid_argument);
	return guarded([&] {
		auto connected = port_->connect(path, peer);

		if (connected.has_value())
			engine_->connect(path, peer.rcxts.front(),
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

size_t Striped::paths() const
{
	return engine_->paths();
}

StripedPath Striped::path(size_t number) const
{
	return engine_->path(number);
}

} // namespace pavo
