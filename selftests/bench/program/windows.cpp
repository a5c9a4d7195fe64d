// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The measurements over windows: messages from FIFO to FIFO, RDMA by pavo::Rdma.
 *
 * Owns: the loops, likenesses of those in verbs.cpp. Called by: main.cpp. A message in a FIFO is used where it is, as a program would; the last
 * messages of a run are copied out and compared.
 */
#include <cstring>
#include <functional>
#include <iostream>

#include <nlohmann/json.hpp>
#include <rdma/pavo-abi.h>

#include "../../common/errors.h"
#include "../../common/files.h"
#include "tests.h"
#include "window_end.h"

namespace bench {

using common::must;

namespace {

/* Operations, or pieces of them, under way: as many as RC may have of 64 KiB. */
constexpr size_t contexts = 16;

std::span<const std::byte> bytes(const uint8_t *at, size_t size)
{
	return {reinterpret_cast<const std::byte *>(at), size};
}

/*
 * Messages may overtake each other: each that came must be one that was sent, and
 * each of those come once.
 */
void verify_any_order(const uint8_t *got, const uint8_t *sent, size_t slots,
		      size_t stride, size_t size)
{
	std::vector<bool> seen(slots);

	for (size_t i = 0; i < slots; i++) {
		size_t n = 0;

		while (n < slots &&
		       (seen[n] ||
			memcmp(got + i * stride, sent + n * stride, size)))
			n++;
		if (n == slots)
			throw std::runtime_error("wrong data in message " +
						 std::to_string(i));
		seen[n] = true;
	}
}

class Windows : public Transport {
public:
	Windows(const Device &a, const Device &b, Wait wait);

	bool takes(Op op, size_t size) const override;
	uint64_t stream(const StreamSpec &spec) override;
	std::vector<uint64_t> latency(const LatencySpec &spec) override;

private:
	uint64_t stream_messages(const StreamSpec &spec);
	uint64_t stream_rdma(const StreamSpec &spec);
	std::vector<uint64_t> ping_pong(size_t size, int count);
	std::vector<uint64_t> one_sided(const LatencySpec &spec, int count);

	WindowEnd a_, b_;
	Wait wait_;
};

constexpr pavo::WindowOptions sizes = {.send_frames = 256, .recv_frames = 512};

Windows::Windows(const Device &a, const Device &b, Wait wait)
	: a_(a, 0, sizes), b_(b, 1, sizes), wait_(wait)
{
	a_.know(1, b);
	b_.know(0, a);
}

bool Windows::takes(Op op, size_t size) const
{
	return op != Op::send || size <= a_.window.max_payload();
}

uint64_t Windows::stream(const StreamSpec &spec)
{
	return spec.op == Op::send ? stream_messages(spec) : stream_rdma(spec);
}

std::vector<uint64_t> Windows::latency(const LatencySpec &spec)
{
	return timed_latency(spec, a_, b_, [&](int count) {
		return spec.op == Op::send ? ping_pong(spec.size, count) :
					     one_sided(spec, count);
	});
}

/* ---------------------------------------------------------------- messages */

uint64_t Windows::stream_messages(const StreamSpec &spec)
{
	const size_t stride = stride_of(spec.size);
	int posted = 0, done = 0, end = 0; /* of a run */
	auto post_chain = [&](int count) {
		for (; count; count--, posted++)
			must(a_.window.prepare(
				     {1, b_.window.number()},
				     bytes(a_.out + posted % spec.window *
							    stride,
					   spec.size)),
			     "a message");
		must(a_.window.start(), "messages");
	};
	auto take = [&](const pavo::Message &message) {
		if (message.payload.size() != spec.size)
			throw std::runtime_error("a message of wrong length");
		/* The last of them are looked at. */
		if (done + spec.window >= end)
			memcpy(b_.in + (done + spec.window - end) * stride,
			       message.payload.data(), spec.size);
		done++;
	};
	auto run = [&](int messages) {
		posted = done = 0;
		end = messages;
		while (done < end) {
			int count;

			while ((count = std::min(spec.chain, end - posted)) &&
			       posted + count <= done + spec.window)
				post_chain(count);
			b_.wait(wait_,
				[&] { return b_.window.receive(take) > 0; });
		}
	};

	pattern_fill(a_.out, stride * spec.window, spec.seed, 0);
	return timed_stream(spec, a_.out, {b_.in}, run, verify_any_order);
}

std::vector<uint64_t> Windows::ping_pong(size_t size, int count)
{
	int left = count;
	auto serve = [&](WindowEnd &from, uint16_t node, WindowEnd &to) {
		must(from.window.send({node, to.window.number()},
				      bytes(from.out, size)),
		     "a message");
		to.wait(wait_, [&] {
			return to.window.receive([&](const auto &message) {
				if (message.payload.size() != size)
					throw std::runtime_error(
						"a message of wrong length");
				if (left == 1)
					memcpy(to.in, message.payload.data(),
					       size);
			}) > 0;
		});
	};

	return times_of(count, 2, [&] {
		serve(a_, 1, b_);
		serve(b_, 0, a_);
		left--;
	});
}

/* -------------------------------------------------------------------- RDMA */

/* Operations of one end on the other's memory. */
class Operations {
public:
	Operations(WindowEnd &a, WindowEnd &b, Wait wait, Op op, size_t size)
		: a_(a), b_(b), wait_(wait), op_(op), size_(size),
		  rdma_(pavo::Rdma::open(a.window).value()),
		  target_(pavo::Rdma::open(b.window).value())
	{
		std::vector<uint32_t> taken(contexts);

		must(target_.take_rcxts(taken), "contexts");
		peer_ = must(rdma_.add({b.window.address(), taken}), "a peer");
	}

	/* On slot @at, which is the same at both ends. */
	void begin(size_t at)
	{
		bool put = op_ == Op::write;
		pavo::RdmaMove move{.local = a_.mapping.pvo() +
					     (put ? 0 : area_bytes) + at,
				    .remote = b_.mapping.pvo() +
					      (put ? area_bytes : 0) + at,
				    .length = uint32_t(size_)};
		auto over = [this](const pavo::Result<void> &how) {
			must(how, "an operation");
			done_++;
		};

		must(put ? rdma_.put(peer_, move, over) :
			   rdma_.get(peer_, move, over),
		     "an operation");
	}

	/* Until one more at least is over. */
	void wait()
	{
		const uint64_t before = done_;

		while (done_ == before)
			a_.wait(
				wait_,
				[this] {
					return rdma_.progress().value_or(0) > 0;
				},
				due_in(rdma_));
	}

	uint64_t done() const { return done_; }

private:
	WindowEnd &a_, &b_;
	Wait wait_;
	Op op_;
	size_t size_;
	pavo::Rdma rdma_, target_;
	pavo::Rdma::Peer peer_;
	uint64_t done_ = 0;
};

uint64_t Windows::stream_rdma(const StreamSpec &spec)
{
	bool read = spec.op == Op::read;
	uint8_t *source = read ? b_.out : a_.out;
	uint8_t *target = read ? a_.in : b_.in;

	pattern_fill(source, stride_of(spec.size) * spec.window, spec.seed, 0);
	Operations operations(a_, b_, wait_, spec.op, spec.size);
	auto run = [&](uint64_t messages) {
		const uint64_t first = operations.done();

		for (uint64_t posted = 0, done = 0; done < messages;
		     done = operations.done() - first) {
			while (posted < messages && posted < done + spec.window)
				operations.begin(posted++ % spec.window *
						 stride_of(spec.size));
			operations.wait();
		}
	};

	return timed_stream(spec, source, {target}, run, verify);
}

std::vector<uint64_t> Windows::one_sided(const LatencySpec &spec, int count)
{
	Operations operations(a_, b_, wait_, spec.op, spec.size);

	return times_of(count, 1, [&] {
		operations.begin(0);
		operations.wait();
	});
}

/* -------------------------------------------------------- windows that do nothing */

constexpr int repetitions = 5;
/* Free pages that a CPU keeps are not counted: of a few windows nothing can be said. */
constexpr size_t tells = 1000;

/* Windows as small as they can be. */
struct Idle {
	explicit Idle(const Device &verbs)
		: device(pavo::Device::open(verbs.name).value()),
		  job(pavo::Job::reserve(device, job_id + 1, job_key).value())
	{
	}

	void open(size_t count)
	{
		while (count--)
			windows.push_back(std::make_unique<pavo::Window>(
				pavo::Window::open(
					job, {.send_frames = PAVO_FIFO_LEAST,
					      .recv_frames = PAVO_FIFO_LEAST})
					.value()));
	}

	pavo::Device device;
	pavo::Job job;
	std::vector<std::unique_ptr<pavo::Window>> windows;
};

void print(const char *what, size_t windows, const char *unit, double value)
{
	std::cout << nlohmann::json{{"what", what},
				    {"windows", windows},
				    {"unit", unit},
				    {"value", value}}
			     .dump()
		  << '\n';
}

/* Bytes that a program could have now. */
double available()
{
	return 1024. * common::number_behind("/proc/meminfo", "MemAvailable:");
}

} // namespace

std::shared_ptr<void> open_idle(const Device &device, size_t count)
{
	auto idle = std::make_shared<Idle>(device);

	for (int left = repetitions; left; left--) {
		size_t part = (count - 1 - idle->windows.size()) / left;
		double before = available();

		idle->open(part);
		if (part >= tells)
			print("memory of a window", count, "bytes",
			      (before - available()) / double(part));
	}
	for (int i = 0; i < repetitions; i++) {
		uint64_t start = now();

		idle->open(1);
		print("opening a window", count, "ns", double(now() - start));
	}
	idle->windows.resize(count - 1);
	return idle;
}

std::unique_ptr<Transport> make_windows(const Device &a, const Device &b,
					Wait wait)
{
	return std::make_unique<Windows>(a, b, wait);
}

} // namespace bench
