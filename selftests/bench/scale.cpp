// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * scale.cpp - what a message costs while many queue pairs are connected: writes of 64 bytes,
 * one at a time, each by another queue pair at random.
 * Started by ./scale in a guest; prints a line of JSON for every repetition.
 * usage: scale A B MOST
 */
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "../verbs/manager.h"
#include "../verbs/tap.h"

using namespace pv;

namespace {

constexpr int repetitions = 5;
constexpr size_t writes = 2000;
constexpr size_t bytes = 64;

uint64_t now()
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

/* Nanoseconds from the post to the completion. */
uint64_t time_write(Env &env, Link &link, const SendWr &wr)
{
	uint64_t began = now();

	must_post(link.a, std::vector<SendWr>{wr});
	check_wc(wait_send(env, link.a, "write"), wr.id, IBV_WC_SUCCESS,
		 "write");
	return now() - began;
}

/* Of writes, each by another queue pair at random: nanoseconds of the one in the middle. */
uint64_t time_writes(Env &env, std::vector<Link> &links, const SendWr &wr,
		     std::mt19937 &random)
{
	std::vector<uint64_t> took;

	for (size_t i = 0; i < writes; i++)
		took.push_back(
			time_write(env, links[random() % links.size()], wr));
	auto middle = took.begin() + took.size() / 2;

	std::nth_element(took.begin(), middle, took.end());
	return *middle;
}

/* Each queue pair writes once before, since its rings have no pages until they are used. */
void crowd(Env &env, size_t most)
{
	Mr out = must_reg(env.a, {bytes}), in = must_reg(env.b, {bytes});
	SendWr wr = make_wr(Op::write, {out, 0}, bytes, {in, 0});
	std::vector<Link> links;
	std::mt19937 random(1);

	for (size_t count : {size_t(1), size_t(16), size_t(256), size_t(1024),
			     size_t(16384)}) {
		if (count > most)
			break;
		for (Link &more : many_links(env, count - links.size()))
			links.push_back(std::move(more));
		for (Link &link : links)
			time_write(env, link, wr);
		for (uint64_t i = 1; i <= repetitions; i++) {
			env.a.fill(out.id, 0, bytes, count + i, 0);
			uint64_t ns = time_writes(env, links, wr, random);

			must_match(env.b, in, 0, bytes, count + i, 0, "write");
			std::cout << "{\"what\": \"write\", \"queue pairs\": "
				  << count << ", \"ns\": " << ns << "}\n"
				  << std::flush;
		}
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::cerr << "usage: scale A B MOST\n";
		return 2;
	}
	Selector a{argv[1]}, b{argv[2]};
	LocalHost host_a(a), host_b(b);
	Env env(host_a, host_b, EnvOptions{}, a, b);

	try {
		crowd(env, strtoull(argv[3], nullptr, 0));
	} catch (const std::exception &error) {
		std::cerr << "scale: " << error.what() << '\n';
		return 1;
	}
	return 0;
}
