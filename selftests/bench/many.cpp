// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * many.cpp - what a message or a key costs among many: a write by one of up to 16,384 queue pairs;
 * a write of eight bytes while there are 10, 10,000 and a million regions, each time another one;
 * the end of a key while there are 16 and more queue pairs, with what it does to the writes of
 * another one; keys from the caches of registrations and of mappings; and the ranges of a direct
 * window with up to 64 processes.
 * Started by ./many in a guest; prints a line of JSON for every repetition.
 * usage: pavo-bench-many A B crowd|direct|regions|walks|cached MOST
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <random>
#include <regex>
#include <span>

#include <nlohmann/json.hpp>
#include <pavo/device.hpp>
#include <pavo/job.hpp>
#include <pavo/mapping_cache.hpp>
#include <pavo/mr_cache.h>

#include "../verbs/direct.h"
#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "../verbs/window.h"

using namespace pv;

namespace {

constexpr int repetitions = 5;

uint64_t now()
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

/* A line of the results. */
void print(const nlohmann::json &row)
{
	std::cout << row.dump() << '\n' << std::flush;
}

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
		const std::regex walk(" pavo_rkm: .* qps (\\d+) .* ns (\\d+)");
		std::smatch found;

		for (const std::string &line :
		     common::lines_of(tracing + "trace"))
			if (std::regex_search(line, found, walk) &&
			    std::stoull(found[1]) >= least)
				print({{"what", "walk"},
				       {"qps", least},
				       {"walk_ns", std::stoull(found[2])}});
	}

private:
	static inline const std::string tracing = "/sys/kernel/tracing/";

	static void set(int on)
	{
		REQUIRE(common::write_word(
				tracing + "events/pavo/pavo_rkm/enable", on),
			"no tracepoint pavo_rkm");
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

/* ------------------------------------------------------------------- the caches */

constexpr uint32_t length = 65536;
constexpr size_t fragments = 1000;
constexpr pavo_cache_options options = {.entries = 0,
					.segments = 0,
					.idle_limit = 0,
					.flags = PAVO_CACHE_NO_TIMER};

/* Prints nanoseconds that each of @times calls takes. */
template <class Call>
void print_each(const char *what, size_t entries, int times, Call &&call)
{
	uint64_t began = now();

	for (int i = 0; i < times; i++)
		call(i);
	print({{"what", what},
	       {"entries", entries},
	       {"ns", (now() - began) / times}});
}

/* Regions of a protection domain. */
class Regions {
public:
	using Piece = pavo_mr_piece;
	static constexpr const char *found = "region found";
	static constexpr const char *given_back = "region given back";
	static constexpr const char *made = "region made and ended";

	explicit Regions(ibv_pd *pd)
		: pd_(pd),
		  cache_(common::must_make(
			  pavo_mr_cache_create(pd, IBV_ACCESS_LOCAL_WRITE,
					       &options),
			  "pavo_mr_cache_create"))
	{
	}

	~Regions() { pavo_mr_cache_destroy(cache_); }
	Regions(const Regions &) = delete;

	void get(char *at, Piece &piece)
	{
		if (pavo_mr_cache_get(cache_, at, length, &piece, 1) != 1)
			common::throw_errno(ENOBUFS, "pavo_mr_cache_get");
	}

	void put(const Piece &piece) { pavo_mr_cache_put(cache_, &piece, 1); }

	void make(char *at)
	{
		ibv_dereg_mr(common::must_make(
			ibv_reg_mr(pd_, at, length, IBV_ACCESS_LOCAL_WRITE),
			"ibv_reg_mr"));
	}

private:
	ibv_pd *pd_;
	pavo_mr_cache *cache_;
};

/* Mappings of a job. */
class Mappings {
public:
	using Piece = pavo::MappingPiece;
	static constexpr const char *found = "mapping found";
	static constexpr const char *given_back = "mapping given back";
	static constexpr const char *made = "mapping made and ended";

	explicit Mappings(const char *device)
		: device_(pavo::Device::open(device).value()),
		  job_(pavo::Job::reserve(device_, 0x6b657973, 1).value()),
		  cache_(pavo::MappingCache::open(job_, options).value())
	{
	}

	void get(char *at, Piece &piece)
	{
		if (!cache_.get(memory(at), {&piece, 1}))
			throw std::runtime_error("MappingCache");
	}

	void put(const Piece &piece) { cache_.put({&piece, 1}); }

	void make(char *at) { pavo::Mapping::open(job_, memory(at)).value(); }

private:
	static std::span<std::byte> memory(char *at)
	{
		return {reinterpret_cast<std::byte *>(at), length};
	}

	pavo::Device device_;
	pavo::Job job_;
	pavo::MappingCache cache_;
};

/* A buffer in each of @count fragments, in turn. */
template <class Kind>
void measure(Kind &kind, char *memory, size_t count,
	     std::vector<typename Kind::Piece> &pieces)
{
	const int times = int(pieces.size());
	size_t n = 0;
	auto next = [&] {
		n = n + 1 < count ? n + 1 : 0;
		return memory + n * PAVO_CACHE_FRAGMENT;
	};

	for (size_t i = 0; i < count; i++) {
		kind.get(next(), pieces[0]);
		kind.put(pieces[0]);
	}
	for (int i = 0; i < repetitions; i++) {
		print_each(Kind::found, count, times,
			   [&](int at) { kind.get(next(), pieces[at]); });
		print_each(Kind::given_back, count, times,
			   [&](int at) { kind.put(pieces[at]); });
		print_each(Kind::made, count, 200,
			   [&](int) { kind.make(memory); });
	}
}

template <class Kind> void measure_all(Kind &&kind, char *memory)
{
	std::vector<typename Kind::Piece> pieces(20000);

	for (size_t count : {size_t(1), size_t(100), fragments})
		measure(kind, memory, count, pieces);
}

void measure_cached(ibv_pd *pd, const char *device)
{
	void *at = mmap(nullptr, fragments * PAVO_CACHE_FRAGMENT,
			PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *memory = static_cast<char *>(at);

	common::must(at != MAP_FAILED, "memory");
	/* The cost of the rows below without the calls. */
	for (int i = 0; i < repetitions; i++)
		print_each("the loop", 0, 20000, [&](int) {
			char *volatile loaded = memory;

			(void)loaded;
		});
	measure_all(Regions(pd), memory);
	measure_all(Mappings(device), memory);
	munmap(at, fragments * PAVO_CACHE_FRAGMENT);
}

/*
 * A buffer of 64 KiB that is found in a cache, among 1, 100 and 1000 fragments, and one that is
 * registered and deregistered: regions of a domain, and mappings of a job.
 */
void cached(Env &env, size_t)
{
	measure_cached(local(env.a).raw_mr(must_reg(env.a, {page}).id)->pd,
		       device_name(env.a).c_str());
}

/* ------------------------------------------------------------------- direct windows */

/* A process that takes the bytes of its ranges as they come, one range after the other. */
class Reader {
public:
	Reader(const Direct &window, uint32_t first, uint32_t step)
	{
		REQUIRE((pid_ = fork()) >= 0, "fork: errno ", errno);
		if (pid_)
			return;
		std::vector<uint8_t> bytes;

		for (uint32_t i = first; i < window.plain.ranges; i += step) {
			if (window.try_take(i, 0, 8, &bytes) != 8)
				_exit(1);
		}
		/* The end of a process is not to be measured. */
		for (;;)
			pause();
	}
	~Reader()
	{
		kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
	}
	Reader(const Reader &) = delete;

	bool is_asleep() const
	{
		std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
		std::string text(std::istreambuf_iterator<char>(file), {});

		return text.find(") S ") != std::string::npos;
	}

private:
	pid_t pid_;
};

/* Nanoseconds of a call, in the middle of @calls, with @undo behind each. */
template <class Call, class Undo>
uint64_t time_calls(uint32_t calls, Call &&call, Undo &&undo)
{
	std::vector<uint64_t> took(calls);

	for (uint64_t &ns : took) {
		uint64_t began = now();

		call();
		ns = now() - began;
		undo();
	}
	auto middle = took.begin() + took.size() / 2;

	std::nth_element(took.begin(), middle, took.end());
	return *middle;
}

/* All buffers but one are taken, so a scan would have to find that one, or a range to read. */
void arm_among(Env &env, uint32_t ranges)
{
	Direct window(env.a, {0, ranges, page, ranges});
	pollfd look = {window.plain.fd, POLLIN, 0};

	for (uint32_t i = 0; i + 1 < ranges; i++)
		window.arm(i, page);
	for (int i = 0; i < repetitions; i++) {
		print({{"what", "arm"},
		       {"ranges", ranges},
		       {"ns",
			time_calls(
				500, [&] { window.arm(ranges - 1, page); },
				[&] { window.disarm(ranges - 1); })}});
		print({{"what", "poll"},
		       {"ranges", ranges},
		       {"ns",
			time_calls(
				500, [&] { poll(&look, 1, 0); }, [] {})}});
	}
}

/* Up to 64 processes wait for the ranges: a read from its post to the end of its process's pread. */
void read_among(Env &env, Link &link, uint32_t ranges)
{
	const uint32_t processes = std::min(ranges, 64u);
	Direct window(env.a, {0, ranges, page, ranges});
	std::vector<std::unique_ptr<Reader>> readers;
	std::vector<uint64_t> took(ranges);
	Mr at_b = must_reg(env.b, {page}, 1);

	window.set_blocking(true);
	for (uint32_t i = 0; i < ranges; i++)
		window.arm_read(i, 8);
	for (uint32_t i = 0; i < processes; i++)
		readers.push_back(
			std::make_unique<Reader>(window, i, processes));
	for (auto &reader : readers)
		REQUIRE(eventually(env, [&] { return reader->is_asleep(); }),
			"a process that does not wait");
	for (uint32_t i = 0; i < ranges; i++) {
		uint64_t began = now();

		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(i, 8), i,
			    {at_b});
		expect_send(env, link.a, i, "read");
		took[i] = now() - began;
	}
	auto middle = took.begin() + took.size() / 2;

	std::nth_element(took.begin(), middle, took.end());
	print({{"what", "read"}, {"ranges", ranges}, {"ns", *middle}});
}

/* Arming a range, poll(), and reads whose bytes processes wait for, among many ranges. */
void direct(Env &env, size_t most)
{
	Link link = connect(env);

	for (uint32_t ranges : {16, 128, 1024}) {
		if (ranges > most)
			break;
		arm_among(env, ranges);
		for (int i = 0; i < repetitions; i++)
			read_among(env, link, ranges);
	}
}

const std::map<std::string, void (*)(Env &, size_t)> measurements = {
	{"crowd", crowd},
	{"direct", direct},
	{"regions", regions},
	{"walks", walks},
	{"cached", cached}};

} // namespace

int main(int argc, char **argv)
try {
	if (argc != 5)
		throw std::invalid_argument(
			"usage: A B crowd|direct|regions|walks|cached MOST");
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
