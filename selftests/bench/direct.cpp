// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.cpp - I/Os of a disk by an I/O unit, in each of the ways that it can go: one at a time, a
 * host asks by a message, the unit has the disk read and answers by an RDMA write and a status.
 * Both ends are threads of this program. Started by ./direct-guest.sh, once for each way and round;
 * prints a line of JSON for each size.
 *
 *   direct  the disk fills a range of a direct window, whose last byte sends the write
 *   io      the adapter has the disk fill a range, and sends when that is done
 *   double  it fills ordinary memory, which the unit copies to a region and sends
 *   region  it fills a region, which the unit sends
 *   nvmet   the kernel's NVMe over fabrics does all of it: DISK is what the host sees
 *   disk    a part alone: the disk is read, and nothing is sent
 *   link    the other part alone: the bytes are in a region of the unit before
 *   fill    writes the pattern to the disk that all others are compared with
 */
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <pavo/direct_post.hpp>

#include "../common/adapter.h"
#include "../common/options.h"
#include "../common/pattern.h"
#include "../../userspace/examples/io_unit.hpp"
#include "program/pair.h"

namespace {

using namespace bench;
using common::must;
using common::must_not_fail;
using examples::IoCommand;
using examples::IoRequest;
using examples::IoStatus;

constexpr size_t most_size = 65536;
constexpr size_t most_ios = area_bytes / most_size; /* each has a place */
constexpr size_t warm_up = 16;
constexpr size_t slots = 8; /* of the unit: ranges, buffers, statuses */

struct Options {
	std::string way;
	std::string disk;
	std::string devices[2]; /* of the host and of the unit */
	std::vector<size_t> sizes{4096, most_size};
	size_t ios = most_ios;
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

void post_receive(End &end, uint8_t *to)
{
	ibv_sge sge = {uintptr_t(to), uint32_t(message_size), end.mr->lkey};
	ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};

	post(end.qps[0].get(), &wr);
}

/* A message, and an RDMA write in front of it. */
struct Posted {
	Posted(End &end, const void *message, size_t length)
		: message_sge{uintptr_t(message), uint32_t(length),
			      end.mr->lkey}
	{
		message_wr.sg_list = &message_sge;
		message_wr.num_sge = 1;
		message_wr.opcode = IBV_WR_SEND;
		message_wr.send_flags = IBV_SEND_SIGNALED;
	}
	Posted(const Posted &) = delete;

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

	ibv_sge data_sge = {}, message_sge;
	ibv_send_wr data_wr = {}, message_wr = {};
};

/* ------------------------------------------------------------------- the unit */

/* Brings the bytes of a request to the host, and the answer behind them. */
using Bring = std::function<void(const IoRequest &request, size_t slot,
				 Posted &answer)>;

/* Serves requests until the host has no more. */
class Unit {
public:
	/* One request more than a host has at a time finds a receive. */
	Unit(End &end, Bring &&bring) : end_(end), bring_(std::move(bring))
	{
		for (size_t i = 0; i < 2; i++)
			post_receive(end, message(i));
	}

	void run()
	{
		for (size_t i = 0;; i = !i) {
			ibv_wc wc;

			end_.received.wait(&wc, 1);
			IoRequest request;

			memcpy(&request, message(i), sizeof(request));
			if (request.command == IoCommand::end)
				return;
			post_receive(end_, message(i));
			serve(request);
		}
	}

private:
	uint8_t *message(size_t i) const { return end_.in + i * message_size; }

	void serve(const IoRequest &request)
	{
		size_t slot = take_slot();
		auto *status = reinterpret_cast<IoStatus *>(message(2 + slot));

		*status = {request.tag, 0};
		Posted answer(end_, status, sizeof(*status));

		bring_(request, slot, answer);
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
	Bring bring_;
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

	return [&, window](const IoRequest &request, size_t slot,
			   Posted &answer) {
		const auto range = uint32_t(slot);

		must(pavo::post_direct(
			     *window, range, request.length, end.qps[0].get(),
			     answer.with_write(window->sge(range,
							   request.length),
					       request)),
		     "post to a range");
		disk.read(window->memory(range).data(), request.length,
			  request.offset);
		/* The device may put its pages a moment after it said that it is done. */
		for (;; work.again++) {
			pavo::Result<void> told =
				window->commit(range, request.length);

			if (told == pavo::Unexpected(
					    std::errc::device_or_resource_busy))
				continue;
			must(std::move(told), "count of a range");
			return;
		}
	};
}

/* The disk fills a range, and the adapter knows when: one call is all. */
Bring bring_io(End &end, const Disk &disk, size_t size)
{
	auto window = open_window(end, size);

	return [&, window](const IoRequest &request, size_t slot,
			   Posted &answer) {
		const pavo::DirectIo io = {.range = uint32_t(slot),
					   .length = request.length,
					   .fd = disk.fd(),
					   .offset = request.offset};

		must(pavo::post_io(
			     *window, io, end.qps[0].get(),
			     answer.with_write(window->sge(io.range, io.length),
					       request)),
		     "an I/O of a range");
	};
}

/* The disk fills a region, which is sent then; or memory that is copied to it. */
Bring bring_region(End &end, const Disk &disk, Heap heap, Work &work)
{
	return [&, heap](const IoRequest &request, size_t slot,
			 Posted &answer) {
		uint8_t *at = end.out + slot * most_size;

		disk.read(heap ? heap.get() : at, request.length,
			  request.offset);
		if (heap) {
			memcpy(at, heap.get(), request.length);
			work.copied += request.length;
		}
		post(end.qps[0].get(),
		     &answer.with_write({uintptr_t(at), request.length,
					 end.mr->lkey},
					request));
	};
}

/* The bytes are there. */
Bring bring_link(End &end, uint64_t seed)
{
	pattern_fill(end.out, area_bytes, seed, 0);
	return [&](const IoRequest &request, size_t, Posted &answer) {
		post(end.qps[0].get(),
		     &answer.with_write({uintptr_t(end.out + request.offset),
					 request.length, end.mr->lkey},
					request));
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
	return bring_region(end, disk,
			    options.way == "double" ? make_heap() : nullptr,
			    work);
}

/* ------------------------------------------------------------------- the host */

/* The I/Os of one measurement: @ask brings the bytes of one to @to. */
template <class Ask>
void measure(const Options &options, uint8_t *memory, size_t size, Ask &&ask)
{
	auto run = [&](size_t count) {
		for (size_t i = 0; i < count; i++)
			ask(memory + i * size, i * size);
	};

	run(std::min(warm_up, options.ios));
	blank(memory, options.ios * size);
	mark_begin();
	run(options.ios);
	mark_end();
	int64_t wrong =
		pattern_verify(memory, options.ios * size, options.seed, 0);

	must(wrong < 0, fmt::format("{}, {} bytes: byte {} is wrong",
				    options.way, size, wrong));
}

/* The host of a unit, which serves it in a thread of its own as long as this lives. */
class Host {
public:
	Host(End &end, Unit &unit)
		: end_(end), request_(reinterpret_cast<IoRequest *>(end.out)),
		  status_(reinterpret_cast<IoStatus *>(end.out + message_size)),
		  thread_([&unit] { serve(unit); })
	{
	}
	/* One that cannot be told to end has lost its queue pair, and ends as well. */
	~Host()
	{
		try {
			send({.address = 0,
			      .offset = 0,
			      .rkey = 0,
			      .length = 0,
			      .command = IoCommand::end,
			      .tag = 0});
		} catch (const std::exception &problem) {
			std::cerr << "direct, the host: " << problem.what()
				  << '\n';
		}
		thread_.join();
	}
	Host(const Host &) = delete;

	/* One I/O. */
	void ask(uint8_t *to, uint64_t offset, size_t size)
	{
		ibv_wc wc;

		post_receive(end_, end_.out + message_size);
		send({uintptr_t(to), offset, end_.mr->rkey, uint32_t(size),
		      IoCommand::read, ++tag_});
		end_.received.wait(&wc, 1);
		must(status_->tag == tag_ && !status_->error,
		     "a status of another I/O");
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

	void send(const IoRequest &what)
	{
		ibv_wc wc[slots];

		/* The last one has arrived, for it was answered. */
		end_.sent.reap(wc, slots);
		*request_ = what;
		Posted message(end_, request_, sizeof(what));

		post(end_.qps[0].get(), &message.message_wr);
	}

	End &end_;
	IoRequest *request_;
	IoStatus *status_;
	uint32_t tag_ = 0;
	std::thread thread_;
};

void run_one(const Options &options, Device &a, Device &b, const Disk &disk,
	     size_t size)
{
	common::Moved sent(b.name, "direct_sent");
	common::Moved copied(b.name, "direct_copied");
	Pair ends(a, b, {});
	Traffic traffic(a);
	Work work;

	/* As a file: by the host's kernel alone, or with what it has the fabric do. */
	if (options.way == "disk" || options.way == "nvmet") {
		measure(options, ends.a.in, size,
			[&](uint8_t *to, uint64_t offset) {
				disk.read(to, size, offset);
			});
	} else {
		Unit unit(ends.b,
			  make_bring(options, ends.b, disk, size, work));
		Host host(ends.a, unit);

		measure(options, ends.a.in, size,
			[&](uint8_t *to, uint64_t offset) {
				host.ask(to, offset, size);
			});
	}
	const uint64_t packets =
		traffic.moved("tx_packets") + traffic.moved("rx_packets");
	/* The counters of these are those of the warm-up, too. */
	const double all = double(options.ios + std::min(warm_up, options.ios));

	std::cout << nlohmann::json{{"way", options.way},
				    {"wire", options.wire},
				    {"size", size},
				    {"messages", options.ios},
				    {"copied", double(work.copied) / all},
				    {"again", double(work.again) / all},
				    {"sent", double(sent.by()) / all},
				    {"direct_copied",
				     double(copied.by()) / all},
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
		run_one(options, a, b, disk, size);
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
	app.add_option("--ios", options.ios,
		       fmt::format("that are measured ({})", most_ios))
		->check(CLI::Range(size_t(1), most_ios));
	app.add_option("--seed", options.seed, "of the bytes on the disk (1)");
	app.add_option("--wire", options.wire, "its name, for the lines");
	app.add_option("--maps", options.maps,
		       "file for the program's memory map, for the profiler");
	app.add_option("WAY", options.way, "of the bytes")
		->required()
		->check(CLI::IsMember({"direct", "io", "double", "region",
				       "nvmet", "disk", "link", "fill"}));
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
