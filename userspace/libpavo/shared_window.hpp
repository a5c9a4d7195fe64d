// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * shared_window.hpp - the adapter's side of a window: its handle, both FIFOs and the command
 * page. Private to the library, and to tests that look into that memory.
 */
#ifndef PAVO_SHARED_WINDOW_HPP
#define PAVO_SHARED_WINDOW_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rdma/pavo-abi.h>

#include <pavo/window.hpp>

namespace pavo {

class SharedWindow {
public:
	/** Opens a window and maps its memory. Throws Failure: as Window::open() fails. */
	SharedWindow(const Job &job, const WindowOptions &options);
	/** Closes it. */
	~SharedWindow();
	SharedWindow(const SharedWindow &) = delete;
	SharedWindow &operator=(const SharedWindow &) = delete;

	/** Arguments of methods of the window. */
	int fd() const { return file_->number(); }
	uint32_t handle() const { return handle_; }

	uint16_t node() const { return node_; }
	/** JOBID of its job. */
	uint32_t job_id() const { return job_id_; }
	Result<Gid> gid() const noexcept { return file_->gid(gid_index_); }
	uint32_t number() const { return number_; }
	size_t max_payload() const { return max_payload_; }
	uint32_t rdma_payload() const { return rdma_payload_; }
	uint32_t send_frames() const { return send_frames_; }

	/** Return the slot of a FIFO for frame @number. */
	pavo_frame_hdr *send_frame(uint32_t number) const;
	pavo_frame_hdr *recv_frame(uint32_t number) const;
	pavo_command_page *commands() const { return commands_; }

	/** Return the adapter's number of recoveries, from the command page. */
	uint32_t recoveries() const noexcept;
	/** Reads the local mapping table to @lmt; all is 0 where that fails. */
	Result<void> query(pavo_lmt &lmt) const noexcept;

	/** Writes a command. Return: false: the ring is full. */
	bool command(pavo_window_command op, uint32_t argument) noexcept;
	/** Makes the adapter take the commands, by a system call. */
	Result<void> kick() noexcept;
	/** Writes a command, and kicks unless a doorbell worker of the device is awake. */
	Result<void> command_soon(pavo_window_command op,
				  uint32_t argument) noexcept;
	/** Writes a command, and kicks. The adapter has carried it out when this returns. */
	Result<void> command_now(pavo_window_command op,
				 uint32_t argument) noexcept;

private:
	bool needs_kick() const noexcept;
	Result<void> write_command(pavo_window_command op,
				   uint32_t argument) noexcept;
	void close() noexcept;

	std::shared_ptr<const File> file_;
	uint16_t node_;
	uint32_t job_id_;
	uint16_t gid_index_;
	uint32_t handle_;
	uint32_t number_;
	size_t max_payload_;
	uint32_t rdma_payload_;
	uint32_t send_frames_;
	uint32_t recv_frames_;
	std::byte *send_ = nullptr;
	std::byte *recv_ = nullptr;
	pavo_command_page *commands_ = nullptr;
};

/** Returns the memory of @window. */
SharedWindow &shared_of(const Window &window);

} // namespace pavo

#endif // PAVO_SHARED_WINDOW_HPP
