// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * key_value.cpp - a store of keys and values that clients read without its server.
 *
 *   first machine:   key_value pavo0 [--clients N]           (1)
 *   others:          key_value pavo0 ADDRESS-OF-THE-FIRST    then, line by line:
 *                    put KEY VALUE | get KEY | end
 *
 * The table is memory of the first machine, the server. A client reads a bucket by RDMA,
 * and the server's processor has no part in that. It changes a bucket by a message,
 * which the server carries out and answers. Messages may be lost and come twice: a
 * client repeats a message that was not answered, and a second put of the same value
 * changes nothing.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <pavo/connect.hpp>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t job_id = 1003;
constexpr uint64_t key = 0x6b65792076616c75;
constexpr size_t buckets = 4096;
constexpr auto answer_timeout = std::chrono::milliseconds(50);

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

/* The clients read from the server, which is rank 0. */
constexpr pavo::ConnectOptions by_one_server = {.contexts = 1, .hub = 0};

template <class T>
void say(pavo::Rdma &rdma, pavo::WindowAddress to, const T &what)
{
	auto sent = rdma.send(to, std::as_bytes(std::span(&what, 1)));

	/* A message that was not sent is as good as lost. */
	if (sent != pavo::Unexpected(std::errc::no_buffer_space))
		sent.value();
}

/* A message that is a @T, or none. */
template <class T> std::optional<T> read_as(const pavo::Message &message)
{
	T value;

	if (message.payload.size() != sizeof(value))
		return {};
	memcpy(&value, message.payload.data(), sizeof(value));
	return value;
}

/* ------------------------------------------------------------------ server */

class Server {
public:
	Server(pavo::Group &group, const std::string &device)
		: device_(pavo::Device::open(device).value()),
		  job_(pavo::Job::open(device_, job_id, key).value()),
		  window_(pavo::open_window(group, job_).value()),
		  table_(buckets),
		  mapping_(pavo::Mapping::open(job_, std::as_writable_bytes(
							     std::span(table_)))
				   .value()),
		  rdma_(pavo::Rdma::open(window_).value())
	{
		rdma_.on_message([this](const pavo::Message &message) {
			if (auto request = read_as<Request>(message))
				answer(message, *request);
		});
		pavo::connect(group, rdma_, by_one_server).value();
		group.exchange(mapping_.pvo()).value();
	}

	/* Serves until each of so many clients has said that it is at its end. */
	void serve(unsigned clients)
	{
		while (ended_.size() < clients)
			(void)rdma_.progress();
		/* Until the last answer has come, or the client has stopped waiting for it. */
		for (auto until = Clock::now() + 10 * answer_timeout;
		     Clock::now() < until;)
			(void)rdma_.progress();
	}

private:
	void answer(const pavo::Message &message, const Request &request)
	{
		Answer answer{};

		if (request.number)
			answer = carry_out(request);
		else
			ended_.insert(message.from.node);
		say(rdma_, message.from, answer);
	}

	Answer carry_out(const Request &request)
	{
		std::string key = request.key.get();
		Bucket &bucket = table_[place_of(key)];

		if (bucket.check && bucket.key.get() != key)
			return {request.number, 1};
		/* A client that reads meanwhile sees that the sum is wrong. */
		bucket.check = 0;
		bucket.key = request.key;
		bucket.value = request.value;
		bucket.check = bucket.sum();
		return {request.number, 0};
	}

	pavo::Device device_;
	pavo::Job job_;
	pavo::Window window_;
	std::vector<Bucket> table_;
	pavo::Mapping mapping_;
	pavo::Rdma rdma_;
	std::set<uint16_t> ended_;
};

/* ------------------------------------------------------------------ client */

class Client {
public:
	Client(pavo::Group &group, const std::string &device)
		: device_(pavo::Device::open(device).value()),
		  job_(pavo::Job::open(device_, job_id, key).value()),
		  window_(pavo::open_window(group, job_).value()),
		  mapping_(pavo::Mapping::open(job_,
					       std::as_writable_bytes(
						       std::span(&bucket_, 1)))
				   .value()),
		  rdma_(pavo::Rdma::open(window_).value())
	{
		rdma_.on_message([this](const pavo::Message &message) {
			answer_ = read_as<Answer>(message);
		});
		server_ = pavo::connect(group, rdma_, by_one_server).value()[0];
		table_ = group.exchange(pavo::Pvo{}).value()[0];
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
		/* Again, if it changed just then. */
		do
			read(place_of(key));
		while (bucket_.check != bucket_.sum() &&
		       bucket_.key.get() != "");
		if (bucket_.key.get() != key)
			return {};
		return bucket_.value.get();
	}

	void end() { ask(Request{}); }

private:
	Answer ask(const Request &request)
	{
		auto asked = Clock::now() - answer_timeout;

		for (answer_ = {};
		     !answer_ || answer_->number != request.number;
		     (void)rdma_.progress())
			if (Clock::now() - asked >= answer_timeout) {
				say(rdma_, rdma_.address(server_), request);
				asked = Clock::now();
			}
		return *answer_;
	}

	void read(size_t place)
	{
		pavo::Completion got;

		rdma_.get(server_,
			  {.local = mapping_.pvo(),
			   .remote = table_ + place * sizeof(Bucket),
			   .length = sizeof(Bucket)},
			  got)
			.value();
		rdma_.wait(got).value();
	}

	pavo::Device device_;
	pavo::Job job_;
	pavo::Window window_;
	/* The bucket that was read last. */
	Bucket bucket_{};
	pavo::Mapping mapping_;
	pavo::Rdma rdma_;
	pavo::Rdma::Peer server_;
	pavo::Pvo table_; /* of the server */
	uint64_t number_ = 0;
	std::optional<Answer> answer_;
};

void obey(Client &client)
{
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
	bool several = argc == 4 && std::string(argv[2]) == "--clients";

	if (argc < 2 || argc > 3 + several) {
		fprintf(stderr,
			"usage: key_value ADAPTER [ADDRESS | --clients N]\n");
		return 2;
	}
	try {
		const bool serves = argc == 2 || several;
		const uint16_t clients =
			several ? uint16_t(std::stoul(argv[3])) : 1;
		auto group =
			pavo::Group::join(
				{.host = serves ? "" : argv[2],
				 .port = 7473,
				 .size = uint16_t(serves ? clients + 1 : 0),
				 .key = key})
				.value();

		if (serves) {
			Server(group, argv[1]).serve(clients);
		} else {
			Client client(group, argv[1]);

			obey(client);
		}
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "key_value: %s\n", error.what());
		return 1;
	}
}
