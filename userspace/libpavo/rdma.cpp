// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma.cpp - exactly-once RDMA by a window; see rdma.hpp, and rdma_engine.hpp. */
#include <pavo/rdma.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "error.hpp"
#include "first_tid.hpp"
#include "mapped_memory.hpp"
#include "rdma_engine.hpp"
#include "rdma_control.hpp"
#include "rdma_once.hpp"
#include "rdma_port.hpp"
#include "shared_window.hpp"

namespace pavo {

namespace {

/* Return the tid of an operation's first attempt. */
uint64_t first_of(uint64_t tid, uint16_t attempts)
{
	return attempts < tid ? tid - attempts : tid;
}

/* Has the user turned RDMA off for the job? */
bool is_rdma_off()
{
	const char *value = getenv("PAVO_JOB_RDMA");

	return value && std::string_view(value) == "0";
}

/* Return the first number of transfers, above those of all earlier Rdma of the window. */
uint64_t first_number()
{
	auto since = std::chrono::system_clock::now().time_since_epoch();

	return uint64_t(
		std::chrono::duration_cast<std::chrono::nanoseconds>(since)
			.count());
}

/* Numbers of no contexts, which differ: Striped takes one as the name of a path. */
void set_no_rcxts(std::span<uint32_t> rcxts)
{
	static std::atomic<uint32_t> next = 0;

	for (uint32_t &rcxt : rcxts)
		rcxt = next++ << PAVO_RCXT_INDEX_BITS | 0xfffff;
}

bool is_out_of_rcxts(const Error &error)
{
	return error == std::errc::no_space_on_device ||
	       error.number() == EDQUOT;
}

} // namespace

RdmaPort &Rdma::port_of(Rdma &rdma) noexcept
{
	return *rdma.port_;
}

Rdma::Rdma(Window &window, Rcxts &&rcxts, const RdmaOptions &options)
	: window_(&window), rcxts_(std::move(rcxts)),
	  once_(std::make_unique<RdmaOnce>()),
	  port_(std::make_unique<WindowPort>(window)),
	  fifo_(std::make_unique<RdmaFifo>(*port_, options, first_number())),
	  engine_(std::make_unique<RdmaEngine>(*port_, options, fifo_.get(),
					       first_tid())),
	  recoveries_(window.recoveries()), off_(is_rdma_off())
{
}

Result<Rdma> Rdma::open(Window &window, const RdmaOptions &options) noexcept
{
	return guarded([&]() -> Result<Rdma> {
		auto rcxts = Rcxts::open(window);

		if (!rcxts)
			return Unexpected(rcxts.error());
		return Rdma(window, std::move(rcxts).value(), options);
	});
}

Rdma::~Rdma()
{
	if (engine_)
		engine_->stop();
}

Rdma::Rdma(Rdma &&from) noexcept = default;

Result<void> Rdma::take_rcxts(std::span<uint32_t> rcxts) noexcept
{
	size_t before = rcxts_.size();

	if (off_) {
		set_no_rcxts(rcxts);
		return {};
	}
	if (auto more = rcxts_.take(rcxts.size()); !more)
		return more;
	auto taken = rcxts_.numbers().subspan(before);
	std::ranges::copy(taken, rcxts.begin());
	return guarded([&] {
		once_->add(taken);
		return Result<void>();
	});
}

Result<Rdma::Peer> Rdma::add(const RdmaPeer &peer) noexcept
{
	return guarded([&]() -> Result<Peer> {
		std::vector<uint32_t> own(peer.rcxts.size());

		if (own.empty())
			return Unexpected(std::errc::invalid_argument);
		if (off_ || std::ranges::any_of(peer.rcxts, is_no_rcxt))
			return engine_->add(peer, {});
		auto taken = take_rcxts(own);
		if (!taken && is_out_of_rcxts(taken.error()))
			return engine_->add(peer, {});
		return taken.transform([&] { return engine_->add(peer, own); });
	});
}

WindowAddress Rdma::address(Peer peer) const noexcept
{
	return engine_->address(peer);
}

Result<void> Rdma::begin(Direction direction, Peer peer, const RdmaMove &move,
			 Done done)
{
	if ((move.counter && *move.counter >= counters_) ||
	    (move.after && move.after->counter >= counters_))
		return Unexpected(std::errc::invalid_argument);
	auto begun = guarded([&]() -> Result<void> {
		/* Contexts of before would only be refused. */
		if (window_->recoveries() != recoveries_)
			(void)renew(Clock::now());
		return to_result(engine_->begin(direction, peer, move,
						std::move(done), Clock::now()));
	});

	/* Frames that cannot be started now are started with the next. */
	if (begun)
		(void)window_->start();
	return begun;
}

Result<void> Rdma::put(Peer peer, const RdmaMove &move, Done done)
{
	return begin(Direction::write, peer, move, std::move(done));
}

Result<void> Rdma::get(Peer peer, const RdmaMove &move, Done done)
{
	return begin(Direction::read, peer, move, std::move(done));
}

Result<void> Rdma::begin(Direction direction, Peer peer, const RdmaMove &move,
			 Completion &completion) noexcept
{
	return guarded([&] {
		return begin(direction, peer, move, completion.begun());
	});
}

Result<void> Rdma::put(Peer peer, const RdmaMove &move,
		       Completion &completion) noexcept
{
	return begin(Direction::write, peer, move, completion);
}

Result<void> Rdma::get(Peer peer, const RdmaMove &move,
		       Completion &completion) noexcept
{
	return begin(Direction::read, peer, move, completion);
}

Transfer Rdma::put(Peer peer, const RdmaMove &move)
{
	return Transfer([this, peer, move](Done done) {
		return begin(Direction::write, peer, move, std::move(done));
	});
}

Transfer Rdma::get(Peer peer, const RdmaMove &move)
{
	return Transfer([this, peer, move](Done done) {
		return begin(Direction::read, peer, move, std::move(done));
	});
}

Result<void> Rdma::third_party(Peer source, Peer target, const RdmaMove &move,
			       Done done)
{
	auto begun = guarded([&]() -> Result<void> {
		return to_result(engine_->begin_third(
			source, target, move, std::move(done), Clock::now()));
	});

	/* Frames that cannot be started now are started with the next. */
	if (begun)
		(void)window_->start();
	return begun;
}

Result<void> Rdma::third_party(Peer source, Peer target, const RdmaMove &move,
			       Completion &completion) noexcept
{
	return guarded([&] {
		return third_party(source, target, move, completion.begun());
	});
}

Transfer Rdma::third_party(Peer source, Peer target, const RdmaMove &move)
{
	return Transfer([this, source, target, move](Done done) {
		return third_party(source, target, move, std::move(done));
	});
}

Result<uint32_t> Rdma::take_counter() noexcept
{
	if (counters_ == counter_count)
		return Unexpected(std::errc::no_space_on_device);
	return counters_++;
}

Result<void> Rdma::count_arrivals(uint32_t counter,
				  std::span<const uint32_t> rcxts) noexcept
{
	if (counter >= counters_)
		return Unexpected(std::errc::invalid_argument);
	return guarded([&]() -> Result<void> {
		engine_->count_arrivals(counter);
		for (uint32_t rcxt : rcxts)
			if (auto error = port_->bind_counter(counter,
							     once_->name(rcxt)))
				return Unexpected(Error(error));
		return window_->start();
	});
}

Result<void> Rdma::reset_counter(uint32_t counter) noexcept
{
	if (counter >= counters_)
		return Unexpected(std::errc::invalid_argument);
	return guarded([&] {
		return to_result(engine_->reset_counter(counter))
			.and_then([this] { return window_->start(); });
	});
}

Result<void> Rdma::send(WindowAddress to,
			std::span<const std::byte> payload) noexcept
{
	return send_kind(message_kind::plain, to, payload);
}

Result<void> Rdma::send_control(uint8_t kind, WindowAddress to,
				std::span<const std::byte> payload) noexcept
{
	if (kind < message_kind::first_own)
		return Unexpected(std::errc::invalid_argument);
	return send_kind(kind, to, payload);
}

Result<void> Rdma::prepare_kind(uint8_t kind, WindowAddress to,
				std::span<const std::byte> payload) noexcept
{
	return port_->send(to, payload, kind);
}

Result<void> Rdma::send_kind(uint8_t kind, WindowAddress to,
			     std::span<const std::byte> payload) noexcept
{
	return prepare_kind(kind, to, payload).and_then([this] {
		return window_->start();
	});
}

void Rdma::on_message(std::function<void(const Message &)> call)
{
	on_control(message_kind::plain, std::move(call));
}

void Rdma::on_control(uint8_t kind, std::function<void(const Message &)> call)
{
	message_[kind] = std::move(call);
}

void Rdma::on_arrival(std::function<void(const RdmaArrival &)> call)
{
	port_->calls.arrival = std::move(call);
}

void Rdma::on_piece(std::function<void(const RdmaPiece &)> call)
{
	port_->calls.piece = std::move(call);
}

void Rdma::on_feed(std::function<RdmaFill(const RdmaReadRequest &)> call)
{
	port_->calls.feed = std::move(call);
}

void Rdma::on_recovery(std::function<void(uint32_t)> call)
{
	recovery_ = std::move(call);
}

void Rdma::take_done(const Message &message, Clock::time_point now)
{
	DoneFrame done = message.done();
	uint32_t rcxt = done.rcxt;

	done.rcxt = once_->name(rcxt);
	if (engine_->done(done, now))
		return;
	/* A failed operation fails at the peer, too, which retries or gives up. */
	if (done.target && done.status == PvoResult::ok)
		arrive({message.from, rcxt, done.tag, done.length},
		       first_of(done.tid, done.attempts));
}

/* Call the arrival callback, with the present number of a context that was renewed. */
void Rdma::arrive(const RdmaArrival &arrival, uint64_t first)
{
	RdmaArrival renamed = arrival;

	once_->end(arrival.rcxt, first);
	renamed.rcxt = once_->name(arrival.rcxt);
	if (port_->calls.arrival)
		port_->calls.arrival(renamed);
}

void Rdma::take_piece(const Message &message)
{
	PieceFrame piece = message.piece();
	uint64_t first = first_of(piece.tid, piece.attempts);

	if (!once_->piece(piece.local_rcxt, first, piece.fragment))
		return;
	if (auto length = RdmaNotification::length(piece.pvo))
		arrive({message.from, piece.local_rcxt, piece.tag, *length},
		       first);
	else if (port_->calls.piece)
		port_->calls.piece({message.from, piece.tag, piece.pvo,
				    message.piece_bytes()});
}

void Rdma::take_read_request(const Message &message)
{
	RequestFrame request = message.request();
	RdmaFill fill = port_->feed(
		{message.from, request.tag, request.local_pvo, request.length});

	if (fill)
		engine_->feed(message.from, request, std::move(fill));
}

void Rdma::take_group_done(const Message &message)
{
	auto found = group_.find(message.group_done().group);

	if (found != group_.end())
		found->second(message);
}

void Rdma::take_control(const Message &message, Clock::time_point now)
{
	auto control = RdmaControl::decode(message.payload);

	if (control && control->type == RdmaControl::renewed)
		engine_->renew_remote(message.from, control->rcxt, control->now,
				      control->ended, now);
	else if (control)
		queries_.push_back({message.from, control->rcxt});
}

/*
 * Answer queries of peers with the new numbers of renewed contexts. First take all frames that
 * arrived before the recovery, so that the answer includes the operations that they end.
 */
Result<void> Rdma::answer(Clock::time_point now)
{
	if (queries_.empty())
		return {};
	auto renewed = renew(now);
	auto lmt = window_->lmt();
	/* A peer that gets no answer repeats its query. */
	if (!lmt || (!renewed && !rcxts_.lost())) {
		queries_.clear();
		return lmt ? renewed : Unexpected(lmt.error());
	}
	while (int32_t(lmt->recv_count - window_->received()) > 0)
		window_->receive(
			[&](const Message &message) { take(message, now); });
	for (const Query &query : std::exchange(queries_, {})) {
		uint32_t name = once_->name(query.rcxt);
		bool lost = rcxts_.lost() && once_->knows(query.rcxt);

		if (name != query.rcxt || lost)
			port_->send_control(query.from,
					    {.type = RdmaControl::renewed,
					     .rcxt = query.rcxt,
					     .now = lost ? ~0u : name,
					     .ended = once_->ended(name)});
	}
	return renewed;
}

/* Take all contexts anew after a recovery of the adapter. */
Result<void> Rdma::renew(Clock::time_point now)
{
	std::vector<uint32_t> old = once_->names();

	auto renewed = rcxts_.renew();

	engine_->use_rdma(!rcxts_.lost(), now);
	if (!renewed)
		return renewed;
	if (std::ranges::equal(old, rcxts_.numbers()))
		return {};
	once_->rename(rcxts_.numbers());
	for (size_t i = 0; i < old.size(); i++)
		engine_->renew_local(old[i], rcxts_[i], now);
	return {};
}

/* The command page has the number, so that an idle window makes no call. */
Result<void> Rdma::look_for_recovery(Clock::time_point now)
{
	uint32_t recoveries = window_->recoveries();

	if (recoveries == recoveries_)
		return {};
	if (auto renewed = renew(now); !renewed)
		return renewed;
	recoveries_ = recoveries;
	if (recovery_)
		recovery_(recoveries);
	return {};
}

void Rdma::take(const Message &message, Clock::time_point now)
{
	auto found = message_.find(message.kind);

	switch (message.type) {
	case FrameType::rdma_done:
		take_done(message, now);
		break;
	case FrameType::rdma_piece:
		take_piece(message);
		break;
	case FrameType::rdma_read:
		take_read_request(message);
		break;
	case FrameType::rdma_broadcast:
		take_group_done(message);
		break;
	/* The marks of frames say the same. */
	case FrameType::counter_value:
		break;
	default:
		if (message.kind == message_kind::rdma)
			take_control(message, now);
		else if (message.kind == message_kind::fifo)
			fifo_->take(message.from, message.payload, now);
		else if (found != message_.end() && found->second)
			found->second(message);
	}
}

Result<size_t> Rdma::progress()
{
	Clock::time_point now = Clock::now();
	size_t frames = window_->receive(
		[&](const Message &message) { take(message, now); });
	Result<void> all = answer(now);
	auto note = [&all](const Result<void> &one) {
		if (all)
			all = one;
	};

	port_->take_marks();
	if (port_->lost_contexts())
		note(renew(now));
	note(look_for_recovery(now));
	frames += engine_->look(now);
	note(window_->start());
	return all.transform([&] { return frames; });
}

Result<void> Rdma::wait(const Completion &completion)
{
	while (!completion.over()) {
		if (!pending())
			return Unexpected(std::errc::invalid_argument);
		/* An error that stops the operation ends it with that error. */
		(void)progress();
	}
	return completion.result();
}

Result<void> Rdma::wait(const Transfer &transfer)
{
	Completion completion;

	return transfer.begin(completion.begun()).and_then([&] {
		return wait(completion);
	});
}

size_t Rdma::pending() const
{
	return engine_->pending();
}

Rdma::Clock::time_point Rdma::due() const
{
	return engine_->due();
}

uint64_t Rdma::retries() const
{
	return engine_->repeated();
}

} // namespace pavo
