// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* shared_window.cpp - opening, mapping, commands; see shared_window.hpp. */
#include "shared_window.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "command.hpp"
#include "error.hpp"
#include "mapped_memory.hpp"

namespace pavo {

namespace {

std::string advice(int err)
{
	switch (err) {
	case ENOSPC:
		return ": the adapter has as many as it may (parameter "
		       "max_windows of the module)";
	case EDQUOT:
		return ": this user has as many windows as one may "
		       "(parameter share_per_user of the module)";
	case ENOMEM:
		return ": more than may be locked (`ulimit -l`), or no memory "
		       "left";
	case EMSGSIZE:
		return ": the MTU of the adapter's interface is too small";
	case EINVAL:
		return ": frames are powers of two from 16 to 32768, nodes 1 "
		       "to 65536";
	default:
		return "";
	}
}

void *map(int fd, const pavo_mmap_info &info)
{
	void *at = mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, off_t(info.offset));

	return at == MAP_FAILED ? nullptr : at;
}

pavo_frame_hdr *frame_at(std::byte *fifo, uint32_t slot)
{
	return reinterpret_cast<pavo_frame_hdr *>(
		fifo + slot * size_t(PAVO_FRAME_SIZE));
}

} // namespace

SharedWindow::SharedWindow(const Job &job, const WindowOptions &options)
	: file_(job.file()), node_(options.node),
	  job_id_(mapped_memory::id_of_job(job.fd(), job.handle())),
	  gid_index_(options.gid_index), send_frames_(options.send_frames),
	  recv_frames_(options.recv_frames)
{
	Command command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_OPEN);
	pavo_window_args args = {
		.send_frames = options.send_frames,
		.recv_frames = options.recv_frames,
		.nodes = options.nodes,
		.node = options.node,
		.sgid_index = options.gid_index,
		.recv_event = options.recv_event,
		.send_event = options.send_event,
		.flags = options.broadcast ? uint32_t(PAVO_WINDOW_BROADCAST) :
					     0,
	};
	pavo_window_resp resp{};
	int err = command.new_handle(PAVO_ATTR_WINDOW_HANDLE)
			  .handle(PAVO_ATTR_WINDOW_JOB, job.handle())
			  .in(PAVO_ATTR_WINDOW_ARGS, args)
			  .out(PAVO_ATTR_WINDOW_RESP, resp)
			  .run(fd());

	if (err)
		fail(err, "window" + advice(err));
	handle_ = command.made();
	number_ = resp.window;
	max_payload_ = resp.max_payload;
	rdma_payload_ = resp.rdma_payload;
	send_ = static_cast<std::byte *>(map(fd(), resp.send));
	recv_ = static_cast<std::byte *>(map(fd(), resp.recv));
	commands_ = static_cast<pavo_command_page *>(map(fd(), resp.commands));
	if (!send_ || !recv_ || !commands_) {
		err = errno;
		close();
		fail(err, "memory of a window");
	}
}

SharedWindow::~SharedWindow()
{
	close();
}

void SharedWindow::close() noexcept
{
	Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_CLOSE)
		.handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
		.run(fd());
	if (send_)
		munmap(send_, send_frames_ * size_t(PAVO_FRAME_SIZE));
	if (recv_)
		munmap(recv_, recv_frames_ * size_t(PAVO_FRAME_SIZE));
	if (commands_)
		munmap(commands_, sizeof(*commands_));
}

pavo_frame_hdr *SharedWindow::send_frame(uint32_t number) const
{
	return frame_at(send_, number & (send_frames_ - 1));
}

pavo_frame_hdr *SharedWindow::recv_frame(uint32_t number) const
{
	return frame_at(recv_, number & (recv_frames_ - 1));
}

uint32_t SharedWindow::recoveries() const noexcept
{
	return std::atomic_ref(commands_->recoveries)
		.load(std::memory_order_acquire);
}

Result<void> SharedWindow::query(pavo_lmt &lmt) const noexcept
{
	lmt = {};
	return to_result(
		Error(Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_QUERY)
			      .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
			      .out(PAVO_ATTR_WINDOW_LMT, lmt)
			      .run(fd())));
}

bool SharedWindow::command(pavo_window_command op, uint32_t argument) noexcept
{
	std::atomic_ref consumer(commands_->consumer);
	std::atomic_ref producer(commands_->producer);
	uint32_t n = producer.load(std::memory_order_relaxed);

	if (n - consumer.load(std::memory_order_acquire) >= PAVO_WCMD_RING)
		return false;
	commands_->ring[n % PAVO_WCMD_RING] =
		uint64_t(op) << PAVO_WCMD_OP_SHIFT | argument;
	producer.store(n + 1, std::memory_order_release);
	return true;
}

Result<void> SharedWindow::kick() noexcept
{
	return to_result(
		Error(Command(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_KICK)
			      .handle(PAVO_ATTR_WINDOW_HANDLE, handle_)
			      .run(fd())));
}

/* The full barrier pairs with the module's between setting the flag and its last look. */
bool SharedWindow::needs_kick() const noexcept
{
	std::atomic_thread_fence(std::memory_order_seq_cst);
	return std::atomic_ref(commands_->flags)
		       .load(std::memory_order_relaxed) &
	       PAVO_WCMD_NEED_KICK;
}

/* Writes a command. A full ring is empty after a call. */
Result<void> SharedWindow::write_command(pavo_window_command op,
					 uint32_t argument) noexcept
{
	if (command(op, argument))
		return {};
	return kick().and_then([&]() -> Result<void> {
		if (!command(op, argument))
			return Unexpected(EIO);
		return {};
	});
}

Result<void> SharedWindow::command_soon(pavo_window_command op,
					uint32_t argument) noexcept
{
	return write_command(op, argument).and_then([this] {
		return needs_kick() ? kick() : Result<void>();
	});
}

Result<void> SharedWindow::command_now(pavo_window_command op,
				       uint32_t argument) noexcept
{
	return write_command(op, argument).and_then([this] { return kick(); });
}

} // namespace pavo
