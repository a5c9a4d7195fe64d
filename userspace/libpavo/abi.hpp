// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * abi.hpp - the library's types and those of <rdma/pavo-abi.h>, one from the other. Private
 * to the library.
 */
#ifndef PAVO_ABI_HPP
#define PAVO_ABI_HPP

#include <rdma/pavo-abi.h>

#include <pavo/window.hpp>

namespace pavo {

static_assert(int(PvoResult::key) == PAVO_PVO_KEY);
static_assert(int(FrameType::rdma_third) == PAVO_FRAME_RDMA_THIRD);
static_assert(int(FrameType::passed) == PAVO_FRAME_PASSED);
static_assert(counter_flag::bind == PAVO_COUNTER_BIND &&
	      counter_flag::cancel == PAVO_COUNTER_CANCEL);
static_assert(counter_count == PAVO_WINDOW_COUNTERS);
static_assert(int(FrameState::held) == PAVO_FRAME_HELD);
static_assert(message_kind::plain == PAVO_MESSAGE_PLAIN &&
	      message_kind::rdma == PAVO_MESSAGE_RDMA &&
	      message_kind::striped == PAVO_MESSAGE_STRIPED &&
	      message_kind::fifo == PAVO_MESSAGE_FIFO);
static_assert(rdma_flag::notify_source == PAVO_RDMA_NOTIFY_SOURCE &&
	      rdma_flag::notify_target == PAVO_RDMA_NOTIFY_TARGET &&
	      rdma_flag::to_fifo == PAVO_RDMA_TO_FIFO &&
	      rdma_flag::from_fifo == PAVO_RDMA_FROM_FIFO);
static_assert(piece_align == PAVO_PIECE_ALIGN);

inline JobInfo from_abi(const pavo_job_info &info)
{
	return {.id = info.id,
		.slot = info.slot,
		.members = info.members,
		.limit = info.limit,
		.pinned = info.pinned,
		.buffers = info.buffers,
		.mappings = info.mappings,
		.shared = info.shared};
}

inline pavo_job_info to_abi(const JobInfo &info)
{
	return {.id = info.id,
		.slot = info.slot,
		.members = info.members,
		.reserved = 0,
		.limit = info.limit,
		.pinned = info.pinned,
		.buffers = info.buffers,
		.mappings = info.mappings,
		.shared = info.shared};
}

inline RequestFrame from_abi(const pavo_rdma_request &request)
{
	return {.local_rcxt = request.local_rcxt,
		.remote_rcxt = request.remote_rcxt,
		.tid = request.tid,
		.local_pvo = request.local_pvo,
		.remote_pvo = request.remote_pvo,
		.length = request.length,
		.tag = request.tag,
		.flags = request.flags,
		.counter = request.counter,
		.attempts = request.attempts,
		.cookie = request.cookie};
}

inline pavo_rdma_request to_abi(const RequestFrame &request)
{
	return {.local_rcxt = request.local_rcxt,
		.remote_rcxt = request.remote_rcxt,
		.tid = request.tid,
		.local_pvo = request.local_pvo,
		.remote_pvo = request.remote_pvo,
		.length = request.length,
		.tag = request.tag,
		.flags = request.flags,
		.counter = request.counter,
		.attempts = request.attempts,
		.cookie = request.cookie};
}

inline ThirdFrame from_abi(const pavo_rdma_third &third)
{
	return {.request = from_abi(third.request),
		.target = {third.node, third.window},
		.target_rcxt = third.rcxt};
}

inline pavo_rdma_third to_abi(const ThirdFrame &third)
{
	return {.request = to_abi(third.request),
		.node = third.target.node,
		.reserved = 0,
		.window = third.target.window,
		.rcxt = third.target_rcxt,
		.reserved2 = 0};
}

inline PieceFrame from_abi(const pavo_rdma_piece &piece)
{
	return {.local_rcxt = piece.local_rcxt,
		.remote_rcxt = piece.remote_rcxt,
		.tid = piece.tid,
		.pvo = piece.pvo,
		.total = piece.total,
		.fragment = piece.fragment,
		.tag = piece.tag,
		.attempts = piece.attempts,
		.flags = piece.flags,
		.counter = piece.counter,
		.cookie = piece.cookie};
}

inline pavo_rdma_piece to_abi(const PieceFrame &piece)
{
	return {.local_rcxt = piece.local_rcxt,
		.remote_rcxt = piece.remote_rcxt,
		.tid = piece.tid,
		.pvo = piece.pvo,
		.total = piece.total,
		.fragment = piece.fragment,
		.tag = piece.tag,
		.attempts = piece.attempts,
		.flags = piece.flags,
		.counter = piece.counter,
		.cookie = piece.cookie,
		.reserved2 = 0};
}

inline DoneFrame from_abi(const pavo_rdma_done &done)
{
	return {.rcxt = done.rcxt,
		.peer_rcxt = done.peer_rcxt,
		.tid = done.tid,
		.length = done.length,
		.tag = done.tag,
		.cookie = done.cookie,
		.status = PvoResult(done.status),
		.target = done.target != 0,
		.attempts = done.attempts};
}

inline CounterRequest from_abi(const pavo_counter_request &request)
{
	return {.counter = request.counter,
		.rcxt = request.rcxt,
		.value = request.value,
		.cookie = request.cookie,
		.flags = request.flags};
}

inline pavo_counter_request to_abi(const CounterRequest &request)
{
	return {.counter = request.counter,
		.rcxt = request.rcxt,
		.value = request.value,
		.cookie = request.cookie,
		.flags = request.flags};
}

inline CounterFrame from_abi(const pavo_counter_value &value)
{
	return {.counter = value.counter,
		.cookie = value.cookie,
		.value = value.value,
		.waiting = value.waiting,
		.failed = value.failed != 0,
		.cancelled = value.cancelled != 0};
}

inline Lmt from_abi(const pavo_lmt &lmt)
{
	return {.state = WindowState(lmt.state),
		.window = lmt.window,
		.job = lmt.job,
		.recv_frames = lmt.recv_frames,
		.recv_count = lmt.recv_count,
		.recv_free = lmt.recv_free,
		.recv_threshold = lmt.recv_threshold,
		.send_frames = lmt.send_frames,
		.send_count = lmt.send_count,
		.send_ready = lmt.send_ready,
		.send_threshold = lmt.send_threshold,
		.quantum = lmt.quantum,
		.rcxts = lmt.rcxts,
		.rcxt_head = lmt.rcxt_head,
		.rcxt_tail = lmt.rcxt_tail,
		.fatal_rcxt = lmt.fatal_rcxt,
		.rcxts_owned = lmt.rcxts_owned,
		.recoveries = lmt.recoveries,
		.flags = lmt.flags,
		.recv_early = lmt.recv_early,
		.handlers = lmt.handlers,
		.handlers_ready = lmt.handlers_ready,
		.event_kept = lmt.event_kept,
		.quantum_left = lmt.quantum_left,
		.node = lmt.node,
		.events = lmt.events,
		.key = lmt.key,
		.recv_offset = lmt.recv_offset,
		.send_offset = lmt.send_offset,
		.violations = lmt.violations,
		.violation_rcxt = lmt.violation_rcxt,
		.violation_node = lmt.violation_node,
		.violation_window = lmt.violation_window};
}

} // namespace pavo

#endif // PAVO_ABI_HPP
