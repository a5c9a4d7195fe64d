// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Disks with controllers of their own at direct windows: at each offset that a controller takes, and
 * two of them at one packet. Claims are those of sources.md#direct.
 */
#include <cerrno>
#include <cstring>
#include <deque>

#include "../common/pattern.h"
#include "../verbs/direct.h"
#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "block.h"

using namespace pv;

namespace {

constexpr uint32_t range_size =
	8192; /* two pages, with a border between them */
constexpr int rounds = 30; /* packets of two disks */
constexpr pavodv_direct_attr two_pages = {0, 4, range_size, 4};

/* Where a part of a range begins that a disk moves, and its length. */
struct Part {
	uint32_t offset;
	uint32_t length;
};

/*
 * Parts at the first and the last offsets of a page that a controller takes whose addresses are
 * multiples of @step, and over the border of two pages.
 */
std::vector<Part> parts_for(uint32_t step)
{
	std::vector<Part> parts = {
		{0, block},	      {0, 4096},
		{0, range_size},      {4096 - block, 2 * block},
		{4096 - step, block}, {range_size - block, block}};

	for (uint32_t offset : {step, 2 * step, 256 + step, 513 * step})
		if (offset % step == 0 && offset + 7 * block <= range_size)
			parts.insert(parts.end(),
				     {{offset, block}, {offset, 7 * block}});
	return parts;
}

/* Do addresses that are no multiples of that fail, and leave all as it is? */
void refuses_odd(const BlockDisk &disk, const Direct &window, uint32_t range)
{
	const uint32_t step = disk.step();
	const std::vector<uint8_t> before(window.memory(range),
					  window.memory(range) + range_size);

	for (uint32_t offset : {step / 2, step + 1})
		REQUIRE_EQ(disk.try_read(window.memory(range, offset), block,
					 0),
			   EINVAL, disk.name(), " at ", offset);
	REQUIRE(!memcmp(before.data(), window.memory(range), range_size),
		"a byte of it came");
}

/* Bytes in front of what the disk brings are the CPU's. */
void to_link(Env &env, const BlockDisk &disk)
{
	DirectWriting w(env, {}, two_pages);
	const std::vector<Part> parts = parts_for(disk.step());
	Moved copied(env.a, "direct_copied"), sent(env.a, "direct_sent");
	uint64_t place = 0, seed = env.seed(), before = env.seed();

	disk.fill(0, parts.size() * range_size, seed);
	for (const auto &[offset, length] : parts) {
		w.window.arm(1, offset + length);
		w.post(1, offset + length);
		if (offset)
			w.window.put(1, 0, offset, before);
		disk.read(w.window.memory(1, offset), length, place);
		w.window.count(1, length);
		w.expect(1, "write");
		w.must_hold(1, offset, before, "before the disk's");
		must_match(env.b, w.at_b, range_size + offset, length, seed,
			   place, "of the disk");
		place += range_size;
	}
	REQUIRE_EQ(sent.by(), parts.size(), "ranges");
	REQUIRE_EQ(copied.by(), 0u, "copied bytes");
	w.window.arm(2, range_size);
	refuses_odd(disk, w.window, 2);
	w.window.disarm(2);
	w.window.must_be_whole(env);
}

/* A link with a window at A that reads memory of B. */
struct DirectReading {
	DirectReading(Env &env, const LinkSpec &spec = {},
		      const pavodv_direct_attr &attr = two_pages)
		: env(env), link(connect(env, spec)), window(env.a, attr),
		  seed(env.seed()),
		  at_b(must_reg(env.b, {attr.range_size}, seed))
	{
	}

	/* The first @length bytes of B, into a range. */
	void begin(uint32_t range, uint32_t length, uint32_t flags = 0)
	{
		window.arm_read(range, length, flags);
		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(range, length),
			    range, {at_b});
	}

	Env &env;
	Link link;
	Direct window;
	uint64_t seed;
	Mr at_b;
};

/* All responses at once; the disk takes what lies at an offset, and the CPU the rest. */
void from_link(Env &env, const BlockDisk &disk)
{
	DirectReading r(env);
	uint64_t place = 0;

	for (const auto &[offset, length] : parts_for(disk.step())) {
		r.begin(1, offset + length, PAVO_DIRECT_WHOLE);
		r.window.wait_valid(env, 1, {1, 0}, "response");
		disk.write(r.window.memory(1, offset), length, place);
		r.window.count(1, length);
		if (offset) {
			REQUIRE(pattern_verify(r.window.memory(1), offset,
					       r.seed, 0) < 0,
				"before the disk's");
			r.window.count(1, offset);
		}
		expect_send(env, r.link.a, 1, "read");
		disk.must_hold(place, length, r.seed, offset, "on the disk");
		place += range_size;
	}
	r.window.must_be_whole(env);
}

/* One response after the other, each at the beginning of the range. */
void from_link_in_turn(Env &env, const BlockDisk &disk)
{
	DirectReading r(env, {.mtu = 1024});

	disk.fill(0, range_size, env.seed());
	r.begin(1, range_size);
	for (uint64_t place = 0; place < range_size; place += 1024) {
		r.window.wait_valid(env, 1, {1, 0}, "response");
		disk.write(r.window.memory(1), 1024, place);
		r.window.count(1, 1024);
	}
	expect_send(env, r.link.a, 1, "read");
	disk.must_hold(0, range_size, r.seed, 0, "on the disk");
	r.window.must_be_whole(env);
}

/* A RAID of two disks: bytes of a packet lie on them in turn, a block on each. */
struct Stripes {
	static constexpr uint32_t size = 4096;

	Stripes(const char *first, const char *second)
		: disks{BlockDisk(first), BlockDisk(second)}
	{
	}

	/* The parts of a packet at @packet that are disk @i's. */
	std::vector<iovec> of(size_t i, uint8_t *packet) const
	{
		std::vector<iovec> parts;

		for (uint32_t at = uint32_t(i) * block; at < size;
		     at += 2 * block)
			parts.push_back({packet + at, block});
		return parts;
	}

	/* Writes a packet to both. */
	void fill(uint64_t seed, uint64_t place) const
	{
		std::vector<uint8_t> packet =
			common::pattern<uint8_t>(seed, size);

		for (size_t i = 0; i < 2; i++) {
			std::vector<uint8_t> half;

			for (const iovec &part : of(i, packet.data())) {
				auto *from =
					static_cast<uint8_t *>(part.iov_base);

				half.insert(half.end(), from, from + block);
			}
			disks[i].put(place, half);
		}
	}

	/* Both have that packet. */
	void must_hold(uint64_t seed, uint64_t place) const
	{
		for (size_t i = 0; i < 2; i++) {
			const std::vector<uint8_t> half =
				disks[i].get(place, size / 2);

			for (uint32_t at = 0; at < size / 2; at += block)
				REQUIRE(pattern_verify(half.data() + at, block,
						       seed,
						       2 * at + i * block) < 0,
					"stripe ", at / block, " of ",
					disks[i].name());
		}
	}

	const BlockDisk disks[2];
};

/* Counts what each disk has moved when it is done, whichever is first. */
void count_both(Env &env, const Direct &window, uint32_t range,
		Transfer (&transfers)[2])
{
	bool counted[2] = {};

	REQUIRE(eventually(env,
			   [&] {
				   for (size_t i = 0; i < 2; i++) {
					   if (counted[i] ||
					       !transfers[i].is_over())
						   continue;
					   transfers[i].wait();
					   window.count(range,
							Stripes::size / 2);
					   counted[i] = true;
				   }
				   return counted[0] && counted[1];
			   }),
		"the disks");
}

/* Two disks fill one packet: in turn first, which shows who is waited for, and then at once. */
void two_fill(Env &env, const char *first, const char *second)
{
	const Stripes raid(first, second);
	DirectWriting w(env, {.mtu = 4096}, {0, 4, Stripes::size, 4});
	Moved copied(env.a, "direct_copied"), packets(env.a, "tx_packets");
	Transfer transfers[2];

	for (int round = 0; round < rounds; round++) {
		const uint64_t seed = env.seed(),
			       place = uint64_t(round) * Stripes::size;
		const uint32_t range = uint32_t(round) % 4;

		raid.fill(seed, place);
		w.window.arm(range, Stripes::size);
		w.post(range, Stripes::size);
		for (size_t i = 0; i < 2; i++) {
			transfers[i].begin_read(
				raid.disks[i].fd(),
				raid.of(i, w.window.memory(range)), place);
			if (round || i)
				continue;
			transfers[i].wait();
			w.window.count(range, Stripes::size / 2);
			none_sent(w.link.a, 20, "with half of it");
			REQUIRE_EQ(w.window.reg(range).count, Stripes::size / 2,
				   "count");
		}
		if (round) {
			count_both(env, w.window, range, transfers);
		} else {
			transfers[1].wait();
			w.window.count(range, Stripes::size / 2);
		}
		w.expect(range, "write");
		w.must_hold(range, Stripes::size, seed, "of two disks");
	}
	REQUIRE_EQ(packets.by(), rounds, "one packet each");
	REQUIRE_EQ(copied.by(), 0u, "copied bytes");
	w.window.must_be_whole(env);
}

/* Two disks take one response. */
void two_drain(Env &env, const char *first, const char *second)
{
	const Stripes raid(first, second);
	DirectReading r(env, {.mtu = 4096}, {0, 4, Stripes::size, 4});
	Transfer transfers[2];

	for (int round = 0; round < rounds; round++) {
		const uint64_t place = uint64_t(round) * Stripes::size;
		const uint32_t range = uint32_t(round) % 4;

		r.seed = env.seed();
		env.b.fill(r.at_b.id, 0, Stripes::size, r.seed, 0);
		r.begin(range, Stripes::size);
		r.window.wait_valid(env, range, {1, 0}, "response");
		REQUIRE_EQ(r.window.reg(range).response, Stripes::size,
			   "one response");
		for (size_t i = 0; i < 2; i++)
			transfers[i].begin_write(
				raid.disks[i].fd(),
				raid.of(i, r.window.memory(range)), place);
		count_both(env, r.window, range, transfers);
		expect_send(env, r.link.a, range, "read");
		raid.must_hold(r.seed, place);
	}
	r.window.must_be_whole(env);
}

} // namespace

PV_TEST_LOCAL("disk.nvme_to_link",
	      "an NVMe controller fills ranges at every fourth byte, and no "
	      "CPU copies what it brings (claims 1, 15, 29, 32-34)")
{
	const BlockDisk disk(nvme_a);

	REQUIRE_EQ(disk.step(), 4u, "addresses of an NVMe controller");
	to_link(env, disk);
}

PV_TEST_LOCAL("disk.nvme_from_link",
	      "it takes read responses at every fourth byte (claims 18, 35-37)")
{
	const BlockDisk disk(nvme_a);

	from_link(env, disk);
	from_link_in_turn(env, disk);
}

PV_TEST_LOCAL("disk.virtio_to_link",
	      "a virtio controller fills ranges at every block")
{
	const BlockDisk disk(virtio);

	REQUIRE(disk.step() <= block, "addresses of a virtio controller");
	to_link(env, disk);
}

PV_TEST_LOCAL("disk.virtio_from_link", "it takes read responses so")
{
	const BlockDisk disk(virtio);

	from_link(env, disk);
	from_link_in_turn(env, disk);
}

PV_TEST_LOCAL("disk.two_fill_one",
	      "stripes of two controllers are one packet, which leaves with "
	      "the last of them (claim 17)")
{
	two_fill(env, nvme_a, nvme_b);
	two_fill(env, nvme_b, virtio);
}

PV_TEST_LOCAL("disk.two_drain_one",
	      "two controllers take stripes of one response (claim 28)")
{
	two_drain(env, nvme_a, nvme_b);
	two_drain(env, virtio, nvme_a);
}
