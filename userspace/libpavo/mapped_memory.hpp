// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mapped_memory.hpp - the memory that this process has mapped for jobs, by its PVOs. So the library
 * finds the bytes that a peer names without RDMA, and touches no others. Private to the library.
 */
#ifndef PAVO_MAPPED_MEMORY_HPP
#define PAVO_MAPPED_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <span>

namespace pavo::mapped_memory {

/* All functions are for any thread. Jobs and mappings are named by file and handle. */

/** Note a job that was opened, with its JOBID, until it is closed; its mappings may stay longer. */
void add_job(int fd, uint32_t job, uint32_t id);
void remove_job(int fd, uint32_t job) noexcept;

/** Note memory that was mapped for @job, until it is unmapped. */
void add(int fd, uint32_t job, uint32_t mapping, uint64_t pvo,
	 std::span<std::byte> memory);
void remove(int fd, uint32_t mapping) noexcept;

/** Return the JOBID of an open job; 0: there is no such job. */
uint32_t id_of_job(int fd, uint32_t job) noexcept;

/**
 * Has this process mapped all of these bytes for the job of that JOBID, by one mapping?
 * @id: JOBID
 */
bool holds(uint32_t id, uint64_t pvo, uint64_t length) noexcept;
/** Copy. Return: false: as holds(); nothing was copied. */
bool read(uint32_t id, uint64_t pvo, std::span<std::byte> to) noexcept;
bool write(uint32_t id, uint64_t pvo, std::span<const std::byte> from) noexcept;

} // namespace pavo::mapped_memory

#endif // PAVO_MAPPED_MEMORY_HPP
