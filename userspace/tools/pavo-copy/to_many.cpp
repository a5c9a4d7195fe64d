// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * to_many.cpp - a file to many machines at once: each packet is on the wire once, by a group of
 * windows (pavo_broadcast(3)). The sender waits for all receivers at a TCP port (pavo_group(3)).
 *
 * Chunk n of the file goes to slot n % slots of each receiver's memory. A receiver acknowledges it
 * when it has written it to its file, so the sender may use the slot again. At last all compare the
 * SHA-256 of their files with the sender's. Called by main.cpp.
 */
#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <arpa/inet.h>
#include <endian.h>

#include <pavo/broadcast.hpp>
#include <pavo/connect.hpp>
#include <pavo/device.hpp>

#include "file.h"
#include "progress.h"
#include "sha256.h"
#include "transfer.h"

namespace copy {
namespace {

constexpr uint32_t MANY_MAGIC = 0x70766d31; /* "pvm1" */
/* The job and the group are the port's: several transfers may go on at the same time. */
constexpr uint32_t JOB_BASE = 0x70000;

template <class T> T value_of(pavo::Result<T> result, const std::string &what)
{
	if (!result)
		throw Error(what + ": " + result.error().message());
	if constexpr (!std::is_void_v<T>)
		return std::move(result).value();
}

/* Numbers that the sender gives to all, little-endian on the way; of receivers all 0. */
struct Plan {
	uint32_t magic;
	uint32_t chunk;
	uint32_t slots;
	uint32_t reserved;
	uint64_t size;
	uint64_t key;
};

Plan to_little_endian(Plan plan)
{
	for (uint32_t *number : {&plan.magic, &plan.chunk, &plan.slots})
		*number = htole32(*number);
	plan.size = htole64(plan.size);
	plan.key = htole64(plan.key);
	return plan;
}

uint16_t port_of(const Options &options)
{
	const std::string &text = options.where.port;
	unsigned int port = 0;
	auto end = text.data() + text.size();
	auto read = std::from_chars(text.data(), end, port);

	if (read.ec != std::errc() || read.ptr != end || !port || port > 65535)
		throw Error("port " + text + ": 1 to 65535, please");
	return static_cast<uint16_t>(port);
}

pavo::Gid group_address(const std::string &text)
{
	pavo::Gid gid{};

	if (inet_pton(AF_INET6, text.c_str(), gid.data()) == 1)
		return gid;
	gid[10] = gid[11] = 0xff;
	if (inet_pton(AF_INET, text.c_str(), gid.data() + 12) != 1)
		throw Error(text + ": no address");
	return gid;
}

/* All that both sides need: found each other, and a window of the same job. */
class Meeting {
public:
	Meeting(const Options &options, bool sends, const Plan &own)
		: group(value_of(
			  pavo::Group::join(
				  {.host = sends ? "" : options.from,
				   .port = port_of(options),
				   .rank = {},
				   .size = static_cast<uint16_t>(
					   sends ? options.to_many + 1 : 0),
				   .key = MANY_MAGIC,
				   .timeout = std::chrono::milliseconds(
					   options.wait_forever ?
						   86400 * 1000 :
						   options.timeout_ms)}),
			  "the other machines")),
		  plan(agree(own)),
		  device(value_of(pavo::Device::open(options.adapter),
				  options.adapter)),
		  job(value_of(pavo::Job::open(device,
					       JOB_BASE + port_of(options),
					       plan.key),
			       "job")),
		  window(value_of(pavo::open_window(
					  group, job,
					  {.send_frames = 256,
					   .recv_frames = 1024,
					   .nodes = uint32_t(group.size()) + 1,
					   .broadcast = sends}),
				  "window")),
		  memory(size_t(plan.chunk) * plan.slots),
		  mapping(value_of(
			  pavo::Mapping::open(job, std::span(memory.data(),
							     memory.size())),
			  "memory")),
		  windows(value_of(pavo::connect(group, window), "windows")),
		  rdma(value_of(pavo::Rdma::open(window), "RDMA")),
		  cast{.gid = group_address(options.group),
		       .number = pavo::window_group | port_of(options)}
	{
	}

	pavo::Group group;
	Plan plan;
	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	std::vector<pavo::WindowAddress> windows;
	pavo::Rdma rdma;
	pavo::BroadcastGroup cast;

	uint64_t chunks() const
	{
		return (plan.size + plan.chunk - 1) / plan.chunk;
	}
	uint32_t length(uint64_t chunk) const
	{
		return static_cast<uint32_t>(std::min<uint64_t>(
			plan.chunk, plan.size - chunk * plan.chunk));
	}
	size_t slot(uint64_t chunk) const
	{
		return static_cast<size_t>(chunk % plan.slots) * plan.chunk;
	}
	std::span<std::byte> bytes(uint64_t chunk)
	{
		return std::span(memory).subspan(slot(chunk), length(chunk));
	}

	/* Give @mine to all, and serve the others while that takes time. */
	template <class T> std::vector<T> exchange(const T &mine)
	{
		return value_of(
			group.exchange(mine, [this] { (void)rdma.progress(); }),
			"the other machines");
	}

private:
	Plan agree(const Plan &own)
	{
		/* To the machine's own order and from it are the same. */
		const Plan all = to_little_endian(
			value_of(group.exchange(to_little_endian(own)),
				 "the other machines")[0]);

		if (all.magic != MANY_MAGIC || !all.chunk ||
		    all.chunk > CHUNK_LIMIT || !all.slots ||
		    all.slots > SLOTS_LIMIT || !all.size ||
		    (all.size - 1) / all.chunk >= UINT32_MAX)
			throw Error(
				"the sender is another version of pavo-copy");
		return all;
	}

	static constexpr uint32_t CHUNK_LIMIT = 16u << 20, SLOTS_LIMIT = 256;
};

/* A limit of time that begins anew with each step. */
class ProgressTimeout {
public:
	explicit ProgressTimeout(int ms) : limit_(ms) {}

	void moved() { since_ = Clock::now(); }
	void check() const
	{
		if (Clock::now() - since_ > limit_)
			throw Error("no progress for " +
				    std::to_string(limit_.count() / 1000) +
				    " s");
	}

private:
	using Clock = std::chrono::steady_clock;

	std::chrono::milliseconds limit_;
	Clock::time_point since_ = Clock::now();
};

/* ------------------------------------------------------------------- sender */

void put_all(Meeting &all, File &file, const Options &options, Sha256 &sum)
{
	auto source = value_of(
		pavo::Broadcast::open(all.rdma, {.group = all.cast,
						 .node = static_cast<uint16_t>(
							 all.group.size())}),
		"group " + options.group);
	std::vector<pavo::Completion> slots(all.plan.slots);
	Progress progress("sent", all.plan.size, options.quiet);

	for (size_t rank = 1; rank < all.windows.size(); rank++)
		value_of(source.add(all.windows[rank]), "a receiver");
	for (uint64_t n = 0; n < all.chunks() + slots.size(); n++) {
		pavo::Completion &slot = slots[n % slots.size()];

		/* Of the chunk that had the slot before. */
		if (n >= slots.size() && n - slots.size() < all.chunks()) {
			value_of(source.wait(slot), "a receiver");
			progress.advance(all.length(n - slots.size()));
		}
		if (n >= all.chunks())
			continue;
		file.read(all.bytes(n));
		sum.add(all.bytes(n));
		value_of(source.put({.local = {all.mapping.pvo().value +
					       all.slot(n)},
				     .offset = all.slot(n),
				     .length = all.length(n),
				     .tag = static_cast<uint32_t>(n)},
				    slot),
			 "sending");
	}
	progress.finish(options.adapter + " to " +
			std::to_string(all.windows.size() - 1));
}

} // namespace

void send_to_many(const Options &options)
{
	File file = File::open(options.file);
	const Plan plan = {.magic = MANY_MAGIC,
			   .chunk = options.chunk,
			   .slots = options.slots,
			   .reserved = 0,
			   .size = file.size(),
			   .key = std::random_device()() * 0x100000001ull ^
				  std::random_device()()};
	Sha256 sum;

	if (!plan.size)
		throw Error(options.file + ": is empty");
	Meeting all(options, true, plan);
	/* All have joined. */
	all.exchange(uint32_t(0));
	put_all(all, file, options, sum);
	const Digest digest = sum.finish();
	size_t bad = 0;

	for (const Digest &theirs : all.exchange(digest))
		bad += theirs != digest;
	printf("SHA-256 %s\n", to_text(digest).c_str());
	/* Those whose file is right have given it its name. */
	all.exchange(uint32_t(0));
	if (bad)
		throw Error(std::to_string(bad) + " of " +
			    std::to_string(all.group.size() - 1) +
			    " receivers have another file");
}

/* ----------------------------------------------------------------- receiver */

void receive_of_many(const Options &options)
{
	File::check_place(options.file);
	Meeting all(options, false, {});
	File file = File::create(options.file);
	Progress progress("received", all.plan.size, options.quiet);
	ProgressTimeout timeout(options.timeout_ms);
	uint64_t left = all.chunks();
	auto target = value_of(pavo::BroadcastTarget::open(all.rdma, all.cast,
							   all.mapping.pvo(),
							   all.memory.size()),
			       "group " + options.group);

	target.on_arrival([&](const pavo::BroadcastArrival &one) {
		if (one.from != all.windows[0] || one.tag >= all.chunks())
			throw Error("the sender broke the protocol");
		file.write_at(all.bytes(one.tag),
			      uint64_t(one.tag) * all.plan.chunk);
		progress.advance(all.length(one.tag));
		timeout.moved();
		left--;
	});
	all.exchange(uint32_t(0));
	while (left) {
		value_of(all.rdma.progress(), "receiving");
		timeout.check();
	}
	const Digest digest = file.digest();
	const Digest theirs = all.exchange(digest)[0];

	printf("SHA-256 %s\n", to_text(digest).c_str());
	if (theirs == digest)
		file.finish();
	all.exchange(uint32_t(0));
	if (theirs != digest)
		throw Error("the file differs from the sender's");
	progress.finish(options.adapter);
}

} // namespace copy
