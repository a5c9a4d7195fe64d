// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * io_unit.cpp - an I/O unit: a machine that gives its disk to hosts. A host sends the address of
 * its memory, and a command; the unit answers by RDMA and a status. See io_host.cpp.
 *
 *   io_unit pavo0 /dev/vdb                    bytes go from the disk to the link
 *   io_unit pavo0 /dev/vdb --double-buffer    by way of ordinary memory, for comparison
 *
 * With a direct window the unit sets up one transfer for each I/O: a range is armed and the
 * RDMA write is posted in one call, and then the unit has the disk fill the range. Its last
 * byte sends the write. With ordinary memory the unit sets up two: one from the disk to memory, and
 * when that is over another one from memory to the link.
 *
 * A read of the host's memory for a write to the disk goes the other way round.
 */
#include <fcntl.h>
#include <getopt.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <pavo/direct_post.hpp>

#include "io_unit.hpp"
#include "verbs_end.hpp"

namespace {

using namespace examples;

struct Options {
	std::string adapter;
	std::string disk;
	uint32_t ranges = 32;
	uint32_t range_size = uint32_t(sysconf(_SC_PAGESIZE));
	uint32_t buffers = 32;
	bool double_buffer = false;
	bool json = false;
};

/* Two operations for each at a time, and the answers, have room in the send queue. */
constexpr uint32_t most_ranges = 256;
static_assert(2 * most_ranges + io_depth < VerbsEnd::sends);

constexpr char usage[] =
	"usage: io_unit ADAPTER DISK [options]\n"
	"  DISK             a block device or a file\n"
	"  --double-buffer  by way of ordinary memory, and no direct window\n"
	"  --ranges N       of the direct window, up to 256 (32)\n"
	"  --range-size N   bytes of a range, a multiple of the page size (a page)\n"
	"  --buffers N      of its pool (32); an I/O that finds none takes the\n"
	"                   way through ordinary memory\n"
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
				{"ranges", required_argument, nullptr, 'r'},
				{"range-size", required_argument, nullptr, 's'},
				{"buffers", required_argument, nullptr, 'b'},
				{"json", no_argument, nullptr, 'j'},
				{}};
	Options o;

	for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;)
		switch (c) {
		case 'd':
			o.double_buffer = true;
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
		default:
			fputs(usage, stderr);
			exit(2);
		}
	if (argc - optind != 2) {
		fputs(usage, stderr);
		exit(2);
	}
	o.adapter = argv[optind];
	o.disk = argv[optind + 1];
	return o;
}

/** A block device or a file, read and written past the page cache where that can be. */
class Disk {
public:
	explicit Disk(const std::string &name)
		: cached_(open(name.c_str(), O_RDWR | O_CLOEXEC)),
		  direct_(open(name.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC))
	{
		struct stat about;

		if (cached_ < 0 || fstat(cached_, &about))
			throw std::system_error(errno, std::generic_category(),
						name);
		size_ = uint64_t(about.st_size);
		if (S_ISBLK(about.st_mode)) {
			int block;

			if (ioctl(cached_, BLKGETSIZE64, &size_) ||
			    ioctl(cached_, BLKSSZGET, &block))
				throw std::system_error(
					errno, std::generic_category(), name);
			block_ = uint32_t(block);
		}
	}
	~Disk()
	{
		fsync(cached_);
		close(cached_);
		if (direct_ >= 0)
			close(direct_);
	}
	Disk(const Disk &) = delete;

	uint64_t size() const { return size_; }
	/* Past the page cache; below 0: it cannot be. */
	int direct() const { return direct_; }
	/* Does the disk move these bytes, and no other, itself? */
	bool takes(uint32_t length, uint64_t offset) const
	{
		return direct_ >= 0 && !(offset % block_) && !(length % block_);
	}

	/*
	 * Has the disk write to memory itself, up to the end of its block; there is @room for
	 * that. Return: it did.
	 */
	bool fill(std::byte *to, uint32_t length, uint32_t room,
		  uint64_t offset) const
	{
		uint64_t whole =
			(uint64_t(length) + block_ - 1) / block_ * block_;

		if (direct_ < 0 || offset % block_ || whole > room)
			return false;
		return pread(direct_, to, whole, off_t(offset)) >=
		       ssize_t(length);
	}
	/* Has it read memory itself. Return: it did. */
	bool drain(const std::byte *from, uint32_t length,
		   uint64_t offset) const
	{
		if (!takes(length, offset))
			return false;
		return pwrite(direct_, from, length, off_t(offset)) ==
		       ssize_t(length);
	}

	/* The same with a copy by the CPU. Throws. */
	void read(std::byte *to, uint32_t length, uint64_t offset) const
	{
		whole(pread(cached_, to, length, off_t(offset)), length);
	}
	void write(const std::byte *from, uint32_t length,
		   uint64_t offset) const
	{
		whole(pwrite(cached_, from, length, off_t(offset)), length);
	}

private:
	static void whole(ssize_t done, uint32_t length)
	{
		if (done != ssize_t(length))
			throw std::system_error(done < 0 ? errno : EIO,
						std::generic_category(),
						"disk");
	}

	int cached_;
	int direct_;
	uint64_t size_ = 0;
	uint32_t block_ = 512;
};

/** Work of the unit. */
struct Counts {
	uint64_t ios = 0;
	uint64_t bytes = 0;
	uint64_t operations =
		0; /* of RDMA: pieces of an I/O, as long as a range */
	uint64_t setups = 0; /* of transfers, by the CPU */
	uint64_t by_adapter =
		0; /* pieces whose bytes the adapter has moved by the disk */
	uint64_t counts = 0; /* calls that counted bytes of a device */
	uint64_t without_device =
		0; /* pieces that the CPU copied to or from a range */
	uint64_t double_buffered = 0; /* pieces by way of ordinary memory */
};

class Unit {
public:
	explicit Unit(const Options &options)
		: o_(options), disk_(o_.disk), group_(meet("").value()),
		  end_(o_.adapter, group_),
		  bounce_(end_.pd(), size_t(o_.ranges) * o_.range_size),
		  before_(counters_of(o_.adapter, "direct_"))
	{
		if (!o_.double_buffer)
			window_.emplace(
				pavo::DirectWindow::open(
					end_.pd(), {.base = 0,
						    .ranges = o_.ranges,
						    .range_size = o_.range_size,
						    .buffers = o_.buffers})
					.value());
		for (uint32_t i = 0; i < o_.ranges; i++)
			free_bounces_.push_back(i);
		group_.exchange(disk_.size()).value();
	}

	void run()
	{
		bool over = false;

		while (!over || !ios_.empty()) {
			look(end_.next());
			while (!waiting_.empty()) {
				IoRequest request = waiting_.front();

				waiting_.pop_front();
				over |= !serve(request);
			}
		}
		group_.barrier().value();
		report();
	}

private:
	/** An I/O that has not been answered. */
	struct Io {
		IoRequest request;
		uint32_t pieces; /* that are under way, and one while more may begin */
	};
	/** A piece of one: what its completion frees. */
	struct Piece {
		uint64_t io;
		bool bounce;
		uint32_t slot; /* range, or place in the ordinary memory */
		uint32_t length;
		uint64_t offset; /* on the disk */
	};

	/* Return: the host goes on. */
	bool serve(const IoRequest &request)
	{
		if (request.command == IoCommand::end)
			return false;
		const int error = check(request);

		if (error) {
			answer(request.tag, error);
			return true;
		}
		const uint64_t io = ++last_io_;

		ios_[io] = {request, 1};
		counts_.ios++;
		counts_.bytes += request.length;
		for (uint32_t at = 0; at < request.length; at += o_.range_size)
			begin(io, at,
			      std::min(o_.range_size, request.length - at));
		end_piece(io);
		return true;
	}

	/* The host may ask for anything. */
	int check(const IoRequest &request) const
	{
		if (request.command != IoCommand::read &&
		    request.command != IoCommand::write)
			return EOPNOTSUPP;
		if (!request.length || request.length > io_most)
			return EMSGSIZE;
		if (request.offset > disk_.size() ||
		    request.length > disk_.size() - request.offset)
			return ENXIO;
		return 0;
	}

	/* One operation of an I/O: its bytes from @at on. */
	void begin(uint64_t io, uint32_t at, uint32_t length)
	{
		const IoRequest request = ios_[io].request;
		const bool read = request.command == IoCommand::read;
		Piece piece{io, true, 0, length, request.offset + at};

		counts_.operations++;
		ios_[io].pieces++;
		if (window_ && post(piece, request, at)) {
			if (disk_.takes(length, piece.offset))
				counts_.by_adapter++;
			else if (read)
				fill_range(piece);
			else
				drain_range(piece);
			return;
		}
		counts_.double_buffered++;
		if (read)
			bounced_read(piece, request, at);
		else
			bounced_write(piece, request, at);
	}

	/*
	 * Arms a range for the piece and posts its request, and has the adapter start the disk if
	 * that takes the bytes: one set-up. False: the pool has no buffer.
	 */
	bool post(Piece &piece, const IoRequest &request, uint32_t at)
	{
		const bool read = request.command == IoCommand::read;
		std::optional<uint32_t> range = window_->take();

		while (!range) {
			wait_for_completion();
			range = window_->take();
		}
		piece.slot = *range;
		ibv_sge sge = window_->sge(*range, piece.length);
		ibv_send_wr wr = VerbsEnd::request(
			read ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, sge,
			request.address + at, request.rkey, last_piece_ + 1);

		if (!start(piece, read, wr)) {
			window_->give(*range);
			return false;
		}
		piece.bounce = false;
		remember(piece);
		counts_.setups++;
		return true;
	}

	/* False: the pool has no buffer. */
	bool start(const Piece &piece, bool read, ibv_send_wr &wr)
	{
		const pavo::Direction direction =
			read ? pavo::Direction::write : pavo::Direction::read;

		if (disk_.takes(piece.length, piece.offset)) {
			const pavo::Result<void> started = pavo::post_io(
				*window_,
				{piece.slot, piece.length, disk_.direct(),
				 piece.offset, direction},
				end_.qp(), wr);

			if (started ==
			    pavo::Unexpected(
				    std::errc::resource_unavailable_try_again))
				return false;
			started.value();
			return true;
		}
		pavo::ArmOptions options;

		options.direction = direction;
		options.no_buffer = pavo::NoBuffer::fall_back;
		options.whole = !read;
		return pavo::post_direct(*window_, piece.slot, piece.length,
					 end_.qp(), wr, options)
			       .value() == pavo::Armed::armed;
	}

	uint64_t remember(const Piece &piece)
	{
		pieces_[++last_piece_] = piece;
		return last_piece_;
	}

	/* Disk to link: the write waits in its queue for the last byte. */
	void fill_range(const Piece &piece)
	{
		std::byte *to = window_->memory(piece.slot).data();

		if (disk_.fill(to, piece.length, o_.range_size, piece.offset)) {
			counts_.counts++;
			count(piece);
			return;
		}
		/* Not a whole block of the disk: the CPU does it. */
		std::vector<std::byte> bytes(piece.length);

		counts_.without_device++;
		disk_.read(bytes.data(), piece.length, piece.offset);
		window_->write(piece.slot, 0, bytes).value();
	}

	/* Link to disk: the unit starts the disk when the response is there. */
	void drain_range(const Piece &piece)
	{
		window_->wait_readable(piece.slot, std::chrono::seconds(30))
			.value();
		if (disk_.drain(window_->memory(piece.slot).data(),
				piece.length, piece.offset)) {
			counts_.counts++;
			count(piece);
			return;
		}
		std::vector<std::byte> bytes(piece.length);

		counts_.without_device++;
		for (uint32_t done = 0; done < piece.length;)
			done += uint32_t(
				window_->read(piece.slot, done,
					      std::span(bytes).subspan(done))
					.value());
		disk_.write(bytes.data(), piece.length, piece.offset);
	}

	/* The device may drop its references to pages shortly after it has completed. */
	void count(const Piece &piece)
	{
		pavo::Result<void> counted;

		do
			counted = window_->commit(piece.slot, piece.length);
		while (counted ==
		       pavo::Unexpected(std::errc::device_or_resource_busy));
		counted.value();
	}

	uint32_t take_bounce()
	{
		while (free_bounces_.empty())
			wait_for_completion();
		uint32_t slot = free_bounces_.back();

		free_bounces_.pop_back();
		return slot;
	}

	ibv_sge bounce_sge(const Piece &piece) const
	{
		return {bounce_.address(size_t(piece.slot) * o_.range_size),
			piece.length, bounce_.lkey()};
	}

	/* Two transfers, the second one when the first one is over. */
	void bounced_read(Piece &piece, const IoRequest &request, uint32_t at)
	{
		piece.slot = take_bounce();
		std::byte *memory =
			bounce_.at(size_t(piece.slot) * o_.range_size);

		counts_.setups += 2;
		if (!disk_.fill(memory, piece.length, o_.range_size,
				piece.offset))
			disk_.read(memory, piece.length, piece.offset);
		end_.move(IBV_WR_RDMA_WRITE, bounce_sge(piece),
			  request.address + at, request.rkey, remember(piece));
	}

	void bounced_write(Piece &piece, const IoRequest &request, uint32_t at)
	{
		piece.slot = take_bounce();
		counts_.setups += 2;
		end_.move(IBV_WR_RDMA_READ, bounce_sge(piece),
			  request.address + at, request.rkey, remember(piece));
	}

	/* The second transfer of a piece. */
	void finish_bounced_write(const Piece &piece) const
	{
		const std::byte *memory =
			bounce_.at(size_t(piece.slot) * o_.range_size);

		if (!disk_.drain(memory, piece.length, piece.offset))
			disk_.write(memory, piece.length, piece.offset);
	}

	/* While an operation needs room; requests of the host wait. */
	void wait_for_completion()
	{
		const size_t open = pieces_.size();

		while (pieces_.size() == open)
			look(end_.next());
	}

	void look(const ibv_wc &wc)
	{
		if (!VerbsEnd::is_message(wc)) {
			complete(wc.wr_id);
			return;
		}
		waiting_.push_back(end_.take<IoRequest>(wc));
		if (waiting_.size() > io_depth + 1)
			throw std::runtime_error("the host asks for more I/Os "
						 "at a time than it may");
	}

	void complete(uint64_t id)
	{
		auto found = pieces_.find(id);

		/* That of a status. */
		if (found == pieces_.end())
			return;
		const Piece piece = found->second;

		pieces_.erase(found);
		if (piece.bounce) {
			if (ios_[piece.io].request.command == IoCommand::write)
				finish_bounced_write(piece);
			free_bounces_.push_back(piece.slot);
		} else {
			window_->give(piece.slot);
		}
		end_piece(piece.io);
	}

	void end_piece(uint64_t io)
	{
		if (--ios_[io].pieces)
			return;
		answer(ios_[io].request.tag, 0);
		ios_.erase(io);
	}

	void answer(uint32_t tag, int error)
	{
		end_.send(IoStatus{tag, error}, 0);
	}

	void report() const;

	const Options &o_;
	Disk disk_;
	pavo::Group group_;
	VerbsEnd end_;
	Memory bounce_;
	std::optional<pavo::DirectWindow> window_;
	std::vector<std::pair<std::string, uint64_t>> before_;
	std::vector<uint32_t> free_bounces_;
	std::deque<IoRequest> waiting_;
	std::map<uint64_t, Io> ios_;
	std::map<uint64_t, Piece> pieces_;
	uint64_t last_io_ = 0;
	uint64_t last_piece_ = 0;
	Counts counts_;
};

void Unit::report() const
{
	std::vector<std::pair<std::string, uint64_t>> lines = {
		{"ios", counts_.ios},
		{"bytes", counts_.bytes},
		{"operations", counts_.operations},
		{"setups", counts_.setups},
		{"by_adapter", counts_.by_adapter},
		{"counts", counts_.counts},
		{"without_device", counts_.without_device},
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

} // namespace

int main(int argc, char **argv)
{
	try {
		Options options = parse(argc, argv);

		Unit(options).run();
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "io_unit: %s\n", error.what());
		return 1;
	}
}
