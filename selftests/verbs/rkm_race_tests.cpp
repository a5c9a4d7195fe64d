// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Races of peers' operations with the end of their key (LOCAL_INV, deallocation of the
 * window, the end of its queue pair, deregistration, re-registration without rights) on more queue pairs than are walked over at
 * once: once it is over no byte changes, and none that was written later leaves.
 * A round ends one key on each of sixteen queue pairs while another thread uses them.
 */
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "manager.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr size_t racers = 16, bystanders = 24;
constexpr uint64_t page = 4096, apart = 64;
constexpr uint32_t few_rounds = 50;

/* What is in the memory of a window before its end, and what is there afterwards. */
constexpr uint64_t early = 0x0123456789abcdef, late = ~early;
/* What is written to it. */
constexpr uint64_t written = 0x5555aaaa5555aaaa;

/* As many races as are asked for (--races) only where there is much time. */
uint32_t rounds_of(const Env &env)
{
	const uint32_t races = env.options.races;

	return std::max<uint32_t>(
		(races < 1000000 ? races / 50 : races) / racers, few_rounds);
}

/* Of ends that take longer: up to a second for all of a round's queue pairs. */
uint32_t fewer_rounds_of(const Env &env)
{
	return std::max(rounds_of(env) / 400, few_rounds);
}

/* How keys end. */
enum class By { local_inv, dealloc, queue_pair, dereg, rereg };

/*
 * Eight bytes with a key, a queue pair of its own, and what its peer does. The key is of a
 * window, or of a region.
 */
struct Racer {
	Racer(Env &env, Link pair, const Mr &memory, size_t number)
		: link(std::move(pair)),
		  window(std::make_unique<Window>(env.b, IBV_MW_TYPE_2)),
		  at(int64_t(number * apart)), spec{memory, at, 8},
		  reads(link.spec.type == IBV_QPT_RC && number % 2)
	{
	}

	Link link;
	std::unique_ptr<Window> window;
	ibv_mr *region = nullptr;
	uint32_t key = 0;
	int64_t at;
	BindSpec spec;
	bool reads;
};

/* How the operations of all rounds ended. */
struct Ends {
	uint64_t keys = 0;
	uint64_t first = 0; /* the operation was first: it was carried out */
	uint64_t refused = 0; /* the end of its key was */
	uint64_t flushed =
		0; /* ends of keys on a queue pair that was refused */
};

class Races {
public:
	Races(Env &env, ibv_qp_type type, By by)
		: env_(env), by_(by),
		  memory_(must_reg(env.b, {page, 0, bindable_access})),
		  out_(must_reg(env.a, {8})), in_(must_reg(env.a, {page}))
	{
		LinkSpec spec;

		spec.type = type;
		spec.cap = {4, 4, 1, 1, 0};
		spec.rd_atomic = 1;
		spec.cq_a = env.a.create_cq(1024, false);
		spec.cq_b = env.b.create_cq(1024, false);
		for (size_t i = 0; i < racers; i++)
			racers_.emplace_back(env, connect(env, spec), memory_,
					     i);
		for (size_t i = 0; i < bystanders; i++)
			others_.push_back(connect(env, spec));
		env.a.store(out_.id, 0, written);
		peer_ = std::thread([this] { be_the_peer(); });
	}

	~Races()
	{
		round_ = ~0u;
		allowed_ = racers;
		peer_.join();
		for (Racer &racer : racers_)
			if (racer.region)
				ibv_dereg_mr(racer.region);
	}

	/* So many, or up to eight times as many until they were races. */
	void run(uint32_t rounds)
	{
		for (uint32_t round = 1;
		     round <= rounds || (!races() && round <= 8 * rounds);
		     round++) {
			bind_all();
			posted_ = 0;
			/* The end of an object takes longer than all operations. */
			allowed_ = by_ == By::local_inv ? racers : 0;
			over_ = 0;
			round_ = round;
			end_all();
			while (over_ != round)
				std::this_thread::yield();
			check_all(round);
		}
		drain();
	}

	const Ends &ends() const { return ends_; }

	/* Each came first now and then. A few rounds may all go one way. */
	bool races() const
	{
		const bool reliable = racers_[0].link.spec.type == IBV_QPT_RC;

		return by_ != By::local_inv ||
		       (ends_.first >= ends_.keys / 64 &&
			(!reliable || ends_.refused >= ends_.keys / 64));
	}

private:
	/* ------------------------------------------ the peers, in a thread */

	void be_the_peer()
	{
		for (uint32_t seen = 0;;) {
			while (round_ == seen)
				std::this_thread::yield();
			seen = round_;
			if (seen == ~0u)
				return;
			for (Racer &racer : racers_) {
				while (posted_ >= allowed_)
					std::this_thread::yield();
				posted_++;
				use(racer);
			}
			for (const Wc &wc :
			     env_.a.poll(racers_[0].link.a.send_cq.id, racers,
					 env_.options.patience_ms))
				status_of_[wc.id] = wc.status;
			over_ = seen;
		}
	}

	void use(Racer &racer)
	{
		size_t number = size_t(&racer - racers_.data());
		SendWr wr = make_wr(racer.reads ? Op::read : Op::write,
				    {racer.reads ? in_ : out_,
				     racer.reads ? racer.at : 0},
				    8, {memory_, racer.at});

		wr.id = number;
		wr.rkey = racer.key;
		status_of_[number] = lost;
		env_.a.post_send(racer.link.a.qp.id, {wr});
	}

	/* --------------------------------------------------- whose keys end */

	void bind_all()
	{
		for (Racer &racer : racers_) {
			env_.b.store(memory_.id, racer.at, early);
			env_.a.store(in_.id, racer.at, 0);
			if (!of_window()) {
				open_region(racer);
				continue;
			}
			if (!racer.link.b.qp.id)
				connect_anew(racer);
			if (!racer.window)
				racer.window = std::make_unique<Window>(
					env_.b, IBV_MW_TYPE_2);
			post_bind(racer.link.b, *racer.window, racer.spec);
			racer.key = (*racer.window)->rkey;
		}
		if (!of_window())
			return;
		for (const Wc &wc : completions("binds"))
			REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS, "bind");
	}

	bool of_window() const
	{
		return by_ == By::local_inv || by_ == By::dealloc ||
		       by_ == By::queue_pair;
	}

	void connect_anew(Racer &racer)
	{
		REQUIRE_EQ(env_.a.destroy(Kind::qp, racer.link.a.qp.id), 0,
			   "destroy_qp at A");
		racer.link = connect(env_, racer.link.spec);
	}

	/* A new region, or the same one with the rights that it had lost. */
	void open_region(Racer &racer)
	{
		LocalHost &host = local(env_.b);

		if (racer.region)
			change_access(racer, all_access);
		else
			racer.region =
				ibv_reg_mr(host.raw_pd(0),
					   host.memory(memory_.id) + racer.at,
					   8, int(all_access));
		REQUIRE(racer.region, "reg_mr");
		racer.key = racer.region->rkey;
	}

	void change_access(Racer &racer, unsigned access)
	{
		REQUIRE_EQ(ibv_rereg_mr(racer.region,
					IBV_REREG_MR_CHANGE_ACCESS, nullptr,
					nullptr, 0, int(access)),
			   0, "rereg_mr");
	}

	/* When it has returned nobody uses the key. */
	void end_object(Racer &racer)
	{
		if (by_ == By::dealloc) {
			REQUIRE_EQ(racer.window->free(), 0, "dealloc_mw");
			racer.window.reset();
			return;
		}
		if (by_ == By::queue_pair) {
			REQUIRE_EQ(env_.b.destroy(Kind::qp, racer.link.b.qp.id),
				   0, "destroy_qp");
			racer.link.b.qp.id = 0;
			return;
		}
		if (by_ == By::rereg) {
			change_access(racer, IBV_ACCESS_LOCAL_WRITE);
			return;
		}
		REQUIRE_EQ(ibv_dereg_mr(racer.region), 0, "dereg_mr");
		racer.region = nullptr;
	}

	/* Until the peer is about to use it, and a little longer, or not. */
	void wait_for_turn(size_t i)
	{
		auto turns = delay_ + random_() % 512;

		while (posted_ <= i)
			std::this_thread::yield();
		while (turns--)
			std::atomic_signal_fence(std::memory_order_seq_cst);
	}

	void end_all()
	{
		std::map<uint64_t, size_t> number_of;

		for (size_t i = 0; i < racers; i++) {
			Racer &racer = racers_[i];

			allowed_ = std::max<size_t>(allowed_, i + 1);
			wait_for_turn(i);
			if (by_ == By::local_inv) {
				number_of[post_local_inv(racer.link.b,
							 racer.key)] = i;
				continue;
			}
			end_object(racer);
			note_end(i, true);
		}
		if (by_ != By::local_inv)
			return;
		/* Its peer may have brought the queue pair to its end before. */
		for (const Wc &wc : completions("ends of keys")) {
			size_t i = number_of.at(wc.id);

			bool ended = wc.status == IBV_WC_SUCCESS;
			REQUIRE(ended || wc.status == IBV_WC_WR_FLUSH_ERR,
				"end of a key: ", ibv_wc_status_str(wc.status));
			note_end(i, ended);
		}
	}

	void note_end(size_t i, bool ended)
	{
		ended_[i] = ended;
		at_its_end_[i] = env_.b.load(memory_.id, racers_[i].at);
		if (ended)
			env_.b.store(memory_.id, racers_[i].at, late);
	}

	void check_all(uint32_t round)
	{
		size_t late_ones = 0;

		for (size_t i = 0; i < racers; i++) {
			Racer &racer = racers_[i];
			const bool good = status_of_[i] == IBV_WC_SUCCESS;

			ends_.keys++;
			ends_.flushed += !ended_[i];
			if (ended_[i])
				check(racer, i, round);
			if (racer.link.spec.type == IBV_QPT_UC) {
				ends_.first += at_its_end_[i] == written;
				late_ones += at_its_end_[i] != written;
				continue;
			}
			REQUIRE(good || status_of_[i] == IBV_WC_REM_ACCESS_ERR,
				"round ", round, ": operation ", i, ": ",
				status_of_[i]);
			ends_.first += good;
			ends_.refused += !good;
			late_ones += !good;
			if (!good)
				revive(racer.link);
		}
		aim(late_ones);
	}

	/*
	 * Most operations shall be a little earlier than the end of their key: to make
	 * a queue pair anew takes longer than all else.
	 */
	void aim(size_t late_ones)
	{
		const unsigned step = by_ == By::local_inv ? 64 : 1024;

		if (late_ones * 8 > racers)
			delay_ += step;
		else
			delay_ -= std::min(delay_, step / 4);
	}

	void check(Racer &racer, size_t i, uint32_t round)
	{
		REQUIRE_EQ(env_.b.load(memory_.id, racer.at), late, "round ",
			   round, ": memory of key ", i);
		if (!racer.reads)
			return;
		uint64_t got = env_.a.load(in_.id, racer.at);
		REQUIRE_EQ(got,
			   status_of_[i] == IBV_WC_SUCCESS ? early :
							     uint64_t(0),
			   "round ", round, ": read by key ", i);
	}

	void revive(Link &link)
	{
		to_state(link.a, IBV_QPS_RESET);
		to_state(link.b, IBV_QPS_RESET);
		bring_up(link);
		if (++revived_ % 256 == 0)
			drain();
	}

	/* Nobody looks at the events of queue pairs that were refused. */
	void drain()
	{
		for (Host *host : {&env_.a, &env_.b})
			while (host->async_event(0).type >= 0)
				;
	}

	std::vector<Wc> completions(const char *what)
	{
		Side &side = racers_[0].link.b;

		return wait_completions(env_, side, side.send_cq, racers, what);
	}

	static constexpr int lost = -1;

	Env &env_;
	const By by_;
	Mr memory_;
	Mr out_;
	Mr in_;
	std::vector<Racer> racers_;
	std::vector<Link> others_;
	std::mt19937 random_{1};
	Ends ends_;
	uint64_t revived_ = 0;
	unsigned delay_ = 0;
	int status_of_[racers] = {};
	bool ended_[racers] = {};
	uint64_t at_its_end_[racers] = {};
	std::atomic<uint32_t> round_{0}, over_{0};
	std::atomic<size_t> posted_{0}, allowed_{0};
	std::thread peer_;
};

void race(Env &env, ibv_qp_type type, By by, uint32_t rounds)
{
	Moved matches(env.b, "rkm_matches"), stalls(env.b, "rkm_stalls");
	Races races(env, type, by);

	env.expect_async();
	races.run(rounds);
	const Ends &ends = races.ends();
	note(str(ends.keys, " ends of a key, ", ends.first,
		 " of them after the operation, ", ends.refused, " before it; ",
		 matches.by(), " found in use, ", stalls.by(),
		 " just being copied, ", ends.flushed, " flushed"));
	REQUIRE(ends.keys >= uint64_t(rounds) * racers, "ends of keys");
	REQUIRE(races.races(), "one of the two nearly always came first");
}

} // namespace

PV_TEST_LOCAL("rkm.race_many", "writes race with LOCAL_INV on 40 queue pairs "
			       "(UC): after its completion no byte changes")
{
	race(env, IBV_QPT_UC, By::local_inv, rounds_of(env));
}

PV_TEST_LOCAL("rkm.race_reliable",
	      "writes and reads race with LOCAL_INV on 40 queue pairs (RC): "
	      "after its completion no byte changes or leaves")
{
	race(env, IBV_QPT_RC, By::local_inv, rounds_of(env));
}

PV_TEST_LOCAL("rkm.race_dereg",
	      "writes and reads race with deregistration on 40 "
	      "queue pairs: after its return no byte changes "
	      "or leaves")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, By::dereg, fewer_rounds_of(env));
}

PV_TEST_LOCAL("rkm.race_rereg", "the same with re-registration that takes the "
				"rights of peers")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, By::rereg, fewer_rounds_of(env));
}

PV_TEST_LOCAL("rkm.race_dealloc", "the same with deallocation of the window")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, By::dealloc, fewer_rounds_of(env));
}

PV_TEST_LOCAL("rkm.race_queue_pair",
	      "writes (UC) race with the end of the queue pair that the window "
	      "was bound by: after its return no byte changes")
{
	race(env, IBV_QPT_UC, By::queue_pair, fewer_rounds_of(env));
}
