// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A bus master behind an IOMMU at direct windows: it fills and drains ranges as long as it has them,
 * and reaches none when it has not.
 */
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "../verbs/direct.h"
#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "edu.h"

using namespace pv;

namespace {

/* Addresses of the device's bus; it has 28 bits of them. */
constexpr uint64_t plain_at = 0x100000, range_at = 0x200000,
		   never_at = 0x300000;

/* Memory of this process that the device has. */
class Plain {
public:
	explicit Plain(const Edu &edu) : edu_(edu)
	{
		at_ = static_cast<uint8_t *>(aligned_alloc(4096, direct_size));
		REQUIRE(at_, "memory");
		edu_.map(at_, direct_size, plain_at);
	}
	~Plain()
	{
		edu_.unmap(plain_at, direct_size);
		free(at_);
	}
	Plain(const Plain &) = delete;
	uint8_t *at() const { return at_; }

private:
	const Edu &edu_;
	uint8_t *at_;
};

/* The device carries bytes from one place to another. */
void carry(const Edu &edu, uint64_t from, uint64_t to)
{
	for (uint32_t done = 0; done < direct_size; done += Edu::room) {
		edu.read(from + done, Edu::room);
		edu.write(to + done, Edu::room);
	}
}

/* Lines that the kernel prints from now on. */
class KernelLog {
public:
	KernelLog() : fd_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC))
	{
		REQUIRE(fd_ >= 0 && lseek(fd_, 0, SEEK_END) >= 0, "kmsg");
	}
	~KernelLog() { close(fd_); }
	KernelLog(const KernelLog &) = delete;

	/* Waits for a line with that text. */
	bool has(Env &env, const std::string &text)
	{
		return eventually(env, [&] { return comes(text); });
	}

private:
	bool comes(const std::string &text) const
	{
		char line[2048];

		for (ssize_t n; (n = ::read(fd_, line, sizeof(line))) > 0;)
			if (std::string(line, size_t(n)).find(text) !=
			    std::string::npos)
				return true;
		return false;
	}

	int fd_;
};

} // namespace

PV_TEST_LOCAL("iommu.to_link",
	      "a bus master behind an IOMMU fills a range, which leaves when "
	      "the master has it no longer, without a copy")
{
	const Edu edu;
	const Plain plain(edu);
	DirectWriting w(env, {}, {0, 2, direct_size, 2});
	Moved copied(env.a, "direct_copied");
	const uint64_t seed = env.seed();

	pattern_fill(plain.at(), direct_size, seed, 0);
	w.window.arm(0, direct_size);
	w.post(0, direct_size);
	edu.map(w.window.memory(0), direct_size, range_at);
	carry(edu, plain_at, range_at);
	w.window.count(0, direct_size / 2);
	REQUIRE_EQ(w.window.try_count(0, direct_size / 2), EBUSY,
		   "it has the range");
	none_sent(w.link.a, 10, "while the device has the range");
	edu.unmap(range_at, direct_size);
	w.window.count(0, direct_size / 2);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "written");
	REQUIRE_EQ(copied.by(), 0u, "copied bytes");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("iommu.from_link",
	      "it takes a read response, of which it may change nothing")
{
	const Edu edu;
	const Plain plain(edu);
	Link link = connect(env);
	Direct window(env.a, {0, 2, direct_size, 2});
	const uint64_t seed = env.seed();
	Mr source = must_reg(env.b, {direct_size}, seed);

	window.arm_read(1, direct_size, PAVO_DIRECT_WHOLE);
	post_direct(link.a, IBV_WR_RDMA_READ, window.sge(1, direct_size), 1,
		    {source});
	window.wait_valid(env, 1, {1, 0}, "response");
	REQUIRE_EQ(edu.try_map(window.memory(1), direct_size, range_at), EFAULT,
		   "to be written to");
	edu.map(window.memory(1), direct_size, range_at, false);
	carry(edu, range_at, plain_at);
	edu.unmap(range_at, direct_size);
	window.count(1, direct_size);
	expect_send(env, link.a, 1, "read");
	REQUIRE(pattern_verify(plain.at(), direct_size, seed, 0) < 0, "taken");
	window.must_be_whole(env);
}

PV_TEST_LOCAL("iommu.outside",
	      "it writes where it has nothing, and where it had a range: the "
	      "IOMMU refuses, and no byte of any range changes")
{
	const Edu edu;
	const Plain plain(edu);
	DirectWriting w(env, {}, {0, 2, direct_size, 2});
	const uint64_t seeds[] = {env.seed(), env.seed()};

	pattern_fill(plain.at(), direct_size, env.seed(), 0);
	for (uint32_t range : {0u, 1u}) {
		w.window.arm(range, direct_size);
		w.post(range, direct_size);
		edu.map(w.window.memory(range), direct_size, range_at);
		carry(edu, plain_at, range_at);
		edu.unmap(range_at, direct_size);
		REQUIRE(std::equal(plain.at(), plain.at() + direct_size,
				   w.window.memory(range)),
			"it did not reach the range");
		w.window.store(range, 0, direct_size, seeds[range]);
	}
	for (uint64_t at : {range_at, never_at, range_at + Edu::room}) {
		KernelLog log;

		edu.read(plain_at, Edu::room);
		edu.write(at, Edu::room);
		REQUIRE(log.has(env, "DMAR: [DMA Write"), "it was not refused");
		for (uint32_t range : {0u, 1u})
			REQUIRE(pattern_verify(w.window.memory(range),
					       direct_size, seeds[range],
					       0) < 0,
				"range ", range);
	}
	for (uint32_t range : {0u, 1u}) {
		w.window.count(range, direct_size);
		w.expect(range, "write");
		w.must_hold(range, direct_size, seeds[range], "written");
	}
	w.window.must_be_whole(env);
}
