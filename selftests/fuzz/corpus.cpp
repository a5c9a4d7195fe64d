// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * corpus.cpp - writes the inputs that a fuzz target begins with:
 *   corpus (packet|icrc|wqe|pvo) DIRECTORY
 * Correct ones of every kind, so that mutations of them come far.
 */
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "random.h"
#include "wqe_env.h"

extern "C" {
#include "jobs/pvo.h"
#include "wire/wire.h"
}

namespace {

using Bytes = std::vector<uint8_t>;
using Corpus = std::map<std::string, Bytes>;

template <typename Number> void append(Bytes &bytes, Number number)
{
	auto *from = reinterpret_cast<const uint8_t *>(&number);

	bytes.insert(bytes.end(), from, from + sizeof(number));
}

void fill(Random &random, Bytes &bytes)
{
	for (uint8_t &byte : bytes)
		byte = static_cast<uint8_t>(random.bits());
}

/* Every opcode, without payload and with the pads. */
Corpus packets()
{
	Random random;
	Corpus corpus;

	for (int opcode = 0; opcode < 256; opcode++) {
		const struct pavo_op_info *info =
			pavo_opcode_get_info(static_cast<uint8_t>(opcode));

		if (!info)
			continue;
		for (unsigned int pad = 0; pad < 4; pad++) {
			bool payload = info->flags & PAVO_OPF_PAYLOAD;
			Bytes packet(info->hdr_len + (payload ? 8u : 0u) +
				     PAVO_ICRC_LEN);
			Bytes input;

			if (pad && !payload)
				continue;
			fill(random, packet);
			packet[0] = static_cast<uint8_t>(opcode);
			packet[1] = static_cast<uint8_t>(0x40 | pad << 4);
			append(input, uint32_t{0});
			input.insert(input.end(), packet.begin(), packet.end());
			corpus[std::to_string(opcode) + "-pad" +
			       std::to_string(pad)] = input;
		}
	}
	return corpus;
}

Corpus icrcs()
{
	Random random;
	Corpus corpus;

	for (uint8_t ipv6 : {0, 1}) {
		Bytes input(1 + (ipv6 ? 40 : 20) + 8 + 12);

		fill(random, input);
		input[0] = ipv6;
		corpus[ipv6 ? "ipv6" : "ipv4"] = input;
	}
	return corpus;
}

void add_wqe(Corpus &corpus, const char *name, uint32_t op, const Wqe &wqe,
	     bool ud = false)
{
	Bytes input;

	append(input, uint64_t{op} | wqe.bytes().size() / 16 << 32);
	append(input, static_cast<uint8_t>(30 << 2 | (ud ? 1 : 0)));
	input.insert(input.end(), wqe.bytes().begin(), wqe.bytes().end());
	corpus[name] = input;
}

Corpus wqes()
{
	const Bytes data(100, 0x5a);
	const uint64_t ones = ~0ull;
	Corpus corpus;
	Wqe chained = Wqe().sge(64, 1, 0x1000);

	chained.next() = {PAVO_WQE_WRITE | 4u << PAVO_DB_OFFSET_SHIFT, 3,
			  PAVO_WQE_SIGNALED, 0x01020304};
	add_wqe(corpus, "nop", PAVO_WQE_NOP, Wqe());
	add_wqe(corpus, "send-chained", PAVO_WQE_SEND, chained);
	add_wqe(corpus, "send-imm-inline", PAVO_WQE_SEND_IMM,
		Wqe().inline_data(100, data));
	add_wqe(corpus, "send-inv", PAVO_WQE_SEND_INV,
		Wqe().sge(1, 1, 1).sge(0).sge(0x7ffffffe, 2, 2));
	add_wqe(corpus, "write", PAVO_WQE_WRITE,
		Wqe().raddr(0x1000, 7, 300).sge(100, 1, 1).sge(200, 2, 2));
	add_wqe(corpus, "write-imm-inline", PAVO_WQE_WRITE_IMM,
		Wqe().raddr(0x1000, 7, 100).inline_data(100, data));
	add_wqe(corpus, "read", PAVO_WQE_READ,
		Wqe().raddr(0x1000, 7, 4096).sge(4096, 1, 1));
	add_wqe(corpus, "cmp-swap", PAVO_WQE_CMP_SWAP,
		Wqe().raddr(0x1000, 7, 8).atomic(1, 2).sge(8, 1, 1));
	add_wqe(corpus, "fetch-add", PAVO_WQE_FETCH_ADD,
		Wqe().raddr(0x1000, 7, 8).atomic(1, 0).sge(8, 1, 1));
	add_wqe(corpus, "ext-fetch-add", PAVO_WQE_EXT_FETCH_ADD,
		Wqe().raddr(0x1000, 7, 8)
			.ext_atomic(1, 2, 0, ones)
			.sge(8, 1, 1));
	add_wqe(corpus, "ext-swap", PAVO_WQE_EXT_SWAP,
		Wqe().raddr(0x1000, 7, 8)
			.ext_atomic(1, ones, 0, ones)
			.sge(8, 1, 1));
	add_wqe(corpus, "ext-cmp-swap", PAVO_WQE_EXT_CMP_SWAP,
		Wqe().raddr(0x1000, 7, 8).ext_atomic(1, 2, 3, 4).sge(8, 1, 1));
	add_wqe(corpus, "imm64", PAVO_WQE_IMM64, Wqe().imm64(1));
	add_wqe(corpus, "local-inv", PAVO_WQE_LOCAL_INV, Wqe());
	add_wqe(corpus, "bind", PAVO_WQE_BIND_MW,
		Wqe().bind(0x1000, 0x2000, 0x101, 0x102, 0x201, 0xf));
	add_wqe(corpus, "ud-send", PAVO_WQE_SEND,
		Wqe().add(ud_seg()).sge(1024, 1, 1), true);
	add_wqe(corpus, "ud-send-inline", PAVO_WQE_SEND_IMM,
		Wqe().add(ud_seg()).inline_data(100, data), true);
	return corpus;
}

/* A table of each page size, with a region of four pages that is asked for. */
Corpus pvos()
{
	constexpr uint8_t table = 9, job = 1, pages = 4;
	Corpus corpus;

	for (uint8_t shift : {0, 1, 2}) {
		const uint64_t pvo = pavo_pvo_make(0x155, table, 0);
		Bytes input;

		append(input, pvo + 5);
		append(input, uint64_t{4096});
		append(input, uint8_t(job - 1));
		append(input, table);
		append(input, job);
		append(input, shift);
		append(input, pages);
		for (uint64_t page = 0; page < pages; page++)
			append(input, pavo_tce_make(pvo, page << 24));
		corpus["shift-" + std::to_string(shift)] = input;
	}
	return corpus;
}

} // namespace

int main(int argc, char **argv)
{
	const std::map<std::string, Corpus (*)()> kinds = {{"packet", packets},
							   {"icrc", icrcs},
							   {"wqe", wqes},
							   {"pvo", pvos}};

	if (argc != 3 || !kinds.contains(argv[1])) {
		std::cerr << "usage: corpus (packet|icrc|wqe|pvo) DIRECTORY\n";
		return 2;
	}
	const std::filesystem::path directory = argv[2];

	std::filesystem::create_directories(directory);
	for (const auto &[name, bytes] : kinds.at(argv[1])()) {
		std::ofstream file(directory / name, std::ios::binary);

		file.write(reinterpret_cast<const char *>(bytes.data()),
			   static_cast<std::streamsize>(bytes.size()));
		if (!file.flush()) {
			std::cerr << "cannot write " << directory / name
				  << '\n';
			return 1;
		}
	}
	return 0;
}
