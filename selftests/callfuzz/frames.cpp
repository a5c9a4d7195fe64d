// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * frames.cpp - see hands.h: an actor writes frames that are nearly right to the send FIFO of a
 * window.
 */
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <rdma/pavo-abi.h>

#include "hands.h"

namespace callfuzz {
namespace {

/* A frame as it is written: the beginning of a slot. */
struct Frame {
	pavo_frame_hdr header;
	union {
		pavo_rdma_request request;
		pavo_rdma_piece piece;
		pavo_rdma_third third;
		pavo_conditional conditional;
		pavo_counter_request counter;
		pavo_rdma_done done;
		pavo_group_done group_done;
		pavo_counter_value value;
		uint8_t payload[112];
	};
};

int put_frame(Hands &hands, uint64_t area, uint64_t index, const Frame &frame)
{
	hands.late.use(area, (index + 1) * PAVO_FRAME_SIZE, Role::frames);
	return copy_to(area + size_t{uint32_t(index)} * PAVO_FRAME_SIZE, &frame,
		       sizeof(frame));
}

/* Frames of a FIFO that are looked at. */
constexpr uint64_t most_frames = 64;

/* How an arrived frame reports the end of an operation, or a counter. */
uint32_t outcome_of(const Frame &frame)
{
	switch (frame.header.type) {
	case PAVO_FRAME_RDMA_DONE:
		return frame.done.status * 2u + frame.done.target;
	case PAVO_FRAME_RDMA_BROADCAST:
		return frame.group_done.status;
	case PAVO_FRAME_COUNTER_VALUE:
		return frame.value.failed * 2u + frame.value.cancelled;
	default:
		return frame.header.kind;
	}
}

/* Numbers of a packet of IP, in network order. */
void put_be16(uint8_t *at, uint64_t number)
{
	at[0] = uint8_t(number >> 8);
	at[1] = uint8_t(number);
}

void put_be24(uint8_t *at, uint64_t number)
{
	at[0] = uint8_t(number >> 16);
	put_be16(at + 1, number);
}

/* Hardware address of the interface of that node and window. */
void put_station(uint8_t *at, uint64_t node, uint64_t window)
{
	at[0] = 2;
	put_be16(at + 1, node);
	put_be24(at + 3, window);
}

} // namespace

/* sendarea index node window type length kind local remote tid lpvo rpvo bytes rflags
 * attempts fragment counter */
int write_frame(Hands &hands, const uint64_t *args, uint64_t *)
{
	Frame frame = {};

	frame.header.node = uint16_t(args[2]);
	frame.header.window = uint32_t(args[3]);
	frame.header.type = uint8_t(args[4]);
	frame.header.length = uint16_t(args[5]);
	frame.header.kind = uint8_t(args[6]);
	if (args[4] == PAVO_FRAME_RDMA_PIECE)
		frame.piece = {.local_rcxt = uint32_t(args[7]),
			       .remote_rcxt = uint32_t(args[8]),
			       .tid = args[9],
			       .pvo = args[11],
			       .total = uint32_t(args[12]),
			       .fragment = uint32_t(args[15]),
			       .tag = 5,
			       .attempts = uint16_t(args[14]),
			       .flags = uint8_t(args[13]),
			       .counter = uint8_t(args[16]),
			       .cookie = 6,
			       .reserved2 = 0};
	else if (args[4] != PAVO_FRAME_MESSAGE)
		frame.request = {.local_rcxt = uint32_t(args[7]),
				 .remote_rcxt = uint32_t(args[8]),
				 .tid = args[9],
				 .local_pvo = args[10],
				 .remote_pvo = args[11],
				 .length = uint32_t(args[12]),
				 .tag = 5,
				 .flags = uint8_t(args[13]),
				 .counter = uint8_t(args[16]),
				 .attempts = uint16_t(args[14]),
				 .cookie = 6};
	return put_frame(hands, args[0], args[1], frame);
}

/* sendarea index node window length local remote tid tpvo spvo bytes counter attempts rflags
 * tnode target trcxt */
int write_third(Hands &hands, const uint64_t *args, uint64_t *)
{
	Frame frame = {};

	frame.header.node = uint16_t(args[2]);
	frame.header.window = uint32_t(args[3]);
	frame.header.type = PAVO_FRAME_RDMA_THIRD;
	frame.header.length = uint16_t(args[4]);
	frame.third = {.request = {.local_rcxt = uint32_t(args[5]),
				   .remote_rcxt = uint32_t(args[6]),
				   .tid = args[7],
				   .local_pvo = args[8],
				   .remote_pvo = args[9],
				   .length = uint32_t(args[10]),
				   .tag = 5,
				   .flags = uint8_t(args[13]),
				   .counter = uint8_t(args[11]),
				   .attempts = uint16_t(args[12]),
				   .cookie = 6},
		       .node = uint16_t(args[14]),
		       .reserved = 0,
		       .window = uint32_t(args[15]),
		       .rcxt = uint32_t(args[16]),
		       .reserved2 = 0};
	return put_frame(hands, args[0], args[1], frame);
}

/* sendarea index length counter following target */
int write_conditional(Hands &hands, const uint64_t *args, uint64_t *)
{
	Frame frame = {};

	frame.header.type = PAVO_FRAME_CONDITIONAL;
	frame.header.length = uint16_t(args[2]);
	frame.conditional = {.counter = uint32_t(args[3]),
			     .following = uint32_t(args[4]),
			     .target = args[5]};
	return put_frame(hands, args[0], args[1], frame);
}

/* sendarea index type length counter rcxt value cookie cflags */
int write_counter(Hands &hands, const uint64_t *args, uint64_t *)
{
	Frame frame = {};

	frame.header.type = uint8_t(args[2]);
	frame.header.length = uint16_t(args[3]);
	frame.counter = {.counter = uint32_t(args[4]),
			 .rcxt = uint32_t(args[5]),
			 .value = args[6],
			 .cookie = uint32_t(args[7]),
			 .flags = uint32_t(args[8])};
	return put_frame(hands, args[0], args[1], frame);
}

/* sendarea index node window kind length rcxt pvo tid bytes: an offer of an interface */
int write_offer(Hands &hands, const uint64_t *args, uint64_t *)
{
	struct {
		uint64_t tid, pvo;
		uint32_t rcxt, length;
	} offer = {args[8], args[7], uint32_t(args[6]), uint32_t(args[9])};
	Frame frame = {};

	frame.header.node = uint16_t(args[2]);
	frame.header.window = uint32_t(args[3]);
	frame.header.type = PAVO_FRAME_MESSAGE;
	frame.header.kind = uint8_t(args[4]);
	frame.header.length = uint16_t(args[5]);
	memcpy(frame.payload, &offer, sizeof(offer));
	return put_frame(hands, args[0], args[1], frame);
}

/* sendarea: how the frames that were written ended */
int read_marks(Hands &hands, const uint64_t *args, uint64_t *)
{
	int error = 0;

	for (uint64_t i = 0; i < 16 && !error; i++) {
		pavo_frame_hdr header;

		error = copy_from(&header, args[0] + i * PAVO_FRAME_SIZE,
				  sizeof(header));
		if (!error)
			note(hands.shared, 3,
			     header.type * 256u + header.state % 256);
	}
	return error;
}

/* recvarea cmdarea frames: takes the frames that have arrived, and returns their slots */
int take_frames(Hands &hands, const uint64_t *args, uint64_t *)
{
	const uint64_t frames = std::min(args[2], most_frames);
	uint64_t command[] = {args[1], PAVO_WCMD_RETURN_SLOTS, 0};
	const uint32_t empty = PAVO_FRAME_EMPTY;

	hands.late.use(args[0], frames * PAVO_FRAME_SIZE, Role::frames);
	for (uint64_t i = 0; i < frames; i++) {
		const uint64_t at = args[0] + i * PAVO_FRAME_SIZE;
		Frame frame;

		if (copy_from(&frame, at, sizeof(frame)))
			return EFAULT;
		if (frame.header.state != PAVO_FRAME_ARRIVED)
			continue;
		note(hands.shared, 4,
		     frame.header.type * 256u + outcome_of(frame));
		if (copy_to(at + offsetof(pavo_frame_hdr, state), &empty,
			    sizeof(empty)))
			return EFAULT;
		command[2]++;
	}
	return command[2] ? write_command(hands, command, nullptr) : EAGAIN;
}

/* sendarea index node window length own from ether total: a packet of an interface, from the
 * window @from of node @own */
int write_packet(Hands &hands, const uint64_t *args, uint64_t *)
{
	Frame frame = {};
	uint8_t *at = frame.payload, *ip = at + 14;

	frame.header.node = uint16_t(args[2]);
	frame.header.window = uint32_t(args[3]);
	frame.header.type = PAVO_FRAME_MESSAGE;
	frame.header.kind = PAVO_MESSAGE_NETIF;
	frame.header.length = uint16_t(args[4]);
	put_station(at, args[2], args[3]);
	put_station(at + 6, args[5], args[6]);
	put_be16(at + 12, args[7]);
	ip[0] = args[7] == 0x86dd ? 0x60 : 0x45;
	if (args[7] == 0x86dd) {
		put_be16(ip + 4, args[8]);
		ip[6] = 17;
		ip[7] = 64;
	} else {
		put_be16(ip + 2, args[8]);
		ip[8] = 64;
		ip[9] = 17;
	}
	return put_frame(hands, args[0], args[1], frame);
}

} // namespace callfuzz
