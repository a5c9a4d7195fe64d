// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * many.cpp - what a message or a key costs among many: a write by one of up to 16,384 queue pairs;
 * a write of eight bytes while there are 10, 10,000 and a million regions, each time another one;
 * the end of a key while there are 16 and more queue pairs, with what it does to the writes of
 * another one; and keys from the caches of registrations and of mappings (cached.cpp).
 * Started by ./many in a guest; prints a line of JSON for every repetition.
 * usage: pavo-bench-many A B crowd|regions|walks|cached MOST
 */
#include <random>

#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "../verbs/window.h"
#include "many.h"

using namespace pv;

namespace {

/* Nanoseconds from the post to the completion. */
uint64_t time_write(Env &env, Link &link, const SendWr &wr)
{
	uint64_t began = now();

	must_post(link.a, wr);
	check_wc(wait_send(env, link.a, "write"), wr.id, IBV_WC_SUCCESS,
		 "write");
	return now() - began;
}

/*
 * Of writes, each by another @link and @wr at random: nanoseconds of the one in the middle. The
 * work that the kernel does beside them now and then, like the collapse of pages of the program's
 * heap, is not what they cost.
 */
template <class Next> uint64_t time_writes(Env &env, Next &&next)
{
	std::vector<uint64_t> took(2000);

	for (uint64_t &ns : took) {
		auto [link, wr] = next();

		ns = time_write(env, *link, wr);
	}
	auto middle = took.begin() + took.size() / 2;

	std::nth_element(took.begin(), middle, took.end());
	return *middle;
}

/* Each queue pair writes once before, since its rings have no pages until they are used. */
void crowd(Env &env, size_t most)
{
	constexpr size_t bytes = 64;
	Mr out = must_reg(env.a, {bytes}), in = must_reg(env.b, {bytes});
	SendWr wr = make_wr(Op::write, {out, 0}, bytes, {in, 0});
	std::vector<Link> links;
	std::mt19937 random(1);

	for (size_t count : {1, 16, 256, 1024, 16384}) {
		if (count > most)
			break;
		for (Link &more : many_links(env, count - links.size()))
			links.push_back(std::move(more));
		for (Link &link : links)
			time_write(env, link, wr);
		for (uint64_t i = 1; i <= repetitions; i++) {
			env.a.fill(out.id, 0, bytes, count + i, 0);
			uint64_t ns = time_writes(env, [&] {
				return std::pair(&links[random() % count], wr);
			});

			must_match(env.b, in, 0, bytes, count + i, 0, "write");
			print({{"what", "write"},
			       {"queue pairs", count},
			       {"ns", ns}});
		}
	}
}

/*
 * All regions are of one page, whose memory is pinned once: it is the keys that
 * are many. They are used at random, so that few are in the caches.
 */
void regions(Env &env, size_t most)
{
	Link link = connect(env);
	Mr out = must_reg(env.a, {page}), in = must_reg(env.b, {page});
	ibv_mr *one = local(env.b).raw_mr(in.id);
	std::vector<ibv_mr *> all;
	std::mt19937 random(1);

	for (size_t count : {10, 10000, 1000000}) {
		if (count > most)
			break;
		while (all.size() < count) {
			ibv_mr *mr =
				ibv_reg_mr(one->pd, one->addr, 8, all_access);
			REQUIRE(mr, "region ", all.size(), ": errno ", errno);
			all.push_back(mr);
		}
		for (int i = 0; i < repetitions; i++)
			print({{"what", "write"},
			       {"regions", count},
			       {"ns", time_writes(env, [&] {
					SendWr wr = make_wr(Op::write, {out, 0},
							    8, {in, 0});

					wr.rkey = all[random() % count]->rkey;
					return std::pair(&link, wr);
				})}});
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
		set(1);
	}
	~WalkTimes() { set(0); }
	WalkTimes(const WalkTimes &) = delete;

	/* A line of JSON for each walk over so many queue pairs or more. */
	void print_from(size_t least) const
	{
		for (const std::string &line :
		     common::lines_of(tracing + "trace")) {
			size_t event = line.find(" pavo_rkm: ");

			if (event != line.npos &&
			    number_behind(line, event, " qps ") >= least)
				print({{"what", "walk"},
				       {"qps", least},
				       {"walk_ns",
					number_behind(line, event, " ns ")}});
		}
	}

private:
	static inline const std::string tracing = "/sys/kernel/tracing/";

	static void set(int on)
	{
		REQUIRE(common::write_word(
				tracing + "events/pavo/pavo_rkm/enable", on),
			"no tracepoint pavo_rkm");
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
		print({{"what", "end of a key"},
		       {"qps", qps},
		       {"ns", now() - began}});
	}
	times.print_from(qps);
	std::cerr << walks << " walks over " << qps << " queue pairs, "
		  << stalls.by() << " stalls\n";
}

/* The longest of some writes, with walks under way or without. */
uint64_t longest_write(Env &env, Link &link, const SendWr &wr, Link &binder,
		       Window *window, const BindSpec &spec)
{
	uint64_t longest = 0;

	for (int n = 0; n < 20; n++) {
		uint64_t id = 0;

		if (window) {
			must_bind(env, binder.b, *window, spec);
			id = post_bind(binder.b, *window, {});
		}
		longest = std::max(longest, time_write(env, link, wr));
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

	for (size_t count : {16, 256, 1024, 16384, 65536}) {
		if (count > most)
			break;
		for (Link &more : many_links(env, count - all.size()))
			all.push_back(std::move(more));
		walk_often(env, binder, window, spec, count);
		for (int i = 0; i < 2 * repetitions; i++)
			print({{"what", "longest write"},
			       {"qps", count},
			       {"walking", i % 2 == 1},
			       {"ns", longest_write(env, link, wr, binder,
						    i % 2 ? &window : nullptr,
						    spec)}});
	}
}

void caches(Env &env, size_t)
{
	cached(local(env.a).raw_mr(must_reg(env.a, {page}).id)->pd,
	       device_name(env.a).c_str());
}

const std::map<std::string, void (*)(Env &, size_t)> measurements = {
	{"crowd", crowd},
	{"regions", regions},
	{"walks", walks},
	{"cached", caches}};

} // namespace

int main(int argc, char **argv)
try {
	if (argc != 5)
		throw std::invalid_argument(
			"usage: A B crowd|regions|walks|cached MOST");
	Selector a{argv[1]}, b{argv[2]};
	LocalHost host_a(a), host_b(b);
	Env env(host_a, host_b, EnvOptions{}, a, b);

	measurements.at(argv[3])(env, strtoull(argv[4], nullptr, 0));
	std::cerr << env.end();
	return 0;
} catch (const std::exception &error) {
	std::cerr << "pavo-bench-many: " << error.what() << '\n';
	return 1;
}
