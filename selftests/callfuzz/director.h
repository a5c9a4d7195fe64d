/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * director.h - runs programs: starts their actors, tells them call by call, ends them, and
 * looks whether all is well: that they end, that the witness's traffic is right, that the
 * kernel does not complain.
 */
#ifndef PAVO_CALLFUZZ_DIRECTOR_H
#define PAVO_CALLFUZZ_DIRECTOR_H

#include <array>
#include <chrono>
#include <string>

#include "actor.h"
#include "world.h"

namespace callfuzz {

/** A fault of the module, or of the world; it ends the run. */
struct Wrong {
	std::string text;
};

struct Options {
	std::string script; /* world.sh */
	std::string out; /* where things are left for the host, or "" */
	unsigned patience = 60; /* seconds until something hangs */
	unsigned call_ms = 20; /* until the next call does not wait */
	unsigned starve_ms = 5000; /* longest time without the CPU */
};

class Director {
public:
	explicit Director(const Options &options);
	~Director();
	Director(const Director &) = delete;

	/** Throws Wrong. The places that it reached are in shared() until the next. */
	void run(const Program &program, bool learns = false);
	/** Keeps the CPU for @ms; what the waiter says about that. */
	uint32_t starve(unsigned ms);
	/** Throws Wrong: the witness or the kernel has something to say. */
	void look();

	Shared &shared() { return *stage_.shared; }
	bool has_kcov() const { return stage_.kcov[0][0].works(); }
	const Stage &stage() const { return stage_; }
	uint64_t runs() const { return runs_; }
	uint64_t stuck() const { return stuck_; }
	/** The last program's, with the repair of the world. */
	std::chrono::nanoseconds last_time() const { return last_time_; }
	/** Longest time that a program kept the waiter from the CPU. */
	uint32_t starved_ms() const { return starved_ms_; }
	unsigned repairs() const { return world_.repairs(); }
	std::chrono::seconds repair_time() const
	{
		return std::chrono::duration_cast<std::chrono::seconds>(
			repair_time_);
	}

private:
	using Clock = std::chrono::steady_clock;

	void clear(bool learns);
	void leave_note(const Program &program);
	bool is_here(int actor);
	void start(const Program &program, int actor);
	void bear_child();
	void await_start(int actor);
	void direct(const Program &program, size_t at);
	bool direct_self(const Program &program, size_t at);
	int find_worker(int actor);
	void await(int actor, int worker, int call);
	void end_actor(int actor);
	void find_late_bytes();
	void look_at_starvation();
	void end_all();
	void reap(pid_t pid);
	void read_console();

	Options options_;
	Stage stage_;
	/* The witness's packets are among those. */
	Kcov packets_ = Kcov(1 << 18);
	World world_;
	std::array<pid_t, actors> pids_ = {};
	pid_t witness_ = 0, waiter_ = 0;
	uint32_t starved_ms_ = 0;
	uint32_t witnessed_ = 0;
	Clock::time_point witnessed_at_;
	int console_ = -1;
	uint64_t runs_ = 0, stuck_ = 0;
	Clock::duration repair_time_ = {}, last_time_ = {};
};

/** A process whose traffic between wa0 and wb0 has to be right. */
pid_t start_witness(Shared &shared, unsigned patience);
/** A process that notes how long it was without the CPU (Shared::starved_ms). */
pid_t start_waiter(Shared &shared);
/** Keeps every other process from the CPU that long, so that the waiter has to say so. */
void starve_all(unsigned ms);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_DIRECTOR_H */
