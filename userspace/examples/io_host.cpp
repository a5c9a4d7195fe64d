// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * io_host.cpp - the host of an I/O unit: asks it by messages to bring blocks of a disk to the
 * memory of this program, or to take them from there. Any adapter will do. See io_unit.cpp.
 *
 *   io_host ADDRESS-OF-THE-UNIT --disk 1 --size 4096 --count 1000 --verify
 */
#include <getopt.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "io_unit.hpp"
#include "verbs_end.hpp"

namespace {

using namespace examples;

struct Options {
	std::string unit;
	uint16_t port = io_port;
	uint32_t disk = 0;
	uint64_t at = 0; /* of the memory; 0: anywhere */
	uint32_t size = 4096;
	uint32_t count = 1000;
	uint32_t depth = 8;
	uint64_t stride = 0; /* from one I/O to the next; 0: whole blocks */
	uint64_t seed = 1;
	bool write = false;
	bool verify = false;
};

constexpr char usage[] =
	"usage: io_host ADDRESS-OF-THE-UNIT [options]\n"
	"  --port N        of rdma_cm, where the unit waits (7478)\n"
	"  --disk N        of the unit, from 0 on (0)\n"
	"  --size BYTES    of an I/O (4096)\n"
	"  --count N       I/Os (1000)\n"
	"  --depth N       of them at a time, up to 64 (8)\n"
	"  --stride BYTES  from one to the next (the size, in blocks of 4096)\n"
	"  --at ADDRESS    of this program's memory (anywhere)\n"
	"  --write         to the disk; else from there\n"
	"  --verify        write a pattern, or look at each byte that is read\n"
	"  --seed N        of the pattern (1)\n";

uint64_t number(const char *text, uint64_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (end == text || *end || *text == '-' || value > most)
		throw std::runtime_error(std::string(text) +
					 " is not a number of 0 to " +
					 std::to_string(most));
	return value;
}

Options parse(int argc, char **argv)
{
	const option names[] = {{"port", required_argument, nullptr, 'p'},
				{"disk", required_argument, nullptr, 'k'},
				{"at", required_argument, nullptr, 'a'},
				{"help", no_argument, nullptr, 'h'},
				{"size", required_argument, nullptr, 's'},
				{"count", required_argument, nullptr, 'c'},
				{"depth", required_argument, nullptr, 'd'},
				{"stride", required_argument, nullptr, 't'},
				{"seed", required_argument, nullptr, 'e'},
				{"write", no_argument, nullptr, 'w'},
				{"verify", no_argument, nullptr, 'v'},
				{}};
	Options o;

	for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;)
		switch (c) {
		case 'p':
			o.port = uint16_t(number(optarg, 65535));
			break;
		case 'k':
			o.disk = uint32_t(number(optarg, UINT32_MAX));
			break;
		case 'a':
			o.at = number(optarg, UINT64_MAX);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case 's':
			o.size = uint32_t(number(optarg, io_most));
			break;
		case 'c':
			o.count = uint32_t(number(optarg, UINT32_MAX));
			break;
		case 'd':
			o.depth = uint32_t(number(optarg, io_depth));
			break;
		case 't':
			o.stride = number(optarg, 1ull << 40);
			break;
		case 'e':
			o.seed = number(optarg, UINT64_MAX);
			break;
		case 'w':
			o.write = true;
			break;
		case 'v':
			o.verify = true;
			break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	if (argc - optind != 1 || !o.size || !o.depth) {
		fputs(usage, stderr);
		exit(2);
	}
	o.unit = argv[optind];
	if (!o.stride)
		o.stride = (uint64_t(o.size) + 4095) / 4096 * 4096;
	return o;
}

/* Milliseconds for each step of a connection. */
constexpr int step_ms = 10000;
/* The connection manager repeats what the wire loses after some seconds. */
constexpr int connect_ms = 60000;

/* An identifier with an adapter and a way to the unit. */
CmId find_way(const CmChannel &events, const Options &options)
{
	CmId id = events.make_id();
	addrinfo *found;
	const int error = getaddrinfo(options.unit.c_str(),
				      std::to_string(options.port).c_str(),
				      nullptr, &found);

	if (error)
		throw std::runtime_error(options.unit + ": " +
					 gai_strerror(error));
	const Owned<addrinfo, freeaddrinfo> address(found);

	if (rdma_resolve_addr(id.get(), nullptr, address->ai_addr, step_ms))
		fail(errno, options.unit);
	events.expect(RDMA_CM_EVENT_ADDR_RESOLVED, step_ms);
	if (rdma_resolve_route(id.get(), step_ms))
		fail(errno, options.unit);
	events.expect(RDMA_CM_EVENT_ROUTE_RESOLVED, step_ms);
	return id;
}

class Host {
public:
	explicit Host(const Options &options)
		: o_(options), way_(find_way(events_, o_)),
		  pd_(made(ibv_alloc_pd(way_->verbs), "protection domain")),
		  channel_(made(ibv_create_comp_channel(way_->verbs),
				"channel")),
		  end_(std::move(way_), pd_.get(), channel_.get()),
		  memory_(pd_.get(), size_t(o_.depth) * o_.size, true, o_.at)
	{
		end_.connect(IoQuestion{o_.disk});
		disk_ = take_answer().size;
		if (disk_ < o_.size)
			throw std::runtime_error(
				"the disk of the unit has " +
				std::to_string(disk_) +
				" bytes, which is less than one I/O");
	}

	/* Return: every byte was right. */
	bool run()
	{
		using Clock = std::chrono::steady_clock;
		const auto begin = Clock::now();

		for (uint32_t tag = 0; tag < o_.depth; tag++)
			ask(tag);
		while (open_) {
			const ibv_wc wc = next();

			if (VerbsEnd::is_message(wc))
				finish(end_.take<IoStatus>(wc));
		}
		const double seconds =
			std::chrono::duration<double>(Clock::now() - begin)
				.count();

		end_.disconnect();
		/* Until the unit knows: it may take more than one message. */
		events_.next(connect_ms);
		printf("%u I/Os of %u bytes, %.1f us each%s\n", done_, o_.size,
		       done_ ? seconds * 1e6 / done_ : 0,
		       o_.verify ? bad_ ? ", with wrong bytes" :
					  ", every byte is right" :
				   "");
		return !bad_;
	}

private:
	IoAnswer take_answer() const
	{
		const CmEvent event = events_.next(connect_ms);

		if (!event)
			throw std::runtime_error(o_.unit + " does not answer");
		const auto answer = private_data<IoAnswer>(*event);

		if (event->event == RDMA_CM_EVENT_ESTABLISHED && answer)
			return *answer;
		if (event->event != RDMA_CM_EVENT_REJECTED || !answer ||
		    !answer->error)
			throw std::runtime_error(
				"no I/O unit waits at " + o_.unit + ", port " +
				std::to_string(o_.port) + " (" +
				rdma_event_str(event->event) + ")");
		if (answer->error == ENXIO)
			throw std::runtime_error("the unit has no disk " +
						 std::to_string(o_.disk) +
						 ", but " +
						 std::to_string(answer->disks));
		fail(answer->error, "the unit");
	}

	/* The next completion; sleeps until there is one. */
	ibv_wc next()
	{
		pollfd look[] = {{channel_->fd, POLLIN, 0},
				 {events_.fd(), POLLIN, 0}};

		for (;;) {
			if (const std::optional<ibv_wc> wc = end_.poll())
				return must_be_good(*wc);
			if (::poll(look, 2, -1) < 0)
				continue;
			if (look[0].revents) {
				VerbsEnd::take_event(channel_.get());
				end_.arm();
			} else if (const CmEvent event = events_.next(0)) {
				if (event->event == RDMA_CM_EVENT_DISCONNECTED)
					throw std::runtime_error(
						"the unit has ended the "
						"connection");
			}
		}
	}

	static ibv_wc must_be_good(const ibv_wc &wc)
	{
		if (wc.status != IBV_WC_SUCCESS)
			throw std::runtime_error(
				std::string("a request failed: ") +
				ibv_wc_status_str(wc.status));
		return wc;
	}

	uint64_t offset_of(uint32_t io) const
	{
		return uint64_t(io) % ((disk_ - o_.size) / o_.stride + 1) *
		       o_.stride;
	}

	/* Begins the next I/O, if there is one. */
	void ask(uint32_t tag)
	{
		if (requested_ == o_.count)
			return;
		std::byte *at = memory_.at(size_t(tag) * o_.size);

		offsets_[tag] = offset_of(requested_++);
		for (uint32_t i = 0; o_.verify && i < o_.size; i++)
			at[i] = o_.write ? io_byte(o_.seed, offsets_[tag] + i) :
					   ~io_byte(o_.seed, offsets_[tag] + i);
		end_.send(IoRequest{.address = memory_.address(size_t(tag) *
							       o_.size),
				    .offset = offsets_[tag],
				    .rkey = memory_.rkey(),
				    .length = o_.size,
				    .command = o_.write ? IoCommand::write :
							  IoCommand::read,
				    .tag = tag},
			  tag);
		open_++;
	}

	void finish(const IoStatus &status)
	{
		if (status.tag >= o_.depth || !open_)
			throw std::runtime_error(
				"the unit answers a question that was not "
				"asked");
		if (status.error)
			throw std::system_error(status.error,
						std::generic_category(),
						"the unit could not do it");
		if (o_.verify && !o_.write)
			look_at(status.tag);
		open_--;
		done_++;
		ask(status.tag);
	}

	void look_at(uint32_t tag)
	{
		const std::byte *at = memory_.at(size_t(tag) * o_.size);

		for (uint32_t i = 0; i < o_.size; i++) {
			if (at[i] == io_byte(o_.seed, offsets_[tag] + i))
				continue;
			if (!bad_++)
				fprintf(stderr,
					"byte %llu of the disk is wrong\n",
					static_cast<unsigned long long>(
						offsets_[tag] + i));
			return;
		}
	}

	const Options &o_;
	CmChannel events_;
	CmId way_;
	Pd pd_;
	Channel channel_;
	VerbsEnd end_;
	Memory memory_;
	uint64_t disk_ = 0; /* bytes */
	uint64_t offsets_[io_depth] = {};
	uint32_t requested_ = 0;
	uint32_t open_ = 0;
	uint32_t done_ = 0;
	uint32_t bad_ = 0;
};

} // namespace

int main(int argc, char **argv)
{
	try {
		Options options = parse(argc, argv);

		return Host(options).run() ? 0 : 1;
	} catch (const std::exception &error) {
		fprintf(stderr, "io_host: %s\n", error.what());
		return 1;
	}
}
