// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * key_value.cpp - a store of keys and values that is read without its server.
 *
 *   first machine:   key_value pavo0
 *   second machine:  key_value pavo0 ADDRESS-OF-THE-FIRST    then, line by line:
 *                    put KEY VALUE | get KEY | end
 *
 * The table is memory of the first. The second reads a bucket by RDMA, and the server's
 * processor has no part in that; it changes one by a message, which the server carries
 * out and answers. Messages may be lost and come twice: the second repeats what was not
 * answered, and to put the same again changes nothing.
 */
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <pavo/rdma.hpp>

#include "meeting.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t job_id = 1003;
constexpr uint64_t job_key = 0x6b65792076616c75;
constexpr uint16_t port = 7473;
constexpr size_t buckets = 4096;
constexpr auto patience = std::chrono::milliseconds(50);

/* Text that ends with a 0. */
template <size_t Size> struct Text {
	char text[Size];

	void set(const std::string &from)
	{
		memset(text, 0, Size);
		memcpy(text, from.data(), std::min(from.size(), Size - 1));
	}
	std::string get() const { return {text, strnlen(text, Size)}; }
};

/* FNV-1a, to find buckets and to see whether one was read while it changed. */
uint64_t hash(const void *data, size_t bytes)
{
	auto *at = static_cast<const unsigned char *>(data);
	uint64_t value = 0xcbf29ce484222325;

	for (size_t i = 0; i < bytes; i++)
		value = (value ^ at[i]) * 0x100000001b3;
	return value;
}

struct Bucket {
	Text<56> key;
	Text<192> value;
	uint64_t check;

	uint64_t sum() const { return hash(this, offsetof(Bucket, check)); }
};

size_t place_of(const std::string &key)
{
	return hash(key.data(), key.size()) % buckets;
}

struct Request {
	uint64_t number;
	Text<56> key;
	Text<192> value;
};

struct Answer {
	uint64_t number;
	/* 0; 1: another key is in that bucket */
	uint64_t taken;
};

struct Card {
	pavo::Gid gid;
	uint32_t window;
	uint32_t context;
	pavo::Pvo table;
};

struct Node {
	Node(const std::string &device_name, const std::string &host)
		: meeting(host, port), device(device_name),
		  job(pavo::Job::reserve(device, job_id, job_key)),
		  address(examples::address_of(device_name)),
		  window(job, {.node = uint16_t(!meeting.first()),
			       .gid_index = address.index}),
		  /* The second has room for one. */
		  table(meeting.first() ? buckets : 1),
		  mapping(job, std::as_writable_bytes(std::span(table))),
		  rdma(window)
	{
		theirs = meeting.exchange(Card{address.gid, window.number(),
					       rdma.lend(1)[0], mapping.pvo()});
		node = meeting.first();
		window.set_node(node, theirs.gid);
		other = rdma.add({node, theirs.window, {theirs.context}});
	}

	template <class T> void say(const T &what)
	{
		std::error_code error =
			rdma.send(node, theirs.window,
				  std::as_bytes(std::span(&what, 1)));

		/* What was not sent is as good as lost. */
		if (error && error != std::errc::no_buffer_space)
			throw std::system_error(error, "message");
	}

	examples::Meeting meeting;
	pavo::Device device;
	pavo::Job job;
	examples::Address address;
	pavo::Window window;
	std::vector<Bucket> table;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
	Card theirs;
	uint16_t node;
	pavo::Rdma::Peer other;
};

/* ------------------------------------------------------------------ server */

Answer carry_out(Node &node, const Request &request)
{
	std::string key = request.key.get();
	Bucket &bucket = node.table[place_of(key)];

	if (bucket.check && bucket.key.get() != key)
		return {request.number, 1};
	/* Who reads meanwhile sees that the sum is wrong. */
	bucket.check = 0;
	bucket.key = request.key;
	bucket.value = request.value;
	bucket.check = bucket.sum();
	return {request.number, 0};
}

void serve(Node &node)
{
	bool ended = false;

	node.rdma.on_message([&](const pavo::Message &message) {
		Request request;

		if (message.payload.size() != sizeof(request))
			return;
		memcpy(&request, message.payload.data(), sizeof(request));
		ended = !request.number;
		node.say(ended ? Answer{} : carry_out(node, request));
	});
	while (!ended)
		node.rdma.progress();
	/* Until the last answer has come, or was not waited for. */
	for (auto until = Clock::now() + 10 * patience; Clock::now() < until;)
		node.rdma.progress();
}

/* ------------------------------------------------------------------ client */

class Client {
public:
	explicit Client(Node &node) : node_(node)
	{
		node.rdma.on_message([this](const pavo::Message &message) {
			Answer answer;

			if (message.payload.size() != sizeof(answer))
				return;
			memcpy(&answer, message.payload.data(), sizeof(answer));
			answer_ = answer;
		});
	}

	bool put(const std::string &key, const std::string &value)
	{
		Request request{.number = ++number_, .key = {}, .value = {}};

		request.key.set(key);
		request.value.set(value);
		return !ask(request).taken;
	}

	std::optional<std::string> get(const std::string &key)
	{
		Bucket &bucket = node_.table[0];

		/* Again, if it changed just then. */
		do
			read(place_of(key));
		while (bucket.check != bucket.sum() && bucket.key.get() != "");
		if (bucket.key.get() != key)
			return {};
		return bucket.value.get();
	}

	void end() { ask(Request{}); }

private:
	Answer ask(const Request &request)
	{
		auto asked = Clock::now() - patience;

		for (answer_ = {};
		     !answer_ || answer_->number != request.number;
		     node_.rdma.progress())
			if (Clock::now() - asked >= patience) {
				node_.say(request);
				asked = Clock::now();
			}
		return *answer_;
	}

	void read(size_t place)
	{
		std::error_code result;

		node_.rdma.get(
			node_.other,
			{.local = node_.mapping.pvo(),
			 .remote = node_.theirs.table + place * sizeof(Bucket),
			 .length = sizeof(Bucket)},
			[&](std::error_code error) { result = error; });
		while (node_.rdma.pending())
			node_.rdma.progress();
		if (result)
			throw std::system_error(result, "get");
	}

	Node &node_;
	uint64_t number_ = 0;
	std::optional<Answer> answer_;
};

void obey(Node &node)
{
	Client client(node);
	std::string line;

	while (std::getline(std::cin, line)) {
		std::istringstream words(line);
		std::string verb, key, value;

		words >> verb >> key >> std::ws;
		std::getline(words, value);
		if (verb == "end")
			break;
		if (key.empty() || (verb != "put" && verb != "get"))
			std::cout << "put KEY VALUE, get KEY, or end\n";
		else if (verb == "put")
			std::cout << (client.put(key, value) ?
					      "ok\n" :
					      "the bucket is taken\n");
		else
			std::cout << client.get(key).value_or("(none)") << '\n';
	}
	client.end();
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: key_value ADAPTER [ADDRESS]\n");
		return 2;
	}
	try {
		Node node(argv[1], argc > 2 ? argv[2] : "");

		if (node.meeting.first())
			serve(node);
		else
			obey(node);
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "key_value: %s\n", error.what());
		return 1;
	}
}
