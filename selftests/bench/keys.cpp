// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * keys.cpp - what keys cost: a write of eight bytes while there are 10, 10,000 and
 * a million regions, each time another one; and the end of a key while there are
 * 16 and more queue pairs, with what it does to the writes of another one; and keys
 * from the caches of registrations and of mappings.
 * Started by ./keys in a guest; prints a line of JSON for every repetition.
 * usage: keys A B regions|walks|cached [MOST]
 */
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "../verbs/window.h"
#include "cached.h"

using namespace pv;

namespace {

constexpr int repetitions = 5;

uint64_t now()
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

void write_once(Env &env, Link &link, const SendWr &wr)
{
	must_post(link.a, std::vector<SendWr>{wr});
	check_wc(wait_send(env, link.a, "write"), wr.id, IBV_WC_SUCCESS,
		 "write");
}

/*
 * All regions are of one page, whose memory is pinned once: it is the keys that
 * are many. They are used at random, so that few are in the caches. A repetition
 * is the median of its writes: what the kernel does beside them now and then, like
 * the collapse of pages of the program's heap, is not what a key costs.
 */
void regions(Env &env, size_t most)
{
	std::vector<uint64_t> took(2000);
	Link link = connect(env);
	Mr out = must_reg(env.a, {page}), in = must_reg(env.b, {page});
	ibv_mr *one = local(env.b).raw_mr(in.id);
	std::vector<ibv_mr *> all;
	std::mt19937 random(1);

	for (size_t count : {size_t(10), size_t(10000), size_t(1000000)}) {
		if (count > most)
			break;
		while (all.size() < count) {
			ibv_mr *mr =
				ibv_reg_mr(one->pd, one->addr, 8, all_access);
			REQUIRE(mr, "region ", all.size(), ": errno ", errno);
			all.push_back(mr);
		}
		for (int i = 0; i < repetitions; i++) {
			for (uint64_t &ns : took) {
				SendWr wr = make_wr(Op::write, {out, 0}, 8,
						    {in, 0});
				uint64_t began = now();

				wr.rkey = all[random() % count]->rkey;
				write_once(env, link, wr);
				ns = now() - began;
			}
			auto middle = took.begin() + took.size() / 2;

			std::nth_element(took.begin(), middle, took.end());
			std::cout << "{\"what\": \"write\", \"regions\": "
				  << count << ", \"ns\": " << *middle << "}\n"
				  << std::flush;
		}
	}
	for (ibv_mr *mr : all)
		ibv_dereg_mr(mr);
}

/* How long walks take, by the tracepoint, while it lives. */
class WalkTimes {
public:
	WalkTimes()
	{
		std::ofstream(tracing + "trace") << "";
		set("1");
	}

	~WalkTimes() { set("0"); }
	WalkTimes(const WalkTimes &) = delete;

	/* A line of JSON for each walk over so many queue pairs or more. */
	void print(size_t least) const
	{
		std::ifstream trace(tracing + "trace");
		std::string line;

		while (std::getline(trace, line)) {
			size_t event = line.find(" pavo_rkm: ");

			if (event != line.npos &&
			    number_behind(line, event, " qps ") >= least)
				std::cout << "{\"what\": \"walk\", \"qps\": "
					  << least << ", \"walk_ns\": "
					  << number_behind(line, event, " ns ")
					  << "}\n";
		}
	}

private:
	static inline const std::string tracing = "/sys/kernel/tracing/";

	static void set(const char *value)
	{
		std::ofstream file(tracing + "events/pavo/pavo_rkm/enable");

		file << value << std::flush;
		REQUIRE(file.good(), "no tracepoint pavo_rkm");
	}

	static uint64_t number_behind(const std::string &line, size_t from,
				      const std::string &word)
	{
		size_t at = line.find(word, from);

		REQUIRE(at != line.npos, "a trace without", word, ": ", line);
		return std::stoull(line.substr(at + word.size()));
	}
};

/* As the asking thread sees it, and by itself. */
void walk_often(Env &env, Link &binder, Window &window, const BindSpec &spec,
		size_t qps)
{
	const int walks = qps > 10000 ? 200 : 1000;
	WalkTimes times;
	Moved stalls(env.b, "rkm_stalls");

	for (int i = 0; i < walks; i++) {
		must_bind(env, binder.b, window, spec);
		uint64_t began = now();

		must_bind(env, binder.b, window, {});
		std::cout << "{\"what\": \"end of a key\", \"qps\": " << qps
			  << ", \"ns\": " << now() - began << "}\n";
	}
	times.print(qps);
	std::cerr << walks << " walks over " << qps << " queue pairs, "
		  << stalls.by() << " stalls\n";
}

/* The longest of some writes, with walks under way or without. */
uint64_t longest_write(Env &env, Link &link, const SendWr &wr, Link &binder,
		       Window *window, const BindSpec &spec)
{
	uint64_t longest = 0;

	for (int n = 0; n < 20; n++) {
		uint64_t id = 0, began;

		if (window) {
			must_bind(env, binder.b, *window, spec);
			id = post_bind(binder.b, *window, {});
		}
		began = now();
		write_once(env, link, wr);
		longest = std::max(longest, now() - began);
		if (window)
			check_wc(wait_send(env, binder.b, "end"), id,
				 IBV_WC_SUCCESS, "end");
	}
	return longest;
}

void walks(Env &env, size_t most)
{
	Link link = connect(env), binder = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);
	Mr out = must_reg(env.a, {page}), in = must_reg(env.b, {page});
	BindSpec spec = {must_reg(env.b, {page, 0, bindable_access}), 0, page};
	SendWr wr = make_wr(Op::write, {out, 0}, 8, {in, 0});
	std::vector<Link> all;

	for (size_t count : {size_t(16), size_t(256), size_t(1024),
			     size_t(16384), size_t(65536)}) {
		if (count > most)
			break;
		for (Link &more : many_links(env, count - all.size()))
			all.push_back(std::move(more));
		walk_often(env, binder, window, spec, count);
		for (int i = 0; i < repetitions; i++) {
			for (bool walking : {false, true})
				std::cout
					<< "{\"what\": \"longest write\", "
					   "\"qps\": "
					<< count << ", \"walking\": "
					<< (walking ? "true" : "false")
					<< ", \"ns\": "
					<< longest_write(env, link, wr, binder,
							 walking ? &window :
								   nullptr,
							 spec)
					<< "}\n"
					<< std::flush;
		}
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 4) {
		std::cerr << "usage: keys A B regions|walks|cached [MOST]\n";
		return 2;
	}
	Selector a{argv[1]}, b{argv[2]};
	LocalHost host_a(a), host_b(b);
	Env env(host_a, host_b, EnvOptions{}, a, b);
	size_t most = argc > 4 ? strtoull(argv[4], nullptr, 0) : ~0ull;

	try {
		if (std::string(argv[3]) == "regions")
			regions(env, most);
		else if (std::string(argv[3]) == "cached")
			cached(local(env.a)
				       .raw_mr(must_reg(env.a, {page}).id)
				       ->pd,
			       argv[1]);
		else
			walks(env, most);
	} catch (const std::exception &error) {
		std::cerr << "keys: " << error.what() << '\n';
		return 1;
	}
	std::cerr << env.end();
	return 0;
}
