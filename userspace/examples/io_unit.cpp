// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * io_unit.cpp - an I/O unit: a machine that gives its disks to hosts, which come and go. A host sends
 * the address of its memory, and a command; the unit answers by RDMA and a status. See io_host.cpp.
 *
 *   io_unit pavo0 /dev/vdb /dev/vdc          bytes go from a disk to the link
 *   io_unit pavo0 /dev/vdb --double-buffer   by way of ordinary memory, for comparison
 *
 * With a direct window the unit sets up one transfer for each piece of an I/O: one call arms a range,
 * posts the RDMA write and has the adapter read the disk, and the last byte sends the write. The
 * unit does not wait for a disk: up to 64 I/Os of each host are under way on all disks. With ordinary memory the
 * unit sets up two transfers: one from the disk to memory, for which it waits, and another one from memory to
 * the link. Parts of blocks go that way, too, when they are written: a disk takes whole blocks.
 *
 * A read of the host's memory for a write to the disk goes the other way round.
 */
#include <getopt.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <pavo/direct_post.hpp>

#include "io_disk.hpp"
#include "io_listener.hpp"
#include "io_unit.hpp"
#include "verbs_end.hpp"

namespace {

using namespace examples;

struct Options {
	std::string adapter;
	std::vector<std::string> disks;
	uint16_t port = io_port;
	uint32_t hosts = 0; /* end when so many have gone; 0: never */
	uint32_t gather = 0; /* begin when hosts have asked for so many I/Os */
	uint32_t ranges = 32;
	uint32_t range_size = uint32_t(sysconf(_SC_PAGESIZE));
	uint32_t buffers = 32;
	bool double_buffer = false;
	bool json = false;
};

constexpr size_t most_hosts = 64;
/* Pieces by ranges and by ordinary memory, and the answers, have room in the send queue. */
constexpr uint32_t most_ranges = 256;
static_assert(2 * most_ranges + io_depth < VerbsEnd::sends);
static_assert(io_depth < VerbsEnd::receives);

constexpr char usage[] =
	"usage: io_unit ADAPTER DISK... [options]\n"
	"  DISK             a block device or a file; a host names it by its place, 0 is the first\n"
	"  --port N         of rdma_cm, where hosts come (7478)\n"
	"  --hosts N        end when N hosts have come and gone (SIGTERM ends it, too)\n"
	"  --gather N       begin no I/O before hosts have asked for N, so that they start together\n"
	"  --double-buffer  by way of ordinary memory, and no direct window\n"
	"  --ranges N       of the direct window, up to 256 (32)\n"
	"  --range-size N   bytes of a range, a multiple of the page size (a page)\n"
	"  --buffers N      of its pool (32)\n"
	"  --json           print the counts as JSON\n";

uint32_t number(const char *text, uint32_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (end == text || *end || *text == '-' || !value || value > most)
		throw std::runtime_error(std::string(text) +
					 " is not a number of 1 to " +
					 std::to_string(most));
	return uint32_t(value);
}

Options parse(int argc, char **argv)
{
	const option names[] = {{"double-buffer", no_argument, nullptr, 'd'},
				{"port", required_argument, nullptr, 'p'},
				{"hosts", required_argument, nullptr, 'n'},
				{"gather", required_argument, nullptr, 'g'},
				{"ranges", required_argument, nullptr, 'r'},
				{"range-size", required_argument, nullptr, 's'},
				{"buffers", required_argument, nullptr, 'b'},
				{"json", no_argument, nullptr, 'j'},
				{"help", no_argument, nullptr, 'h'},
				{}};
	Options o;

	for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;)
		switch (c) {
		case 'd':
			o.double_buffer = true;
			break;
		case 'p':
			o.port = uint16_t(number(optarg, 65535));
			break;
		case 'n':
			o.hosts = number(optarg, UINT32_MAX);
			break;
		case 'g':
			o.gather = number(optarg, most_hosts * io_depth);
			break;
		case 'r':
			o.ranges = number(optarg, most_ranges);
			break;
		case 's':
			o.range_size = number(optarg, 65536);
			break;
		case 'b':
			o.buffers = number(optarg, 1024);
			break;
		case 'j':
			o.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	if (argc - optind < 2) {
		fputs(usage, stderr);
		exit(2);
	}
	o.adapter = argv[optind];
	o.disks.assign(argv + optind + 1, argv + argc);
	return o;
}

/** Work of the unit. */
struct Counts {
	uint64_t hosts = 0;
	uint64_t ios = 0;
	uint64_t bytes = 0;
	uint64_t most_ios = 0; /* at a time */
	uint64_t operations = 0; /* of RDMA: pieces of I/Os */
	uint64_t setups = 0; /* of transfers, by the CPU */
	uint64_t by_adapter =
		0; /* pieces whose bytes the adapter has moved by the disk */
	uint64_t double_buffered = 0; /* pieces by way of ordinary memory */
};

/** A host that is connected to a disk. */
struct Host {
	Host(CmId id, ibv_pd *pd, ibv_comp_channel *channel, const Disk &disk,
	     const IoAnswer &answer)
		: end(std::move(id), pd, channel, this), disk(disk)
	{
		end.accept(answer);
	}

	VerbsEnd end;
	const Disk &disk;
	uint32_t ios = 0; /* without an answer */
	uint32_t pieces =
		0; /* under way: each completes, whatever becomes of the connection */
	bool heard = false; /* it has the unit's answer to its coming */
	bool leaving = false; /* nothing more is begun for it */
};

/** An I/O without an answer. */
struct Io {
	Host &host;
	IoRequest request;
	uint32_t at = 0; /* bytes that were begun */
	uint32_t pieces = 0; /* under way */
	bool begun = false; /* there is no other piece */
	int error = 0;
};

/** A piece of one: what its completion frees. */
struct Piece {
	uint64_t io;
	bool bounced;
	uint32_t slot; /* range, or place in the ordinary memory */
	uint32_t length;
	uint64_t offset; /* on the disk */
};

class Unit {
	using Clock = std::chrono::steady_clock;
	static constexpr int probe_ms = 2000;

public:
	explicit Unit(const Options &options)
		: o_(options),
		  disks_(options.disks.begin(), options.disks.end()),
		  listener_(o_.adapter, o_.port),
		  pd_(made(ibv_alloc_pd(listener_.context()),
			   "protection domain")),
		  channel_(made(ibv_create_comp_channel(listener_.context()),
				"channel")),
		  bounce_(pd_.get(), size_t(o_.ranges) * o_.range_size),
		  before_(counters_of(o_.adapter, "direct_"))
	{
		if (!o_.double_buffer)
			window_.emplace(
				pavo::DirectWindow::open(
					pd_.get(), {.base = 0,
						    .ranges = o_.ranges,
						    .range_size = o_.range_size,
						    .buffers = o_.buffers})
					.value());
		for (uint32_t i = 0; i < o_.ranges; i++)
			free_bounces_.push_back(i);
	}

	/* Until as many hosts have gone as it shall serve, or @signals has one. */
	void run(int signals)
	{
		pollfd look[] = {{listener_.events().fd(), POLLIN, 0},
				 {channel_->fd, POLLIN, 0},
				 {signals, POLLIN, 0}};

		while (!o_.hosts || gone_ < o_.hosts) {
			if (::poll(look, std::size(look), probe_ms) < 0)
				continue;
			if (look[2].revents)
				break;
			if (look[0].revents)
				take_connection_event();
			if (look[1].revents)
				serve(*static_cast<Host *>(
					VerbsEnd::take_event(channel_.get())));
			probe_hosts();
			forget_gone();
			begin_pieces();
		}
		report();
	}

private:
	/* -------------------------------------------------------- hosts come and go */

	void take_connection_event()
	{
		CmEvent event = listener_.events().next(0);

		if (!event)
			return;
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			meet(std::move(event));
			return;
		}
		for (Host &host : hosts_) {
			if (host.end.id() != event->id)
				continue;
			if (event->event == RDMA_CM_EVENT_ESTABLISHED)
				host.heard = true;
			else if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
				 event->event == RDMA_CM_EVENT_CONNECT_ERROR ||
				 event->event == RDMA_CM_EVENT_UNREACHABLE)
				drop(host, "");
		}
	}

	void meet(CmEvent event)
	{
		CmId id(event->id);
		const auto asked = private_data<IoQuestion>(*event);

		event.reset(); /* rdma_destroy_id() waits for that */
		const IoAnswer answer = answer_to(asked);

		if (answer.error) {
			rdma_reject(id.get(), &answer, sizeof(answer));
			return;
		}
		/* If one cannot be served, the others are. */
		try {
			hosts_.emplace_back(std::move(id), pd_.get(),
					    channel_.get(), disks_[asked->disk],
					    answer);
			counts_.hosts++;
		} catch (const std::exception &error) {
			fprintf(stderr, "io_unit: a host: %s\n", error.what());
		}
	}

	IoAnswer answer_to(const std::optional<IoQuestion> &asked) const
	{
		const uint32_t disks = uint32_t(disks_.size());

		if (!asked)
			return {0, disks, EPROTO};
		if (asked->disk >= disks)
			return {0, disks, ENXIO};
		if (hosts_.size() >= most_hosts)
			return {0, disks, EUSERS};
		return {disks_[asked->disk].size(), disks, 0};
	}

	/* Begins nothing more for a host; it is gone when all that was begun is over. */
	static void drop(Host &host, const std::string &why)
	{
		if (host.leaving)
			return;
		if (!why.empty())
			fprintf(stderr, "io_unit: %s: %s\n",
				host.disk.name().c_str(), why.c_str());
		host.leaving = true;
		host.end.disconnect();
	}

	/* Now and then. A host that died does not say so, or the wire has lost it. */
	void probe_hosts()
	{
		const auto now = Clock::now();

		if (now < next_probe_)
			return;
		next_probe_ = now + std::chrono::milliseconds(probe_ms);
		for (Host &host : hosts_)
			if (host.heard && !host.leaving)
				probe(host);
	}

	static void probe(Host &host)
	{
		try {
			host.end.probe(0);
		} catch (const std::exception &error) {
			drop(host, error.what());
		}
	}

	static bool is_gone(const Host &host)
	{
		return host.leaving && !host.pieces;
	}

	void forget_gone()
	{
		std::erase_if(ios_, [](const auto &io) {
			return is_gone(io.second.host);
		});
		std::erase_if(waiting_,
			      [&](uint64_t io) { return !ios_.contains(io); });
		gone_ += uint32_t(hosts_.remove_if(is_gone));
	}

	/* ------------------------------------------------------------------- requests */

	/* All that has completed at a host. */
	void serve(Host &host)
	{
		try {
			host.end.arm();
			while (const std::optional<ibv_wc> wc = host.end.poll())
				look(host, *wc);
		} catch (const std::exception &error) {
			drop(host, error.what());
		}
	}

	void look(Host &host, const ibv_wc &wc)
	{
		if (pieces_.contains(wc.wr_id))
			complete(wc);
		else if (wc.status != IBV_WC_SUCCESS)
			drop(host, ibv_wc_status_str(wc.status));
		else if (VerbsEnd::is_message(wc) && !host.leaving)
			take(host, host.end.take<IoRequest>(wc));
		/* Else a status has gone, or the host is there. */
	}

	void take(Host &host, const IoRequest &request)
	{
		const int error = check(host, request);

		if (host.ios == io_depth)
			throw std::runtime_error("the host asks for more I/Os "
						 "at a time than it may");
		host.heard = true;
		host.ios++;
		if (error) {
			answer(host, request.tag, error);
			return;
		}
		ios_.emplace(++last_io_, Io{host, request});
		waiting_.push_back(last_io_);
		counts_.ios++;
		counts_.bytes += request.length;
		counts_.most_ios =
			std::max<uint64_t>(counts_.most_ios, ios_.size());
	}

	/* The host may ask for anything. */
	static int check(const Host &host, const IoRequest &request)
	{
		if (request.command != IoCommand::read &&
		    request.command != IoCommand::write)
			return EOPNOTSUPP;
		if (!request.length || request.length > io_most)
			return EMSGSIZE;
		if (request.offset > host.disk.size() ||
		    request.length > host.disk.size() - request.offset)
			return ENXIO;
		return 0;
	}

	static void answer(Host &host, uint32_t tag, int error)
	{
		host.ios--;
		host.end.send(IoStatus{tag, error}, 0);
	}

	/* --------------------------------------------------------------------- pieces */

	/* A piece of each I/O in turn, as long as there is room for one. */
	void begin_pieces()
	{
		if (counts_.ios < o_.gather)
			return;
		while (!waiting_.empty()) {
			const uint64_t number = waiting_.front();
			Io &io = ios_.at(number);

			if (!io.host.leaving && !io.error && !begin(number, io))
				return;
			waiting_.pop_front();
			io.begun = io.host.leaving || io.error ||
				   io.at == io.request.length;
			if (io.begun)
				end_if_done(number, io);
			else
				waiting_.push_back(number);
		}
	}

	/* The next piece of an I/O. Return: false: there is no room. */
	bool begin(uint64_t number, Io &io)
	{
		const uint64_t offset = io.request.offset + io.at;
		/* Its end is one of a range on the disk, so that few blocks are cut. */
		const uint32_t length = std::min(
			io.request.length - io.at,
			uint32_t(o_.range_size - offset % o_.range_size));
		Piece piece{number, false, 0, length, offset};

		try {
			if (window_ &&
			    io.host.disk.moves(offset, armed_bytes(io, length)))
				return begin_direct(io, piece);
			return begin_bounced(io, piece);
		} catch (const std::exception &error) {
			drop(io.host, error.what());
			return true;
		}
	}

	/* A disk is read by whole blocks, of which only the I/O's bytes are sent. */
	static uint32_t armed_bytes(const Io &io, uint32_t length)
	{
		return io.request.command == IoCommand::read ?
			       io.host.disk.whole_blocks(length) :
			       length;
	}

	/*
	 * Arms a range for the piece and posts its request, and has the adapter start the disk: one
	 * set-up.
	 */
	bool begin_direct(Io &io, Piece &piece)
	{
		const bool read = io.request.command == IoCommand::read;
		const std::optional<uint32_t> range = window_->take();

		if (!range)
			return false;
		ibv_sge sge = window_->sge(*range, piece.length);
		ibv_send_wr wr = VerbsEnd::request(
			read ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, sge,
			io.request.address + io.at, io.request.rkey,
			last_piece_ + 1);
		const pavo::Result<void> started = pavo::post_io(
			*window_,
			{*range, armed_bytes(io, piece.length),
			 io.host.disk.direct(), piece.offset,
			 read ? pavo::Direction::write : pavo::Direction::read},
			io.host.end.qp(), wr);

		if (!started.has_value()) {
			window_->give(*range);
			/* The pool has no buffer: the next completion brings one. */
			if (!pieces_.empty() &&
			    started ==
				    pavo::Unexpected(
					    std::errc::
						    resource_unavailable_try_again))
				return false;
			started.value();
		}
		piece.slot = *range;
		counts_.by_adapter++;
		counts_.setups++;
		remember(io, piece);
		return true;
	}

	/* Two transfers, the second one when the first one is over. */
	bool begin_bounced(Io &io, Piece &piece)
	{
		const bool read = io.request.command == IoCommand::read;

		if (free_bounces_.empty())
			return false;
		piece.bounced = true;
		piece.slot = free_bounces_.back();
		if (read)
			io.error = io.host.disk.read(
				bounce_of(piece), piece.length, piece.offset);
		if (io.error)
			return true;
		io.host.end.move(read ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				 {reinterpret_cast<uintptr_t>(bounce_of(piece)),
				  piece.length, bounce_.lkey()},
				 io.request.address + io.at, io.request.rkey,
				 last_piece_ + 1);
		free_bounces_.pop_back();
		counts_.double_buffered++;
		counts_.setups += 2;
		remember(io, piece);
		return true;
	}

	std::byte *bounce_of(const Piece &piece) const
	{
		return bounce_.at(size_t(piece.slot) * o_.range_size);
	}

	void remember(Io &io, const Piece &piece)
	{
		pieces_[++last_piece_] = piece;
		io.at += piece.length;
		io.pieces++;
		io.host.pieces++;
		counts_.operations++;
	}

	void complete(const ibv_wc &wc)
	{
		const Piece piece = pieces_.at(wc.wr_id);
		Io &io = ios_.at(piece.io);
		const bool good = wc.status == IBV_WC_SUCCESS;

		pieces_.erase(wc.wr_id);
		io.pieces--;
		io.host.pieces--;
		if (!good)
			drop(io.host, why_failed(piece, wc));
		else if (piece.bounced && !io.error &&
			 io.request.command == IoCommand::write)
			io.error = io.host.disk.write(
				bounce_of(piece), piece.length, piece.offset);
		if (piece.bounced)
			free_bounces_.push_back(piece.slot);
		else
			window_->give(piece.slot);
		if (io.begun)
			end_if_done(piece.io, io);
	}

	/* The connection fails with a request: by the host's memory, or the disk. */
	std::string why_failed(const Piece &piece, const ibv_wc &wc) const
	{
		const int error = piece.bounced ?
					  0 :
					  window_->registers(piece.slot).error;

		return error ? strerror(error) : ibv_wc_status_str(wc.status);
	}

	void end_if_done(uint64_t number, const Io &io)
	{
		if (io.pieces || io.host.leaving)
			return;
		answer(io.host, io.request.tag, io.error);
		ios_.erase(number);
	}

	void report() const;

	const Options &o_;
	std::vector<Disk> disks_;
	Listener listener_;
	Pd pd_;
	Channel channel_;
	Memory bounce_;
	std::optional<pavo::DirectWindow> window_;
	std::vector<std::pair<std::string, uint64_t>> before_;
	std::vector<uint32_t> free_bounces_;
	std::list<Host> hosts_;
	std::map<uint64_t, Io> ios_;
	std::map<uint64_t, Piece> pieces_;
	std::deque<uint64_t> waiting_; /* I/Os of which something is not begun */
	uint64_t last_io_ = 0;
	uint64_t last_piece_ = 0;
	uint32_t gone_ = 0;
	Clock::time_point next_probe_;
	Counts counts_;
};

void Unit::report() const
{
	std::vector<std::pair<std::string, uint64_t>> lines = {
		{"hosts", counts_.hosts},
		{"ios", counts_.ios},
		{"bytes", counts_.bytes},
		{"most_ios", counts_.most_ios},
		{"operations", counts_.operations},
		{"setups", counts_.setups},
		{"by_adapter", counts_.by_adapter},
		{"double_buffered", counts_.double_buffered}};

	for (const auto &[name, value] : counters_of(o_.adapter, "direct_"))
		for (const auto &[before_name, before] : before_)
			if (name == before_name)
				lines.emplace_back(name, value - before);
	if (o_.json)
		printf("{\"mode\": \"%s\"",
		       o_.double_buffer ? "double-buffer" : "direct");
	for (const auto &[name, value] : lines)
		printf(o_.json ? ", \"%s\": %llu" : "%-24s %llu\n",
		       name.c_str(), static_cast<unsigned long long>(value));
	if (o_.json)
		printf("}\n");
}

/* A file that SIGINT and SIGTERM make readable. */
int catch_signals()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

} // namespace

int main(int argc, char **argv)
{
	try {
		Options options = parse(argc, argv);

		Unit(options).run(catch_signals());
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "io_unit: %s\n", error.what());
		return 1;
	}
}
