// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.cpp - I/Os of a disk by an I/O unit, in each of the ways that it can go: a host asks by
 * messages, one or many at a time, the unit has the disk read and answers by RDMA writes and statuses.
 * Both ends are threads of this program. Started by ./direct-guest.sh, once for each way and round;
 * prints a line of JSON for each size and depth.
 *
 *   direct  the disk fills a range of a direct window, whose last byte sends the write
 *   io      the adapter has the disk fill a range, and sends when that is done
 *   double  it fills ordinary memory, which the unit copies to a region and sends
 *   region  it fills a region, which the unit sends
 *   uring   the same, by io_uring with fixed buffers and a fixed file
 *   nvmet   the kernel's NVMe over fabrics does all of it: DISK is what the host sees
 *   disk    a part alone: the disk is read, and nothing is sent
 *   link    the other part alone: the bytes are in a region of the unit before
 *   fill    writes the pattern to the disk that all others are compared with
 */
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <pavo/direct_post.hpp>

#include "../common/adapter.h"
#include "../common/options.h"
#include "../common/pattern.h"
#include "../../userspace/examples/io_unit.hpp"
#include "program/pair.h"
#include "uring.h"

namespace {

using namespace bench;
using common::must;
using common::must_not_fail;
using examples::IoCommand;
using examples::IoRequest;
using examples::IoStatus;

/* Ends the unit of a measurement. */
constexpr IoCommand no_more{UINT32_MAX};

constexpr size_t most_size = 65536;
constexpr size_t most_ios = area_bytes / most_size; /* each has a place */
constexpr size_t warm_up = 16;
constexpr size_t most_depth = 16;
constexpr size_t slots =
	2 * most_depth; /* of the unit: ranges, buffers, statuses */
/* No unit serves these: there is no list of I/Os. */
constexpr const char *one_at_a_time[] = {"disk", "nvmet"};

struct Options {
	std::string way;
	std::string disk;
	std::string devices[2]; /* of the host and of the unit */
	std::vector<size_t> sizes{4096, most_size};
	std::vector<size_t> depths{1, most_depth};
	size_t ios = most_ios;
	size_t passes = 1; /* of all of them, in the part that is measured */
	uint64_t seed = 1;
	std::string wire;
	std::string maps;
};

/* A disk past the page cache: what it reads, it writes to memory itself. */
class Disk {
public:
	explicit Disk(const std::string &name)
		: fd_(must_not_fail(open(name.c_str(),
					 O_RDWR | O_DIRECT | O_CLOEXEC),
				    name))
	{
	}
	~Disk() { close(fd_); }
	Disk(const Disk &) = delete;

	void read(void *to, size_t length, uint64_t offset) const
	{
		must(pread(fd_, to, length, off_t(offset)) == ssize_t(length),
		     "a read of the disk was short");
	}
	int fd() const { return fd_; }
	void write(const void *from, size_t length, uint64_t offset) const
	{
		must(pwrite(fd_, from, length, off_t(offset)) ==
			     ssize_t(length),
		     "a write to the disk was short");
	}

private:
	int fd_;
};

/* Memory of whole pages that no adapter knows. */
using Heap = std::shared_ptr<uint8_t>;
Heap make_heap()
{
	Heap heap(static_cast<uint8_t *>(aligned_alloc(4096, most_size)), free);

	must(heap != nullptr, "memory");
	blank(heap.get(), most_size);
	return heap;
}

/* Messages lie in the areas that the bytes of I/Os do not take. */
constexpr size_t message_size = 64;
static_assert(sizeof(IoRequest) <= message_size);

/* Receives of messages, by their numbers, in one list. */
void post_receives(End &end, uint8_t *area, std::span<const uint64_t> numbers)
{
	ibv_sge sges[slots];
	ibv_recv_wr wrs[slots];

	for (size_t i = 0; i < numbers.size(); i++) {
		sges[i] = {uintptr_t(area + numbers[i] * message_size),
			   uint32_t(message_size), end.mr->lkey};
		wrs[i] = {.wr_id = numbers[i],
			  .next = i + 1 < numbers.size() ? &wrs[i + 1] :
							   nullptr,
			  .sg_list = &sges[i],
			  .num_sge = 1};
	}
	post(end.qps[0].get(), wrs);
}

/* A message, and an RDMA write in front of it. */
struct Posted {
	void set_message(End &end, const void *message, size_t length)
	{
		message_sge = {uintptr_t(message), uint32_t(length),
			       end.mr->lkey};
		message_wr.sg_list = &message_sge;
		message_wr.num_sge = 1;
		message_wr.opcode = IBV_WR_SEND;
		message_wr.send_flags = IBV_SEND_SIGNALED;
		message_wr.next = nullptr;
	}

	ibv_send_wr &with_write(const ibv_sge &data, const IoRequest &request)
	{
		data_sge = data;
		data_wr.sg_list = &data_sge;
		data_wr.num_sge = 1;
		data_wr.opcode = IBV_WR_RDMA_WRITE;
		data_wr.wr.rdma.remote_addr = request.address;
		data_wr.wr.rdma.rkey = request.rkey;
		data_wr.next = &message_wr;
		return data_wr;
	}

	ibv_sge data_sge = {}, message_sge = {};
	ibv_send_wr data_wr = {}, message_wr = {};
};

/* ------------------------------------------------------------------- the unit */

/* An I/O that the host has asked for, and the answer to it. */
struct Asked {
	IoRequest request;
	size_t slot;
	Posted answer;
};

/* One list of all requests: the answers, each behind the write of its bytes. */
ibv_send_wr &chain(std::span<Asked> asked)
{
	for (size_t i = 1; i < asked.size(); i++)
		asked[i - 1].answer.message_wr.next = &asked[i].answer.data_wr;
	return asked[0].answer.data_wr;
}

/* Brings the bytes of requests to the host, and the answers behind them. */
using Bring = std::function<void(std::span<Asked> asked)>;

/* Serves requests until the host has no more. */
class Unit {
public:
	/* One request more than a host has at a time finds a receive. */
	Unit(End &end, size_t depth, Bring &&bring)
		: end_(end), depth_(depth), bring_(std::move(bring))
	{
		for (uint64_t i = 0; i <= depth; i++)
			taken_.push_back(i);
		post_receives(end, end_.in, taken_);
	}

	void run()
	{
		ibv_wc wc[most_depth];

		for (;;) {
			const int found = end_.received.wait(wc, int(depth_));

			taken_.clear();
			for (int i = 0; i < found; i++)
				if (!take(wc[i].wr_id))
					return;
			post_receives(end_, end_.in, taken_);
			bring_({asked_, taken_.size()});
		}
	}

private:
	/* False: it is the last one. */
	bool take(uint64_t number)
	{
		Asked &asked = asked_[taken_.size()];

		memcpy(&asked.request, end_.in + number * message_size,
		       sizeof(asked.request));
		if (asked.request.command == no_more)
			return false;
		asked.slot = take_slot();
		auto *status = reinterpret_cast<IoStatus *>(
			end_.in + (slots + asked.slot) * message_size);

		*status = {asked.request.tag, 0};
		asked.answer.set_message(end_, status, sizeof(*status));
		taken_.push_back(number);
		return true;
	}

	/* A slot is free again when the host has its status. */
	size_t take_slot()
	{
		ibv_wc wc[slots];

		done_ += uint64_t(begun_ - done_ == slots ?
					  end_.sent.wait(wc, slots) :
					  end_.sent.reap(wc, slots));
		return begun_++ % slots;
	}

	End &end_;
	size_t depth_;
	Bring bring_;
	Asked asked_[most_depth] = {};
	std::vector<uint64_t> taken_; /* receives whose requests are served */
	uint64_t begun_ = 0, done_ = 0;
};

/* Work of a unit that no counter of the kernel shows. */
struct Work {
	uint64_t copied = 0; /* bytes, by the program */
	uint64_t again = 0; /* calls that told of bytes too early */
};

std::shared_ptr<pavo::DirectWindow> open_window(End &end, size_t size)
{
	return std::make_shared<pavo::DirectWindow>(
		must(pavo::DirectWindow::open(end.pd.get(),
					      {.ranges = slots,
					       .range_size = uint32_t(size),
					       .buffers = slots}),
		     "direct window"));
}

/* The disk fills a range; its last byte sends what was posted before. */
Bring bring_direct(End &end, const Disk &disk, size_t size, Work &work)
{
	auto window = open_window(end, size);

	return [&, window](std::span<Asked> all) {
		for (Asked &asked : all) {
			const IoRequest &request = asked.request;
			const auto range = uint32_t(asked.slot);

			must(pavo::post_direct(
				     *window, range, request.length,
				     end.qps[0].get(),
				     asked.answer.with_write(
					     window->sge(range, request.length),
					     request)),
			     "post to a range");
			disk.read(window->memory(range).data(), request.length,
				  request.offset);
			/* The device may put its pages a moment after it said that it is done. */
			for (;; work.again++) {
				pavo::Result<void> told =
					window->commit(range, request.length);

				if (told ==
				    pavo::Unexpected(
					    std::errc::device_or_resource_busy))
					continue;
				must(std::move(told), "count of a range");
				break;
			}
		}
	};
}

/* The disk fills ranges, and the adapter knows when: one call is all. */
Bring bring_io(End &end, const Disk &disk, size_t size)
{
	auto window = open_window(end, size);

	return [&, window](std::span<Asked> all) {
		pavo_direct_io_args ios[most_depth];
		pavodv_direct plain = {};
		ibv_send_wr *bad;

		plain.context = window->context();
		plain.handle = window->handle();
		for (size_t i = 0; i < all.size(); i++) {
			const IoRequest &request = all[i].request;
			const auto range = uint32_t(all[i].slot);

			ios[i] = {range, request.length, 0, disk.fd(),
				  request.offset};
			all[i].answer.with_write(
				window->sge(range, request.length), request);
		}
		const int error =
			pavodv_direct_io(&plain, ios, uint32_t(all.size()),
					 end.qps[0].get(), &chain(all), &bad);

		must(!error,
		     fmt::format("I/Os of ranges: {}", strerror(error)));
	};
}

uint8_t *region_at(End &end, const Asked &asked)
{
	return end.out + asked.slot * most_size;
}

/* Sends what lies in the region, all of it by one post. */
void send_region(End &end, std::span<Asked> all)
{
	for (Asked &asked : all)
		asked.answer.with_write({uintptr_t(region_at(end, asked)),
					 asked.request.length, end.mr->lkey},
					asked.request);
	post(end.qps[0].get(), &chain(all));
}

/* The disk fills a region, which is sent then; or memory that is copied to it. */
Bring bring_region(End &end, const Disk &disk, Heap heap, Work &work)
{
	return [&, heap](std::span<Asked> all) {
		for (const Asked &asked : all) {
			const IoRequest &request = asked.request;
			uint8_t *at = region_at(end, asked);

			disk.read(heap ? heap.get() : at, request.length,
				  request.offset);
			if (heap) {
				memcpy(at, heap.get(), request.length);
				work.copied += request.length;
			}
		}
		send_region(end, all);
	};
}

Bring bring_uring(End &end, const Disk &disk)
{
	auto ring = std::make_shared<Uring>(disk.fd(), end.out, area_bytes);

	return [&, ring](std::span<Asked> all) {
		for (const Asked &asked : all)
			ring->begin_read(region_at(end, asked),
					 asked.request.length,
					 asked.request.offset);
		ring->finish(unsigned(all.size()));
		send_region(end, all);
	};
}

/* The bytes are there. */
Bring bring_link(End &end, uint64_t seed)
{
	pattern_fill(end.out, area_bytes, seed, 0);
	return [&](std::span<Asked> all) {
		for (Asked &asked : all)
			asked.answer.with_write(
				{uintptr_t(end.out + asked.request.offset),
				 asked.request.length, end.mr->lkey},
				asked.request);
		post(end.qps[0].get(), &chain(all));
	};
}

Bring make_bring(const Options &options, End &end, const Disk &disk,
		 size_t size, Work &work)
{
	if (options.way == "direct")
		return bring_direct(end, disk, size, work);
	if (options.way == "io")
		return bring_io(end, disk, size);
	if (options.way == "link")
		return bring_link(end, options.seed);
	if (options.way == "uring")
		return bring_uring(end, disk);
	return bring_region(end, disk,
			    options.way == "double" ? make_heap() : nullptr,
			    work);
}

/* ------------------------------------------------------------------- the host */

/*
 * The I/Os of one measurement: @ask brings the bytes of as many as are given to @to. Return:
 * nanoseconds of each.
 */
template <class Ask>
double measure(const Options &options, uint8_t *memory, size_t size,
	       size_t depth, Ask &&ask)
{
	auto run = [&](size_t count) {
		for (size_t i = 0; i < count; i += depth)
			ask(memory + i * size, i * size,
			    std::min(depth, count - i));
	};

	run(std::min(warm_up, options.ios));
	blank(memory, options.ios * size);
	const uint64_t begin = now();

	mark_begin();
	for (size_t i = 0; i < options.passes; i++)
		run(options.ios);
	mark_end();
	const uint64_t end = now();
	int64_t wrong =
		pattern_verify(memory, options.ios * size, options.seed, 0);

	must(wrong < 0, fmt::format("{}, {} bytes: byte {} is wrong",
				    options.way, size, wrong));
	return double(end - begin) / double(options.ios * options.passes);
}

/* The host of a unit, which serves it in a thread of its own as long as this lives. */
class Host {
public:
	Host(End &end, Unit &unit)
		: end_(end), requests_(reinterpret_cast<IoRequest *>(end.out)),
		  statuses_(end.out + slots * message_size),
		  thread_([&unit] { serve(unit); })
	{
	}
	/* One that cannot be told to end has lost its queue pair, and ends as well. */
	~Host()
	{
		try {
			requests_[0] = {.address = 0,
					.offset = 0,
					.rkey = 0,
					.length = 0,
					.command = no_more,
					.tag = 0};
			send(1);
		} catch (const std::exception &problem) {
			std::cerr << "direct, the host: " << problem.what()
				  << '\n';
		}
		thread_.join();
	}
	Host(const Host &) = delete;

	/* I/Os of places behind each other, all at a time. */
	void ask(uint8_t *to, uint64_t offset, size_t size, size_t count)
	{
		uint64_t numbers[most_depth];
		ibv_wc wc[most_depth];

		for (size_t i = 0; i < count; i++) {
			numbers[i] = i;
			requests_[i] = {uintptr_t(to + i * size),
					offset + i * size,
					end_.mr->rkey,
					uint32_t(size),
					IoCommand::read,
					tag_ + uint32_t(i)};
		}
		post_receives(end_, statuses_, {numbers, count});
		send(count);
		for (size_t done = 0; done < count;) {
			const int found = end_.received.wait(wc, most_depth);

			for (int i = 0; i < found; i++)
				check(wc[i].wr_id, tag_ + uint32_t(done++));
		}
		tag_ += uint32_t(count);
	}

private:
	static void serve(Unit &unit)
	{
		try {
			unit.run();
		} catch (const std::exception &problem) {
			/* The host waits for an answer, and cannot be told. */
			std::cerr << "direct, the unit: " << problem.what()
				  << '\n';
			_exit(1);
		}
	}

	void check(uint64_t number, uint32_t tag) const
	{
		IoStatus status;

		memcpy(&status, statuses_ + number * message_size,
		       sizeof(status));
		must(status.tag == tag && !status.error,
		     "a status of another I/O");
	}

	/* The first ones of requests_, in one list. */
	void send(size_t count)
	{
		Posted messages[most_depth];
		ibv_wc wc[slots];

		/* The last ones have arrived, for they were answered. */
		end_.sent.reap(wc, slots);
		for (size_t i = 0; i < count; i++) {
			messages[i].set_message(end_, &requests_[i],
						sizeof(requests_[i]));
			if (i)
				messages[i - 1].message_wr.next =
					&messages[i].message_wr;
		}
		post(end_.qps[0].get(), &messages[0].message_wr);
	}

	End &end_;
	IoRequest *requests_;
	uint8_t *statuses_;
	uint32_t tag_ = 0;
	std::thread thread_;
};

void run_one(const Options &options, Device &a, Device &b, const Disk &disk,
	     size_t size, size_t depth)
{
	common::Moved sent(b.name, "direct_sent");
	common::Moved copied(b.name, "direct_copied");
	common::Moved again(b.name, "tx_retransmits");
	Pair ends(a, b, {});
	Traffic traffic(a);
	Work work;
	double ns;

	/* As a file: by the host's kernel alone, or with what it has the fabric do. */
	if (options.way == "disk" || options.way == "nvmet") {
		ns = measure(options, ends.a.in, size, depth,
			     [&](uint8_t *to, uint64_t offset, size_t) {
				     disk.read(to, size, offset);
			     });
	} else {
		Unit unit(ends.b, depth,
			  make_bring(options, ends.b, disk, size, work));
		Host host(ends.a, unit);

		ns = measure(options, ends.a.in, size, depth,
			     [&](uint8_t *to, uint64_t offset, size_t count) {
				     host.ask(to, offset, size, count);
			     });
	}
	const uint64_t packets =
		traffic.moved("tx_packets") + traffic.moved("rx_packets");
	/* The counters of these are those of the warm-up, too. */
	const double all = double(options.ios * options.passes +
				  std::min(warm_up, options.ios));

	std::cout << nlohmann::json{{"way", options.way},
				    {"wire", options.wire},
				    {"size", size},
				    {"depth", depth},
				    {"messages", options.ios * options.passes},
				    {"ns", ns},
				    {"copied", double(work.copied) / all},
				    {"again", double(work.again) / all},
				    {"sent", double(sent.by()) / all},
				    {"direct_copied",
				     double(copied.by()) / all},
				    {"retransmits", double(again.by()) / all},
				    {"packets", double(packets) / all},
				    {"drops", traffic.drops()}}
			     .dump()
		  << '\n'
		  << std::flush;
}

void fill(const Options &options, const Disk &disk)
{
	Heap heap = make_heap();

	for (uint64_t at = 0; at < area_bytes; at += most_size) {
		pattern_fill(heap.get(), most_size, options.seed, at);
		disk.write(heap.get(), most_size, at);
	}
}

void run(const Options &options)
{
	Disk disk(options.disk);

	if (options.way == "fill") {
		fill(options, disk);
		return;
	}
	Device a(options.devices[0]), b(options.devices[1]);

	keep_pages(options.maps);
	for (size_t size : options.sizes)
		for (size_t depth : options.depths)
			if (depth == 1 ||
			    !std::ranges::count(one_at_a_time, options.way))
				run_one(options, a, b, disk, size, depth);
}

Options parse(int argc, char **argv)
{
	common::CommandLine app("pavo-bench-direct - measures I/Os of a disk "
				"between a host and an I/O unit");
	Options options;

	app.add_list("--sizes", options.sizes,
		     "bytes of an I/O (4096,65536), whole pages")
		->delimiter(',')
		->check(CLI::Range(size_t(4096), most_size));
	app.add_list("--depths", options.depths,
		     fmt::format("I/Os at a time, up to {} (1,{})", most_depth,
				 most_depth))
		->delimiter(',')
		->check(CLI::Range(size_t(1), most_depth));
	app.add_option("--ios", options.ios,
		       fmt::format("that are measured ({})", most_ios))
		->check(CLI::Range(size_t(1), most_ios));
	app.add_option("--passes", options.passes,
		       "of all I/Os that are measured (1)")
		->check(CLI::Range(size_t(1), size_t(10000)));
	app.add_option("--seed", options.seed, "of the bytes on the disk (1)");
	app.add_option("--wire", options.wire, "its name, for the lines");
	app.add_option("--maps", options.maps,
		       "file for the program's memory map, for the profiler");
	app.add_option("WAY", options.way, "of the bytes")
		->required()
		->check(CLI::IsMember({"direct", "io", "double", "region",
				       "uring", "nvmet", "disk", "link",
				       "fill"}));
	app.add_option("DISK", options.disk, "a block device")->required();
	app.add_option("HOST", options.devices[0], "a device of verbs");
	app.add_option("UNIT", options.devices[1], "its peer");
	app.read(argc, argv);
	return options;
}

} // namespace

int main(int argc, char **argv)
try {
	run(parse(argc, argv));
	return 0;
} catch (const std::exception &problem) {
	std::cerr << "direct: " << problem.what() << '\n';
	return 1;
}
