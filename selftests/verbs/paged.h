/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory that is not there when it is needed, in regions for on-demand paging, and
 * requests between such regions. For the local ends of tests.
 */
#pragma once

#include <functional>
#include <memory>

#include "link.h"

namespace pv {

constexpr size_t paged_size = 64 * page;

/*
 * Memory in a file, so that its pages can be taken from the process without
 * loss, and a region of it.
 */
class Paged {
public:
	explicit Paged(Host &host, unsigned access = all_access);
	Paged(const Paged &) = delete;
	Paged &operator=(const Paged &) = delete;
	~Paged();

	/* The process's page tables know none of it from now on. */
	void cool(size_t offset = 0, size_t length = paged_size);
	/* A pattern there, and then all of it is cool. */
	void fill(uint64_t seed, size_t offset = 0, size_t length = paged_size);
	void must_hold(uint64_t seed, size_t offset, size_t length,
		       const char *what);
	/* Another file at the same address; the old one's content stays. It may be a given one. */
	int replace();
	void replace(int fd);
	/* The file has that length from now on. */
	void resize(size_t length);

	uint8_t *data;
	ibv_mr *mr;

private:
	int fd_;
};

struct DeregMr {
	void operator()(ibv_mr *mr) const { ibv_dereg_mr(mr); }
};
using RawMr = std::unique_ptr<ibv_mr, DeregMr>;

/* A region of memory that a test has; on demand, or all there. */
RawMr must_reg_raw(Host &host, void *at, size_t length,
		   unsigned access = all_access);
RawMr on_demand(Host &host, void *at, size_t length);
/* How requests name it. */
Mr as_target(const RawMr &region);

/* An entry that names a part of it. */
ibv_sge part_of(const Paged &memory, size_t offset, size_t length);

/* A request of A between a part of `from` and the same part of `to`. */
uint64_t post(Side &side, Paged &from, Paged &to, ibv_wr_opcode opcode,
	      size_t offset, size_t length, unsigned flags = IBV_SEND_SIGNALED);
/* The same for an XRC initiator; receives come from queue `srqn`. */
uint64_t post_xrc(Side &side, uint32_t srqn, Paged &from, Paged &to,
		  ibv_wr_opcode opcode, size_t offset, size_t length);
/* One between all of `from` and that memory. */
uint64_t post_to(Side &side, Paged &from, const Mr &to, ibv_wr_opcode opcode);
/* @add: carries out an atomic by A on the word at the third page of cold memory. */
void must_add(Paged &a, Paged &b, const std::function<void()> &add);
/* It completes as it should. */
void must_run(Env &env, Link &link, Paged &from, Paged &to,
	      ibv_wr_opcode opcode, size_t offset, size_t length);

void post_recv(Side &side, Paged &to, size_t offset, size_t length);
void post_srq_recv(Host &host, const Srq &srq, Paged &to, size_t offset,
		   size_t length);

} // namespace pv
