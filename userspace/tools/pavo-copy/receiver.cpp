// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * receiver.cpp - takes chunks from its slots and writes them to the file.
 *
 * Owns the receiver's half of protocol.h; called by main.cpp.
 */
#include <algorithm>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <endian.h>

#include "file.h"
#include "progress.h"
#include "protocol.h"
#include "transfer.h"

namespace copy {
namespace {

uint64_t read_offer(std::span<const std::byte> data)
{
	Offer offer;

	if (data.size() < sizeof(offer))
		throw Error("the caller is not pavo-copy");
	memcpy(&offer, data.data(), sizeof(offer));
	if (ntohl(offer.magic) != MAGIC)
		throw Error("the caller is not pavo-copy");
	if (ntohl(offer.version) != VERSION)
		throw Error("the caller is another version of pavo-copy");
	if (!offer.size)
		throw Error("the caller offers an empty file");
	return be64toh(offer.size);
}

/* The next completion of a receive; sends of ours complete unnoticed. */
ibv_wc wait_receive(Connection &connection)
{
	for (;;) {
		ibv_wc wc = connection.wait_completion();

		if (wc.opcode & IBV_WC_RECV)
			return wc;
	}
}

void take_chunks(Connection &connection, File &file, uint64_t size,
		 const Options &options)
{
	Progress progress("received", size, options.quiet);
	uint64_t done = 0;

	for (uint64_t chunk = 0; done < size; chunk++) {
		ibv_wc wc = wait_receive(connection);
		uint32_t length = ntohl(wc.imm_data);

		if (wc.opcode == IBV_WC_RECV)
			check_failure(length);
		size_t slot = chunk % options.slots;

		if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || !length ||
		    length > options.chunk || length > size - done)
			throw Error("the caller broke the protocol");
		file.write(
			{connection.buffer() + slot * options.chunk, length});
		done += length;
		connection.post_recv();
		connection.post_message(DATA_TAKEN);
		progress.advance(length);
	}
	file.finish();
	progress.finish(connection.device());
}

} // namespace

void receive_file(const Options &options)
{
	Connection connection(options.timeout_ms);
	Answer answer = {};

	File::check_place(options.file);
	connection.listen(options.where, options.wait_forever);
	uint64_t size;
	std::optional<File> file;

	try {
		size = read_offer(connection.peer_data());
		file.emplace(File::create(options.file));
	} catch (const Error &error) {
		Refusal refusal = make_refusal(error.what());

		connection.reject(std::as_bytes(std::span(&refusal, 1)));
		throw;
	}
	connection.set_up(options.slots + 2,
			  size_t(options.slots) * options.chunk,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	for (uint32_t i = 0; i < options.slots + 1; i++)
		connection.post_recv();
	answer.magic = htonl(MAGIC);
	answer.version = htonl(VERSION);
	answer.address =
		htobe64(reinterpret_cast<uintptr_t>(connection.buffer()));
	answer.rkey = htonl(connection.mr().rkey);
	answer.slots = htonl(options.slots);
	answer.slot_size = htonl(options.chunk);
	connection.accept(std::as_bytes(std::span(&answer, 1)));
	try {
		take_chunks(connection, *file, size, options);
	} catch (const Error &error) {
		report_failure(connection, error);
		throw;
	}
	connection.post_message(DATA_DONE);
	connection.wait_disconnect();
}

} // namespace copy
