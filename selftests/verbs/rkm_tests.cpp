// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The remote key manager: walks over the keys in use, with the numbers of
 * sources.md#keys-memory (256 queue pairs, four slots each), and what they are for. Where
 * operations are to be under way at the end of their key: rkm_held_tests.cpp.
 */
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "manager.h"
#include "never.h"
#include "paged.h"
#include "qdisc.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr size_t vis = 256, slots = 4;

Mr bindable_pages(Env &env, uint64_t length = page, Handle pd = 0)
{
	return must_reg(env.b, {length, 0, bindable_access, pd});
}

/* Type 1: bound to nothing, so that its key ends. */
void end_of(Env &env, Side &side, Window &window)
{
	must_bind(env, side, window, {});
}

/* Queue pairs with slots, like that of @link at B: to be walked over, not to be used. */
void ready_to_receive(Env &env, const Link &link, size_t count)
{
	QpSpec spec;

	spec.send_cq = spec.recv_cq = link.b.send_cq.id;
	spec.cap = {1, 1, 1, 1, 0};
	for (size_t i = 0; i < count; i++) {
		Side side = link.b;

		side.qp = env.b.create_qp(spec);
		REQUIRE(!side.qp.error, "create_qp");
		must_modify(side, init_attr(link.spec), init_mask, "to INIT");
		must_modify(side, rtr_attr(link, side, link.a), rtr_mask,
			    "to RTR");
	}
}

/* Posts one request again and again until it is told to stop; all must succeed. */
class Traffic {
public:
	Traffic(Env &env, Link &link, SendWr wr)
		: thread_([&env, &link, wr, this] { run(env, link, wr); })
	{
	}

	~Traffic()
	{
		if (thread_.joinable())
			finish();
	}

	/* Return: how many there were. */
	uint64_t finish()
	{
		stop_ = true;
		thread_.join();
		return done_;
	}

	/* How many there are in a second in which that is done all the time. */
	double rate(const std::function<void()> &meanwhile) const
	{
		using namespace std::chrono;
		const auto began = steady_clock::now();
		const uint64_t before = done_;
		duration<double> taken;

		do {
			meanwhile();
			taken = steady_clock::now() - began;
		} while (taken.count() < 0.5);
		return double(done_ - before) / taken.count();
	}

	uint64_t failed() const { return failed_; }

private:
	void run(Env &env, Link &link, SendWr wr)
	{
		while (!stop_) {
			if (env.a.post_send(link.a.qp.id, {wr}).error)
				break;
			auto wcs = env.a.poll(link.a.send_cq.id, 1,
					      env.options.patience_ms);
			if (wcs.size() != 1 || wcs[0].status) {
				failed_++;
				break;
			}
			done_++;
		}
	}

	std::atomic<bool> stop_{false};
	std::atomic<uint64_t> done_{0}, failed_{0};
	std::thread thread_;
};

} // namespace

PV_TEST_LOCAL("rkm.walk_visits_all", "256 queue pairs, one PD, no key in use: "
				     "1024 slots, none cleared, one walk")
{
	std::vector<Link> links = many_links(env, vis);
	Window window(env.b, IBV_MW_TYPE_1);

	must_bind(env, links[0].b, window, {bindable_pages(env), 0, page});
	Moved walks(env.b, "rkm_walks"), qps(env.b, "rkm_qps"),
		keys(env.b, "rkm_keys"), matches(env.b, "rkm_matches");
	end_of(env, links[0].b, window);
	REQUIRE_EQ(walks.by(), 1u, "walks");
	REQUIRE_EQ(qps.by(), vis, "queue pairs");
	REQUIRE_EQ(keys.by(), vis * slots, "slots");
	REQUIRE_EQ(matches.by(), 0u, "matches");
}

PV_TEST_LOCAL("rkm.pd_first", "the PD differs on all but one of 256: its four "
			      "slots alone are compared")
{
	Pd other = env.b.alloc_pd();
	std::vector<Link> links = many_links(env, vis - 1);
	std::vector<Link> own = many_links(env, 1, other.id);
	Window window(env.b, IBV_MW_TYPE_1, other.id);

	must_bind(env, own[0].b, window,
		  {bindable_pages(env, page, other.id), 0, page});
	Parameter all("rkm_full_walk", "Y");
	Moved qps(env.b, "rkm_qps"), fail(env.b, "rkm_pd_fail"),
		keys(env.b, "rkm_keys");
	end_of(env, own[0].b, window);
	/* The adapter has a queue pair 1, too. */
	REQUIRE(qps.by() >= vis, qps.by(), " queue pairs");
	REQUIRE_EQ(fail.by(), qps.by() - 1, "of another PD");
	REQUIRE_EQ(keys.by(), slots, "slots compared");
}

PV_TEST_LOCAL("rkm.invalid_slot", "operations that are over match nothing, "
				  "though they used the key")
{
	std::vector<Link> links = many_links(env, 2);
	Window window(env.b, IBV_MW_TYPE_1);
	BindSpec spec = {bindable_pages(env), 0, page};
	Mr here = must_reg(env.a, {page});

	must_bind(env, links[0].b, window, spec);
	for (Op op : {Op::write, Op::read})
		exchange(env, links[0].a, links[0].b, op, {here, 0},
			 {view_of(window, spec), 0}, page);
	Moved keys(env.b, "rkm_keys"), matches(env.b, "rkm_matches");
	end_of(env, links[0].b, window);
	REQUIRE_EQ(keys.by(), 2 * slots, "slots");
	REQUIRE_EQ(matches.by(), 0u, "matches");
}

/*
 * The slot of writes has in turn the key that ends and one that does not. UC: a write by
 * the former is dropped where its key ends; each by the latter has to come in whole.
 */
PV_TEST_TWO_CPUS(
	"rkm.responder_first",
	"a responder whose slot has another key by the time the walk is "
	"there: that one is not taken, and keys in use are ended")
{
	Link link = connect(env, {.type = IBV_QPT_UC, .mtu = 256}),
	     binder = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);
	BindSpec spec = {bindable_pages(env), 0, page};
	Mr out = must_reg(env.a, {page}), in = must_reg(env.b, {page});
	std::atomic<uint32_t> key{0};
	std::atomic<bool> stop{false}, lost{false};
	std::atomic<uint64_t> came{0};

	must_bind(env, binder.b, window, spec);
	key = window->rkey;
	std::thread writer([&] {
		while (!stop && !lost) {
			SendWr ends = make_wr(Op::write, {out, 0}, page,
					      {spec.mr, 0});
			SendWr stays =
				make_wr(Op::write, {out, 0}, page, {in, 0});
			const uint64_t seed = came + 1;

			env.a.fill(out.id, 0, page, seed, 0);
			ends.rkey = key;
			ends.flags = 0;
			env.a.post_send(link.a.qp.id, {ends, stays});
			env.a.poll(link.a.send_cq.id, 1,
				   env.options.patience_ms);
			lost = !eventually(env, [&] {
				return env.b.verify(in.id, 0, page, seed, 0) ==
				       -1;
			});
			came += !lost;
		}
	});
	Moved walks(env.b, "rkm_walks"), matches(env.b, "rkm_matches");
	uint64_t rounds = 0;
	do
		for (int i = 0; i < 500 && !lost; i++, rounds++) {
			must_bind(env, binder.b, window, spec);
			key = window->rkey;
		}
	while (!lost && (came < 50 || matches.by() < 20));
	stop = true;
	writer.join();
	note(str(walks.by(), " walks, ", matches.by(), " keys in use; ",
		 came.load(), " writes by the other key"));
	REQUIRE(!lost, "a write by a key that did not end was lost");
	REQUIRE_EQ(walks.by(), rounds, "walks");
	REQUIRE(matches.by() >= 20, matches.by(), " keys in use");
}

/*
 * UC, because no responder answers there and no queue pair ends: a write with a dead key
 * is dropped, and the next one may be good.
 */
PV_TEST_TWO_CPUS("rkm.race", "writes race with the end of their key, --races "
			     "times: after its completion no byte changes")
{
	constexpr uint64_t canary = 0x0123456789abcdef;
	Link link = connect(env, {.type = IBV_QPT_UC}), binder = connect(env);
	Mr in = bindable_pages(env), out = must_reg(env.a, {page});
	Window window(env.b, IBV_MW_TYPE_1);
	BindSpec spec = {in, 0, page};
	uint64_t hits = 0;

	env.a.store(out.id, 0, ~canary);
	Writer writer(env, link, make_wr(Op::write, {out, 0}, 8, {in, 0}));
	for (uint32_t round = 0; round < env.options.races; round++) {
		must_bind(env, binder.b, window, spec);
		env.b.store(in.id, 0, 0);
		writer.key = window->rkey;
		/* Now and then wait for one, or all might be late. */
		while (round % 16 == 0 && env.b.load(in.id, 0) != ~canary)
			std::this_thread::yield();
		end_of(env, binder.b, window);
		hits += env.b.load(in.id, 0) == ~canary;
		env.b.store(in.id, 0, canary);
		for (int i = 0; i < 4; i++)
			REQUIRE_EQ(env.b.load(in.id, 0), canary, "round ",
				   round);
	}
	note(str(env.options.races, " ends of a key, ", hits,
		 " of them after a write by it"));
	REQUIRE(hits >= env.options.races / 16, hits, " hits");
}

namespace {

/* False: the write was over before its key. */
bool move_in_the_middle(Env &env)
{
	constexpr uint64_t size = 16 << 20;
	Link link = connect(env), fresh = connect(env), binder = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);
	Mr first = bindable_pages(env, size),
	   second = bindable_pages(env, size);
	Mr out = must_reg(env.a, {size});
	const uint64_t seed = env.seed(), canary = env.seed();
	BindSpec spec = {first, 0, size}, moved = {second, 0, size};

	env.a.fill(out.id, 0, size, seed, 0);
	must_bind(env, binder.b, window, spec);
	Mr old = view_of(window, spec);
	SendWr write = make_wr(Op::write, {out, 0}, size, {old, 0});
	Qdisc slow(env.a, narrow);
	must_post(link.a, write);
	while (env.b.verify(first.id, 0, 8, seed, 0) != -1)
		std::this_thread::yield();
	must_bind(env, binder.b, window, moved);
	const bool over = env.b.verify(first.id, size - page, page, seed,
				       size - page) == -1;
	env.b.fill(first.id, 0, size, canary, 0);
	check_wc(wait_send(env, link.a, "write", size), write.id,
		 over ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR, "write");
	must_match(env.b, first, 0, size, canary, 0, "after the move");
	must_refuse(env, old, 0, Op::write, "the old key");
	exchange(env, fresh.a, fresh.b, Op::write, {out, 0},
		 {view_of(window, moved), 0}, page);
	REQUIRE_EQ(env.a.destroy(Kind::mr, out.id), 0, "dereg_mr");
	REQUIRE_EQ(env.b.destroy(Kind::mr, first.id), 0, "dereg_mr");
	return !over;
}

} // namespace

PV_TEST_LOCAL("rkm.write_in_the_middle", "the window of a long write moves: "
					 "not a byte more is written, the old "
					 "key is dead, the new one works")
{
	constexpr int most = 8;
	int tried = 1;

	env.expect_async();
	while (!move_in_the_middle(env))
		REQUIRE(tried++ < most,
			"the write was over before its key, again and again");
}

PV_TEST_LOCAL("rkm.five_bytes", "a window of five bytes: the fifth can be "
				"written, the sixth cannot")
{
	Link link = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);
	BindSpec spec = {bindable_pages(env), 1001, 5};
	Mr here = must_reg(env.a, {page});

	must_bind(env, link.b, window, spec);
	for (uint64_t i = 0; i < 5; i++)
		exchange(env, link.a, link.b, Op::write, {here, 0},
			 {view_of(window, spec), int64_t(1001 + i)}, 1);
	env.expect_async();
	SendWr wr =
		make_wr(Op::write, {here, 0}, 1, {view_of(window, spec), 1006});
	must_send(env, link.a, wr, "the sixth", IBV_WC_REM_ACCESS_ERR);
}

PV_TEST_LOCAL("rkm.two_binds", "two at once on different queue pairs: both "
			       "complete, by one walk or by two")
{
	std::vector<Link> links = many_links(env, vis);
	Link first = connect(env), second = connect(env);
	Window one(env.b, IBV_MW_TYPE_1), two(env.b, IBV_MW_TYPE_1);
	Mr mr = bindable_pages(env);

	for (int round = 0; round < 20; round++) {
		must_bind(env, first.b, one, {mr, 0, page});
		must_bind(env, second.b, two, {mr, 0, page});
		Moved walks(env.b, "rkm_walks"), keys(env.b, "rkm_requests");
		uint64_t a = post_bind(first.b, one, {});
		uint64_t b = post_bind(second.b, two, {});
		expect_send(env, first.b, a, "one");
		expect_send(env, second.b, b, "two");
		REQUIRE_EQ(keys.by(), 2u, "keys");
		REQUIRE(walks.by() == 1 || walks.by() == 2, walks.by(),
			" walks");
	}
}

/*
 * A walk over 16,384 queue pairs (--many in wide runs) takes milliseconds: writes that
 * waited for it would all but stand still.
 */
PV_TEST_LOCAL("rkm.other_traffic", "traffic goes on while --many queue pairs "
				   "are walked over")
{
	Link link = connect(env), binder = connect(env);
	LinkSpec apart = {.pd_b = env.b.alloc_pd().id};
	Link alone = connect(env, apart);
	Window window(env.b, IBV_MW_TYPE_1),
		other(env.b, IBV_MW_TYPE_1, apart.pd_b);
	Mr out = must_reg(env.a, {page}), in = must_reg(env.b, {page});
	BindSpec spec = {bindable_pages(env), 0, page};
	BindSpec quiet = {bindable_pages(env, page, apart.pd_b), 0, page};

	ready_to_receive(env, binder, env.options.many);
	Traffic traffic(env, link, make_wr(Op::write, {out, 0}, 8, {in, 0}));
	/* As many requests, and walks over one queue pair. */
	double without = traffic.rate([&] {
		must_bind(env, alone.b, other, quiet);
		end_of(env, alone.b, other);
	});
	Moved walks(env.b, "rkm_walks"), ns(env.b, "rkm_walk_ns"),
		qps(env.b, "rkm_qps");
	double with = traffic.rate([&] {
		must_bind(env, binder.b, window, spec);
		end_of(env, binder.b, window);
	});

	traffic.finish();
	REQUIRE_EQ(traffic.failed(), 0u, "failed writes");
	REQUIRE(walks.by() > 0, "walks");
	REQUIRE_EQ(qps.by(), walks.by() * (env.options.many + 2),
		   "queue pairs");
	note(str(int(with), " writes a second beside ", walks.by(),
		 " walks over ", env.options.many + 2, " queue pairs, ",
		 ns.by() / walks.by(), " ns each; ", int(without),
		 " beside short ones"));
	REQUIRE(with * 8 > without, "writes wait for walks");
}

PV_TEST_LOCAL("rkm.second_walk", "a second walk begins at the first queue pair "
				 "again and sees them all")
{
	std::vector<Link> links = many_links(env, vis);
	Window window(env.b, IBV_MW_TYPE_1);
	Mr mr = bindable_pages(env);

	for (int walk = 0; walk < 2; walk++) {
		must_bind(env, links[0].b, window, {mr, 0, page});
		Moved keys(env.b, "rkm_keys");
		end_of(env, links[0].b, window);
		REQUIRE_EQ(keys.by(), vis * slots, "walk ", walk);
	}
}

/*
 * It is rdma core that refuses it, before pavo hears of it: handles of an open device are
 * not found in another.
 */
PV_TEST_LOCAL("rkm.foreign_cq", "a queue pair cannot complete to another "
				"process's queue")
{
	ibv_context *other = ibv_open_device(local(env.b).context()->device);
	REQUIRE(other, "open");
	std::vector<ibv_cq *> cqs;
	/* Handles count from the same number in each: have one more. */
	for (int i = 0; i < 16; i++)
		cqs.push_back(ibv_create_cq(other, 16, nullptr, nullptr, 0));
	Pd pd = env.b.alloc_pd();
	ibv_qp_init_attr init = {.send_cq = cqs.back(),
				 .recv_cq = cqs.back(),
				 .cap = {1, 1, 1, 1, 0},
				 .qp_type = IBV_QPT_RC};
	ibv_qp *qp = ibv_create_qp(local(env.b).raw_pd(pd.id), &init);
	if (qp)
		ibv_destroy_qp(qp);
	for (ibv_cq *cq : cqs)
		ibv_destroy_cq(cq);
	ibv_close_device(other);
	REQUIRE(!qp, "it was made");
}

PV_TEST_LOCAL("rkm.no_slots",
	      "queue pairs that cannot receive yet have no keys "
	      "in use: nothing is compared")
{
	std::vector<Link> links;
	Link binder = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);

	for (int i = 0; i < 8; i++)
		links.push_back(make_link(env));
	must_bind(env, binder.b, window, {bindable_pages(env), 0, page});
	Moved qps(env.b, "rkm_qps"), keys(env.b, "rkm_keys");
	end_of(env, binder.b, window);
	REQUIRE_EQ(qps.by(), links.size() + 1, "queue pairs");
	REQUIRE_EQ(keys.by(), 1u + binder.rd_atomic, "slots of the binder");
}

PV_TEST_LOCAL("rkm.send_inv_waits",
	      "a send with invalidate that waits for a long "
	      "walk: length, data and key are right")
{
	std::vector<Link> links = many_links(env, vis);
	Link link = connect(env);
	Mr out = must_reg(env.a, {5 * page}), in = must_reg(env.b, {5 * page});

	for (uint32_t length : {uint32_t(100), uint32_t(5 * page)}) {
		Window window(env.b, IBV_MW_TYPE_2);
		const uint64_t seed = env.seed();

		must_bind(env, link.b, window, {bindable_pages(env), 0, page});
		env.a.fill(out.id, 0, length, seed, 0);
		SendWr wr = send_inv({out, 0}, length, window->rkey);

		must_post(link.b, RecvWr{1, {{in.id, 0, 5 * page, 0}}});
		must_post(link.a, wr);
		Wc wc = expect_recv(env, link.b, 1, "receive");
		REQUIRE_EQ(wc.byte_len, length, "its length");
		REQUIRE_EQ(key_of(wc), window->rkey, "its key");
		must_match(env.b, in, 0, length, seed, 0, "its data");
		expect_send(env, link.a, wr.id, "send");
	}
}

PV_TEST_LOCAL("rkm.dump",
	      "the dump of remote key memory shows the key of a write "
	      "while it is under way, and nothing before and after")
{
	Link link = connect(env), stuck = connect(env, {.timeout = 0});
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64});
	const std::vector<std::string> none(1u + link.rd_atomic, "-");
	Never never(1);
	RawMr region = on_demand(env.b, never.memory, page);
	Mr there = {.address = uintptr_t(never.memory), .rkey = region->rkey};
	Moved asked(env.b, "odp_faults");
	char key[9];

	snprintf(key, sizeof(key), "%08x", there.rkey);
	exchange(env, link.a, link.b, Op::write, {out, 0}, {in, 0}, 64);
	REQUIRE(slots_of(link.b) == none, "after a write");

	REQUIRE(slots_of(stuck.b) == none, "before a write");
	must_post(stuck.a, make_wr(Op::write, {out, 0}, 8, {there, 0}));
	REQUIRE(eventually(env, [&] { return asked.by() == 1; }), "fault");
	std::vector<std::string> slots = slots_of(stuck.b);
	REQUIRE(slots[0].starts_with(key), slots[0], ", not ", key);
	slots[0] = "-";
	REQUIRE(slots == none, "slots of reads");
	to_state(stuck.b, IBV_QPS_RESET);
	REQUIRE(slots_of(stuck.b) == none, "after the end of its queue pair");
}
