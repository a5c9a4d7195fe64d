// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* broadcast.cpp - RDMA to a group, and its members; see broadcast.hpp, and broadcast_engine.hpp. */
#include <pavo/broadcast.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "broadcast_engine.hpp"
#include "error.hpp"
#include "first_tid.hpp"

namespace pavo {

namespace {

bool is_valid(const BroadcastGroup &group)
{
	return group.number & window_group && group.contexts >= 2 &&
	       group.contexts <= group_rcxts;
}

/* Whole packets, one at least. */
uint32_t round_piece(uint32_t piece, uint32_t payload)
{
	return std::max(piece - piece % payload, payload);
}

} // namespace

/* ------------------------------------------------------------------ source */

Broadcast::Broadcast(Rdma &rdma, Rcxts &&rcxts, const BroadcastOptions &options)
	: rdma_(&rdma), rcxts_(std::make_unique<Rcxts>(std::move(rcxts))),
	  engine_(std::make_unique<BroadcastEngine>(
		  Rdma::port_of(rdma), options, rcxts_->numbers(), first_tid()))
{
	rdma.on_control(message_kind::broadcast,
			[engine = engine_.get()](const Message &message) {
				auto ack =
					BroadcastAck::decode(message.payload);

				if (ack)
					engine->acknowledge(message.from, *ack);
			});
}

Result<Broadcast> Broadcast::open(Rdma &rdma,
				  const BroadcastOptions &options) noexcept
{
	if (!is_valid(options.group))
		return Unexpected(EINVAL);
	if (rdma.off_)
		return Unexpected(EOPNOTSUPP);
	return guarded([&]() -> Result<Broadcast> {
		auto node =
			rdma.window().set_node(options.node, options.group.gid);
		if (!node)
			return Unexpected(node.error());
		auto rcxts = Rcxts::open(rdma.window(), options.group.contexts);
		if (!rcxts)
			return Unexpected(rcxts.error());
		BroadcastOptions rounded = options;
		rounded.piece = round_piece(options.piece,
					    rdma.window().rdma_payload());
		return Broadcast(rdma, std::move(rcxts).value(), rounded);
	});
}

Broadcast::~Broadcast()
{
	if (!engine_)
		return;
	engine_->stop();
	rdma_->on_control(message_kind::broadcast, {});
}

Broadcast::Broadcast(Broadcast &&from) noexcept = default;

Result<void> Broadcast::add(WindowAddress member) noexcept
{
	return guarded([&] { return to_result(engine_->add(member)); });
}

Result<void> Broadcast::remove(WindowAddress member) noexcept
{
	return guarded([&] { return to_result(engine_->remove(member)); });
}

Result<void> Broadcast::put(const BroadcastMove &move, Done done)
{
	auto begun = guarded([&] {
		return to_result(
			engine_->begin(move, std::move(done), Clock::now()));
	});

	/* Frames that cannot be started now are started with the next. */
	if (begun)
		(void)rdma_->window().start();
	return begun;
}

Result<void> Broadcast::put(const BroadcastMove &move,
			    Completion &completion) noexcept
{
	return guarded([&] { return put(move, completion.begun()); });
}

Result<size_t> Broadcast::progress()
{
	auto all = rdma_->progress();
	size_t ended = engine_->look(Clock::now());
	Result<void> went = rdma_->window().start();

	if (engine_->lost_contexts()) {
		went = rcxts_->renew();
		engine_->renew(rcxts_->numbers());
	}
	if (all && !went)
		return Unexpected(went.error());
	return all.transform([&](size_t frames) { return frames + ended; });
}

Result<void> Broadcast::wait(const Completion &completion)
{
	while (!completion.over()) {
		if (!pending())
			return Unexpected(std::errc::invalid_argument);
		/* An error that stops the operation ends it with that error. */
		(void)progress();
	}
	return completion.result();
}

size_t Broadcast::pending() const
{
	return engine_->pending();
}

Broadcast::Clock::time_point Broadcast::due() const
{
	return std::min(engine_->due(), rdma_->due());
}

std::vector<WindowAddress> Broadcast::silent() const
{
	return engine_->silent();
}

uint64_t Broadcast::retries() const
{
	return engine_->retries();
}

/* ------------------------------------------------------------------ member */

struct BroadcastTarget::State {
	State(Rdma &rdma, const BroadcastGroup &group)
		: rdma(rdma), group(group)
	{
	}
	~State()
	{
		rdma.group_.erase(group.number);
		(void)rdma.window().leave(group.number);
	}
	State(const State &) = delete;

	Result<void> bind(Pvo memory, uint64_t length)
	{
		Result<void> bound;

		for (uint32_t i = 0; bound && i < group.contexts; i++)
			bound = rdma.window().bind(group.number, i, memory,
						   length);
		return bound;
	}

	void take(const Message &message)
	{
		const GroupDoneFrame done = message.group_done();
		const BroadcastAck ack = {.group = group.number,
					  .rcxt = done.rcxt,
					  .tid = done.tid,
					  .status = done.status};
		uint64_t &latest = tids[done.rcxt % group_rcxts];
		/* The adapter repeats it for each attempt, with the same tid. */
		bool repeated = std::exchange(latest, done.tid) == done.tid;
		bool last = done.rcxt + 1 == group.contexts;

		/* First: the source may write to the same memory when it has the message. */
		if (last && !repeated && done.status == PvoResult::ok &&
		    arrival)
			arrival({message.from, done.tag});
		/*
		 * A source that misses it makes another attempt. progress() starts the acknowledgments
		 * of all that has come with one call, unless they fill the FIFO before.
		 */
		if (!rdma.prepare_kind(message_kind::broadcast, message.from,
				       ack.encode()) &&
		    rdma.window_->start())
			(void)rdma.prepare_kind(message_kind::broadcast,
						message.from, ack.encode());
	}

	Rdma &rdma;
	const BroadcastGroup group;
	/** Of the last completion, by group context. */
	std::array<uint64_t, group_rcxts> tids{};
	std::function<void(const BroadcastArrival &)> arrival;
};

BroadcastTarget::BroadcastTarget(std::unique_ptr<State> state)
	: state_(std::move(state))
{
}

BroadcastTarget::~BroadcastTarget() = default;
BroadcastTarget::BroadcastTarget(BroadcastTarget &&from) noexcept = default;

Result<BroadcastTarget> BroadcastTarget::open(Rdma &rdma,
					      const BroadcastGroup &group,
					      Pvo memory,
					      uint64_t length) noexcept
{
	if (!is_valid(group))
		return Unexpected(EINVAL);
	if (rdma.off_)
		return Unexpected(EOPNOTSUPP);
	return guarded([&]() -> Result<BroadcastTarget> {
		if (auto in = rdma.window().join(group.gid, group.number); !in)
			return Unexpected(in.error());
		auto state = std::make_unique<State>(rdma, group);

		if (auto bound = state->bind(memory, length); !bound)
			return Unexpected(bound.error());
		rdma.group_[group.number] =
			[at = state.get()](const Message &message) {
				at->take(message);
			};
		return BroadcastTarget(std::move(state));
	});
}

void BroadcastTarget::on_arrival(
	std::function<void(const BroadcastArrival &)> call)
{
	state_->arrival = std::move(call);
}

} // namespace pavo
