// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* direct.cpp - see direct.h. */
#include "direct.h"

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "tap.h"

namespace pv {
namespace {

thread_local sigjmp_buf after_sigbus;

void leave_access(int)
{
	siglongjmp(after_sigbus, 1);
}

/* Does @access; false: a signal ended it. No object lives across it here. */
bool survives(const std::function<void()> *access)
{
	if (sigsetjmp(after_sigbus, 1))
		return false;
	(*access)();
	return true;
}

} // namespace

bool raises_sigbus(const std::function<void()> &access)
{
	struct sigaction mine = {}, before;

	mine.sa_handler = leave_access;
	sigaction(SIGBUS, &mine, &before);
	bool survived = survives(&access);

	sigaction(SIGBUS, &before, nullptr);
	return !survived;
}

Direct::Direct(Host &host, const pavodv_direct_attr &attr, Handle pd)
{
	int err = pavodv_direct_open(local(host).raw_pd(pd), &attr, &plain);

	if (err == EOPNOTSUPP)
		throw Skip("the device has no direct windows");
	REQUIRE_EQ(err, 0, "direct_open");
	set_blocking(false);
}

Direct::~Direct()
{
	close();
}

void Direct::close()
{
	if (plain.context)
		pavodv_direct_close(&plain);
}

int Direct::try_arm(uint32_t range, uint32_t total, uint32_t flags) const
{
	return pavodv_direct_arm(&plain, range, total, flags);
}

void Direct::arm(uint32_t range, uint32_t total, uint32_t flags) const
{
	REQUIRE_EQ(try_arm(range, total, flags), 0, "arm ", range);
}

int Direct::try_count(uint32_t range, uint32_t bytes) const
{
	return pavodv_direct_count(&plain, range, bytes);
}

void Direct::count(uint32_t range, uint32_t bytes) const
{
	REQUIRE_EQ(try_count(range, bytes), 0, "count ", range);
}

int Direct::try_disarm(uint32_t range) const
{
	return pavodv_direct_disarm(&plain, range);
}

void Direct::disarm(uint32_t range) const
{
	REQUIRE_EQ(try_disarm(range), 0, "disarm ", range);
}

int Direct::try_put(uint32_t range, uint32_t offset, uint32_t length,
		    uint64_t seed) const
{
	std::vector<uint8_t> bytes(length);

	pattern_fill(bytes.data(), length, seed, offset);
	ssize_t done = pwrite(plain.fd, bytes.data(), length,
			      off_t(range) * plain.range_size + offset);

	if (done < 0)
		return errno;
	REQUIRE_EQ(done, length, "pwrite");
	return 0;
}

void Direct::put(uint32_t range, uint32_t offset, uint32_t length,
		 uint64_t seed) const
{
	REQUIRE_EQ(try_put(range, offset, length, seed), 0, "pwrite ", range);
}

void Direct::store(uint32_t range, uint32_t offset, uint32_t length,
		   uint64_t seed) const
{
	pattern_fill(memory(range, offset), length, seed, offset);
}

ssize_t Direct::try_take(uint32_t range, uint32_t offset, uint32_t length,
			 std::vector<uint8_t> *bytes) const
{
	bytes->assign(length, 0);
	ssize_t done = pread(plain.fd, bytes->data(), length,
			     off_t(range) * plain.range_size + offset);

	return done < 0 ? -errno : done;
}

uint32_t Direct::take(Env &env, uint32_t range, uint32_t offset,
		      uint32_t length, uint64_t seed) const
{
	const uint32_t end = offset + length;
	std::vector<uint8_t> bytes;
	uint32_t deliveries = 0;

	while (offset < end) {
		ssize_t done = -EAGAIN;

		REQUIRE(eventually(env,
				   [&] {
					   done = try_take(range, offset,
							   end - offset,
							   &bytes);
					   return done != -EAGAIN;
				   }),
			"no byte of range ", range, " from ", offset, " on");
		REQUIRE(done > 0, "pread: ", strerror(int(-done)));
		int64_t bad = pattern_verify(bytes.data(), size_t(done), seed,
					     offset);

		REQUIRE(bad < 0, "byte ", offset + bad, " of range ", range);
		offset += uint32_t(done);
		deliveries++;
	}
	return deliveries;
}

void Direct::set_blocking(bool blocks) const
{
	int flags = fcntl(plain.fd, F_GETFL);

	flags = blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	REQUIRE_EQ(fcntl(plain.fd, F_SETFL, flags), 0, "fcntl");
}

short Direct::events() const
{
	pollfd look = {plain.fd, POLLIN | POLLOUT, 0};

	REQUIRE(poll(&look, 1, 0) >= 0, "poll");
	return look.revents;
}

uint8_t *Direct::memory(uint32_t range, uint32_t offset) const
{
	return static_cast<uint8_t *>(plain.memory) +
	       size_t(range) * plain.range_size + offset;
}

uint64_t Direct::address(uint32_t range, uint32_t offset) const
{
	return pavodv_direct_address(&plain, range, offset);
}

ibv_sge Direct::sge(uint32_t range, uint32_t length, uint32_t offset) const
{
	return {address(range, offset), length, plain.lkey};
}

pavo_direct_register Direct::reg(uint32_t range) const
{
	pavo_direct_register state = {};

	pavodv_direct_read_register(&plain, range, &state);
	return state;
}

Valid Direct::valid(uint32_t range) const
{
	pavo_direct_register now = reg(range);

	return {now.bus_valid, now.link_valid};
}

void Direct::wait_valid(Env &env, uint32_t range, Valid want,
			const char *what) const
{
	REQUIRE(eventually(env, [&] { return valid(range) == want; }), what,
		": range ", range, " is (", valid(range).first, ",",
		valid(range).second, ")");
}

void Direct::must_be_whole(Env &env) const
{
	const uint32_t most = std::min(plain.buffers, plain.ranges);
	std::set<uint32_t> buffers;

	for (uint32_t i = 0; i < plain.ranges; i++)
		wait_valid(env, i, {0, 0}, "a range that is not idle");
	for (uint32_t i = 0; i < most; i++) {
		int err = EAGAIN;

		REQUIRE(eventually(env,
				   [&] {
					   err = try_arm(i, 1);
					   return err != EAGAIN && err != EBUSY;
				   }),
			"buffer ", i, " of ", most, " does not come back");
		REQUIRE_EQ(err, 0, "arm ", i);
		buffers.insert(reg(i).buffer);
	}
	REQUIRE_EQ(buffers.size(), most, "buffers");
	for (uint32_t i = 0; i < most; i++)
		disarm(i);
}

Exported::Exported(const Direct &window, uint32_t range)
{
	int err = pavodv_direct_export(&window.plain, range, &fd_);

	if (err == EOPNOTSUPP)
		throw Skip("the kernel has no dma-buf");
	REQUIRE_EQ(err, 0, "export");
}

Exported::~Exported()
{
	::close(fd_);
}

void post_direct(Side &side, ibv_wr_opcode opcode, const ibv_sge &sge,
		 uint64_t id, const Place &remote)
{
	ibv_send_wr wr = {};

	wr.wr_id = id;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = remote.mr.address + uint64_t(remote.offset);
	wr.wr.rdma.rkey = remote.mr.rkey;
	post_raw_send(side, wr, sge);
}

} // namespace pv
