// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* window.cpp - what is sent and received by FIFOs, and methods; see window.hpp. */
#include <pavo/window.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "abi.hpp"
#include "command.hpp"
#include "error.hpp"
#include "shared_window.hpp"

namespace pavo {

namespace {

uint32_t state_of(pavo_frame_hdr *frame)
{
	return std::atomic_ref(frame->state).load(std::memory_order_acquire);
}

void set_state(pavo_frame_hdr *frame, uint32_t state)
{
	std::atomic_ref(frame->state).store(state, std::memory_order_release);
}

/* True for a slot with no frame: its request is held, or was when the process came to it. */
bool is_passed(const pavo_frame_hdr *frame)
{
	return frame->type == uint8_t(FrameType::passed);
}

/* @method with all of @rcxts, some at a time. */
Result<void> with_rcxts(const SharedWindow &shared, pavo_window_method method,
			std::span<const uint32_t> rcxts) noexcept
{
	while (!rcxts.empty()) {
		auto some = rcxts.first(
			std::min<size_t>(rcxts.size(), PAVO_RCXTS_AT_ONCE));
		int err = Command(PAVO_OBJECT_WINDOW, method)
				  .handle(PAVO_ATTR_WINDOW_HANDLE,
					  shared.handle())
				  .in_array(PAVO_ATTR_WINDOW_RCXTS, some)
				  .run(shared.fd());

		if (err)
			return Unexpected(err);
		rcxts = rcxts.subspan(some.size());
	}
	return {};
}

/* The beginning of a payload; 0 where it is too short. */
template <class Head> Head head_of(std::span<const std::byte> payload)
{
	Head head{};

	memcpy(&head, payload.data(), std::min(sizeof(head), payload.size()));
	return head;
}

} // namespace

Window::Window(std::unique_ptr<SharedWindow> shared)
	: shared_(std::move(shared))
{
	held_.reserve(shared_->send_frames());
}

Result<Window> Window::open(const Job &job,
			    const WindowOptions &options) noexcept
{
	return guarded([&]() -> Result<Window> {
		return Window(std::make_unique<SharedWindow>(job, options));
	});
}

Window::~Window() = default;
Window::Window(Window &&from) noexcept = default;
Window &Window::operator=(Window &&from) noexcept = default;

SharedWindow &shared_of(const Window &window)
{
	return *window.shared_;
}

uint32_t Window::number() const
{
	return shared_->number();
}

WindowAddress Window::address() const
{
	return {shared_->node(), number()};
}

Result<Gid> Window::gid() const noexcept
{
	return shared_->gid();
}

size_t Window::max_payload() const
{
	return shared_->max_payload();
}

uint32_t Window::rdma_payload() const
{
	return shared_->rdma_payload();
}

Result<void> Window::set_node(uint16_t node, const Gid &gid,
			      const RouteOptions &options) noexcept
{
	return routes(node, gid, options, 0);
}

Result<void> Window::add_route(uint16_t node, const Gid &gid,
			       const RouteOptions &options) noexcept
{
	return routes(node, gid, options, PAVO_NODE_ADD);
}

Result<void> Window::routes(uint16_t node, const Gid &gid,
			    const RouteOptions &options,
			    uint16_t flags) noexcept
{
	pavo_window_node_args args{};

	memcpy(args.gid, gid.data(), gid.size());
	args.node = node;
	args.flags = flags;
	args.ports = options.ports;
	if (options.gid_index) {
		args.flags |= PAVO_NODE_SGID;
		args.sgid_index = *options.gid_index;
	}
	return to_result(Error(
		Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_NODE)
			.handle(PAVO_ATTR_WINDOW_HANDLE, shared_->handle())
			.in(PAVO_ATTR_WINDOW_NODE_ARGS, args)
			.run(shared_->fd())));
}

Result<void> Window::disable() noexcept
{
	return to_result(Error(
		Command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_DISABLE)
			.handle(PAVO_ATTR_WINDOW_HANDLE, shared_->handle())
			.run(shared_->fd())));
}

Result<uint32_t> Window::snapshot() const noexcept
{
	uint32_t at_work = 0;
	int err = Command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_SNAPSHOT)
			  .handle(PAVO_ATTR_WINDOW_HANDLE, shared_->handle())
			  .out(PAVO_ATTR_WINDOW_AT_WORK, at_work)
			  .run(shared_->fd());

	if (err)
		return Unexpected(err);
	return at_work;
}

Result<Lmt> Window::lmt() const noexcept
{
	pavo_lmt lmt;

	return shared_->query(lmt).transform([&] { return from_abi(lmt); });
}

uint32_t Window::recoveries() const noexcept
{
	return shared_->recoveries();
}

/* -------------------------------------------------------------- thresholds */

Result<void> Window::recv_threshold(uint32_t n) noexcept
{
	return shared_->command_now(PAVO_WCMD_RECV_THRESHOLD, n);
}

Result<void> Window::recv_threshold_early(uint32_t n) noexcept
{
	return shared_->command_now(PAVO_WCMD_RECV_THRESHOLD_EARLY, n);
}

Result<void> Window::send_threshold(uint32_t n) noexcept
{
	return shared_->command_now(PAVO_WCMD_SEND_THRESHOLD, n);
}

/* ----------------------------------------------------------------- sending */

/* Header of a frame, but for its length and state. */
struct Window::Heading {
	WindowAddress to;
	FrameType type;
	uint8_t kind = message_kind::plain;
};

/* Write a frame; @fill(span) writes all of its payload. */
template <class Fill>
Result<void> Window::write_frame(const Heading &heading, size_t length,
				 Fill &&fill) noexcept
{
	pavo_frame_hdr header{};

	if (length > max_payload())
		return Unexpected(EMSGSIZE);
	pass_held();
	pavo_frame_hdr *frame = shared_->send_frame(written_);
	/* Its slot was used before, and the adapter is not done with that. */
	if (written_ - started_ >= shared_->send_frames() ||
	    (lapped_ && state_of(frame) == PAVO_FRAME_EMPTY))
		return Unexpected(ENOBUFS);
	fill(reinterpret_cast<std::byte *>(frame + 1));
	header.node = heading.to.node;
	header.length = uint16_t(length);
	header.window = heading.to.window;
	header.type = uint8_t(heading.type);
	header.kind = heading.kind;
	/* All but its state, which may still be the adapter's mark of the last use. */
	memcpy(frame, &header, offsetof(pavo_frame_hdr, state));
	note_outcomes();
	set_state(frame, PAVO_FRAME_EMPTY);
	written_++;
	frames_++;
	lapped_ = lapped_ || written_ >= shared_->send_frames();
	return {};
}

/*
 * Pass over slots whose requests are held. Their type is overwritten, which the adapter has copied, but
 * not their state, which it will write.
 */
void Window::pass_held() noexcept
{
	while (written_ - started_ < shared_->send_frames()) {
		pavo_frame_hdr *frame = shared_->send_frame(written_);

		if (state_of(frame) != PAVO_FRAME_HELD)
			return;
		frame->type = uint8_t(FrameType::passed);
		written_++;
	}
}

/* True if @n frames can be written. */
bool Window::has_space(size_t n) const noexcept
{
	uint32_t at = written_;

	for (; n && at - started_ < shared_->send_frames(); at++) {
		uint32_t state = state_of(shared_->send_frame(at));

		if (state == PAVO_FRAME_EMPTY &&
		    (lapped_ || at >= shared_->send_frames()))
			return false;
		n -= state != PAVO_FRAME_HELD;
	}
	return !n;
}

Result<void> Window::prepare(WindowAddress to,
			     std::span<const std::byte> payload,
			     uint8_t kind) noexcept
{
	return write_frame({to, FrameType::message, kind}, payload.size(),
			   [&](std::byte *at) {
				   std::ranges::copy(payload, at);
			   });
}

Result<void> Window::prepare_rdma(Direction direction, WindowAddress to,
				  const RequestFrame &request) noexcept
{
	const pavo_rdma_request body = to_abi(request);
	FrameType type = direction == Direction::write ? FrameType::rdma_write :
							 FrameType::rdma_read;

	return write_frame({to, type}, sizeof(body), [&](std::byte *at) {
		memcpy(at, &body, sizeof(body));
	});
}

Result<void> Window::prepare_third(WindowAddress source,
				   const ThirdFrame &third) noexcept
{
	const pavo_rdma_third body = to_abi(third);

	return write_frame({source, FrameType::rdma_third}, sizeof(body),
			   [&](std::byte *at) {
				   memcpy(at, &body, sizeof(body));
			   });
}

uint32_t Window::max_piece() const
{
	return uint32_t(max_payload() - sizeof(pavo_rdma_piece)) &
	       ~(piece_align - 1);
}

Result<void> Window::prepare_piece(
	WindowAddress to, const PieceFrame &piece, uint32_t length,
	const std::function<void(std::span<std::byte>)> &fill) noexcept
{
	const pavo_rdma_piece head = to_abi(piece);

	return write_frame({to, FrameType::rdma_piece}, sizeof(head) + length,
			   [&](std::byte *at) {
				   memcpy(at, &head, sizeof(head));
				   fill({at + sizeof(head), length});
			   });
}

Result<void> Window::start() noexcept
{
	uint32_t n = written_ - started_;

	if (!n)
		return {};
	started_ = written_;
	return shared_->command_soon(PAVO_WCMD_START_TRANSMIT, n);
}

Result<void> Window::send(WindowAddress to, std::span<const std::byte> payload,
			  uint8_t kind) noexcept
{
	return prepare(to, payload, kind).and_then([this] { return start(); });
}

size_t Window::sent(std::span<FrameState> states) noexcept
{
	size_t n = 0;

	/* Those whose slots were used again are gone. */
	if (written_ - reported_ > shared_->send_frames()) {
		reported_ = written_ - shared_->send_frames();
		sent_ = frames_;
		for (uint32_t at = reported_; at != written_; at++)
			sent_ -= !is_passed(shared_->send_frame(at));
	}
	for (; n < states.size() && int32_t(started_ - reported_) > 0;
	     reported_++) {
		pavo_frame_hdr *frame = shared_->send_frame(reported_);
		uint32_t state = state_of(frame);

		if (is_passed(frame))
			continue;
		if (state == PAVO_FRAME_EMPTY)
			break;
		/* No more than there is space for: no call of the program was for it. */
		if (state == PAVO_FRAME_HELD &&
		    held_.size() < shared_->send_frames())
			held_.push_back({{sent_, FrameState::held}, reported_});
		states[n++] = FrameState(state);
		sent_++;
	}
	return n;
}

/* ------------------------------------------------------------- conditional */

/* Take the outcomes of held frames, before their slots are used again. */
void Window::note_outcomes() noexcept
{
	for (Held &held : held_)
		if (held.outcome.state == FrameState::held)
			held.outcome.state = FrameState(
				state_of(shared_->send_frame(held.slot)));
}

size_t Window::released(std::span<HeldOutcome> outcomes) noexcept
{
	size_t n = 0;

	note_outcomes();
	std::erase_if(held_, [&](const Held &held) {
		if (held.outcome.state == FrameState::held ||
		    n == outcomes.size())
			return false;
		outcomes[n++] = held.outcome;
		return true;
	});
	return n;
}

/* Write a frame that is for the adapter alone. */
template <class Body>
Result<void> Window::write_local(FrameType type, const Body &body) noexcept
{
	return write_frame({{}, type}, sizeof(body), [&](std::byte *at) {
		memcpy(at, &body, sizeof(body));
	});
}

Result<void>
Window::prepare_held(uint32_t counter, uint64_t target,
		     std::span<const HeldRequest> requests) noexcept
{
	const pavo_conditional body = {.counter = counter,
				       .following = uint32_t(requests.size()),
				       .target = target};

	if (requests.empty() || counter >= counter_count || !target)
		return Unexpected(EINVAL);
	if (!has_space(requests.size() + 1))
		return Unexpected(ENOBUFS);
	auto written = write_local(FrameType::conditional, body);

	for (const HeldRequest &held : requests)
		written = written.and_then([&] {
			return prepare_rdma(held.direction, held.to,
					    held.request);
		});
	return written;
}

Result<void> Window::prepare_counter(FrameType type,
				     const CounterRequest &request) noexcept
{
	if (type != FrameType::counter_set &&
	    type != FrameType::counter_clear &&
	    type != FrameType::counter_query)
		return Unexpected(EINVAL);
	return write_local(type, to_abi(request));
}

Result<void> Window::set_counter(uint32_t counter, uint64_t value) noexcept
{
	return prepare_counter(FrameType::counter_set,
			       {.counter = counter, .value = value});
}

Result<void> Window::clear_counter(uint32_t counter, bool cancel) noexcept
{
	return prepare_counter(FrameType::counter_clear,
			       {.counter = counter,
				.flags = cancel ? counter_flag::cancel : 0});
}

Result<void> Window::query_counter(uint32_t counter, uint32_t cookie) noexcept
{
	return prepare_counter(FrameType::counter_query,
			       {.counter = counter, .cookie = cookie});
}

Result<void> Window::bind_counter(uint32_t counter, uint32_t rcxt) noexcept
{
	return prepare_counter(FrameType::counter_set,
			       {.counter = counter,
				.rcxt = rcxt,
				.flags = counter_flag::bind});
}

Result<void> Window::unbind_counter(uint32_t rcxt) noexcept
{
	return prepare_counter(FrameType::counter_clear,
			       {.rcxt = rcxt, .flags = counter_flag::bind});
}

/* -------------------------------------------------------------------- RDMA */

Result<void> Window::take_rcxts(std::span<uint32_t> rcxts) noexcept
{
	for (size_t done = 0; done < rcxts.size();) {
		size_t n = std::min<size_t>(rcxts.size() - done,
					    PAVO_RCXTS_AT_ONCE);
		int err = Command(PAVO_OBJECT_WINDOW,
				  PAVO_METHOD_WINDOW_TAKE_RCXTS)
				  .handle(PAVO_ATTR_WINDOW_HANDLE,
					  shared_->handle())
				  .out_array(PAVO_ATTR_WINDOW_RCXTS_TAKEN,
					     rcxts.subspan(done, n))
				  .run(shared_->fd());

		if (err) {
			(void)return_rcxts(rcxts.first(done));
			return Unexpected(err);
		}
		done += n;
	}
	return {};
}

Result<void> Window::return_rcxts(std::span<const uint32_t> rcxts) noexcept
{
	return with_rcxts(*shared_, PAVO_METHOD_WINDOW_RETURN_RCXTS, rcxts);
}

Result<void> Window::cancel(std::span<const uint32_t> rcxts) noexcept
{
	return with_rcxts(*shared_, PAVO_METHOD_WINDOW_CANCEL, rcxts);
}

DoneFrame Message::done() const
{
	return from_abi(head_of<pavo_rdma_done>(payload));
}

PieceFrame Message::piece() const
{
	return from_abi(head_of<pavo_rdma_piece>(payload));
}

std::span<const std::byte> Message::piece_bytes() const
{
	return payload.subspan(sizeof(pavo_rdma_piece));
}

RequestFrame Message::request() const
{
	return from_abi(head_of<pavo_rdma_request>(payload));
}

CounterFrame Message::counter() const
{
	return from_abi(head_of<pavo_counter_value>(payload));
}

/* --------------------------------------------------------------- receiving */

bool Window::peek(Message &message) noexcept
{
	pavo_frame_hdr *frame = shared_->recv_frame(consumed_);

	if (state_of(frame) == PAVO_FRAME_EMPTY)
		return false;
	message = {{frame->node, frame->window},
		   std::span(reinterpret_cast<const std::byte *>(frame + 1),
			     frame->length),
		   FrameType(frame->type),
		   frame->kind};
	return true;
}

void Window::consume() noexcept
{
	set_state(shared_->recv_frame(consumed_), PAVO_FRAME_EMPTY);
	consumed_++;
}

void Window::give_back(size_t n) noexcept
{
	if (!n)
		return;
	/*
	 * Without a call: the adapter looks before it would drop something. But a full
	 * ring would keep from it what is free.
	 */
	if (!shared_->command(PAVO_WCMD_RETURN_SLOTS, uint32_t(n)))
		(void)shared_->command_now(PAVO_WCMD_RETURN_SLOTS, uint32_t(n));
}

} // namespace pavo
