// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* direct.cpp - direct windows, by the methods of the uverbs file; see direct.hpp. */
#include <pavo/direct.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include <rdma/pavo-abi.h>

#include "command.hpp"
#include "direct_register.hpp"
#include "error.hpp"

namespace pavo {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

static_assert(int(Direction::write) == 0 && int(Direction::read) == 1);

/* Time that is left of a timeout. */
class Deadline {
public:
	explicit Deadline(milliseconds timeout)
		: endless_(timeout < milliseconds(0)),
		  end_(Clock::now() + (endless_ ? milliseconds(0) : timeout))
	{
	}

	bool over() const { return !endless_ && Clock::now() >= end_; }

	/* Waits until the file is so, or the time is over. Return: 0 or errno. */
	int wait_for(int fd, short events) const
	{
		pollfd look{fd, events, 0};
		int found = ::poll(&look, 1, left());

		if (found < 0 && errno != EINTR)
			return errno;
		if (found > 0 && look.revents & (POLLHUP | POLLNVAL | POLLERR))
			return EIO;
		return found == 0 && over() ? ETIMEDOUT : 0;
	}

	/* Waits for a moment: the file is so all the time, for another caller. */
	static void pause() { ::poll(nullptr, 0, 1); }

private:
	int left() const
	{
		constexpr int most = std::numeric_limits<int>::max();

		if (endless_)
			return -1;
		auto rest = std::chrono::ceil<milliseconds>(end_ - Clock::now())
				    .count();

		return int(std::clamp<int64_t>(rest, 0, most));
	}

	bool endless_;
	Clock::time_point end_;
};

/* Advice about an error of open(), beside what errno says. */
const char *advice(int err)
{
	switch (err) {
	case EINVAL:
		return ": there are 1 to 1024 ranges and buffers, of a "
		       "multiple of the machine's page size up to 65536 bytes";
	case EPROTONOSUPPORT:
		return ": the module was built without them; one that has "
		       "them is made by `make modules DIRECT=y`";
	case EOPNOTSUPP:
		return ": an adapter of pavo is needed";
	case ENOMEM:
		return ": no memory left, or more than the process may have "
		       "locked (`ulimit -l`)";
	default:
		return "";
	}
}

/* Other drivers have other objects by the same numbers, or none. */
bool is_pavo(const ibv_context *context)
{
	const std::string file = std::string("/sys/class/infiniband/") +
				 context->device->name + "/pavo_abi";

	return access(file.c_str(), F_OK) == 0;
}

uint32_t flags_of(const ArmOptions &options)
{
	uint32_t flags = 0;

	if (options.direction == Direction::read)
		flags |= PAVO_DIRECT_READ;
	if (options.whole)
		flags |= PAVO_DIRECT_WHOLE;
	if (options.no_buffer == NoBuffer::wait)
		flags |= PAVO_DIRECT_WAIT;
	if (options.no_buffer == NoBuffer::fall_back)
		flags |= PAVO_DIRECT_FALLBACK;
	return flags;
}

Command command_of(uint32_t handle, uint16_t method)
{
	Command command(PAVO_OBJECT_DIRECT, method);

	command.handle(PAVO_ATTR_DIRECT_HANDLE, handle);
	return command;
}

} // namespace

DirectBuffer::~DirectBuffer()
{
	if (fd_ >= 0)
		close(fd_);
}

DirectBuffer::DirectBuffer(DirectBuffer &&from) noexcept
	: fd_(std::exchange(from.fd_, -1))
{
}

DirectBuffer &DirectBuffer::operator=(DirectBuffer &&from) noexcept
{
	std::swap(fd_, from.fd_);
	return *this;
}

/* The destructor ends the parts of a window that cannot be finished. */
Result<DirectWindow> DirectWindow::open(ibv_pd *pd,
					const DirectOptions &options) noexcept
{
	return guarded([&]() -> Result<DirectWindow> {
		DirectWindow made;

		if (!is_pavo(pd->context))
			fail(EOPNOTSUPP,
			     std::string("direct window") + advice(EOPNOTSUPP));
		const uint32_t size = options.range_size ?
					      options.range_size :
					      uint32_t(sysconf(_SC_PAGESIZE));

		made.shape_ = {options.base, options.ranges, size};
		made.buffers_ = options.buffers;
		if (!options.ranges || options.ranges > PAVO_DIRECT_RANGES ||
		    size > PAVO_DIRECT_RANGE_SIZE)
			fail(EINVAL,
			     std::string("direct window") + advice(EINVAL));
		made.free_ = std::make_unique<DirectRanges>(options.ranges);
		made.open_object(pd, options);
		return made;
	});
}

void DirectWindow::open_object(ibv_pd *pd, const DirectOptions &options)
{
	void *at = mmap(nullptr, length(), PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		fail(errno, "addresses for a direct window");
	memory_ = static_cast<std::byte *>(at);
	pavo_direct_open_args args = {
		.base = options.base ? options.base :
				       reinterpret_cast<uintptr_t>(at),
		.ranges = ranges(),
		.range_size = range_size(),
		.buffers = buffers_,
		.flags = 0};
	pavo_direct_open_resp resp{};
	Command command(PAVO_OBJECT_DIRECT, PAVO_METHOD_DIRECT_OPEN);
	int err = command.new_handle(PAVO_ATTR_DIRECT_HANDLE)
			  .handle(PAVO_ATTR_DIRECT_PD, pd->handle)
			  .in(PAVO_ATTR_DIRECT_OPEN_ARGS, args)
			  .out(PAVO_ATTR_DIRECT_OPEN_RESP, resp)
			  .run(pd->context->cmd_fd);

	if (err)
		fail(err == EPROTONOSUPPORT ? EOPNOTSUPP : err,
		     std::string("direct window") + advice(err));
	context_ = pd->context;
	shape_.base = resp.base;
	lkey_ = resp.lkey;
	handle_ = command.made();
	fd_ = resp.fd;
	registers_size_ = resp.registers_size;
	map(resp.registers);
}

void DirectWindow::map(uint64_t registers)
{
	int flags = fcntl(fd_, F_GETFL);

	if (flags < 0 || fcntl(fd_, F_SETFL, flags | O_NONBLOCK))
		fail(errno, "file of a direct window");
	if (registers_size_ < ranges() * sizeof(pavo_direct_register))
		fail(EPROTO, "registers of a direct window");
	if (mmap(memory_, length(), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd_, 0) == MAP_FAILED)
		fail(errno, "ranges of a direct window");
	void *at = mmap(nullptr, registers_size_, PROT_READ, MAP_SHARED, fd_,
			off_t(registers));

	if (at == MAP_FAILED)
		fail(errno, "registers of a direct window");
	registers_ = at;
}

void DirectWindow::close_all() noexcept
{
	if (registers_)
		munmap(registers_, registers_size_);
	if (memory_)
		munmap(memory_, length());
	if (fd_ < 0)
		return;
	command_of(handle_, PAVO_METHOD_DIRECT_CLOSE).run(context_->cmd_fd);
	close(fd_);
}

DirectWindow::~DirectWindow()
{
	close_all();
}

void DirectWindow::swap(DirectWindow &other) noexcept
{
	std::swap(context_, other.context_);
	std::swap(memory_, other.memory_);
	std::swap(registers_, other.registers_);
	std::swap(registers_size_, other.registers_size_);
	std::swap(free_, other.free_);
	std::swap(shape_, other.shape_);
	std::swap(buffers_, other.buffers_);
	std::swap(lkey_, other.lkey_);
	std::swap(handle_, other.handle_);
	std::swap(fd_, other.fd_);
}

DirectWindow::DirectWindow(DirectWindow &&from) noexcept
{
	swap(from);
}

DirectWindow &DirectWindow::operator=(DirectWindow &&from) noexcept
{
	swap(from);
	return *this;
}

int DirectWindow::try_arm(uint32_t range, uint32_t total,
			  uint32_t flags) noexcept
{
	pavo_direct_arm_args args = {
		.range = range, .total = total, .flags = flags, .reserved = 0};

	return command_of(handle_, PAVO_METHOD_DIRECT_ARM)
		.in(PAVO_ATTR_DIRECT_ARM_ARGS, args)
		.run(context_->cmd_fd);
}

Result<Armed> DirectWindow::arm(uint32_t range, uint32_t total,
				const ArmOptions &options) noexcept
{
	const Deadline deadline(options.timeout);
	uint32_t flags = flags_of(options);
	int err = try_arm(range, total, flags);

	while (err == EINTR ||
	       (err == EAGAIN && options.no_buffer == NoBuffer::wait)) {
		if (err == EAGAIN) {
			err = deadline.wait_for(fd_, POLLOUT);
			if (err)
				return Unexpected(err);
		}
		/* It waits: that is counted once. */
		err = try_arm(range, total, flags & ~PAVO_DIRECT_WAIT);
		if (err == EAGAIN && deadline.over())
			return Unexpected(ETIMEDOUT);
	}
	if (err == EAGAIN && options.no_buffer == NoBuffer::fall_back)
		return Armed::no_buffer;
	if (err)
		return Unexpected(err);
	return Armed::armed;
}

Result<void> DirectWindow::write(uint32_t range, uint32_t offset,
				 std::span<const std::byte> bytes) noexcept
{
	if (range >= ranges())
		return Unexpected(EINVAL);
	while (!bytes.empty()) {
		ssize_t done = pwrite(fd_, bytes.data(), bytes.size(),
				      off_t(range) * range_size() + offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return Unexpected(errno);
		bytes = bytes.subspan(size_t(done));
		offset += uint32_t(done);
	}
	return {};
}

Result<void> DirectWindow::wait_readable(uint32_t range,
					 milliseconds timeout) noexcept
{
	const Deadline deadline(timeout);

	if (range >= ranges())
		return Unexpected(EINVAL);
	for (;;) {
		DirectRegister at = registers(range);

		if (!at.buffer && !at.link_valid)
			return Unexpected(EBADF);
		if (at.direction == Direction::read && at.bus_valid)
			return {};
		if (deadline.over())
			return Unexpected(ETIMEDOUT);
		int err = deadline.wait_for(fd_, POLLIN);

		if (err)
			return Unexpected(err);
		if (!registers(range).bus_valid)
			Deadline::pause();
	}
}

Result<size_t> DirectWindow::read(uint32_t range, uint32_t offset,
				  std::span<std::byte> bytes,
				  milliseconds timeout) noexcept
{
	const Deadline deadline(timeout);

	if (range >= ranges())
		return Unexpected(EINVAL);
	for (;;) {
		ssize_t done = pread(fd_, bytes.data(), bytes.size(),
				     off_t(range) * range_size() + offset);

		if (done >= 0)
			return size_t(done);
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return Unexpected(errno);
		if (deadline.over())
			return Unexpected(ETIMEDOUT);
		int err = deadline.wait_for(fd_, POLLIN);

		if (err)
			return Unexpected(err);
		/* Another range has bytes, which its user has not taken yet. */
		if (!registers(range).bus_valid)
			Deadline::pause();
	}
}

Result<void> DirectWindow::count(uint32_t range, uint32_t bytes) noexcept
{
	pavo_direct_count_args args = {.range = range, .bytes = bytes};
	Command command = command_of(handle_, PAVO_METHOD_DIRECT_COUNT);
	int err;

	command.in(PAVO_ATTR_DIRECT_COUNT_ARGS, args);
	do
		err = command.run(context_->cmd_fd);
	while (err == EINTR);
	return to_result(Error(err));
}

Result<void> DirectWindow::disarm(uint32_t range) noexcept
{
	return to_result(Error(command_of(handle_, PAVO_METHOD_DIRECT_DISARM)
				       .in(PAVO_ATTR_DIRECT_RANGE, range)
				       .run(context_->cmd_fd)));
}

Result<DirectBuffer> DirectWindow::export_buffer(uint32_t range) noexcept
{
	int32_t fd = -1;
	int err = command_of(handle_, PAVO_METHOD_DIRECT_EXPORT)
			  .in(PAVO_ATTR_DIRECT_RANGE, range)
			  .out(PAVO_ATTR_DIRECT_FD, fd)
			  .run(context_->cmd_fd);

	if (err)
		return Unexpected(err);
	return DirectBuffer(fd);
}

DirectRegister DirectWindow::registers(uint32_t range) const noexcept
{
	DirectRegister result;

	if (range >= ranges())
		return result;
	const pavo_direct_register at = read_register(
		static_cast<const pavo_direct_register *>(registers_)[range]);

	result.bus_valid = at.bus_valid;
	result.link_valid = at.link_valid;
	result.direction = at.type == PAVO_DIRECT_TYPE_READ ? Direction::read :
							      Direction::write;
	if (at.buffer != PAVO_DIRECT_NO_BUFFER)
		result.buffer = at.buffer;
	result.total = at.total;
	result.count = at.count;
	result.response = at.response;
	result.drained = at.drained;
	result.error = at.error;
	result.uses = at.uses;
	result.done = at.done;
	return result;
}

} // namespace pavo
