// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * frame.hpp - contents of a window's frames by type: messages, and the requests, pieces and
 * completions of RDMA (sources.md#windows-write, sources.md#windows-read).
 */
#ifndef PAVO_FRAME_HPP
#define PAVO_FRAME_HPP

#include <pavo/language.hpp>

#include <cstdint>

#include <pavo/address.hpp>
#include <pavo/job.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/** Direction of RDMA: to the peer, or from the peer. */
enum class Direction { write, read };

enum class FrameType : uint8_t {
	message = 1,
	rdma_write = 2,
	rdma_read = 3, /* received: a peer requests data, RequestFrame */
	rdma_done = 4, /* DoneFrame */
	rdma_piece = 5, /* PieceFrame, followed by data */
	rdma_third = 6, /* sent: ThirdFrame */
	conditional = 7, /* sent: holds the requests that follow */
	counter_set = 8, /* sent */
	counter_clear = 9, /* sent */
	counter_query = 10, /* sent */
	counter_value = 11, /* received: CounterFrame */
	rdma_broadcast = 12, /* GroupDoneFrame */
	passed = 13, /* sent: no frame, in a slot whose request is held */
};

/** Kinds of messages. */
namespace message_kind {
constexpr uint8_t plain = 0; /* a message of a program */
constexpr uint8_t rdma = 1; /* control message between two Rdma */
constexpr uint8_t striped = 2; /* control message between two Striped */
constexpr uint8_t broadcast = 3; /* acknowledgment of a BroadcastTarget */
constexpr uint8_t fifo = 6; /* data between two Rdma, without contexts */
constexpr uint8_t first_own = 64; /* programs may use this and higher kinds */
} // namespace message_kind

/** State of a frame: for sent frames the outcome. */
enum class FrameState : uint32_t {
	empty = 0, /* not known yet */
	arrived = 1, /* received frames only */
	sent = 2,
	not_sent = 3, /* the network stack did not take it; may be retried */
	bad_type = 4,
	bad_length = 5, /* more than Window::max_payload() */
	bad_node = 6, /* the window has no route to it */
	bad_window =
		7, /* more than 24 bits; no group, at the address of a group */
	bad_request =
		8, /* unknown flags, another peer than that of its operation, not possible with a group */
	bad_rcxt = 9, /* not a context of this window, or ended by a recovery */
	busy = 10, /* the context is sending another operation */
	stale = 11, /* tid not above that of the context */
	bad_pvo = 12, /* the PVO names no memory; the window is dead now */
	cancelled = 13, /* cancelled before all was sent */
	dead = 14, /* the window was dead or disabled */
	held = 15, /* waits for a counter; another state follows */
};

/** Flags of RDMA requests. */
namespace rdma_flag {
constexpr uint8_t notify_source = 0x1; /* notify the source of completion */
constexpr uint8_t notify_target = 0x2; /* notify the target of completion */
constexpr uint8_t to_fifo = 0x4; /* half RDMA: the target is a FIFO */
constexpr uint8_t from_fifo = 0x8; /* half RDMA, reads: the source is a FIFO */
} // namespace rdma_flag

/** Adapters divide data for a FIFO at multiples of this. */
constexpr uint32_t piece_align = 64;

/** Counters of a window, with numbers from 0 on. */
constexpr uint32_t counter_count = 64;

/** A request for RDMA, sent or, of type rdma_read, received. */
struct RequestFrame {
	/** Contexts of this window and of the peer's. */
	uint32_t local_rcxt = 0;
	uint32_t remote_rcxt = 0;
	/** Higher than all earlier ones of both contexts. */
	uint64_t tid = 0;
	/** Memory at this end and at the peer; for a FIFO the number of the first byte. */
	uint64_t local_pvo = 0;
	uint64_t remote_pvo = 0;
	uint32_t length = 0;
	/** Reported to both ends. */
	uint32_t tag = 0;
	/** Sum of rdma_flag. */
	uint8_t flags = 0;
	/** 1 + number of the counter that the end of the operation adds 1 to; 0: none. */
	uint8_t counter = 0;
	/** Number of earlier attempts: the first one had tid - attempts. */
	uint16_t attempts = 0;
	/** Reported to this end only. */
	uint32_t cookie = 0;
};

/**
 * A third-party request (sources.md#windows-third-party): the window that gets it, the source, is
 * to send data to @target. This process, the controller, is notified of the end.
 */
struct ThirdFrame {
	/** local_pvo is memory at the target, and remote_pvo at the source; flags is 0. */
	RequestFrame request;
	WindowAddress target;
	/** Context of the target. */
	uint32_t target_rcxt = 0;
};

/** Header of a frame with data. All frames of an operation differ in @pvo and @fragment only. */
struct PieceFrame {
	uint32_t local_rcxt = 0;
	uint32_t remote_rcxt = 0;
	uint64_t tid = 0;
	/** Target of this data; for a FIFO the number of its first byte. */
	uint64_t pvo = 0;
	/** Bytes of all pieces. */
	uint32_t total = 0;
	/** Index from 0 on, in any order; all attempts are divided alike. */
	uint32_t fragment = 0;
	uint32_t tag = 0;
	uint16_t attempts = 0;
	uint8_t flags = 0;
	/** As of a request. */
	uint8_t counter = 0;
	uint32_t cookie = 0;
};

/** Completion of an operation: all data is visible. */
struct DoneFrame {
	/** Contexts of this window and of the peer's: to a controller, of the end that reports. */
	uint32_t rcxt = 0;
	uint32_t peer_rcxt = 0;
	/** Tid of the attempt; completions of older attempts than the last are to be ignored. */
	uint64_t tid = 0;
	/** Of the request. */
	uint32_t length = 0;
	uint32_t tag = 0;
	/** Of this end's request; 0 if the peer made the request. */
	uint32_t cookie = 0;
	/** Other than ok: a PVO of the request is invalid, and the operation has failed. */
	PvoResult status = PvoResult::ok;
	/** True if this end is the target, false if it is the source. */
	bool target = false;
	uint16_t attempts = 0;
};

/** Bit of a number that names a group of windows; no window has it in its number. */
constexpr uint32_t window_group = 0x800000;
/** Group contexts have numbers below this. */
constexpr uint32_t group_rcxts = 64;

/** Completion of an operation of a group, at a member: all data is visible. */
struct GroupDoneFrame {
	/** Number of the group, and group context. */
	uint32_t group = 0;
	uint32_t rcxt = 0;
	/** Context of the window that sent it. */
	uint32_t peer_rcxt = 0;
	uint32_t length = 0;
	/** Tid of an attempt at the operation; the first one had tid - attempts. */
	uint64_t tid = 0;
	uint32_t tag = 0;
	uint16_t attempts = 0;
	/** Other than ok: bytes beyond the binding, or no memory, and the operation has failed. */
	PvoResult status = PvoResult::ok;
};

/** Flags of requests to counters. */
namespace counter_flag {
constexpr uint32_t bind = 0x1; /* set, clear: (un)bind @rcxt, nothing else */
constexpr uint32_t cancel = 0x2; /* clear: cancel what is held for it */
} // namespace counter_flag

/** A frame of type counter_set, counter_clear or counter_query. Other fields are 0. */
struct CounterRequest {
	uint32_t counter = 0;
	/** With counter_flag::bind: a context of this window. */
	uint32_t rcxt = 0;
	/** Of counter_set. */
	uint64_t value = 0;
	/** Of counter_query, for CounterFrame. */
	uint32_t cookie = 0;
	/** Sum of counter_flag. */
	uint32_t flags = 0;
};

/** A counter: the answer to a query, or news that requests held for it were cancelled. */
struct CounterFrame {
	uint32_t counter = 0;
	/** Of the query. */
	uint32_t cookie = 0;
	uint64_t value = 0;
	/** Conditions that wait for it. */
	uint32_t waiting = 0;
	/** An operation that it counts failed, and it was not set since. */
	bool failed = false;
	/** Requests were cancelled; no answer to a query. */
	bool cancelled = false;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_FRAME_HPP
