// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - the command line of pavo-copy.
 *
 * Owns the options; hands over to sender.cpp or receiver.cpp.
 */
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <getopt.h>

#include "protocol.h"
#include "transfer.h"

namespace {

constexpr const char *USAGE =
	R"(pavo-copy - copy a file to another machine by RDMA

usage: pavo-copy receive FILE [options]          wait for one file
       pavo-copy send FILE HOST [options]        send it to HOST
       pavo-copy receive FILE --from HOST [options]   be one of many
       pavo-copy send FILE --to-many N [options]      send it to N at once

  -p, --port PORT     port to listen at or connect to (7475)
  -b, --bind ADDRESS  receive: listen at this address only
  -c, --chunk KIB     size of one RDMA write in KiB (1024)
  -s, --slots N       outstanding RDMA writes (16)
  -t, --timeout S     fail after this many seconds without progress (30);
                      receive waits for a sender without limit unless set
  -m, --to-many N     send: wait for N receivers, and send each packet once
  -f, --from HOST     receive: where the sender to many is
  -a, --adapter NAME  to many: the adapter (rdma0), which is pavo's
  -g, --group ADDRESS to many: multicast address (239.192.74.75)
  -q, --quiet         no progress
  -h, --help          this text
  -V, --version       the version

HOST and ADDRESS belong to the network interface of an RDMA device, which is
used. The file has its name only when all of it was received.
Exit status: 0 done, 1 failed, 2 wrong use.
)";

[[noreturn]] void wrong_use(const std::string &what)
{
	fprintf(stderr, "pavo-copy: %s (see --help)\n", what.c_str());
	exit(2);
}

uint32_t number(const char *text, uint32_t max, const char *what)
{
	uint32_t value = 0;
	const char *end = text + strlen(text);
	auto result = std::from_chars(text, end, value);

	if (result.ec != std::errc() || result.ptr != end || !value ||
	    value > max)
		wrong_use(std::string(what) + " must be 1 to " +
			  std::to_string(max));
	return value;
}

copy::Options parse(int argc, char **argv, std::string &what)
{
	static const option LONG[] = {
		{"port", required_argument, nullptr, 'p'},
		{"bind", required_argument, nullptr, 'b'},
		{"chunk", required_argument, nullptr, 'c'},
		{"slots", required_argument, nullptr, 's'},
		{"timeout", required_argument, nullptr, 't'},
		{"to-many", required_argument, nullptr, 'm'},
		{"from", required_argument, nullptr, 'f'},
		{"adapter", required_argument, nullptr, 'a'},
		{"group", required_argument, nullptr, 'g'},
		{"quiet", no_argument, nullptr, 'q'},
		{"help", no_argument, nullptr, 'h'},
		{"version", no_argument, nullptr, 'V'},
		{},
	};
	copy::Options options;
	int c;

	options.where.port = "7475";
	options.wait_forever = true;
	while ((c = getopt_long(argc, argv, "p:b:c:s:t:m:f:a:g:qhV", LONG,
				nullptr)) != -1) {
		switch (c) {
		case 'p':
			options.where.port = std::to_string(
				number(optarg, UINT16_MAX, "--port"));
			break;
		case 'b':
			options.where.host = optarg;
			break;
		case 'c':
			options.chunk = 1024 * number(optarg,
						      copy::CHUNK_MAX / 1024,
						      "--chunk");
			break;
		case 's':
			options.slots =
				number(optarg, copy::SLOTS_MAX, "--slots");
			break;
		case 't':
			options.timeout_ms = static_cast<int>(
				1000 * number(optarg, 86400, "--timeout"));
			options.wait_forever = false;
			break;
		case 'm':
			options.to_many = number(optarg, 1000, "--to-many");
			break;
		case 'f':
			options.from = optarg;
			break;
		case 'a':
			options.adapter = optarg;
			break;
		case 'g':
			options.group = optarg;
			break;
		case 'q':
			options.quiet = true;
			break;
		case 'h':
			fputs(USAGE, stdout);
			exit(0);
		case 'V':
			puts("pavo-copy " PAVO_VERSION);
			exit(0);
		default:
			exit(2);
		}
	}
	if (argc - optind < 2)
		wrong_use("a command and a file are required");
	what = argv[optind];
	options.file = argv[optind + 1];
	if (what == "send" && options.to_many) {
		if (argc - optind != 2)
			wrong_use("--to-many needs a file, and no host");
	} else if (what == "send") {
		if (argc - optind != 3)
			wrong_use("send needs a file and a host");
		options.where.host = argv[optind + 2];
	} else if (what != "receive" || argc - optind != 2) {
		wrong_use("the command is 'receive FILE' or 'send FILE HOST'");
	}
	return options;
}

} // namespace

int main(int argc, char **argv)
{
	std::string what;
	copy::Options options = parse(argc, argv, what);

	try {
		if (options.to_many && what == "send")
			copy::send_to_many(options);
		else if (!options.from.empty() && what == "receive")
			copy::receive_of_many(options);
		else if (what == "send")
			copy::send_file(options);
		else
			copy::receive_file(options);
	} catch (const copy::Error &error) {
		fprintf(stderr, "pavo-copy: %s\n", error.what());
		return 1;
	}
	return 0;
}
