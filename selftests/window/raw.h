// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * raw.h - packets of RDMA between windows, taken off the wire and put there by hand.
 */
#ifndef PAVO_WINDOW_RAW_H
#define PAVO_WINDOW_RAW_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace windows {

/* From its Ethernet header to its ICRC; over IPv4, but where it is said. */
using Frame = std::vector<uint8_t>;

/* Where the fields of a packet are in a frame (docs/protocol.md). */
enum FrameAt : size_t {
	AT_FROM = 26, /* IPv4 addresses, 4 bytes */
	AT_TO = 30,
	AT_PORT = 34, /* UDP, the source's, 2 bytes */
	AT_OPCODE = 42,
	AT_DWINDOW = 47, /* 3 bytes */
	AT_KEY = 54,
	AT_NODE = 62,
	AT_WINDOW = 67, /* 3 bytes */
	AT_RCXT = 70,
	AT_PEER_RCXT = 74,
	AT_TID = 78,
	AT_PVO = 86,
	AT_TOTAL = 94,
	AT_FRAGMENT = 98,
	AT_TAG = 102,
	AT_ATTEMPTS = 106,
	AT_FLAGS = 108,
	AT_STATUS = 109,
	AT_PAYLOAD = 110,
	AT_BACK_PVO = 110, /* of a read */
	AT_END_OF_READ = 118,
};

/* Over IPv6. */
enum FrameAt6 : size_t {
	AT6_LABEL = 15, /* its 20 bits, behind 4 that are zero; 3 bytes */
	AT6_PORT = 54,
};

/* A number of @bytes bytes, as it is on the wire. */
uint64_t field(const Frame &frame, size_t at, size_t bytes);
void set_field(Frame &frame, size_t at, size_t bytes, uint64_t value);

/*
 * Another length of what is behind the headers up to @headers; pad, lengths of IP and UDP
 * follow. Then, or by itself, finish_checksums(): checksums are right again.
 */
void resize(Frame &frame, size_t headers, size_t payload);
void finish_checksums(Frame &frame);

/* A raw socket on an interface. */
class Wire {
public:
	enum class Way { IN, OUT };

	/* @way: of the packets that are recorded */
	explicit Wire(const char *interface, Way way = Way::IN);
	~Wire();
	Wire(const Wire &) = delete;

	/* Packets between windows that went that way so far, of data or another opcode. */
	std::vector<Frame> recorded(uint8_t opcode = 0xc1, bool ipv6 = false);
	void send(const Frame &frame);

private:
	int fd_;
	Way way_;
};

} // namespace windows

#endif // PAVO_WINDOW_RAW_H
