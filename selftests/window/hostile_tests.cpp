// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hostile_tests.cpp - packets of RDMA that an attacker made up, with a right checksum:
 * each is dropped for its own reason, nothing is touched that may not be, and honest
 * ends go on. A real packet is the model for them all.
 */
#include <gtest/gtest.h>

#include <random>

#include "forgeries.h"

using namespace windows;
using pavo::Message;

namespace {

const Forgery writes[] = {
	{"AnotherKey", "rx_drop_window_key",
	 [](Scene &, Frame &frame) { frame[AT_KEY] ^= 1; }},
	{"NoSuchWindow", "rx_drop_window",
	 [](Scene &scene, Frame &frame) {
		 set_field(frame, AT_DWINDOW, 3, scene.b.number() + 1000);
	 }},
	{"AnEndOfNothing", "rx_drop_tid",
	 [](Scene &, Frame &frame) {
		 frame[AT_OPCODE] = 0xc3;
		 resize(frame, AT_PAYLOAD, 0);
	 }},
	{"AnEndWithData", "rx_drop_surplus",
	 [](Scene &, Frame &frame) { frame[AT_OPCODE] = 0xc3; }},
	{"ARequestThatIsShort", "rx_drop_short",
	 [](Scene &, Frame &frame) {
		 frame[AT_OPCODE] = 0xc2;
		 resize(frame, AT_PAYLOAD, 0);
	 }},
	{"DataThatIsShort", "rx_drop_short",
	 [](Scene &, Frame &frame) { resize(frame, AT_PAYLOAD - 8, 0); }},
	{"AMessageThatIsShort", "rx_drop_short",
	 [](Scene &, Frame &frame) {
		 frame[AT_OPCODE] = 0xc0;
		 resize(frame, AT_RCXT - 8, 0);
	 }},
};

class ForgedWrite : public testing::TestWithParam<Forgery> {};

TEST_P(ForgedWrite, IsDropped)
{
	Scene scene;
	Frame frame = scene.forged();

	GetParam().forge(scene, frame);
	scene.drops(frame, GetParam().counter);
}

INSTANTIATE_TEST_SUITE_P(Contexts, ForgedWrite,
			 testing::ValuesIn(of_contexts()), name_of);
INSTANTIATE_TEST_SUITE_P(Memory, ForgedWrite, testing::ValuesIn(of_memory()),
			 name_of);
INSTANTIATE_TEST_SUITE_P(Amounts, ForgedWrite, testing::ValuesIn(of_amounts()),
			 name_of);
INSTANTIATE_TEST_SUITE_P(Addresses, ForgedWrite,
			 testing::ValuesIn(of_addresses()), name_of);
INSTANTIATE_TEST_SUITE_P(Own, ForgedWrite, testing::ValuesIn(writes), name_of);

/*
 * Messages are, too. The flag of a window permits sending, and changes nothing here: the members of a
 * group are found by its number.
 */
TEST(Hostile, PacketsToManyAreForGroupsOnly)
{
	Scene scene;
	auto open = another(scene, {.broadcast = true});
	uint32_t rcxt;
	uint64_t n = 0;

	must(open->take_rcxts({&rcxt, 1}));
	for (const Forgery &forgery : of_addresses()) {
		Frame text = scene.forged(), data = scene.forged();

		text[AT_OPCODE] = 0xc0;
		resize(text, AT_RCXT, 100);
		forgery.forge(scene, text);
		forgery.forge(scene, data);
		scene.drops(text, forgery.counter);
		/* As drops() expects it. */
		scene.there.fill(2);
		set_field(text, AT_DWINDOW, 3, open->number());
		scene.drops(text, forgery.counter);
		scene.there.fill(2);
		set_field(data, AT_DWINDOW, 3, open->number());
		set_field(data, AT_RCXT, 4, rcxt);
		set_field(data, AT_TID, 8, ++n);
		scene.drops(data, forgery.counter);
		scene.there.fill(2);
	}
	EXPECT_EQ(open->receive([](const Message &) {}), 0u);
}

/* A window of another job, on the same adapter. */
TEST(Hostile, WindowsOfAnotherJob)
{
	Scene scene;
	pavo::Job other = pavo::Job::reserve(scene.device_b, world::job_id + 1,
					     world::job_key)
				  .value();
	pavo::Window window =
		pavo::Window::open(other, {.gid_index = scene.address_b.index})
			.value();
	Frame frame = scene.forged();
	uint32_t rcxt;

	must(window.take_rcxts({&rcxt, 1}));
	set_field(frame, AT_DWINDOW, 3, window.number());
	set_field(frame, AT_RCXT, 4, rcxt);
	Moved key(scene.device_b, "rx_drop_window_key");
	scene.send(frame);
	EXPECT_TRUE(eventually([&] { return key.by() == 1; }));
	/* Nor do its contexts serve a window of ours. */
	set_field(frame, AT_DWINDOW, 3, scene.b.number());
	Moved foreign(scene.device_b, "rx_drop_rcxt");
	scene.send(frame);
	EXPECT_TRUE(eventually([&] { return foreign.by() == 1; }));
	EXPECT_TRUE(scene.there.holds(2));
	EXPECT_TRUE(scene.honest());
}

/* Any fields at any values, from an attacker that knows the job's key. */
TEST(Hostile, AnythingAtAll)
{
	Scene scene;
	std::mt19937_64 random(20);
	constexpr struct {
		size_t at, bytes;
	} fields[] = {{AT_OPCODE, 1}, {AT_NODE, 2},	 {AT_WINDOW, 3},
		      {AT_RCXT, 4},   {AT_PEER_RCXT, 4}, {AT_TID, 8},
		      {AT_PVO, 8},    {AT_TOTAL, 4},	 {AT_FRAGMENT, 4},
		      {AT_TAG, 4},    {AT_ATTEMPTS, 2},	 {AT_FLAGS, 1},
		      {AT_STATUS, 1}};

	for (int n = 0; n < 20'000; n++) {
		Frame frame = scene.forged();
		size_t changes = 1 + random() % 4;

		if (random() % 2)
			resize(frame, AT_PAYLOAD, random() % 1400);
		for (size_t i = 0; i < changes; i++) {
			auto &which = fields[random() % std::size(fields)];
			uint64_t value = random();

			/* Near what is right, or far. */
			if (random() % 2 || which.at == AT_TID)
				value = field(frame, which.at, which.bytes) +
					random() % 16 - 8;
			if (which.at == AT_OPCODE)
				value = 0xc0 + random() % 4;
			set_field(frame, which.at, which.bytes, value);
		}
		/* Not the contexts of those who are honest. */
		if (field(frame, AT_RCXT, 4) == scene.rcxt_b ||
		    field(frame, AT_PEER_RCXT, 4) == scene.rcxt_a)
			continue;
		scene.send(frame);
		if (n % 64 == 0) {
			scene.b.receive([](const Message &) {});
			scene.a.receive([](const Message &) {});
		}
	}
	/* When this has come all of those have come by. */
	EXPECT_TRUE(scene.honest());
	EXPECT_TRUE(scene.there.holds(2, 0, page));
	EXPECT_TRUE(scene.there.holds(2, page + mapped, page));
	EXPECT_EQ(scene.b.lmt().value().state, pavo::WindowState::valid);
}

} // namespace
