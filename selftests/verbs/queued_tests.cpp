// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets that wait in a queue of the interface while the memory behind them gets other data.
 *
 * Answers to a read that wait in a queue of the interface while their region is
 * deregistered and its memory gets other data (docs/memory.md, "Packets that wait in
 * a queue"): none of that leaves, and without copy_reads no CPU takes a byte of it.
 */
#include <cstring>
#include <thread>

#include <sys/mman.h>

#include "manager.h"
#include "qdisc.h"
#include "tap.h"
#include "gso_counts.h"

using namespace pv;

namespace {

constexpr size_t queued_size = 32 << 10;

/* Memory that stays when its region has gone. */
class QueuedBuffer {
public:
	explicit QueuedBuffer(Host &host)
		: at_(static_cast<uint8_t *>(
			  mmap(nullptr, queued_size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
	{
		REQUIRE(at_ != MAP_FAILED, "mmap");
		mr_ = ibv_reg_mr(local(host).raw_pd(0), at_, queued_size,
				 IBV_ACCESS_REMOTE_READ);
		REQUIRE(mr_, "reg_mr");
	}

	~QueuedBuffer()
	{
		if (mr_)
			ibv_dereg_mr(mr_);
		munmap(at_, queued_size);
	}

	QueuedBuffer(const QueuedBuffer &) = delete;

	Mr view() const
	{
		Mr mr = {.address = reinterpret_cast<uint64_t>(at_),
			 .length = queued_size,
			 .rkey = mr_->rkey};

		return mr;
	}

	void deregister()
	{
		REQUIRE_EQ(ibv_dereg_mr(mr_), 0, "dereg_mr");
		mr_ = nullptr;
	}

	uint8_t *at() { return at_; }

private:
	uint8_t *at_;
	ibv_mr *mr_;
};

/* Different in every byte from what is there before. */
void overwrite(QueuedBuffer &buffer)
{
	for (size_t i = 0; i < queued_size; i++)
		buffer.at()[i] = uint8_t(~buffer.at()[i]);
}

/* How long answers wait, and the code of a time-out that is longer by far. */
struct Wait {
	unsigned ms;
	uint8_t timeout;
};

/* False: they were there before all was done. */
bool read_and_deregister(Env &env, const Wait &wait, bool copied)
{
	Link link = connect(env, {.timeout = wait.timeout, .retry_count = 0});
	const unsigned packets = unsigned(queued_size / link.mtu);
	const uint64_t early = env.seed(), background = env.seed();
	Mr in = must_reg(env.a, {queued_size}, background),
	   model = must_reg(env.b, {queued_size}, early);
	QueuedBuffer from(env.b);

	memcpy(from.at(), local(env.b).memory(model.id), queued_size);
	Qdisc delay(env.b, str("netem limit 1000 delay ", wait.ms, "ms"));
	Moved sent(env.b, "tx_packets"), came(env.a, "rx_packets"),
		dropped(env.a, "rx_icrc_encapsulated");
	SendWr read = make_wr(Op::read, {in, 0}, queued_size, {from.view(), 0});
	must_post(link.a, read);
	while (sent.by() < packets)
		std::this_thread::yield();
	from.deregister();
	overwrite(from);
	if (came.by() || dropped.by())
		return false;

	Wc wc = wait_send(env, link.a, "read");
	if (copied) {
		check_wc(wc, read.id, IBV_WC_SUCCESS, "read");
		must_match(env.a, in, 0, queued_size, early, 0,
			   "what was read");
		REQUIRE_EQ(dropped.by(), 0u, "packets with another ICRC");
	} else {
		check_wc(wc, read.id, IBV_WC_RETRY_EXC_ERR, "read");
		must_match(env.a, in, 0, queued_size, background, 0,
			   "what was read");
		REQUIRE_EQ(dropped.by(), packets, "packets with another ICRC");
	}
	return true;
}

/* A read of the other end's memory, which has a pattern of its own. */
struct Read {
	Read(Env &env, const LinkSpec &spec, uint64_t length)
		: link(connect(env, spec)), to(must_reg(env.a, {length})),
		  from(must_reg(env.b, {length})), seed(env.seed()),
		  wr(make_wr(Op::read, {to, 0}, length, {from, 0}))
	{
		env.b.fill(from.id, 0, length, seed, 0);
	}

	Link link;
	Mr to;
	Mr from;
	uint64_t seed;
	SendWr wr;
};

/* Pages for payload that come back, of each CPU (kernel/net/pages.c). */
constexpr unsigned pages = 128;

bool read_many(Env &env, const Wait &wait)
{
	constexpr uint64_t length = 256 << 10;
	std::vector<Read> reads;
	LinkSpec spec = {.timeout = wait.timeout};

	for (int i = 0; i < 8; i++)
		reads.emplace_back(env, spec, length);
	const uint64_t packets = length / reads[0].link.mtu * reads.size();
	REQUIRE(packets >= 4 * pages, "the reads are too short");
	Qdisc delay(env.b, str("netem limit 10000 delay ", wait.ms, "ms"));
	Moved sent(env.b, "tx_packets"), came(env.a, "rx_packets"),
		dropped(env.a, "rx_icrc_encapsulated");
	for (Read &read : reads)
		must_post(read.link.a, read.wr);
	while (sent.by() < packets)
		std::this_thread::yield();
	const bool all_wait = !came.by();

	for (Read &read : reads)
		expect_send(env, read.link.a, read.wr.id, "read");
	for (Read &read : reads)
		must_match(env.a, read.to, 0, length, read.seed, 0,
			   "what was read");
	REQUIRE_EQ(dropped.by(), 0u, "packets with another ICRC");
	return all_wait;
}

/* How the process takes back the memory of a write whose packets wait. */
enum class TakenBack { by_flush, by_deregistration };

/* False: they were there before all was done. */
bool write_and_take_back(Env &env, const Wait &wait, TakenBack how)
{
	Link link = connect(env, {.timeout = wait.timeout, .retry_count = 0});
	const uint64_t early = env.seed(), background = env.seed();
	Mr out = must_reg(env.a, {queued_size}, early),
	   in = must_reg(env.b, {queued_size}, background);
	SendWr write = make_wr(Op::write, {out, 0}, queued_size, {in, 0});

	/* The peer is near from its first answer on. */
	exchange(env, link.a, link.b, Op::write, {out, 0}, {in, 0}, 64);
	env.b.fill(in.id, 0, queued_size, background, 0);
	Qdisc delay(env.a, str("netem limit 1000 delay ", wait.ms, "ms"));
	const unsigned before = super_packets();
	Moved came(env.b, "rx_packets"),
		withdrawn(env.b, "rx_icrc_encapsulated");
	must_post(link.a, write);
	REQUIRE(eventually(env, [&] { return super_packets() > before; }),
		"no train");
	if (how == TakenBack::by_flush) {
		to_state(link.a, IBV_QPS_ERR);
		check_wc(wait_send(env, link.a, "write"), write.id,
			 IBV_WC_WR_FLUSH_ERR, "write");
		env.a.fill(out.id, 0, queued_size, ~early, 0);
	} else {
		REQUIRE_EQ(env.a.destroy(Kind::mr, out.id), 0, "dereg_mr");
	}
	if (came.by())
		return false;

	REQUIRE(eventually(env, [&] { return came.by() > 0; }), "lost");
	REQUIRE_EQ(withdrawn.by(), super_packets() - before,
		   "trains that were withdrawn");
	must_match(env.b, in, 0, queued_size, background, 0, "the memory");
	return true;
}

/* A slow machine is given longer. */
template <class Attempt> void with_longer_waits(Attempt &&attempt)
{
	constexpr Wait waits[] = {{300, 18}, {3000, 21}, {15000, 23}};

	for (const Wait &wait : waits)
		if (attempt(wait))
			return;
	throw Failure("answers do not wait, or too short");
}

void read_from_queue(Env &env, bool copied)
{
	env.expect_async();
	with_longer_waits([&](const Wait &wait) {
		return read_and_deregister(env, wait, copied);
	});
}

} // namespace

PV_TEST_LOCAL("queued.many",
	      "more answers wait in a queue than there are pages that come "
	      "back: each has the bytes that it left with")
{
	with_longer_waits(
		[&](const Wait &wait) { return read_many(env, wait); });
}

PV_TEST_LOCAL("queued.flushed",
	      "trains that wait when their request is flushed are not taken, "
	      "with what is in its memory later or before")
{
	env.expect_async();
	with_longer_waits([&](const Wait &wait) {
		return write_and_take_back(env, wait, TakenBack::by_flush);
	});
}

PV_TEST_LOCAL("queued.deregistered",
	      "nor are they when their region is deregistered")
{
	env.expect_async();
	with_longer_waits([&](const Wait &wait) {
		return write_and_take_back(env, wait,
					   TakenBack::by_deregistration);
	});
}

PV_TEST_LOCAL(
	"queued.copied",
	"answers that wait in a queue when their region ends are taken, with "
	"what was there before")
{
	read_from_queue(env, true);
}

PV_TEST_LOCAL("queued.not_taken",
	      "the same without copy_reads: they are not taken with what is in "
	      "its memory later")
{
	Parameter attach("copy_reads", "N"), sealed("deferred_icrc", "N");

	read_from_queue(env, false);
}
