// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * put_get.cpp - bytes to another machine and back, by RDMA between windows.
 *
 *   first machine:   put_get pavo0
 *   second machine:  put_get pavo0 ADDRESS-OF-THE-FIRST
 *
 * The second puts a megabyte into memory of the first, which hears of it and changes
 * each byte. Then the second gets it back. Each operation happens exactly once, even if
 * the network loses packets.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <vector>

#include <pavo/rdma.hpp>

#include "meeting.hpp"

namespace {

constexpr uint32_t job_id = 1001;
constexpr uint64_t job_key = 0x7075745f676574;
constexpr uint16_t port = 7471;
constexpr uint32_t size = 1 << 20;
constexpr uint32_t finished = 1; /* tag: the peer hears of the operation */

/* Numbers that each end tells the other. */
struct Card {
	std::array<uint32_t, 4> contexts;
	pavo::Pvo memory;
};

struct End {
	End(const std::string &device_name, const std::string &host)
		: meeting(host, port),
		  node(device_name, job_id, job_key, meeting.node()),
		  buffer(size),
		  mapping(pavo::Mapping::open(node.job, buffer).value()),
		  rdma(pavo::Rdma::open(node.window).value())
	{
		pavo::WindowAddress window = node.introduce(meeting);
		Card mine{{}, mapping.pvo()};

		examples::must(rdma.lend(mine.contexts), "contexts");
		Card theirs = meeting.exchange(mine);
		other = examples::must(rdma.add({window,
						 {theirs.contexts.begin(),
						  theirs.contexts.end()}}),
				       "contexts");
		memory = theirs.memory;
	}

	/* Runs one operation to its end. */
	void move(bool put, bool tell)
	{
		pavo::RdmaMove move{.local = mapping.pvo(),
				    .remote = memory,
				    .length = size,
				    .tell = tell,
				    .tag = finished};
		pavo::Completion moved;

		examples::must(put ? rdma.put(other, move, moved) :
				     rdma.get(other, move, moved),
			       "no operation");
		while (!moved.over())
			(void)rdma.progress();
		examples::must(moved.result(), put ? "put" : "get");
	}

	examples::Meeting meeting;
	examples::Node node;
	std::vector<std::byte> buffer;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
	pavo::Rdma::Peer other;
	pavo::Pvo memory;
};

std::byte pattern(size_t i)
{
	return std::byte(i * 7 + i / 251);
}

void serve(End &end)
{
	bool arrived = false;

	end.rdma.on_arrival([&](const pavo::RdmaArrival &arrival) {
		arrived = arrival.tag == finished;
	});
	while (!arrived)
		(void)end.rdma.progress();
	for (std::byte &byte : end.buffer)
		byte = ~byte;
	puts("a megabyte came; every byte is turned round");
	end.meeting.exchange('r'); /* ready to be read */
	end.meeting.exchange('e'); /* the end */
}

bool ask(End &end)
{
	for (size_t i = 0; i < size; i++)
		end.buffer[i] = pattern(i);
	end.move(true, true);
	end.meeting.exchange('r');
	std::ranges::fill(end.buffer, std::byte(0));
	end.move(false, false);
	end.meeting.exchange('e');
	for (size_t i = 0; i < size; i++)
		if (end.buffer[i] != ~pattern(i)) {
			fprintf(stderr, "byte %zu is wrong\n", i);
			return false;
		}
	printf("a megabyte went there and came back, %llu attempts were "
	       "repeated\n",
	       static_cast<unsigned long long>(end.rdma.repeated()));
	return true;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: put_get ADAPTER [ADDRESS]\n");
		return 2;
	}
	try {
		End end(argv[1], argc > 2 ? argv[2] : "");

		if (!end.meeting.first())
			return ask(end) ? 0 : 1;
		serve(end);
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "put_get: %s\n", error.what());
		return 1;
	}
}
