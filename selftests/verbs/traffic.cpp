// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-traffic: verified messages between two devices of this machine until
 * told to stop, for tests that change the world below meanwhile.
 *
 * Prints what it has made (tell()), "ready" after the first round, then "count N"
 * as it goes on. With --flood N, N queue pairs have requests to N others of the first device posted
 * all the time, so that packets wait; it prints the same, and compares no bytes. Ends with
 *   0  SIGTERM came and everything was right until then
 *   3  the queue pairs or the device ended: "error: ..." and the asynchronous
 *      events are printed
 *   4  wrong data
 * Called by selftests/life/guest.sh. Owns nothing.
 */
#include <cerrno>
#include <csignal>
#include <cstring>
#include <chrono>
#include <iostream>

#include "env.h"
#include "gid_option.h"
#include "link.h"
#include "tap.h"

namespace {

volatile sig_atomic_t stop;

void on_term(int)
{
	stop = 1;
}

/* An end whose waiting is over when its device is: nothing will come any more. */
class WatchedHost : public pv::LocalHost {
public:
	using LocalHost::LocalHost;

	std::vector<pv::Wc> poll(pv::Handle cq, uint32_t count,
				 uint32_t ms) override
	{
		constexpr uint32_t slice_ms = 50;
		std::vector<pv::Wc> done;

		for (uint32_t waited = 0;; waited += slice_ms) {
			std::vector<pv::Wc> some = LocalHost::poll(
				cq, count - done.size(), slice_ms);

			done.insert(done.end(), some.begin(), some.end());
			if (done.size() == count || waited >= ms)
				return done;
			pv::AsyncEvent event = async_event(0);
			if (event.type < 0)
				continue;
			std::cout << "async: "
				  << ibv_event_type_str(
					     ibv_event_type(event.type))
				  << std::endl;
			if (event.type == IBV_EVENT_DEVICE_FATAL)
				return done;
		}
	}
};

struct Options {
	pv::Selector dev;
	pv::Selector peer;
	pv::LinkSpec link;
	uint32_t patience_ms = 8000;
	uint32_t flood = 0;

	const pv::Selector &other() const { return flood ? dev : peer; }
};

Options parse(int argc, char **argv)
{
	common::CommandLine app(
		"pavo-traffic - verified messages between two devices "
		"until told to stop");
	Options o;

	/* Bears a netdevice that is away for a while: 8 times 1.07 s. */
	o.link.timeout = 18;
	app.add_option("--dev", o.dev.device, "a device")->required();
	app.add_option("--peer", o.peer.device, "its peer")->required();
	pv::add_gid_option(app, o.dev, o.peer);
	pv::add_class_options(app, o.dev, o.peer);
	app.add_option("--mtu", o.link.mtu, "bytes (the most that both can)");
	app.add_option_function<uint32_t>(
		"--patience",
		[&](uint32_t seconds) { o.patience_ms = seconds * 1000; },
		"seconds that a completion may take (8)");
	app.add_option("--flood", o.flood,
		       "queue pairs that always have requests");
	app.add_option_function<unsigned>(
		"--timeout",
		[&](unsigned exponent) { o.link.timeout = uint8_t(exponent); },
		"of acknowledgements, as verbs have it (18)");
	app.read(argc, argv);
	return o;
}

/* For who compares it with what the kernel shows of this process. */
void tell(const pv::Selector &device, const pv::Side &side, const pv::Mr &mr)
{
	std::cout << std::hex << std::showbase << "mr " << device.device << ' '
		  << mr.address << ' ' << mr.length << ' ' << mr.lkey << ' '
		  << mr.rkey << std::dec << '\n';
	for (const pv::Cq &cq : {side.send_cq, side.recv_cq})
		std::cout << "cq " << device.device << ' ' << cq.depth << '\n';
	std::cout << "qp " << device.device << ' ' << side.qp.number
		  << std::endl;
}

void run(pv::Env &env, pv::Link &link)
{
	constexpr uint64_t size = 20001;
	pv::Place at_a = {pv::must_reg(env.a, {size, 3}), 0};
	pv::Place at_b = {pv::must_reg(env.b, {size, 5}), 0};
	auto said = std::chrono::steady_clock::now();

	tell(env.device_a, link.a, at_a.mr);
	tell(env.device_b, link.b, at_b.mr);
	for (uint64_t count = 1; !stop; count++) {
		for (pv::Op op :
		     {pv::Op::send_imm, pv::Op::write, pv::Op::read})
			exchange(env, link.a, link.b, op, at_a, at_b, size);
		exchange(env, link.b, link.a, pv::Op::send, at_b, at_a, 100);
		auto now = std::chrono::steady_clock::now();
		if (count == 1) {
			std::cout << "ready" << std::endl;
		} else if (now - said > std::chrono::milliseconds(50)) {
			std::cout << "count " << count << std::endl;
			said = now;
		}
	}
}

/* Requests of one kind, of which a queue pair always has some. */
struct Stream {
	static constexpr uint32_t depth = 8;

	Stream(pv::Env &env, pv::LinkSpec spec, const pv::SendWr &request)
		: link(connect(env, spec)), wr(request)
	{
		must_post(link.a, std::vector<pv::SendWr>(depth, wr));
	}

	/* The next one that is over is posted once more. */
	void go_on(pv::Env &env)
	{
		pv::Wc wc = wait_send(env, link.a, "a request");

		REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS, "a request");
		must_post(link.a, wr);
	}

	pv::Link link;
	pv::SendWr wr;
};

void flood(pv::Env &env, pv::LinkSpec spec, uint32_t count)
{
	constexpr uint64_t size = 4 << 20;
	pv::Place at_a = {pv::must_reg(env.a, {size}), 0},
		  at_b = {pv::must_reg(env.b, {size}), 0};
	const auto read = make_wr(pv::Op::read, at_a, size, at_b),
		   write = make_wr(pv::Op::write, at_a, size, at_b);
	std::vector<Stream> streams;

	spec.cap = {Stream::depth, 1, 1, 1, 0};
	for (uint32_t i = 0; i < count; i++) {
		spec.type = i % 2 ? IBV_QPT_UC : IBV_QPT_RC;
		streams.emplace_back(env, spec, i % 2 ? write : read);
	}
	for (uint64_t rounds = 1; !stop; rounds++) {
		for (Stream &stream : streams)
			stream.go_on(env);
		if (rounds == 1)
			std::cout << "ready" << std::endl;
		else
			std::cout << "count " << rounds << std::endl;
	}
	for (Stream &stream : streams)
		wait_completions(env, stream.link.a, stream.link.a.send_cq,
				 Stream::depth, "the last");
}

/*
 * Prints the events of an adapter. One whose calls fail is going, and tells that when the kernel
 * has ended its objects.
 */
void tell_events(pv::Host &host, bool is_going)
{
	bool fatal = false;

	for (;;) {
		pv::AsyncEvent event =
			host.async_event(is_going && !fatal ? 10000 : 200);

		if (event.type < 0)
			return;
		std::cout << "async: "
			  << ibv_event_type_str(ibv_event_type(event.type))
			  << std::endl;
		fatal |= event.type == IBV_EVENT_DEVICE_FATAL;
	}
}

int explain(pv::Env &env, const std::string &error)
{
	bool is_going = error.find(strerror(EIO)) != error.npos;

	std::cout << "error: " << error << std::endl;
	for (pv::Host *host : {&env.a, &env.b})
		tell_events(*host, is_going);
	return error.find(" is wrong (region") != error.npos ? 4 : 3;
}

} // namespace

int main(int argc, char **argv)
{
	Options o = parse(argc, argv);

	signal(SIGTERM, on_term);
	try {
		WatchedHost a(o.dev), b(o.other());
		pv::EnvOptions options = {.patience_ms = o.patience_ms};

		pv::Env env(a, b, options, o.dev, o.other());
		try {
			if (o.flood) {
				flood(env, o.link, o.flood);
			} else {
				pv::Link link = connect(env, o.link);

				run(env, link);
			}
		} catch (const std::exception &error) {
			return explain(env, error.what());
		}
		env.expect_async();
		std::cout << "stopped" << env.end() << std::endl;
	} catch (const std::exception &error) {
		std::cout << "error: " << error.what() << std::endl;
		return 3;
	}
	return 0;
}
