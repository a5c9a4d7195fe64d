/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * disk.h - a filesystem of a test's own that is on a disk: its pages are written back, and
 * it can be frozen. Throws Skip where there is none to be had.
 */
#ifndef PAVO_VERBS_DISK_H
#define PAVO_VERBS_DISK_H

#include <cstddef>
#include <cstdint>

namespace pv {

/** A mounted filesystem with one file of @size bytes; unmounted and gone at its end. */
class Disk {
public:
	explicit Disk(size_t size);
	~Disk();
	Disk(const Disk &) = delete;

	/** Of the mount point, to be frozen by. */
	static const char *folder();

	/** A mapping of the file; @flags are mmap's. The caller unmaps it before the end. */
	uint8_t *map(int protection, int flags) const;

private:
	size_t size_;
};

} // namespace pv

#endif /* PAVO_VERBS_DISK_H */
