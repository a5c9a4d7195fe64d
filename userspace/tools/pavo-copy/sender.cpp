// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sender.cpp - reads the file and writes it into the receiver's slots.
 *
 * Owns the sender's half of protocol.h; called by main.cpp.
 */
#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <endian.h>

#include "file.h"
#include "progress.h"
#include "protocol.h"
#include "transfer.h"

namespace copy {
namespace {

/* The receiver's ring, as it described it. */
struct Ring {
	uint64_t address;
	uint32_t rkey;
	uint32_t slots;
	uint32_t slot_size;
};

Ring read_answer(std::span<const std::byte> data)
{
	Answer answer;

	if (data.size() < sizeof(answer))
		throw Error("the other side is not pavo-copy");
	memcpy(&answer, data.data(), sizeof(answer));
	if (ntohl(answer.magic) != MAGIC)
		throw Error("the other side is not pavo-copy");
	if (ntohl(answer.version) != VERSION)
		throw Error("the other side is another version of pavo-copy");
	Ring ring = {be64toh(answer.address), ntohl(answer.rkey),
		     ntohl(answer.slots), ntohl(answer.slot_size)};

	if (!ring.slots || ring.slots > SLOTS_MAX || !ring.slot_size ||
	    ring.slot_size > CHUNK_MAX)
		throw Error("the other side offers an impossible buffer");
	return ring;
}

class Sender {
public:
	Sender(Connection &connection, File &file, const Options &options)
		: connection_(connection), file_(file), size_(file.size()),
		  ring_(read_answer(connection.peer_data())),
		  slots_(std::min(ring_.slots, options.slots)),
		  chunk_(std::min(ring_.slot_size, options.chunk)),
		  progress_("sent", size_, options.quiet)
	{
	}

	void run()
	{
		while (!done_) {
			while (sent_ < size_ && chunks_ - taken_ < slots_ &&
			       chunks_ - completed_ < slots_)
				send_chunk();
			take(connection_.wait_completion());
		}
		if (sent_ != size_)
			throw Error("the other side was done too early");
		progress_.finish(connection_.device());
	}

private:
	void send_chunk()
	{
		/* ring slot and buffer slot differ when ours are fewer */
		uint64_t remote = chunks_ % ring_.slots * ring_.slot_size;
		size_t local = static_cast<size_t>(chunks_ % slots_) * chunk_;
		auto length = static_cast<uint32_t>(
			std::min<uint64_t>(chunk_, size_ - sent_));

		file_.read({connection_.buffer() + local, length});
		connection_.post_write(local, length, ring_.address + remote,
				       ring_.rkey, length);
		sent_ += length;
		chunks_++;
		progress_.advance(length);
	}

	void take(const ibv_wc &wc)
	{
		if (!(wc.opcode & IBV_WC_RECV)) {
			completed_++;
			return;
		}
		connection_.post_recv();
		check_failure(ntohl(wc.imm_data));
		if (ntohl(wc.imm_data) == DATA_DONE)
			done_ = true;
		else
			taken_++;
	}

	Connection &connection_;
	File &file_;
	uint64_t size_;
	Ring ring_;
	uint32_t slots_;
	uint32_t chunk_;
	Progress progress_;
	uint64_t sent_ = 0;
	uint64_t chunks_ = 0;
	uint64_t completed_ = 0;
	uint64_t taken_ = 0;
	bool done_ = false;
};

} // namespace

void send_file(const Options &options)
{
	File file = File::open(options.file);
	Connection connection(options.timeout_ms);
	Offer offer = {htonl(MAGIC), htonl(VERSION), htobe64(file.size())};

	if (!file.size())
		throw Error(options.file + ": is empty");
	connection.resolve(options.where);
	connection.set_up(SLOTS_MAX + 2, size_t(options.slots) * options.chunk,
			  IBV_ACCESS_LOCAL_WRITE);
	for (uint32_t i = 0; i < SLOTS_MAX + 1; i++)
		connection.post_recv();
	connection.connect(std::as_bytes(std::span(&offer, 1)));
	Sender sender(connection, file, options);

	try {
		sender.run();
	} catch (const Error &error) {
		report_failure(connection, error);
		throw;
	}
	connection.disconnect();
}

} // namespace copy
