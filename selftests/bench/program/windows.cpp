// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The measurements over windows: messages from FIFO to FIFO, RDMA by pavo::Rdma.
 *
 * Owns: the loops, likenesses of those in stream.cpp and latency.cpp. Called by: main.cpp,
 * ../idle.cpp. A message in a FIFO is used where it is, as a program would; the last
 * messages of a run are copied out and compared.
 */
#include "windows.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../common/errors.h"
#include "timed.h"

namespace bench {

using common::must;

namespace {

constexpr uint32_t job_id = 2003;
constexpr uint64_t job_key = 0x62656e6368;
/* Operations, or pieces of them, under way: as many as RC may have of 64 KiB. */
constexpr size_t contexts = 16;

uint8_t *areas()
{
	void *map = mmap(nullptr, 2 * area_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (map == MAP_FAILED)
		throw std::runtime_error("no memory");
	return static_cast<uint8_t *>(map);
}

pavo::Job job_on(const pavo::Device &device, uint16_t node)
{
	return node ? pavo::Job::join(device, job_id, job_key).value() :
		      pavo::Job::reserve(device, job_id, job_key).value();
}

pavo::Gid gid_of(const Device &device)
{
	pavo::Gid gid;

	memcpy(gid.data(), device.gid().raw, gid.size());
	return gid;
}

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

} // namespace

Event::Event() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
	if (fd_ < 0)
		throw std::runtime_error("eventfd");
}

Event::~Event()
{
	close(fd_);
}

void Event::wait(std::chrono::nanoseconds most)
{
	timespec time = {time_t(most.count() / 1'000'000'000),
			 long(most.count() % 1'000'000'000)};
	pollfd until = {fd_, POLLIN, 0};
	uint64_t times;

	if (ppoll(&until, 1, &time, nullptr) == 1 &&
	    read(fd_, &times, sizeof(times)) != sizeof(times))
		throw std::runtime_error("eventfd");
}

WindowEnd::WindowEnd(const Device &verbs, uint16_t node)
	: out(areas()), in(out + area_bytes),
	  device(pavo::Device::open(verbs.name()).value()),
	  job(job_on(device, node)),
	  window(pavo::Window::open(job,
				    {.node = node,
				     .send_frames = 256,
				     .recv_frames = 512,
				     .gid_index = uint16_t(verbs.gid_index()),
				     .recv_event = event.fd()})
			 .value()),
	  mapping(pavo::Mapping::open(job, {reinterpret_cast<std::byte *>(out),
					    2 * area_bytes})
			  .value())
{
}

WindowEnd::~WindowEnd()
{
	munmap(out, 2 * area_bytes);
}

void WindowEnd::wait(Wait how, const std::function<bool()> &look,
		     std::chrono::nanoseconds most)
{
	while (!look()) {
		if (out_of_time)
			throw std::runtime_error("hangs");
		if (how == Wait::polling)
			continue;
		must(window.recv_threshold(1), "threshold");
		/* one that came between the look and the request */
		if (look())
			return;
		event.wait(most);
	}
}

Windows::Windows(const Device &a, const Device &b, Wait wait)
	: a_(a, 0), b_(b, 1), wait_(wait)
{
	must(a_.window.set_node(1, gid_of(b)), "a route");
	must(b_.window.set_node(0, gid_of(a)), "a route");
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

namespace {

/* One way, with so many under way at most. */
class MessageStream {
public:
	MessageStream(WindowEnd &a, WindowEnd &b, Wait wait,
		      const StreamSpec &spec)
		: a_(a), b_(b), wait_(wait), spec_(spec),
		  stride_(stride_of(spec.size))
	{
	}

	void run(int messages)
	{
		end_ = posted_ + messages;
		while (done_ < end_) {
			while (posted_ < end_) {
				int count = std::min<uint64_t>(spec_.chain,
							       end_ - posted_);

				if (posted_ + count > done_ + spec_.window)
					break;
				post_chain(count);
			}
			b_.wait(wait_, [this] { return take() > 0; });
		}
	}

private:
	void post_chain(int count)
	{
		for (int i = 0; i < count; i++, posted_++)
			must(a_.window.prepare(
				     {1, b_.window.number()},
				     bytes(a_.out + posted_ % spec_.window *
							    stride_,
					   spec_.size)),
			     "a message");
		must(a_.window.start(), "messages");
	}

	size_t take()
	{
		return b_.window.receive([this](const pavo::Message &message) {
			if (message.payload.size() != spec_.size)
				throw std::runtime_error(
					"a message of wrong length");
			/* The last of them are looked at. */
			if (done_ + spec_.window >= end_)
				memcpy(b_.in + (done_ + spec_.window - end_) *
						       stride_,
				       message.payload.data(), spec_.size);
			done_++;
		});
	}

	WindowEnd &a_;
	WindowEnd &b_;
	Wait wait_;
	const StreamSpec &spec_;
	size_t stride_;
	uint64_t posted_ = 0;
	uint64_t done_ = 0;
	uint64_t end_ = 0;
};

} // namespace

uint64_t Windows::stream_messages(const StreamSpec &spec)
{
	pattern_fill(a_.out, stride_of(spec.size) * spec.window, spec.seed, 0);
	MessageStream stream(a_, b_, wait_, spec);
	return timed_stream(
		spec, a_.out, b_.in, [&](int count) { stream.run(count); },
		verify_any_order);
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

namespace {

/* Operations of one end on the other's memory. */
class Operations {
public:
	Operations(WindowEnd &a, WindowEnd &b, Wait wait, Op op, size_t size)
		: a_(a), b_(b), wait_(wait), op_(op), size_(size),
		  rdma_(pavo::Rdma::open(a.window).value()),
		  lender_(pavo::Rdma::open(b.window).value())
	{
		std::vector<uint32_t> lent(contexts);

		must(lender_.take_rcxts(lent), "contexts");
		peer_ = must(rdma_.add({b.window.address(), lent}), "a peer");
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
		uint64_t before = done_;

		while (done_ == before)
			a_.wait(
				wait_,
				[this] {
					return rdma_.progress().value_or(0) > 0;
				},
				until_due());
	}

	uint64_t done() const { return done_; }

private:
	std::chrono::nanoseconds until_due() const
	{
		using namespace std::chrono_literals;
		auto left = rdma_.due() - pavo::Rdma::Clock::now();

		return std::clamp<std::chrono::nanoseconds>(left, 0ns, 1s);
	}

	WindowEnd &a_;
	WindowEnd &b_;
	Wait wait_;
	Op op_;
	size_t size_;
	pavo::Rdma rdma_;
	pavo::Rdma lender_;
	pavo::Rdma::Peer peer_;
	uint64_t done_ = 0;
};

void run_operations(Operations &operations, const StreamSpec &spec,
		    int messages)
{
	uint64_t first = operations.done();
	int posted = 0;

	while (operations.done() - first < uint64_t(messages)) {
		while (posted < messages &&
		       posted - int(operations.done() - first) < spec.window)
			operations.begin(posted++ % spec.window *
					 stride_of(spec.size));
		operations.wait();
	}
}

} // namespace

uint64_t Windows::stream_rdma(const StreamSpec &spec)
{
	bool read = spec.op == Op::read;
	uint8_t *source = read ? b_.out : a_.out;
	uint8_t *target = read ? a_.in : b_.in;

	pattern_fill(source, stride_of(spec.size) * spec.window, spec.seed, 0);
	Operations operations(a_, b_, wait_, spec.op, spec.size);
	return timed_stream(
		spec, source, target,
		[&](int count) { run_operations(operations, spec, count); },
		verify);
}

std::vector<uint64_t> Windows::one_sided(const LatencySpec &spec, int count)
{
	Operations operations(a_, b_, wait_, spec.op, spec.size);

	return times_of(count, 1, [&] {
		operations.begin(0);
		operations.wait();
	});
}

std::unique_ptr<Transport> make_windows(const Device &a, const Device &b,
					Wait wait)
{
	return std::make_unique<Windows>(a, b, wait);
}

} // namespace bench
