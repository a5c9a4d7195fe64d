/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * held.h - a disk by way of the device mapper, which holds transfers back: their memory is pinned,
 * and nothing of it is touched before it is told to go on.
 */
#ifndef PAVO_DISKS_HELD_H
#define PAVO_DISKS_HELD_H

#include "block.h"

namespace pv {

class HeldDisk {
public:
	/* The first bytes of a disk. Throws Skip where there is no device mapper. */
	HeldDisk(const BlockDisk &disk, uint64_t bytes);
	~HeldDisk();
	HeldDisk(const HeldDisk &) = delete;

	int fd() const { return fd_; }
	void suspend() const;
	void resume() const;

private:
	int fd_ = -1;
};

/* Holds transfers back while it lives, or until resume(). */
class Suspended {
public:
	explicit Suspended(const HeldDisk &disk) : disk_(disk)
	{
		disk_.suspend();
	}
	~Suspended()
	{
		if (held_)
			disk_.resume();
	}
	Suspended(const Suspended &) = delete;
	void resume()
	{
		held_ = false;
		disk_.resume();
	}

private:
	const HeldDisk &disk_;
	bool held_ = true;
};

} // namespace pv

#endif /* PAVO_DISKS_HELD_H */
