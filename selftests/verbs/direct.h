/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A direct window of an end of this process, with the steps that tests take: arm a range, put
 * bytes in by a face, post a work request that names it, take bytes out.
 *
 * Owns: the window, its mapping and its file. Used by: direct_*.cpp, and the group disks.
 */
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "../../userspace/provider/include/pavo/pavo_dv_direct.h"
#include "link.h"

namespace pv {

constexpr uint32_t direct_size = 4096;

/* {bus valid, link valid} of a register. */
using Valid = std::pair<int, int>;

class Direct {
public:
	/* Throws Skip where the device has no direct windows. */
	explicit Direct(Host &host,
			const pavodv_direct_attr &attr = {0, 32, direct_size,
							  32},
			Handle pd = 0);
	~Direct();
	Direct(const Direct &) = delete;

	/* Ends it before its time. */
	void close();

	int try_arm(uint32_t range, uint32_t total, uint32_t flags = 0) const;
	void arm(uint32_t range, uint32_t total, uint32_t flags = 0) const;
	void arm_read(uint32_t range, uint32_t total, uint32_t flags = 0) const
	{
		arm(range, total, flags | PAVO_DIRECT_READ);
	}
	int try_count(uint32_t range, uint32_t bytes) const;
	void count(uint32_t range, uint32_t bytes) const;
	int try_disarm(uint32_t range) const;
	void disarm(uint32_t range) const;

	/* Bytes of a pattern, from @offset of the message on, by the file. 0 or errno. */
	int try_put(uint32_t range, uint32_t offset, uint32_t length,
		    uint64_t seed) const;
	void put(uint32_t range, uint32_t offset, uint32_t length,
		 uint64_t seed) const;
	/* The same by stores, without telling. */
	void store(uint32_t range, uint32_t offset, uint32_t length,
		   uint64_t seed) const;
	/* Takes bytes out by the file: as many as come at once; or -errno. */
	ssize_t try_take(uint32_t range, uint32_t offset, uint32_t length,
			 std::vector<uint8_t> *bytes) const;
	/* All of them, which have to be the pattern's, as they come. Return: deliveries. */
	uint32_t take(Env &env, uint32_t range, uint32_t offset,
		      uint32_t length, uint64_t seed) const;
	void set_blocking(bool blocks) const;
	/* The events of the file, without waiting. */
	short events() const;

	uint8_t *memory(uint32_t range, uint32_t offset = 0) const;
	uint64_t address(uint32_t range, uint32_t offset = 0) const;
	ibv_sge sge(uint32_t range, uint32_t length, uint32_t offset = 0) const;
	pavo_direct_register reg(uint32_t range) const;
	Valid valid(uint32_t range) const;
	/* Fails if it does not become so. */
	void wait_valid(Env &env, uint32_t range, Valid want,
			const char *what) const;

	/*
	 * Every range is idle, and every buffer can be had: arms as many ranges as there are
	 * buffers, sees a different buffer in each, and gives all back.
	 */
	void must_be_whole(Env &env) const;

	pavodv_direct plain = {};
};

/* The dma-buf of a range that is armed. Throws Skip where the kernel has none. */
class Exported {
public:
	Exported(const Direct &window, uint32_t range);
	~Exported();
	Exported(const Exported &) = delete;
	int fd() const { return fd_; }

private:
	int fd_ = -1;
};

/* An RDMA write, or another operation, from a range to a place of the peer. */
void post_direct(Side &side, ibv_wr_opcode opcode, const ibv_sge &sge,
		 uint64_t id, const Place &remote);

/* A link with a window at A and memory of the same size at B. */
struct DirectWriting {
	explicit DirectWriting(Env &env, const LinkSpec &spec = {},
			       const pavodv_direct_attr &attr = {0, 32,
								 direct_size,
								 32})
		: env(env), link(connect(env, spec)), window(env.a, attr),
		  at_b(must_reg(env.b, {window.plain.length}, 1))
	{
	}

	/* A write of a range, or the part of it from @offset on, to the same place at B. */
	void post(uint32_t range, uint32_t length, uint32_t offset = 0)
	{
		post_direct(link.a, IBV_WR_RDMA_WRITE,
			    window.sge(range, length, offset), range,
			    {at_b, int64_t(range) * window.plain.range_size +
					   offset});
	}

	void expect(uint32_t range, const char *what,
		    ibv_wc_status status = IBV_WC_SUCCESS)
	{
		expect_send(env, link.a, range, what, status);
	}

	/* The place of that range at B has these bytes. */
	void must_hold(uint32_t range, uint32_t length, uint64_t seed,
		       const char *what)
	{
		must_match(env.b, at_b,
			   int64_t(range) * window.plain.range_size, length,
			   seed, 0, what);
	}

	/* All of one write. */
	void write(uint32_t range, uint32_t length)
	{
		uint64_t seed = env.seed();

		window.arm(range, length);
		post(range, length);
		window.put(range, 0, length, seed);
		expect(range, "write");
		must_hold(range, length, seed, "written");
	}

	Env &env;
	Link link;
	Direct window;
	Mr at_b;
};

/* Does it raise SIGBUS? Its own objects are not ended where it does. */
bool raises_sigbus(const std::function<void()> &access);

} // namespace pv
