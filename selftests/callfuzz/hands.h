/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hands.h - what actors do by hand; each takes its arguments in the order of its line in
 * hand_entries.cpp and returns 0 or an errno. rings.cpp: memory that is shared with the
 * module; hands.cpp: the rest.
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
constexpr size_t memory_size = 0x10000;
constexpr size_t page_size = 4096;

/** All of that; @fuse: a file of the server's, or -1. */
void make_memory(Hands &hands, int fuse);

int open_device(Hands &hands, const uint64_t *args, uint64_t *outs);
int close_file(Hands &hands, const uint64_t *args, uint64_t *outs);
int read_file(Hands &hands, const uint64_t *args, uint64_t *outs);
int make_eventfd(Hands &hands, const uint64_t *args, uint64_t *outs);
int make_dmabuf(Hands &hands, const uint64_t *args, uint64_t *outs);
int make_file(Hands &hands, const uint64_t *args, uint64_t *outs);
int map_area(Hands &hands, const uint64_t *args, uint64_t *outs);
int unmap_memory(Hands &hands, const uint64_t *args, uint64_t *outs);
int map_memory(Hands &hands, const uint64_t *args, uint64_t *outs);
int protect_memory(Hands &hands, const uint64_t *args, uint64_t *outs);
int advise_memory(Hands &hands, const uint64_t *args, uint64_t *outs);
int move_memory(Hands &hands, const uint64_t *args, uint64_t *outs);
int touch_pages(Hands &hands, const uint64_t *args, uint64_t *outs);
int fork_and_exit(Hands &hands, const uint64_t *args, uint64_t *outs);
int fill_userfault(Hands &hands, const uint64_t *args, uint64_t *outs);
int close_userfault(Hands &hands, const uint64_t *args, uint64_t *outs);
int pause_call(Hands &hands, const uint64_t *args, uint64_t *outs);
int read_stats(Hands &hands, const uint64_t *args, uint64_t *outs);
int recover_windows(Hands &hands, const uint64_t *args, uint64_t *outs);
int read_debug(Hands &hands, const uint64_t *args, uint64_t *outs);
int set_link(Hands &hands, const uint64_t *args, uint64_t *outs);
int set_mtu(Hands &hands, const uint64_t *args, uint64_t *outs);
int remove_link(Hands &hands, const uint64_t *args, uint64_t *outs);
int nothing_to_do(Hands &hands, const uint64_t *args, uint64_t *outs);

int poke(Hands &hands, const uint64_t *args, uint64_t *outs);
int post_wqe(Hands &hands, const uint64_t *args, uint64_t *outs);
int post_invalidate(Hands &hands, const uint64_t *args, uint64_t *outs);
int post_bind(Hands &hands, const uint64_t *args, uint64_t *outs);
int ring_bits(Hands &hands, const uint64_t *args, uint64_t *outs);
int post_receive(Hands &hands, const uint64_t *args, uint64_t *outs);
int poll_ring(Hands &hands, const uint64_t *args, uint64_t *outs);
int write_frame(Hands &hands, const uint64_t *args, uint64_t *outs);
int write_command(Hands &hands, const uint64_t *args, uint64_t *outs);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_HANDS_H */
