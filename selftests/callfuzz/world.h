/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * world.h - the adapters that programs play with, made by world.sh: fa0 and fb0 on a pair
 * of interfaces here, fc0 in a user and network namespace of its own with fd0 at the
 * other end here. The world makes anew the things that a program broke.
 */
#ifndef PAVO_CALLFUZZ_WORLD_H
#define PAVO_CALLFUZZ_WORLD_H

#include <string>
#include <sys/types.h>

#include "shared.h"

namespace callfuzz {

class World {
public:
	World(std::string script, Shared &shared);
	~World();
	World(const World &) = delete;

	/** All of it. Throws std::runtime_error if it cannot be. */
	void make();
	/** Undoes the changes of @program, judging by its calls that succeeded. */
	void repair(const Program &program);
	/** The namespaces of C end. */
	void end_holder();
	pid_t holder() const { return holder_; }
	unsigned repairs() const { return repairs_; }

private:
	void start_holder();
	bool mend(const Program &program);
	bool mend_links() const;
	void end_interfaces() const;
	bool run(const std::string &what) const;
	bool describe();

	std::string script_;
	Shared &shared_;
	pid_t holder_ = 0;
	unsigned repairs_ = 0;
};

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_WORLD_H */
