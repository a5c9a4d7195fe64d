// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The remote key manager and operations that stay under way for as long as a test wants:
 * the interface of who answers has no room, or hardly any. There are no loss timers, so
 * nothing is sent again.
 */
#include <cstring>

#include "manager.h"
#include "qdisc.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr int mtu = 1024;

/* Without a loss timer; three reads and a write at a time, as sources.md#keys-memory has it. */
LinkSpec held_spec()
{
	LinkSpec spec = {.mtu = mtu,
			 .timeout = 0,
			 .rd_atomic = 3,
			 .cap = {4, 4, 1, 1, 0}};

	return spec;
}

/*
 * Queue pairs whose peers have three reads and a write under way by the key of one window,
 * each in a part of its memory. The write is of more packets than may be unanswered.
 */
class Busy {
public:
	static constexpr size_t reads = 3, all = reads + 1;

	Busy(Env &env, size_t count)
		: env_(env),
		  memory_(must_reg(env.b, {count * part, 0, bindable_access})),
		  out_(must_reg(env.a, {written})),
		  in_(must_reg(env.a, {count * reads * page})),
		  window_(env.b, IBV_MW_TYPE_1), seed_(env.seed())
	{
		for (size_t i = 0; i < count; i++)
			links_.push_back(connect(env, held_spec()));
		env.a.fill(out_.id, 0, written, seed_, 0);
		env.a.fill(in_.id, 0, in_.length, background, 0);
		env.b.fill(memory_.id, 0, memory_.length, seed_ + 1, 0);
		env.seed();
	}

	Window &window() { return window_; }
	BindSpec spec() const { return {memory_, 0, memory_.length}; }

	void post()
	{
		const Mr view = view_of(window_, spec());

		snprintf(key_, sizeof(key_), "%08x", view.rkey);
		for (size_t i = 0; i < links_.size(); i++) {
			std::vector<SendWr> wrs;

			for (size_t n = 0; n < reads; n++)
				wrs.push_back(make_wr(Op::read, {in_, in(i, n)},
						      page,
						      {view, from(i, n)}));
			wrs.push_back(make_wr(Op::write, {out_, 0}, written,
					      {view, int64_t(i * part)}));
			must_post(links_[i].a, wrs);
		}
	}

	/* All slots hold the key, with this mark of the dump. */
	bool held(const char *mark = "")
	{
		const std::vector<std::string> want(all, str(key_, mark));

		for (const Link &link : links_) {
			std::vector<std::string> slots = slots_of(link.b);

			/* An answer may just be tried again. */
			for (std::string &word : slots)
				std::erase(word, '*');
			if (slots != want)
				return false;
		}
		return true;
	}

	void must_succeed()
	{
		for (size_t i = 0; i < links_.size(); i++) {
			for (const Wc &wc : ends_of(links_[i], "by a key"))
				REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS,
					   "by a key that did not end");
			for (size_t n = 0; n < reads; n++)
				must_match(env_.a, in_, in(i, n), page,
					   seed_ + 1, from(i, n),
					   "what was read");
			must_match(env_.b, memory_, int64_t(i * part), written,
				   seed_, 0, "what was written");
		}
	}

	/* The first of each is refused, and nothing was read. */
	void must_be_refused()
	{
		for (Link &link : links_) {
			auto expected = IBV_WC_REM_ACCESS_ERR;

			for (const Wc &wc : ends_of(link, "by a dead key")) {
				REQUIRE_EQ(int(wc.status), expected,
					   "by a key that ended");
				expected = IBV_WC_WR_FLUSH_ERR;
			}
		}
		must_match(env_.a, in_, 0, in_.length, background, 0,
			   "where reads were refused");
	}

private:
	static constexpr uint64_t written = 256 << 10,
				  part = written + reads * page, background = 7;

	int64_t from(size_t i, size_t n) const
	{
		return int64_t(i * part + written + n * page);
	}
	int64_t in(size_t i, size_t n) const
	{
		return int64_t((i * reads + n) * page);
	}

	std::vector<Wc> ends_of(Link &link, const char *what)
	{
		return wait_completions(env_, link.a, link.a.send_cq, all, what,
					written);
	}

	Env &env_;
	Mr memory_, out_, in_;
	Window window_;
	uint64_t seed_;
	char key_[9] = {};
	std::vector<Link> links_;
};

/* On some queue pairs the key ends, on as many another does not. */
void end_in_all_slots(Env &env)
{
	constexpr size_t each = 4;
	Moved matches(env.b, "rkm_matches");
	Link binder = connect(env);
	Busy gone(env, each), stay(env, each);

	must_bind(env, binder.b, gone.window(), gone.spec());
	must_bind(env, binder.b, stay.window(), stay.spec());
	Qdisc queue(env.b, no_room);

	gone.post();
	stay.post();
	REQUIRE(eventually(env, [&] { return gone.held() && stay.held(); }),
		"not all slots are in use");
	must_bind(env, binder.b, gone.window(), {});
	REQUIRE_EQ(matches.by(), each * Busy::all, "matches");
	REQUIRE(gone.held("!"), "a slot of the key is not cleared");
	REQUIRE(stay.held(), "a slot of another key is");
	queue.change(room);
	gone.must_be_refused();
	stay.must_succeed();
}

/* How the key of a read ends. */
enum class By { local_inv, send_inv, unbind };

/*
 * A read in fewer packets than may be unanswered, so that a send with invalidate is not
 * held up behind it; so many bytes of the answers leave, then hardly any.
 */
class HalfRead {
public:
	HalfRead(Env &env, By by, size_t leave)
		: env_(env), by_(by), leave_(leave),
		  link_(connect(env, held_spec())),
		  binder_(connect(env, held_spec())),
		  window_(env.b,
			  by == By::unbind ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2),
		  from_(must_reg(env.b, {size, 0, bindable_access})),
		  in_(must_reg(env.a, {size}))
	{
		env.b.fill(from_.id, 0, size, env.seed(), 0);
		memset(local(env.a).memory(in_.id), nothing, size);
		before_.assign(from(), from() + size);
	}

	void run()
	{
		const BindSpec spec = {from_, 0, size};

		must_bind(env_, link_.b, window_, spec);
		Qdisc narrow(env_.b, str("tbf rate 8kbit burst ", leave_,
					 " limit ", 2 * mtu - 1));
		Moved refused(env_.b, "tx_drop_congested");
		SendWr read = make_wr(Op::read, {in_, 0}, size,
				      {view_of(window_, spec), 0});

		must_post(link_.a, read);
		REQUIRE(eventually(env_, [&] { return refused.by() > 0; }),
			"nothing holds the answers up");
		end();
		for (size_t i = 0; i < size; i++)
			from()[i] = uint8_t(~before_[i]);
		narrow.change("tbf rate 10gbit burst 1000000 limit 1000000");
		expect_send(env_, link_.a, read.id, "read",
			    IBV_WC_REM_ACCESS_ERR);
		check();
	}

private:
	static constexpr size_t size = 96 * mtu;
	static constexpr uint8_t nothing = 0x77;

	uint8_t *from() { return local(env_.b).memory(from_.id); }

	/* When this returns it has been told that the key has ended. */
	void end()
	{
		if (by_ == By::local_inv) {
			must_invalidate(env_, link_.b, window_->rkey);
			return;
		}
		if (by_ == By::unbind) {
			must_bind(env_, binder_.b, window_, {});
			return;
		}

		must_post(link_.b, RecvWr{1, {}});
		must_post(link_.a, send_inv({}, 0, window_->rkey));
		expect_recv(env_, link_.b, 1, "send with invalidate");
	}

	/* The bytes from before, as far as they came, and nothing behind those. */
	void check()
	{
		const uint8_t *in = local(env_.a).memory(in_.id);
		size_t n = 0;

		while (n < size && in[n] == before_[n])
			n++;
		REQUIRE(n >= leave_ / 2 && n < size, n, " of ", size,
			" bytes came before the end of the key");
		for (; n < size; n++)
			REQUIRE_EQ(in[n], nothing, "byte ", n, " of the read");
	}

	Env &env_;
	By by_;
	size_t leave_;
	Link link_, binder_;
	Window window_;
	Mr from_, in_;
	std::vector<uint8_t> before_;
};

} // namespace

PV_TEST_LOCAL("rkm.read_in_the_middle",
	      "the key of a read ends by LOCAL_INV, send with invalidate and "
	      "unbinding, early, halfway and late: it is refused, and not a "
	      "byte that was in memory later has left")
{
	/* A queue that has no room for a super-packet drops parts of it. */
	Parameter by_packet("deferred_icrc", "N");
	env.expect_async();
	for (By by : {By::local_inv, By::send_inv, By::unbind})
		for (size_t leave : {10000, 40000, 70000})
			HalfRead(env, by, leave).run();
}

PV_TEST_LOCAL("rkm.all_slots",
	      "a key in all four slots of several queue pairs, of three reads "
	      "and a write: all are cleared, those of another key are not")
{
	env.expect_async();
	end_in_all_slots(env);
	/* The same by the manager's work. */
	std::vector<Link> others = many_links(env, 32);
	end_in_all_slots(env);
}
