// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Races of peers' operations with the end of their key (LOCAL_INV, send with invalidate,
 * the move of a window, its deallocation, the end of its queue pair, deregistration,
 * re-registration without rights) on more queue pairs than are walked over at once: once
 * it is over no byte changes, and none that was written later leaves.
 * A round ends one key on each of sixteen queue pairs while another thread uses them.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "../common/pattern.h"
#include "manager.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr size_t racers = 16, race_bystanders = 24;

/* The peers' operations: of so many bytes, in packets of so many at most. */
struct Shape {
	uint32_t bytes = 8;
	int mtu = 0; /* 0: as large as they can be */
};

/* How far it is the pattern. */
size_t same(const uint8_t *at, const std::vector<uint8_t> &all)
{
	return size_t(std::mismatch(all.begin(), all.end(), at).first -
		      all.begin());
}

/* Of what is slow. On a kernel with checkers fewer races are asked for. */
uint32_t few_rounds_of(const Env &env)
{
	return std::clamp<uint32_t>(env.options.races / 600, 10, 50);
}

/* Of all races that are asked for (--races) the half, but only where there is much time. */
uint32_t rounds_of(const Env &env)
{
	const uint32_t races = env.options.races;

	return std::max<uint32_t>(races / (races < many_races ? 50 : 2) /
					  racers,
				  few_rounds_of(env));
}

/* Where it is another way to end a key than LOCAL_INV, which has had them all. */
uint32_t some_rounds_of(const Env &env)
{
	return std::max(rounds_of(env) / 32, few_rounds_of(env));
}

/* Of ends that take longer: up to a second for all of a round's queue pairs. */
uint32_t fewer_rounds_of(const Env &env)
{
	return std::max(rounds_of(env) / 400, few_rounds_of(env));
}

/* How keys end. */
enum class EndedBy {
	local_inv,
	send_inv,
	move,
	dealloc,
	queue_pair,
	dereg,
	rereg
};

/*
 * Some bytes with a key, a queue pair of its own, and what its peer does. The key is of a
 * window, or of a region.
 */
struct Racer {
	Racer(Env &env, Link pair, ibv_mw_type type, const BindSpec &place,
	      EndedBy by, size_t number)
		: link(std::move(pair)),
		  window(std::make_unique<Window>(env.b, type)),
		  at(place.offset), spec(place),
		  reads(link.spec.type == IBV_QPT_RC &&
			(by == EndedBy::local_inv || number % 2))
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
	uint64_t flushed = 0; /* of its queue pair, which was refused */

	/* After so many of them no byte may change or leave. */
	uint64_t ended() const { return keys - flushed; }
};

class Races {
public:
	Races(Env &env, ibv_qp_type type, EndedBy by, const Shape &shape)
		: env_(env), by_(by), bytes_(shape.bytes),
		  half_(racers * std::max<uint64_t>(bytes_, 64)),
		  early_(common::pattern<uint8_t>(1, bytes_)),
		  late_(common::pattern<uint8_t>(2, bytes_)),
		  written_(common::pattern<uint8_t>(3, bytes_)),
		  none_(common::pattern<uint8_t>(4, bytes_)),
		  memory_(must_reg(env.b, {2 * half_, 0, bindable_access})),
		  out_(must_reg(env.a, {bytes_})), in_(must_reg(env.a, {half_}))
	{
		LinkSpec spec = {.type = type,
				 .mtu = shape.mtu,
				 .rd_atomic = 1,
				 .cap = {4, 4, 1, 1, 0},
				 .cq_a = env.a.create_cq(1024, false),
				 .cq_b = env.b.create_cq(1024, false)};

		for (size_t i = 0; i < racers; i++)
			racers_.emplace_back(
				env, connect(env, spec),
				by == EndedBy::move ? IBV_MW_TYPE_1 :
						      IBV_MW_TYPE_2,
				BindSpec{memory_, int64_t(i * half_ / racers),
					 bytes_},
				by, i);
		for (size_t i = 0; i < race_bystanders; i++)
			others_.push_back(connect(env, spec));
		put(at_a(out_, 0), written_);
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

	/* Until so many rounds' keys have ended, and were races; or up to eight times as many. */
	void run(uint32_t rounds)
	{
		const uint64_t wanted = uint64_t(rounds) * racers;
		/* Beside other guests it takes longer to find out how long to wait. */
		const auto end = std::chrono::steady_clock::now() +
				 std::chrono::seconds(20);

		for (uint32_t round = 1;
		     (ends_.ended() < wanted || !races()) &&
		     (round <= 8 * rounds ||
		      std::chrono::steady_clock::now() < end);
		     round++) {
			bind_all();
			posted_ = 0;
			/* The end of an object takes longer than all operations. */
			allowed_ = by_request() ? racers : 0;
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

	/*
	 * Each came first now and then. A few rounds may all go one way; a send with
	 * invalidate is in order with what is on its queue pair, so that a slow machine
	 * may have all of them one way: it races with the answers.
	 */
	bool races() const
	{
		const bool reliable = racers_[0].link.spec.type == IBV_QPT_RC;

		return !by_request() || by_ == EndedBy::send_inv ||
		       (ends_.first >= ends_.keys / 64 &&
			(!reliable || ends_.refused >= ends_.keys / 64));
	}

private:
	/* Is it a work request that ends keys? Else a call. */
	bool by_request() const
	{
		return by_ == EndedBy::local_inv || by_ == EndedBy::send_inv ||
		       by_ == EndedBy::move;
	}

	bool of_window() const
	{
		return by_ != EndedBy::dereg && by_ != EndedBy::rereg;
	}

	uint8_t *at_a(const Mr &mr, int64_t at)
	{
		return local(env_.a).memory(mr.id) + at;
	}

	/* Where its key is of, and where its window moves to. */
	uint8_t *place(const Racer &racer)
	{
		return local(env_.b).memory(memory_.id) + racer.at;
	}
	uint8_t *next_place(const Racer &racer) { return place(racer) + half_; }

	static void put(uint8_t *at, const std::vector<uint8_t> &all)
	{
		memcpy(at, all.data(), all.size());
	}

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
				spin(-delay_);
				use(racer);
			}
			/* A send with invalidate is behind one, or before. */
			const uint32_t all =
				by_ == EndedBy::send_inv ? 2 * racers : racers;
			for (const Wc &wc :
			     env_.a.poll(racers_[0].link.a.send_cq.id, all,
					 env_.options.patience_ms))
				if (wc.id < racers)
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
				    bytes_, {memory_, racer.at});

		wr.id = number;
		wr.rkey = racer.key;
		status_of_[number] = lost;
		env_.a.post_send(racer.link.a.qp.id, {wr});
	}

	/* --------------------------------------------------- whose keys end */

	void bind_all()
	{
		for (size_t i = 0; i < racers; i++) {
			Racer &racer = racers_[i];

			put(place(racer), early_);
			put(next_place(racer), none_);
			put(at_a(in_, racer.at), none_);
			if (!of_window()) {
				open_region(racer);
				continue;
			}
			if (!racer.link.b.qp.id)
				connect_anew(racer);
			if (!racer.window)
				racer.window = std::make_unique<Window>(
					env_.b, IBV_MW_TYPE_2);
			if (by_ == EndedBy::send_inv)
				must_post(racer.link.b, RecvWr{i, {}});
			post_bind(binder_of(i), *racer.window, racer.spec);
			racer.key = (*racer.window)->rkey;
		}
		if (!of_window())
			return;
		for (const Wc &wc : completions("binds"))
			REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS, "bind");
	}

	/* Any queue pair may move a window; its peer's may be at its end. */
	Side &binder_of(size_t i)
	{
		return by_ == EndedBy::move ? others_[i].b : racers_[i].link.b;
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
			racer.region = ibv_reg_mr(host.raw_pd(0), place(racer),
						  bytes_, int(all_access));
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

	/* When it has returned no operation uses the key. */
	void end_object(Racer &racer)
	{
		if (by_ == EndedBy::dealloc) {
			REQUIRE_EQ(racer.window->free(), 0, "dealloc_mw");
			racer.window.reset();
			return;
		}
		if (by_ == EndedBy::queue_pair) {
			REQUIRE_EQ(env_.b.destroy(Kind::qp, racer.link.b.qp.id),
				   0, "destroy_qp");
			racer.link.b.qp.id = 0;
			return;
		}
		if (by_ == EndedBy::rereg) {
			change_access(racer, IBV_ACCESS_LOCAL_WRITE);
			return;
		}
		REQUIRE_EQ(ibv_dereg_mr(racer.region), 0, "dereg_mr");
		racer.region = nullptr;
	}

	/* Return: the id of the completion that tells that no operation uses the key. */
	uint64_t post_end(size_t i)
	{
		Racer &racer = racers_[i];

		if (by_ == EndedBy::local_inv)
			return post_local_inv(racer.link.b, racer.key);
		if (by_ == EndedBy::move) {
			BindSpec next = racer.spec;

			next.offset += int64_t(half_);
			return post_bind(binder_of(i), *racer.window, next);
		}

		SendWr wr = send_inv({}, 0, racer.key);

		wr.id = racers + i;
		env_.a.post_send(racer.link.a.qp.id, {wr});
		return i;
	}

	/* Until the peer is about to use it, and a little longer, or not. */
	void wait_for_turn(size_t i)
	{
		const int more = int(random_() % 512);

		while (posted_ <= i)
			std::this_thread::yield();
		spin(std::max(delay_.load(), 0) + more);
	}

	/* Nothing for turns of 0 and less. */
	static void spin(int turns)
	{
		for (; turns > 0; turns--)
			std::atomic_signal_fence(std::memory_order_seq_cst);
	}

	void end_all()
	{
		std::map<uint64_t, size_t> number_of;

		for (size_t i = 0; i < racers; i++) {
			Racer &racer = racers_[i];

			allowed_ = std::max<size_t>(allowed_, i + 1);
			wait_for_turn(i);
			if (by_request()) {
				number_of[post_end(i)] = i;
				continue;
			}
			end_object(racer);
			note_end(i, true);
		}
		if (!by_request())
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
		uint8_t *at = place(racers_[i]);

		ended_[i] = ended;
		written_at_end_[i] = same(at, written_) == bytes_;
		if (ended)
			put(at, late_);
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
				ends_.first += written_at_end_[i];
				late_ones += !written_at_end_[i];
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
	 * a queue pair anew takes longer than all else. It is the peer who waits where
	 * its operations are first all the same. Steps one way become longer, since a
	 * thread may have its CPU much later than the other one.
	 */
	void aim(size_t late_ones)
	{
		const int first_step = by_request() ? 64 : 1024;
		const bool later = late_ones * 8 > racers;

		step_ = later == was_later_ ? std::min(2 * step_, 1 << 16) :
					      first_step;
		was_later_ = later;
		delay_ += later ? step_ : -step_ / 4;
	}

	void check(Racer &racer, size_t i, uint32_t round)
	{
		const bool good = status_of_[i] == IBV_WC_SUCCESS;

		REQUIRE_EQ(same(place(racer), late_), bytes_, "round ", round,
			   ": memory of key ", i);
		REQUIRE_EQ(same(next_place(racer), none_), bytes_, "round ",
			   round, ": memory that window ", i, " moves to");
		if (racer.reads)
			check_read(racer, i, round);
		else if (racer.link.spec.type == IBV_QPT_RC && good)
			REQUIRE(written_at_end_[i], "round ", round,
				": write by key ", i);
	}

	/* It is as far as it came of what was there before, all of it if it was good. */
	void check_read(Racer &racer, size_t i, uint32_t round)
	{
		const uint8_t *got = at_a(in_, racer.at);
		const size_t n = same(got, early_);

		REQUIRE(n == bytes_ || status_of_[i] != IBV_WC_SUCCESS,
			"round ", round, ": byte ", n, " read by key ", i);
		REQUIRE(!memcmp(got + n, none_.data() + n, bytes_ - n),
			"round ", round, ": read by key ", i,
			" that was refused, from byte ", n, " on");
	}

	void revive(Link &link)
	{
		reconnect(link);
		if (++revived_ % 256 == 0)
			drain();
	}

	/* The test does not look at the events of queue pairs that were refused. */
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
	const EndedBy by_;
	const uint32_t bytes_;
	const uint64_t half_; /* of the memory: windows move to the other one */
	/*
	 * The bytes of the memory before the end of its key, and after that; the bytes that
	 * peers write to it; and those where no operation has read or written.
	 */
	const std::vector<uint8_t> early_, late_, written_, none_;
	Mr memory_;
	Mr out_;
	Mr in_;
	std::vector<Racer> racers_;
	std::vector<Link> others_;
	std::mt19937 random_{1};
	Ends ends_;
	uint64_t revived_ = 0;
	/* Turns of spin() that the end of a key waits, or, where it is negative, the peer. */
	std::atomic<int> delay_{0};
	int step_ = 1;
	bool was_later_ = false;
	int status_of_[racers] = {};
	bool ended_[racers] = {};
	bool written_at_end_[racers] = {};
	std::atomic<uint32_t> round_{0}, over_{0};
	std::atomic<size_t> posted_{0}, allowed_{0};
	std::thread peer_;
};

void race(Env &env, ibv_qp_type type, EndedBy by, uint32_t rounds,
	  const Shape &shape = {})
{
	Moved matches(env.b, "rkm_matches"), stalls(env.b, "rkm_stalls"),
		changed(env.a, "rx_icrc_encapsulated");
	Races races(env, type, by, shape);

	env.expect_async();
	races.run(rounds);
	const Ends &ends = races.ends();
	note(str(ends.keys, " ends of a key, ", ends.first,
		 " of them after the operation, ", ends.refused, " before it; ",
		 matches.by(), " found in use, ", stalls.by(),
		 " just being copied, ", ends.flushed, " flushed"));
	REQUIRE(ends.ended() >= uint64_t(rounds) * racers, "ends of keys");
	REQUIRE(races.races(), "one of the two nearly always came first");
	/* The receiver would not have taken them, but they have left. */
	REQUIRE_EQ(changed.by(), 0u, "answers with what was written later");
}

} // namespace

PV_TEST_TWO_CPUS("rkm.race_many",
		 "writes race with LOCAL_INV on 40 queue pairs "
		 "(UC): after its completion no byte changes")
{
	race(env, IBV_QPT_UC, EndedBy::local_inv, rounds_of(env));
}

PV_TEST_TWO_CPUS("rkm.race_reliable",
		 "reads race with LOCAL_INV on 40 queue pairs (RC): after its "
		 "completion no byte leaves")
{
	race(env, IBV_QPT_RC, EndedBy::local_inv, rounds_of(env));
}

PV_TEST_TWO_CPUS(
	"rkm.race_send_inv",
	"the same with send with invalidate, which comes behind some "
	"operations on its queue pair and before others; also with reads "
	"and writes of several packets")
{
	for (const Shape &shape : {Shape{}, Shape{4096, 256}})
		race(env, IBV_QPT_RC, EndedBy::send_inv, some_rounds_of(env),
		     shape);
}

PV_TEST_TWO_CPUS("rkm.race_move",
		 "writes and reads race with the move of a window: after its "
		 "completion no byte changes or leaves where it was, and none "
		 "does where it is by the key of before")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, EndedBy::move, some_rounds_of(env));
}

PV_TEST_TWO_CPUS("rkm.race_dereg",
		 "writes and reads race with deregistration on 40 "
		 "queue pairs: after its return no byte changes "
		 "or leaves")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, EndedBy::dereg, fewer_rounds_of(env));
}

PV_TEST_TWO_CPUS("rkm.race_rereg",
		 "the same with re-registration that takes the "
		 "rights of peers")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, EndedBy::rereg, fewer_rounds_of(env));
}

PV_TEST_TWO_CPUS("rkm.race_dealloc", "the same with deallocation of the window")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, EndedBy::dealloc, fewer_rounds_of(env));
}

PV_TEST_TWO_CPUS(
	"rkm.race_queue_pair",
	"writes (UC) race with the end of the queue pair that the window "
	"was bound by: after its return no byte changes")
{
	race(env, IBV_QPT_UC, EndedBy::queue_pair, fewer_rounds_of(env));
}

/* More than is copied for being short. */
PV_TEST_TWO_CPUS("rkm.race_dereg_long",
		 "writes and reads of several packets race with deregistration: "
		 "after its return no byte changes or leaves")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC})
		race(env, type, EndedBy::dereg, fewer_rounds_of(env) / 2,
		     {4096, 1024});
}
