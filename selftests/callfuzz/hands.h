/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hands.h - what actors do by hand; each takes its arguments in the order of its line in
 * hand_entries.cpp and returns 0 or an errno. rings.cpp and frames.cpp: memory that is shared
 * with the module; interfaces.cpp: interfaces over windows; tunnel.cpp: packets of a tunnel;
 * hands.cpp: the rest.
 */
#ifndef PAVO_CALLFUZZ_HANDS_H
#define PAVO_CALLFUZZ_HANDS_H

#include "call.h"

namespace callfuzz {

/* Where the memory of an actor is, the same in all of them, 64 KiB each. */
constexpr uint64_t plain_memory = 0x10000000; /* anonymous */
constexpr uint64_t read_memory = 0x11000000; /* anonymous, only to be read */
constexpr uint64_t file_memory = 0x12000000; /* of a file, shared */
constexpr uint64_t hole_memory = 0x13000000; /* of a file that ends before */
constexpr uint64_t user_memory = 0x14000000; /* of userfaultfd */
constexpr uint64_t fuse_memory = 0x15000000; /* of a FUSE server */
constexpr uint64_t free_memory = 0x16000000; /* nothing is there */
constexpr uint64_t secret_memory =
	0x17000000; /* memfd_secret(), if there is such */
constexpr uint64_t kind_distance = 0x1000000;
constexpr size_t memory_size = 0x10000;
constexpr size_t page_size = 4096;
constexpr uint64_t end_of_memory = secret_memory + memory_size;

/** All of that; @fuse: a file of the server's, or -1. */
void make_memory(Hands &hands, int fuse);

using DoneByHand = int(Hands &hands, const uint64_t *args, uint64_t *outs);

/* hands.cpp */
DoneByHand open_device, close_file, read_file, make_eventfd, make_dmabuf,
	make_file, map_area, unmap_memory, map_memory, protect_memory,
	advise_memory, move_memory, touch_pages, fork_and_exit, fill_userfault,
	close_userfault, pause_call, read_stats, recover_windows, read_debug,
	set_link, set_mtu, remove_link, nothing_to_do, write_late, open_packets,
	read_packets;
/** In packets that its sockets hold, and in its memory. */
void find_late_bytes(Hands &hands);
/* rings.cpp */
DoneByHand poke, post_wqe, post_invalidate, post_bind, ring_bits, post_receive,
	poll_ring, write_command;
/** Copy @size bytes to or from memory that may not be there. Return 0 or EFAULT. */
int copy_to(uint64_t to, const void *from, size_t size);
int copy_from(void *to, uint64_t from, size_t size);
/* frames.cpp */
DoneByHand write_frame, write_third, write_conditional, write_counter,
	write_offer, write_packet, read_marks, take_frames;
/* tunnel.cpp */
DoneByHand send_tunnel;
/* interfaces.cpp */
DoneByHand set_netif, set_netif_mtu, send_netif, unlink_netif;

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_HANDS_H */
