/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * uverbs.h - libibverbs' commands (fake_uverbs.h) as system calls of the engine, in place of the
 * uverbs device of a kernel.
 *
 * Owns: the pipes from which libibverbs reads events. Used by: engine_bench.cpp. One in a process.
 */
#ifndef PAVO_ENGINE_UVERBS_H
#define PAVO_ENGINE_UVERBS_H

#include <map>

#include "../provider/fake_uverbs.h"
#include "engine.h"

namespace engine {

/* A file of events, and how many of them each object of the process has caused. */
class Events {
public:
	Events();

	int read_end() const { return ends_[0]; }
	int write_end() const { return ends_[1]; }
	template <class Event> void add(uint64_t user, const Event &event);
	/* End an object: drop its events that were not read. Return: how many were read. */
	template <class Event> uint32_t end(uint64_t user, __u64 Event::*name);

private:
	int ends_[2];
	std::map<uint64_t, uint32_t> count_;
};

class Uverbs {
public:
	explicit Uverbs(fake::Kernel &kernel);
	~Uverbs();

	/* Functions that the engine calls; they use the one object of this class. */
	static void *share(size_t size, __u64 *offset);
	static void completed(int channel, __u64 user);
	static void happened(int type, __u64 user);

private:
	/* Of a CQ: the destination of its events. */
	struct Queue {
		uint64_t user;
		int channel;
	};

	int serve(fake::Call &call);
	int serve_method(fake::Call &call);
	int serve_command(fake::Call &call);
	int serve_use(fake::Call &call);
	int destroy(fake::Call &call);
	int create_cq(fake::Call &call);
	int create_qp(fake::Call &call);
	int create_srq(fake::Call &call);
	int open_channel(fake::Call &call);
	int query_gids(fake::Call &call);
	int query_port(fake::Call &call);

	fake::Kernel &kernel_;
	std::map<int, Events>
		channels_; /* by the descriptor that libibverbs has */
	Events async_;
	std::map<uint32_t, Queue> queues_; /* by handle */
	std::map<uint32_t, uint64_t> users_; /* of QPs and SRQs, by handle */
	uint32_t next_ah_ = 1;
};

} // namespace engine

#endif /* PAVO_ENGINE_UVERBS_H */
