// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * garbage_tests.cpp - a process that writes anything into its send FIFO and its command
 * ring: requests that are nearly right, and some that are not at all. It harms itself at
 * most; two windows of another job, on the same adapters, keep every byte they have.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <pavo/handler.hpp>

#include "adapter.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;

namespace {

constexpr size_t garbage_page = world::page, garbage_mapped = 16 * garbage_page;
constexpr uint32_t garbage_frames = 64;

pavo::WindowOptions options_of(uint16_t node, const Address &address)
{
	pavo::WindowOptions options = {.node = node,
				       .send_frames = garbage_frames,
				       .gid_index = address.index};

	return options;
}

std::vector<std::byte> bytes_of(const void *from, size_t n)
{
	auto *bytes = static_cast<const std::byte *>(from);

	return {bytes, bytes + n};
}

/* Windows of another job: messages that wait, memory, an operation now and then. */
class Bystander {
public:
	explicit Bystander(Pair &pair)
		: job_a_(pavo::Job::reserve(pair.device_a, world::job_id + 1,
					    world::job_key)
				 .value()),
		  job_b_(pavo::Job::join(pair.device_b, world::job_id + 1,
					 world::job_key)
				 .value()),
		  a_(pavo::Window::open(job_a_,
					options_of(node_a, pair.address_a))
			     .value()),
		  b_(pavo::Window::open(job_b_,
					options_of(node_b, pair.address_b))
			     .value()),
		  here_(job_a_, garbage_mapped, 21, garbage_page),
		  there_(job_b_, garbage_mapped, 22, garbage_page)
	{
		must(a_.set_node(node_b, pair.address_b.gid));
		must(b_.set_node(node_a, pair.address_a.gid));
		must(a_.take_rcxts({&rcxt_a_, 1}));
		must(b_.take_rcxts({&rcxt_b_, 1}));
		for (uint32_t n = 0; n < 20; n++)
			EXPECT_TRUE(a_.send({node_b, b_.number()},
					    pattern(n, 70 * n))
					    .has_value());
		EXPECT_TRUE(eventually(
			[&] { return b_.lmt().value().recv_count == 20; }));
		/* Count frames that can be seen, not those that have a slot only. */
		EXPECT_TRUE(eventually([&] {
			return std::atomic_ref(
				       shared_of(b_).recv_frame(19)->state)
				       .load(std::memory_order_acquire) ==
			       PAVO_FRAME_ARRIVED;
		}));
		fifos_ = fifos();
	}

	uint32_t number() const { return b_.number(); }
	uint32_t rcxt() const { return rcxt_b_; }
	uint64_t pvo() const { return there_.pvo(); }

	/* Byte by byte. */
	bool untouched() const
	{
		return here_.holds(21) && there_.holds(22) &&
		       fifos() == fifos_ && b_.lmt().value().recv_count == 20 &&
		       a_.lmt().value().state == pavo::WindowState::valid &&
		       b_.lmt().value().state == pavo::WindowState::valid;
	}

	/* It does what it is for, at last. */
	void works()
	{
		uint32_t n = 0;
		pavo::RequestFrame request = {
			.local_rcxt = rcxt_a_,
			.remote_rcxt = rcxt_b_,
			.tid = 1,
			.local_pvo = here_.pvo(),
			.remote_pvo = there_.pvo(),
			.length = garbage_mapped,
			.flags = pavo::rdma_flag::notify_source};

		ASSERT_TRUE(a_.prepare_rdma(pavo::Direction::write,
					    {node_b, b_.number()}, request)
				    .has_value());
		ASSERT_TRUE(a_.start().has_value());
		EXPECT_EQ(ended(a_).tid, 1u);
		EXPECT_TRUE(std::ranges::equal(
			here_.memory.part(garbage_page, garbage_mapped),
			there_.memory.part(garbage_page, garbage_mapped)));
		EXPECT_EQ(b_.receive([&](const Message &message) {
			EXPECT_TRUE(std::ranges::equal(message.payload,
						       pattern(n, 70 * n)));
			n++;
		}),
			  20u);
	}

private:
	/* Both ends' memory that is shared with the adapter. */
	std::vector<std::byte> fifos() const
	{
		std::vector<std::byte> all;

		for (const pavo::Window *window : {&a_, &b_})
			for (auto &part :
			     {bytes_of(shared_of(*window).send_frame(0),
				       garbage_frames * PAVO_FRAME_SIZE),
			      bytes_of(shared_of(*window).recv_frame(0),
				       256 * PAVO_FRAME_SIZE),
			      bytes_of(shared_of(*window).commands(),
				       sizeof(pavo_command_page))})
				all.insert(all.end(), part.begin(), part.end());
		return all;
	}

	pavo::Job job_a_;
	pavo::Job job_b_;
	pavo::Window a_;
	pavo::Window b_;
	Buffer here_;
	Buffer there_;
	uint32_t rcxt_a_ = 0;
	uint32_t rcxt_b_ = 0;
	std::vector<std::byte> fifos_;
};

void command(pavo::Window &window, uint64_t command_word)
{
	pavo_command_page *shared = shared_of(window).commands();
	uint32_t n = shared->producer;

	shared->ring[n % PAVO_WCMD_RING] = command_word;
	std::atomic_ref(shared->producer)
		.store(n + 1, std::memory_order_release);
}

uint64_t command_word(uint64_t op, uint32_t argument)
{
	return op << PAVO_WCMD_OP_SHIFT | argument;
}

/* The writers of garbage: windows of the first job, and contexts and memory of theirs. */
struct Villain : testing::Test {
	Villain()
		: bystander(pair),
		  here(pair.job_a, garbage_mapped, 1, garbage_page),
		  there(pair.job_b, garbage_mapped, 2, garbage_page)
	{
		/* A third-party request may be of two contexts there. */
		must(pair.b.set_node(node_b, pair.address_b.gid));
		open();
	}

	/* Anew, where it is dead. */
	void open()
	{
		window = std::make_unique<pavo::Window>(
			pavo::Window::open(pair.job_a,
					   options_of(node_a, pair.address_a))
				.value());
		must(window->set_node(node_b, pair.address_b.gid));
		must(window->take_rcxts(mine));
		next = 0;
		take_contexts();
	}

	/* Other contexts there: one with an absurd tid takes nothing any more. */
	void take_contexts()
	{
		for (uint32_t rcxt : theirs)
			while (rcxt &&
			       !pair.b.return_rcxts({&rcxt, 1}).has_value())
				(void)pair.b.cancel({&rcxt, 1});
		must(pair.b.take_rcxts(theirs));
	}

	bool one_in(uint64_t n) { return random() % n == 0; }

	uint32_t rcxt(const uint32_t (&own)[4])
	{
		uint32_t right = own[random() % 4];

		if (one_in(12))
			return right ^ 1u << random() % 32;
		if (one_in(24))
			return bystander.rcxt();
		return one_in(24) ? uint32_t(random()) : right;
	}

	uint64_t pvo(const Buffer &buffer, uint32_t rarely)
	{
		uint64_t right = buffer.pvo();

		if (one_in(rarely))
			return right ^ uint64_t(1) << random() % 64;
		if (one_in(rarely))
			return bystander.pvo() + random() % garbage_mapped;
		return one_in(rarely) ? random() : right;
	}

	/* Of the source of a write: what is wrong with that ends the window. */
	uint64_t source(uint32_t rarely)
	{
		return harmless ? here.pvo() : pvo(here, rarely);
	}

	uint64_t some_tid()
	{
		if (one_in(100))
			return random();
		return one_in(16) ? random() % (tid + 1) : ++tid;
	}

	/* As in a request. */
	uint8_t some_counter()
	{
		if (one_in(24))
			return uint8_t(random());
		return uint8_t(one_in(4) ? 1 + random() % 4 : 0);
	}

	uint32_t length()
	{
		if (!harmless && one_in(40))
			return uint32_t(random());
		return uint32_t(random() % (one_in(4) ? garbage_mapped : 4000));
	}

	/* A frame RDMA_WRITE, READ or PIECE; both begin in the same way. */
	void body(std::byte *to, bool write)
	{
		pavo_rdma_request request = {
			.local_rcxt = rcxt(mine),
			.remote_rcxt = rcxt(theirs),
			.tid = some_tid(),
			.local_pvo = source(write ? 100 : 12),
			.remote_pvo = pvo(there, 12),
			.length = length(),
			.tag = length(),
			.flags = uint8_t(one_in(12) ? random() : random() % 8),
			.counter = some_counter(),
			.attempts = uint16_t(one_in(4) ? random() % 4 : 0),
			.cookie = uint32_t(random())};

		memcpy(to, &request, sizeof(request));
	}

	void piece(std::byte *to)
	{
		pavo_rdma_piece piece = {.local_rcxt = rcxt(mine),
					 .remote_rcxt = rcxt(theirs),
					 .tid = some_tid()};

		/* Where a write has its source. */
		piece.pvo = harmless ? there.pvo() : pvo(there, 12);
		piece.total = length();
		piece.fragment = uint32_t(one_in(4) ? random() : random() % 8);
		/* Where a request has its length. */
		piece.tag = length();
		piece.attempts = uint16_t(one_in(4) ? random() % 4 : 0);
		piece.flags = uint8_t(one_in(12) ? random() : random() % 8);
		piece.counter = some_counter();
		piece.reserved2 = uint32_t(one_in(24) ? random() : 0);
		memcpy(to, &piece, sizeof(piece));
	}

	/* Both ends are windows of the peer, or what there is. */
	void third(std::byte *to)
	{
		pavo_rdma_third third{};

		body(to, false);
		memcpy(&third.request, to, sizeof(third.request));
		third.request.flags = uint8_t(one_in(12) ? random() : 0);
		/* Where a write has its source. */
		third.request.local_pvo = harmless ? there.pvo() :
						     pvo(there, 12);
		third.node = uint16_t(one_in(24) ? random() : node_b);
		third.reserved = uint16_t(one_in(24) ? random() : 0);
		third.window = one_in(24) ? uint32_t(random()) :
			       one_in(24) ? bystander.number() :
					    pair.b.number();
		third.rcxt = rcxt(theirs);
		third.reserved2 = uint32_t(one_in(24) ? random() : 0);
		memcpy(to, &third, sizeof(third));
	}

	void header(pavo_frame_hdr *hdr)
	{
		hdr->node = uint16_t(one_in(24) ? random() : node_b);
		hdr->window = pair.b.number();
		if (one_in(24))
			hdr->window = uint32_t(random());
		if (one_in(24))
			hdr->window = uint32_t(random() & 0xffffff);
		if (one_in(24))
			hdr->window = bystander.number();
		hdr->type = uint8_t(one_in(24) ?
					    random() :
					    PAVO_FRAME_MESSAGE + random() % 6);
		/* The only one that gets no mark. */
		if (hdr->type == PAVO_FRAME_PASSED)
			hdr->type = 0;
		hdr->length = hdr->type == PAVO_FRAME_RDMA_THIRD ?
				      sizeof(pavo_rdma_third) :
				      sizeof(pavo_rdma_request);
		if (hdr->type == PAVO_FRAME_MESSAGE ||
		    hdr->type == PAVO_FRAME_RDMA_PIECE)
			hdr->length += uint16_t(random() % 1000);
		if (one_in(24))
			hdr->length = uint16_t(random());
		hdr->kind = uint8_t(random());
		hdr->state = PAVO_FRAME_EMPTY;
	}

	void frame(uint32_t number)
	{
		pavo_frame_hdr *hdr = shared_of(*window).send_frame(number);
		auto *to = reinterpret_cast<std::byte *>(hdr + 1);

		header(hdr);
		for (size_t i = 0; i < PAVO_FRAME_PAYLOAD; i += 8) {
			uint64_t value = random();

			memcpy(to + i, &value, sizeof(value));
		}
		if (!harmless && one_in(50))
			return;
		if (hdr->type == PAVO_FRAME_RDMA_PIECE)
			piece(to);
		else if (hdr->type == PAVO_FRAME_RDMA_THIRD)
			third(to);
		else
			body(to, hdr->type == PAVO_FRAME_RDMA_WRITE);
	}

	/* A frame of a counter, or a request. */
	void conditional(uint32_t number)
	{
		pavo_frame_hdr *hdr = shared_of(*window).send_frame(number);
		auto *to = reinterpret_cast<std::byte *>(hdr + 1);
		pavo_conditional condition = {
			.counter =
				uint32_t(one_in(12) ? random() : random() % 4),
			.following =
				uint32_t(one_in(40) ? random() : random() % 4),
			.target = one_in(12) ? random() : random() % 8};
		pavo_counter_request request = {
			.counter = condition.counter,
			.rcxt = one_in(4) ? rcxt(mine) : 0,
			.value = one_in(2) ? random() % 8 : 0,
			.cookie = uint32_t(one_in(2) ? random() : 0),
			.flags = uint32_t(one_in(2) ? random() % 4 : 0)};

		frame(number);
		switch (random() % 8) {
		case 0:
		case 1:
			hdr->type = PAVO_FRAME_CONDITIONAL;
			hdr->length = sizeof(condition);
			memcpy(to, &condition, sizeof(condition));
			break;
		case 2:
			hdr->type =
				uint8_t(PAVO_FRAME_COUNTER_SET + random() % 4);
			hdr->length = sizeof(request);
			memcpy(to, &request, sizeof(request));
			break;
		case 3:
			hdr->type = PAVO_FRAME_PASSED;
			break;
		default:
			hdr->type = PAVO_FRAME_RDMA_WRITE;
			hdr->length = sizeof(pavo_rdma_request);
			body(to, true);
		}
	}

	uint32_t mark(uint32_t number)
	{
		return std::atomic_ref(
			       shared_of(*window).send_frame(number)->state)
			.load(std::memory_order_acquire);
	}

	/* Some frames, and what each was marked with. */
	void round()
	{
		uint32_t n = 1 + uint32_t(random() % 8);

		for (uint32_t i = 0; i < n; i++)
			frame(next + i);
		command(*window, command_word(PAVO_WCMD_START_TRANSMIT, n));
		ASSERT_TRUE(shared_of(*window).kick().has_value());
		for (uint32_t i = 0; i < n; i++) {
			ASSERT_TRUE(eventually([&] { return mark(next + i); }));
			seen.insert(mark(next + i));
		}
		next += n;
		look_away(*window);
		look_away(pair.b);
	}

	static void look_away(pavo::Window &window)
	{
		window.receive([](const Message &) {});
	}

	/* Of memory that the villain's job itself owns: what was not mapped. */
	bool within()
	{
		for (auto [buffer, number] :
		     {std::pair{&here, 1u}, std::pair{&there, 2u}})
			if (!buffer->holds(number, 0, garbage_page) ||
			    !buffer->holds(number,
					   garbage_page + garbage_mapped,
					   garbage_page))
				return false;
		return true;
	}

	std::mt19937_64 random{7};
	/* No request is to end the window. */
	bool harmless = false;
	Pair pair{false, 1024};
	Bystander bystander;
	Buffer here;
	Buffer there;
	std::unique_ptr<pavo::Window> window;
	uint32_t mine[4] = {};
	uint32_t theirs[4] = {};
	uint32_t next = 0;
	uint64_t tid = 0;
	std::set<uint32_t> seen;
};

TEST_F(Villain, RequestsOfAnyKind)
{
	const char *const reasons[] = {
		"rx_drop_window",  "rx_drop_window_key", "rx_drop_rcxt",
		"rx_drop_tid",	   "rx_drop_rdma_pvo",	 "rx_drop_rdma_length",
		"rx_drop_rdma_far"};
	std::vector<Moved> moved;
	uint32_t deaths = 0;

	for (const char *reason : reasons)
		moved.emplace_back(pair.device_b, reason);
	for (uint32_t n = 1; n <= 2500 && !HasFatalFailure(); n++) {
		round();
		if (window->lmt().value().state == pavo::WindowState::dead) {
			deaths++;
			open();
		}
		if (n % 100 == 0)
			take_contexts();
		if (n % 250 == 0) {
			ASSERT_TRUE(bystander.untouched()) << n;
			ASSERT_TRUE(within()) << n;
		}
	}
	EXPECT_EQ(pair.b.lmt().value().state, pavo::WindowState::valid);
	EXPECT_GT(deaths, 0u);
	for (uint32_t state :
	     {PAVO_FRAME_SENT, PAVO_FRAME_BAD_TYPE, PAVO_FRAME_BAD_LENGTH,
	      PAVO_FRAME_BAD_NODE, PAVO_FRAME_BAD_WINDOW,
	      PAVO_FRAME_BAD_REQUEST, PAVO_FRAME_BAD_RCXT, PAVO_FRAME_BUSY,
	      PAVO_FRAME_STALE, PAVO_FRAME_BAD_PVO})
		EXPECT_TRUE(seen.contains(state)) << state;
	EXPECT_LE(*seen.rbegin(), uint32_t(PAVO_FRAME_HELD));
	for (size_t i = 0; i < moved.size(); i++)
		EXPECT_GT(moved[i].by(), 0u) << reasons[i];
	EXPECT_TRUE(bystander.untouched());
	bystander.works();
}

/*
 * Conditions that wait for others or for nothing, counters that are set meanwhile, slots that are used
 * though their frames are held, and cancels. Some frames get no mark before the window is disabled.
 */
TEST_F(Villain, ConditionsOfAnyKind)
{
	harmless = true;
	for (uint32_t n = 1; n <= 400 && !HasFatalFailure(); n++) {
		uint32_t frames = 1 + uint32_t(random() % 8);

		for (uint32_t i = 0; i < frames; i++)
			conditional(next + i);
		next += frames;
		command(*window,
			command_word(PAVO_WCMD_START_TRANSMIT, frames));
		ASSERT_TRUE(shared_of(*window).kick().has_value());
		ASSERT_TRUE(eventually(
			[&] { return !window->lmt().value().send_ready; }));
		if (one_in(4))
			(void)window->cancel({&mine[random() % 4], 1});
		if (one_in(50))
			open();
		look_away(*window);
		look_away(pair.b);
	}
	must(window->disable());
	ASSERT_TRUE(
		eventually([&] { return window->snapshot().value() == 0; }));
	EXPECT_TRUE(within());
	EXPECT_TRUE(bystander.untouched());
	bystander.works();
}

/*
 * They change while they are looked at, from one request that does not end the window to
 * another: nor does any mixture, if what was checked is what is used.
 */
TEST_F(Villain, RequestsThatChange)
{
	constexpr size_t words = PAVO_FRAME_LINE / sizeof(uint64_t),
			 word_of_tid = 3;
	std::atomic<bool> over = false;
	std::vector<uint64_t *> lines;
	std::vector<uint64_t> first, second;
	Moved placed(pair.device_b, "rx_rdma_packets");

	harmless = true;
	for (uint32_t n = 0; n < garbage_frames; n++) {
		auto *at = reinterpret_cast<uint64_t *>(
			shared_of(*window).send_frame(n));

		for (auto *values : {&first, &second}) {
			frame(n);
			values->insert(values->end(), at, at + words);
		}
		lines.push_back(at);
	}
	std::thread scribbler([&] {
		std::mt19937_64 own(8);
		uint64_t last = tid;

		while (!over)
			for (size_t i = 0; i < first.size(); i++) {
				uint64_t value = own() % 2 ? first[i] :
							     second[i];

				/* So that it is not stale. */
				if (i % words == word_of_tid)
					value = ++last;
				std::atomic_ref(lines[i / words][i % words])
					.store(value,
					       std::memory_order_relaxed);
			}
	});
	for (int n = 0; n < 400; n++) {
		command(*window, command_word(PAVO_WCMD_START_TRANSMIT,
					      1 + uint32_t(random() % 8)));
		EXPECT_TRUE(shared_of(*window).kick().has_value());
		look_away(pair.b);
		look_away(*window);
	}
	over = true;
	scribbler.join();
	EXPECT_EQ(window->lmt().value().state, pavo::WindowState::valid);
	EXPECT_EQ(pair.b.lmt().value().state, pavo::WindowState::valid);
	EXPECT_GT(placed.by(), 0u);
	EXPECT_TRUE(bystander.untouched());
	EXPECT_TRUE(within());
	bystander.works();
}

/* Each command that cannot be carried out is counted, and no other. */
TEST_F(Villain, CommandsOfAnyKind)
{
	constexpr uint32_t waiting = 100, slots = 256;
	uint32_t ready = 0, free = slots - waiting;
	uint64_t wrong = 0;
	pavo::Handler one = pavo::Handler::open(*window).value(),
		      two = pavo::Handler::open(*window).value();
	auto right = [&](uint64_t op, uint32_t argument) {
		switch (op) {
		case PAVO_WCMD_START_TRANSMIT:
			if (!argument || argument > garbage_frames - ready)
				return false;
			ready += argument;
			return true;
		case PAVO_WCMD_RETURN_SLOTS:
			if (argument > slots - free)
				return false;
			free += argument;
			return true;
		case PAVO_WCMD_HANDLER_READY:
			return argument < 2;
		default:
			return op >= PAVO_WCMD_RECV_THRESHOLD &&
			       op <= PAVO_WCMD_RECV_THRESHOLD_EARLY;
		}
	};

	for (uint32_t n = 0; n < waiting; n++)
		ASSERT_TRUE(
			pair.b.send({node_a, window->number()}, {}).has_value());
	ASSERT_TRUE(eventually(
		[&] { return window->lmt().value().recv_free == free; }));
	Moved counter(pair.device_a, "window_bad_commands");
	for (int round = 0; round < 3000; round++) {
		pavo_command_page *shared = shared_of(*window).commands();

		for (uint64_t i = random() % 16; i--;) {
			uint64_t value = command_word(random() % 9,
						      uint32_t(random() % 80));

			if (one_in(8))
				value = command_word(random() % 9,
						     uint32_t(random()));
			if (one_in(8))
				value = random();
			uint64_t op = value >> PAVO_WCMD_OP_SHIFT;
			if (value != command_word(op, uint32_t(value)) ||
			    !right(op, uint32_t(value)))
				wrong++;
			command(*window, value);
		}
		/* More than a ring can hold: none of them is looked at. */
		if (one_in(50)) {
			ASSERT_TRUE(shared_of(*window).kick().has_value());
			shared->producer += PAVO_WCMD_RING + 1 +
					    uint32_t(random() % 100'000);
			wrong++;
		}
		shared->consumer = uint32_t(random());
		ASSERT_TRUE(shared_of(*window).kick().has_value());
		ASSERT_TRUE(eventually(
			[&] { return !window->lmt().value().send_ready; }));
		ready = 0;
		ASSERT_EQ(window->lmt().value().recv_free, free);
	}
	EXPECT_EQ(counter.by(), wrong);
	EXPECT_TRUE(bystander.untouched());
	bystander.works();
}

} // namespace
