// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * frame.hpp - contents of a window's frames, by their type: messages, and the requests,
 * pieces and ends of RDMA (sources.md#windows-write, sources.md#windows-read).
 */
#ifndef PAVO_FRAME_HPP
#define PAVO_FRAME_HPP

#include <cstdint>

#include <pavo/job.hpp>

namespace pavo {

/** Which way RDMA moves bytes: from here to there, or from there to here. */
enum class Direction { write, read };

enum class FrameType : uint8_t {
	message = 1,
	rdma_write = 2,
	rdma_read = 3, /* arrived: the other end asks for data, RequestFrame */
	rdma_done = 4, /* DoneFrame */
	rdma_piece = 5, /* PieceFrame, data follows */
};

/** Meaning of a message to its receiver: a number, of which some have names. */
namespace message_kind {
constexpr uint8_t plain = 0; /* of programs */
constexpr uint8_t rdma = 1; /* of Rdma to its other end */
constexpr uint8_t striped = 2; /* of Striped to its other end */
constexpr uint8_t first_own = 64; /* this and all above are free for programs */
} // namespace message_kind

/** Fate of a frame that was to be sent. */
enum class FrameState : uint32_t {
	empty = 0, /* not known yet */
	arrived = 1, /* of those that are received */
	sent = 2,
	not_sent = 3, /* the network stack did not take it: again? */
	bad_type = 4,
	bad_length = 5, /* more than Window::max_payload() */
	bad_node = 6, /* the window knows no address of it */
	bad_window = 7, /* not a number of 24 bits */
	bad_request =
		8, /* unknown flags, or another peer than its operation's */
	bad_rcxt = 9, /* not this window's, or of before a recovery */
	busy = 10, /* the context is sending something else */
	stale = 11, /* tid not above that of the context */
	bad_pvo = 12, /* no such memory; the window is dead */
	cancelled = 13, /* before all of it was sent */
	dead = 14, /* the window is */
};

/** Flags of RDMA, added up. */
namespace rdma_flag {
constexpr uint8_t tell_source = 0x1; /* when all has arrived */
constexpr uint8_t tell_target = 0x2; /* likewise */
constexpr uint8_t to_fifo = 0x4; /* half RDMA: the target is a FIFO */
constexpr uint8_t from_fifo = 0x8; /* of a read: the source is a FIFO */
} // namespace rdma_flag

/** Adapters cut data for a FIFO at multiples of this. */
constexpr uint32_t piece_align = 64;

/** A request for RDMA, sent or, of type rdma_read, received. */
struct RequestFrame {
	/** Contexts of this window and of the other. */
	uint32_t local_rcxt = 0;
	uint32_t remote_rcxt = 0;
	/** Higher than any before on either of them. */
	uint64_t tid = 0;
	/** Memory of the job at this end and at the other; of a FIFO a number. */
	uint64_t local_pvo = 0;
	uint64_t remote_pvo = 0;
	uint32_t length = 0;
	/** Told to both ends. */
	uint32_t tag = 0;
	/** Of rdma_flag. */
	uint8_t flags = 0;
	/** How many tids ago the operation was begun first; 0: it begins now. */
	uint16_t attempts = 0;
	/** Told to this end. */
	uint32_t cookie = 0;
};

/** How a frame with data of an operation begins; one operation has the same but @fragment. */
struct PieceFrame {
	uint32_t local_rcxt = 0;
	uint32_t remote_rcxt = 0;
	uint64_t tid = 0;
	/** Where this piece goes; for a FIFO what number it is from. */
	uint64_t pvo = 0;
	/** Bytes of all pieces. */
	uint32_t total = 0;
	/** From 0 on, in any order; every attempt is cut in the same way. */
	uint32_t fragment = 0;
	uint32_t tag = 0;
	uint16_t attempts = 0;
	uint8_t flags = 0;
	uint32_t cookie = 0;
};

/** The end of an operation: all data can be seen. */
struct DoneFrame {
	/** Contexts of this window and of the other. */
	uint32_t rcxt = 0;
	uint32_t peer_rcxt = 0;
	/** Which attempt; older ones than the last are to be ignored. */
	uint64_t tid = 0;
	/** As requested. */
	uint32_t length = 0;
	uint32_t tag = 0;
	/** Of this end's request; 0 where it was the other's. */
	uint32_t cookie = 0;
	/** Not ok: memory of the request may not be touched, and the operation is over. */
	PvoResult status = PvoResult::ok;
	/** The data went to this end; else it came from here. */
	bool target = false;
	uint16_t attempts = 0;
};

} // namespace pavo

#endif // PAVO_FRAME_HPP
