// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Paths that lose, repeat, reorder, damage or delay packets, by netem on both interfaces: queue pairs
 * with messages of all kinds in both directions at once, every byte compared. A row of the table is a
 * path, and a test.
 */
#include <algorithm>

#include "../common/adapter.h"
#include "link.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;
using namespace std::string_literals;

namespace {

/* One request of a stream: of an Op, or an atomic. */
struct Request {
	std::optional<Op> op; /* none: FetchAdd */
	uint64_t length;
};

constexpr uint64_t gap =
	192; /* bytes between two requests' memory, compared as well */
const Request requests[] = {
	{Op::send, 1},	      {Op::write, 5000},
	{Op::read, 9000},     {{}, 8},
	{Op::send_imm, 4096}, {Op::write_imm, 30001},
	{Op::read, 65536},    {{}, 8},
	{Op::write, 200000},  {Op::read, 3},
	{Op::send, 20000},    {{}, 8},
};

/* The requests of one end of a link to the other. */
class Stream {
public:
	Stream(Side &active, Side &passive)
		: active_(active), passive_(passive),
		  near_(must_reg(*active.host, {span()})),
		  far_(must_reg(*passive.host, {span()}))
	{
	}

	/* Posts them all. */
	void begin(Env &env)
	{
		std::vector<RecvWr> recvs;

		background_ = env.seed();
		seed_ = env.seed();
		wrs_.clear();
		for (int i = 0; i < int(std::size(requests)); i++)
			env.seed(); /* seed_ + 1 .. are theirs */
		active_.host->fill(near_.id, 0, span(), background_, 0);
		passive_.host->fill(far_.id, 0, span(), background_, 0);
		for_each([&](const Request &r, int64_t at, uint64_t seed) {
			wrs_.push_back(prepare(r, at, seed));
			if (r.op && takes_recv(*r.op))
				recvs.push_back(receive(r, at));
		});
		must_post(passive_, recvs);
		must_post(active_, wrs_);
		received_ = recvs;
	}

	/* Waits for all, and compares all memory of both ends. */
	void end(Env &env)
	{
		std::vector<uint64_t> ids;

		expect_all(env, active_, active_.send_cq, ids_of(wrs_),
			   "requests");
		for (const RecvWr &recv : received_)
			ids.push_back(recv.id);
		expect_all(env, passive_, passive_.recv_cq, ids, "receives");
		uint64_t end = 0;
		for_each([&](const Request &r, int64_t at, uint64_t seed) {
			compare(r, at, seed);
			compare_gap(end, uint64_t(at));
			end = at + r.length;
		});
		compare_gap(end, span());
	}

	/* The first ends with that, all others are flushed; so are the receives that are left. */
	void end_in_error(Env &env)
	{
		auto wcs = wait_completions(env, active_, active_.send_cq,
					    uint32_t(wrs_.size()), "requests");

		for (size_t i = 0; i < wcs.size(); i++)
			check_wc(wcs[i], wrs_[i].id,
				 i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR,
				 "requests on a path that is cut");
		REQUIRE_EQ(int(state_of(active_)), IBV_QPS_ERR, "state");
		for (const Wc &wc :
		     wait_completions(env, passive_, passive_.recv_cq,
				      uint32_t(received_.size()), "receives"))
			REQUIRE_EQ(int(wc.status), IBV_WC_WR_FLUSH_ERR,
				   "a receive");
	}

	/* Nothing else has completed. */
	void end_all() const { no_more(active_, "after the error"); }

private:
	static constexpr uint64_t addend = 3;

	/* Calls with each request, where its memory begins in both regions, and the seed of its bytes. */
	template <class Call> void for_each(Call &&call) const
	{
		uint64_t seed = seed_;
		int64_t at = gap;

		for (const Request &r : requests) {
			call(r, at, ++seed);
			at += int64_t((r.length + 7) / 8 * 8 + gap);
		}
	}

	static uint64_t span()
	{
		uint64_t sum = gap;

		for (const Request &r : requests)
			sum += (r.length + 7) / 8 * 8 + gap;
		return sum;
	}

	SendWr prepare(const Request &r, int64_t at, uint64_t seed)
	{
		SendWr wr = make_wr(r.op.value_or(Op::read), {near_, at},
				    r.length, {far_, at});

		if (!r.op) {
			wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
			wr.compare_add = addend;
			passive_.host->store(far_.id, at, seed);
		} else if (*r.op == Op::read) {
			passive_.host->fill(far_.id, at, r.length, seed, 0);
		} else {
			active_.host->fill(near_.id, at, r.length, seed, 0);
		}
		return wr;
	}

	RecvWr receive(const Request &r, int64_t at) const
	{
		RecvWr recv = {.id = uint64_t(at)};

		if (*r.op != Op::write_imm)
			recv.sges = {{far_.id, at, uint32_t(r.length), 0}};
		return recv;
	}

	void compare(const Request &r, int64_t at, uint64_t seed)
	{
		const std::string what = r.op ? name_of(*r.op) : "FetchAdd"s;

		if (!r.op) {
			REQUIRE_EQ(active_.host->load(near_.id, at), seed,
				   "the value before a FetchAdd");
			REQUIRE_EQ(passive_.host->load(far_.id, at),
				   seed + addend, "after it");
			return;
		}
		must_match(*active_.host, near_, at, r.length, seed, 0,
			   ("near end of a " + what).c_str());
		must_match(*passive_.host, far_, at, r.length, seed, 0,
			   ("far end of a " + what).c_str());
	}

	void compare_gap(uint64_t from, uint64_t to)
	{
		must_match(*active_.host, near_, int64_t(from), to - from,
			   background_, from, "between the near ends");
		must_match(*passive_.host, far_, int64_t(from), to - from,
			   background_, from, "between the far ends");
	}

	Side &active_;
	Side &passive_;
	Mr near_, far_;
	uint64_t background_ = 0, seed_ = 0;
	std::vector<SendWr> wrs_;
	std::vector<RecvWr> received_;
};

/* Queue pairs with a stream in each direction. */
class Traffic {
public:
	Traffic(Env &env, int pairs, const LinkSpec &spec = {}) : env_(env)
	{
		links_.reserve(size_t(pairs));
		for (int i = 0; i < pairs; i++) {
			Link &link = links_.emplace_back(connect(env, spec));

			streams_.emplace_back(link.a, link.b);
			streams_.emplace_back(link.b, link.a);
		}
	}

	void begin()
	{
		for (Stream &stream : streams_)
			stream.begin(env_);
	}

	void end()
	{
		for (Stream &stream : streams_)
			stream.end(env_);
	}

	void end_in_error()
	{
		for (Stream &stream : streams_)
			stream.end_in_error(env_);
		for (Stream &stream : streams_)
			stream.end_all();
	}

private:
	Env &env_;
	std::vector<Link> links_;
	std::vector<Stream> streams_;
};

/* Both ends' interfaces. */
class Path {
public:
	Path(Env &env, const std::string &kind)
		: a_(env.a, kind), b_(env.b, kind)
	{
	}

	void change(const std::string &kind)
	{
		a_.change(kind);
		b_.change(kind);
	}

private:
	Qdisc a_, b_;
};

/* Counters of both ends since this was made. */
class Counted {
public:
	/* @names: of counters; those that a device does not have are left out */
	Counted(Env &env, const std::vector<std::string> &names)
	{
		for (Host *host : {&env.a, &env.b})
			for (const std::string &name : names)
				add(device_name(*host), name);
	}

	/* None of the devices has any of them. */
	bool absent() const { return counters_.empty(); }

	uint64_t sum() const
	{
		uint64_t all = 0;

		for (const common::Moved &counter : counters_)
			all += counter.by();
		return all;
	}

private:
	void add(const std::string &device, const std::string &name)
	{
		try {
			counters_.emplace_back(device, name);
		} catch (const common::Missing &) {
		}
	}

	std::vector<common::Moved> counters_;
};

/*
 * A path. @shows: counters of which one has to move, or the path was not what it is said to be;
 * none: it may be a good one by chance.
 */
struct Row {
	const char *name;
	const char *what;
	const char *netem;
	std::vector<std::string> shows;
};

const std::vector<std::string> lost = {"tx_retransmits"}, late = {"rx_held"},
			       twice = {"duplicate_request",
					"rx_drop_old_response",
					"rx_drop_psn_ghost"},
			       damaged = {"rx_icrc_encapsulated"};

const Row rows[] = {
	{"loss_0.1", "0.1 % are lost", "loss 0.1%", {}},
	{"loss_1", "1 % are lost", "loss 1%", {}},
	{"loss_5", "5 % are lost", "loss 5%", lost},
	{"loss_20", "20 % are lost", "loss 20%", lost},
	{"bursts", "packets are lost in bursts of three", "loss gemodel 3% 33%",
	 lost},
	{"reorder", "a quarter overtakes the others", "delay 1ms reorder 25%",
	 late},
	{"duplicate", "5 % come twice", "duplicate 5%", twice},
	{"corrupt", "1 % are damaged", "corrupt 1%", damaged},
	{"jitter_1ms", "each packet has a delay of its own, of 1 ms",
	 "delay 1ms 500us", late},
	{"jitter_20ms", "each packet has a delay of its own, of 20 ms",
	 "delay 20ms 5ms", late},
	{"narrow",
	 "a narrow link has room for 20 packets",
	 "limit 20 rate 200mbit",
	 {}},
	{"mixed_1ms", "all of it at once, 1 ms",
	 "delay 1ms 500us loss 1% duplicate 5% corrupt 1%", lost},
	{"mixed_20ms", "all of it at once, 20 ms and a narrow link",
	 "limit 200 delay 20ms 5ms loss 1% duplicate 5% corrupt 1% rate 200mbit",
	 lost},
};

void run_row(Env &env, const Row &row)
{
	/* A narrow link that is full makes round trips long. */
	Traffic traffic(env, 4, {.timeout = 16});
	Path path(env, str("netem limit 10000 ", row.netem));
	Counted counted(env, row.shows);
	const int least = env.options.races >= many_races ? 20 : 2, most = 200;
	const bool shows = !row.shows.empty() && !counted.absent();

	/* Few super-packets may all have come through. */
	for (int round = 0; round < least || (shows && !counted.sum());
	     round++) {
		REQUIRE(round < most, "the path was a good one");
		traffic.begin();
		traffic.end();
	}
}

const bool registered = [] {
	for (const Row &row : rows)
		Register(str("lossy.", row.name),
			 str("messages of all kinds, in both directions: ",
			     row.what),
			 Needs::local, [&row](Env &env) { run_row(env, row); });
	return true;
}();

} // namespace

PV_TEST_LOCAL("lossy.cut_short",
	      "the path is cut until loss timers have expired, and is a shorter "
	      "one then: all arrives, without a loss timer for each packet")
{
	constexpr int pairs = 4;
	Traffic traffic(env, pairs, {.timeout = 16});
	Path path(env, "netem limit 10000 delay 1ms");
	Counted expired(env, {"local_ack_timeout_err"});

	traffic.begin();
	traffic.end();
	path.change("netem loss 100%");
	traffic.begin();
	if (expired.absent())
		throw Skip("nothing tells of loss timers");
	REQUIRE(eventually(env, [&] { return expired.sum() > 0; }), "no timer");
	path.change("netem loss 0%");
	/* How long the cut took is a matter of the machine. */
	const uint64_t before = expired.sum();
	traffic.end();
	/* Each end of a pair has one; what it sent last may have been lost before. */
	REQUIRE(expired.sum() - before <= 2 * pairs + 2, "loss timers expired ",
		expired.sum() - before,
		" times on the path that was there again, ", before,
		" times before");
}

PV_TEST_LOCAL("lossy.cut_for_long",
	      "the path is cut for longer than all retries: on both sides the "
	      "first request ends in an error, and all others are flushed")
{
	Traffic traffic(env, 4);
	Path path(env, silence);

	env.expect_async();
	traffic.begin();
	traffic.end_in_error();
}
