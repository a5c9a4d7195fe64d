// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* window.cpp - windows: FIFOs, commands, methods; see window.hpp. */
#include <pavo/window.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "command.hpp"
#include "error.hpp"

namespace pavo {

namespace {

std::string advice(int err)
{
	switch (err) {
	case ENOSPC:
		return ": the adapter has as many as it may (parameter "
		       "max_windows of the module)";
	case ENOMEM:
		return ": more than may be locked (`ulimit -l`), or no memory "
		       "left";
	case EMSGSIZE:
		return ": the MTU of the adapter's interface is too small";
	case EINVAL:
		return ": frames are powers of two from 16 to 32768, nodes 1 "
		       "to 65536";
	default:
		return "";
	}
}

void close_window(int fd, uint32_t handle)
{
	Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_CLOSE)
		.handle(PAVO_ATTR_WINDOW_HANDLE, handle)
		.run(fd);
}

void *map(int fd, const pavo_mmap_info &info)
{
	void *at = mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, off_t(info.offset));

	return at == MAP_FAILED ? nullptr : at;
}

uint32_t state_of(pavo_frame_hdr *frame)
{
	return std::atomic_ref(frame->state).load(std::memory_order_acquire);
}

void set_state(pavo_frame_hdr *frame, uint32_t state)
{
	std::atomic_ref(frame->state).store(state, std::memory_order_release);
}

} // namespace

Window::Window(const Job &job, const WindowOptions &options) : file_(job.file())
{
	Command command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_OPEN);
	pavo_window_args args = {
		.send_frames = options.send_frames,
		.recv_frames = options.recv_frames,
		.nodes = options.nodes,
		.node = options.node,
		.sgid_index = options.gid_index,
		.recv_event = options.recv_event,
		.send_event = options.send_event,
		.flags = options.broadcast ? uint32_t(PAVO_WINDOW_BROADCAST) :
					     0,
	};
	pavo_window_resp resp{};
	int err = command.new_handle(PAVO_ATTR_WINDOW_HANDLE)
			  .handle(PAVO_ATTR_WINDOW_JOB, job.handle())
			  .in(PAVO_ATTR_WINDOW_ARGS, args)
			  .out(PAVO_ATTR_WINDOW_RESP, resp)
			  .run(fd());

	if (err)
		throw error(err, "window" + advice(err));
	handle_ = command.made();
	number_ = resp.window;
	max_payload_ = resp.max_payload;
	send_mask_ = options.send_frames - 1;
	recv_mask_ = options.recv_frames - 1;
	send_ = static_cast<std::byte *>(map(fd(), resp.send));
	recv_ = static_cast<std::byte *>(map(fd(), resp.recv));
	commands_ = static_cast<pavo_command_page *>(map(fd(), resp.commands));
	if (!send_ || !recv_ || !commands_) {
		err = errno;
		unmap();
		close_window(fd(), handle_);
		throw error(err, "memory of a window");
	}
}

Window::~Window()
{
	close_window(fd(), handle_);
	unmap();
}

void Window::unmap() noexcept
{
	if (send_)
		munmap(send_, (send_mask_ + 1) * size_t(PAVO_FRAME_SIZE));
	if (recv_)
		munmap(recv_, (recv_mask_ + 1) * size_t(PAVO_FRAME_SIZE));
	if (commands_)
		munmap(commands_, sizeof(*commands_));
}

std::error_code Window::set_node(uint16_t node, const Gid &gid,
				 const RouteOptions &options) noexcept
{
	return routes(node, gid, options, 0);
}

std::error_code Window::add_route(uint16_t node, const Gid &gid,
				  const RouteOptions &options) noexcept
{
	return routes(node, gid, options, PAVO_NODE_ADD);
}

std::error_code Window::routes(uint16_t node, const Gid &gid,
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
	return code(Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_NODE)
			    .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
			    .in(PAVO_ATTR_WINDOW_NODE_ARGS, args)
			    .run(fd()));
}

std::error_code Window::disable() noexcept
{
	return code(Command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_DISABLE)
			    .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
			    .run(fd()));
}

int Window::snapshot() const noexcept
{
	uint32_t at_work = 0;
	int err = Command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_SNAPSHOT)
			  .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
			  .out(PAVO_ATTR_WINDOW_AT_WORK, at_work)
			  .run(fd());

	return err ? -err : int(at_work);
}

pavo_lmt Window::lmt(std::error_code &error) const noexcept
{
	pavo_lmt lmt{};

	error = code(Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_QUERY)
			     .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
			     .out(PAVO_ATTR_WINDOW_LMT, lmt)
			     .run(fd()));
	return lmt;
}

pavo_frame_hdr *Window::send_frame(uint32_t number) const
{
	return reinterpret_cast<pavo_frame_hdr *>(
		send_ + (number & send_mask_) * size_t(PAVO_FRAME_SIZE));
}

pavo_frame_hdr *Window::recv_frame(uint32_t number) const
{
	return reinterpret_cast<pavo_frame_hdr *>(
		recv_ + (number & recv_mask_) * size_t(PAVO_FRAME_SIZE));
}

/* ---------------------------------------------------------------- commands */

bool Window::command(pavo_window_command op, uint32_t argument) noexcept
{
	std::atomic_ref consumer(commands_->consumer);
	std::atomic_ref producer(commands_->producer);
	uint32_t n = producer.load(std::memory_order_relaxed);

	if (n - consumer.load(std::memory_order_acquire) >= PAVO_WCMD_RING)
		return false;
	commands_->ring[n % PAVO_WCMD_RING] =
		uint64_t(op) << PAVO_WCMD_OP_SHIFT | argument;
	producer.store(n + 1, std::memory_order_release);
	return true;
}

std::error_code Window::kick() noexcept
{
	return code(Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_KICK)
			    .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
			    .run(fd()));
}

std::error_code Window::command_now(pavo_window_command op,
				    uint32_t argument) noexcept
{
	std::error_code error;

	/* A full ring is empty after a call. */
	if (!command(op, argument)) {
		error = kick();
		if (!error && !command(op, argument))
			error = code(EIO);
	}
	return error ? error : kick();
}

std::error_code Window::recv_threshold(uint32_t n) noexcept
{
	return command_now(PAVO_WCMD_RECV_THRESHOLD, n);
}

std::error_code Window::recv_threshold_early(uint32_t n) noexcept
{
	return command_now(PAVO_WCMD_RECV_THRESHOLD_EARLY, n);
}

std::error_code Window::send_threshold(uint32_t n) noexcept
{
	return command_now(PAVO_WCMD_SEND_THRESHOLD, n);
}

/* ----------------------------------------------------------------- sending */

std::error_code Window::prepare(uint16_t node, uint32_t window,
				std::span<const std::byte> payload,
				uint8_t kind) noexcept
{
	pavo_frame_hdr header{};

	header.node = node;
	header.window = window;
	header.type = PAVO_FRAME_MESSAGE;
	header.kind = kind;
	return prepare(header, payload);
}

std::error_code Window::prepare_rdma(Direction direction, uint16_t node,
				     uint32_t window,
				     const pavo_rdma_request &request) noexcept
{
	pavo_frame_hdr header{};

	header.node = node;
	header.window = window;
	header.type = direction == Direction::write ? PAVO_FRAME_RDMA_WRITE :
						      PAVO_FRAME_RDMA_READ;
	return prepare(header, std::as_bytes(std::span(&request, 1)));
}

std::error_code Window::free_frame(pavo_frame_hdr *&frame) noexcept
{
	frame = send_frame(written_);
	/* Its slot was used before, and the adapter is not done with that. */
	if (written_ - started_ > send_mask_ ||
	    (lapped_ && state_of(frame) == PAVO_FRAME_EMPTY))
		return code(ENOBUFS);
	return {};
}

void Window::written(pavo_frame_hdr *frame, const pavo_frame_hdr &header,
		     size_t length) noexcept
{
	/* But its state, by which the adapter's mark of before is told. */
	memcpy(frame, &header, offsetof(pavo_frame_hdr, state));
	frame->length = uint16_t(length);
	set_state(frame, PAVO_FRAME_EMPTY);
	written_++;
	lapped_ = lapped_ || written_ > send_mask_;
}

std::error_code Window::prepare(const pavo_frame_hdr &header,
				std::span<const std::byte> payload) noexcept
{
	pavo_frame_hdr *frame;

	if (payload.size() > max_payload_)
		return code(EMSGSIZE);
	if (std::error_code error = free_frame(frame))
		return error;
	if (!payload.empty())
		memcpy(frame + 1, payload.data(), payload.size());
	written(frame, header, payload.size());
	return {};
}

uint32_t Window::piece_room() const
{
	return uint32_t(max_payload_ - sizeof(pavo_rdma_piece)) &
	       ~(PAVO_PIECE_ALIGN - 1);
}

std::error_code Window::prepare_piece(
	uint16_t node, uint32_t window, const pavo_rdma_piece &piece,
	uint32_t length,
	const std::function<void(std::span<std::byte>)> &fill) noexcept
{
	pavo_frame_hdr header{}, *frame;

	if (sizeof(piece) + length > max_payload_)
		return code(EMSGSIZE);
	if (std::error_code error = free_frame(frame))
		return error;
	header.node = node;
	header.window = window;
	header.type = PAVO_FRAME_RDMA_PIECE;
	memcpy(frame + 1, &piece, sizeof(piece));
	fill({reinterpret_cast<std::byte *>(frame + 1) + sizeof(piece),
	      length});
	written(frame, header, sizeof(piece) + length);
	return {};
}

std::error_code Window::start() noexcept
{
	uint32_t n = written_ - started_;

	if (!n)
		return {};
	started_ = written_;
	return command_now(PAVO_WCMD_START_TRANSMIT, n);
}

std::error_code Window::send(uint16_t node, uint32_t window,
			     std::span<const std::byte> payload,
			     uint8_t kind) noexcept
{
	std::error_code error = prepare(node, window, payload, kind);

	return error ? error : start();
}

size_t Window::sent(std::span<pavo_frame_state> states) noexcept
{
	size_t n = 0;

	/* Those whose slots were used again are gone. */
	if (written_ - asked_ > send_mask_ + 1)
		asked_ = written_ - send_mask_ - 1;
	for (; n < states.size() && int32_t(started_ - asked_) > 0;
	     n++, asked_++) {
		uint32_t state = state_of(send_frame(asked_));

		if (state == PAVO_FRAME_EMPTY)
			break;
		states[n] = pavo_frame_state(state);
	}
	return n;
}

/* -------------------------------------------------------------------- RDMA */

std::error_code Window::take_rcxts(std::span<uint32_t> rcxts) noexcept
{
	for (size_t done = 0; done < rcxts.size();) {
		size_t n = std::min<size_t>(rcxts.size() - done,
					    PAVO_RCXTS_AT_ONCE);
		int err = Command(PAVO_OBJECT_WINDOW,
				  PAVO_METHOD_WINDOW_TAKE_RCXTS)
				  .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
				  .out_array(PAVO_ATTR_WINDOW_RCXTS_TAKEN,
					     rcxts.subspan(done, n))
				  .run(fd());

		if (err) {
			return_rcxts(rcxts.first(done));
			return code(err);
		}
		done += n;
	}
	return {};
}

/* @method with all of @rcxts, some at a time. */
std::error_code Window::with_rcxts(pavo_window_method method,
				   std::span<const uint32_t> rcxts) noexcept
{
	while (!rcxts.empty()) {
		auto some = rcxts.first(
			std::min<size_t>(rcxts.size(), PAVO_RCXTS_AT_ONCE));
		int err = Command(PAVO_OBJECT_WINDOW, method)
				  .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
				  .in_array(PAVO_ATTR_WINDOW_RCXTS, some)
				  .run(fd());

		if (err)
			return code(err);
		rcxts = rcxts.subspan(some.size());
	}
	return {};
}

std::error_code Window::return_rcxts(std::span<const uint32_t> rcxts) noexcept
{
	return with_rcxts(PAVO_METHOD_WINDOW_RETURN_RCXTS, rcxts);
}

std::error_code Window::cancel(std::span<const uint32_t> rcxts) noexcept
{
	return with_rcxts(PAVO_METHOD_WINDOW_CANCEL, rcxts);
}

namespace {

/* What a payload begins with; 0 where it is too short. */
template <class Head> Head head_of(std::span<const std::byte> payload)
{
	Head head{};

	memcpy(&head, payload.data(), std::min(sizeof(head), payload.size()));
	return head;
}

} // namespace

pavo_rdma_done Message::done() const
{
	return head_of<pavo_rdma_done>(payload);
}

pavo_rdma_piece Message::piece() const
{
	return head_of<pavo_rdma_piece>(payload);
}

pavo_rdma_request Message::request() const
{
	return head_of<pavo_rdma_request>(payload);
}

/* --------------------------------------------------------------- receiving */

bool Window::peek(Message &message) noexcept
{
	pavo_frame_hdr *frame = recv_frame(consumed_);

	if (state_of(frame) == PAVO_FRAME_EMPTY)
		return false;
	message = {frame->node, frame->window,
		   std::span(reinterpret_cast<const std::byte *>(frame + 1),
			     frame->length),
		   pavo_frame_type(frame->type), frame->kind};
	return true;
}

void Window::consume() noexcept
{
	set_state(recv_frame(consumed_), PAVO_FRAME_EMPTY);
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
	if (!command(PAVO_WCMD_RETURN_SLOTS, uint32_t(n)))
		command_now(PAVO_WCMD_RETURN_SLOTS, uint32_t(n));
}

} // namespace pavo
