// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * scene.h - what tests of forged packets share: two honest ends, a real packet that is the
 * model of forgeries, and a way to put those on the wire. Their checksums are right.
 */
#ifndef PAVO_WINDOW_SCENE_H
#define PAVO_WINDOW_SCENE_H

#include <gtest/gtest.h>

#include <algorithm>

#include "adapter.h"
#include "raw.h"

namespace windows {

constexpr size_t page = world::page, mapped = 4 * page;

/* Memory of end b is mapped in its middle only; forgeries have contexts of their own. */
struct Scene : Ends {
	Scene() : Ends(mapped, false, page), in("vb"), out("va")
	{
		must(a.take_rcxts({&forged_a, 1}));
		must(b.take_rcxts({&forged_b, 1}));
		EXPECT_TRUE(honest());
		auto frames = in.recorded();
		EXPECT_EQ(frames.size(), 1u);
		model = frames.at(0);
		there.fill(2);
	}

	/* A write of 1000 bytes on contexts that no test forges. */
	bool honest()
	{
		auto write = request(++tid, 1000);
		bool notified = false;

		write.remote_pvo += 100;
		if (ask(true, write) != pavo::FrameState::sent)
			return false;
		return eventually([&] {
			       a.receive([&](const pavo::Message &message) {
				       notified |=
					       message.type ==
						       pavo::FrameType::rdma_done &&
					       message.done().tid == tid &&
					       message.done().rcxt == rcxt_a;
			       });
			       b.receive([](const pavo::Message &) {});
			       return notified;
		       }) &&
		       std::ranges::equal(here.memory.part(0, 1000),
					  there.memory.part(page + 100, 1000));
	}

	/* A forgery on the other context. */
	Frame forged()
	{
		Frame frame = model;

		set_field(frame, AT_RCXT, 4, forged_b);
		set_field(frame, AT_PEER_RCXT, 4, forged_a);
		set_field(frame, AT_TID, 8, ++tid);
		return frame;
	}

	void send(Frame &frame)
	{
		finish_checksums(frame);
		out.send(frame);
	}

	/*
	 * Sent three times, each with a tid of its own where that matters, it is counted
	 * as often: nothing is placed, no process is notified, nothing is sent for it, and b goes on.
	 */
	void drops(Frame &frame, const char *name)
	{
		Moved counter(device_b, name),
			left(device_b, "tx_rdma_packets");

		for (uint64_t n = 1; n <= 3; n++) {
			send(frame);
			ASSERT_TRUE(
				eventually([&] { return counter.by() >= n; }));
			if (frame.size() > AT_PVO &&
			    field(frame, AT_TID, 8) > 1)
				set_field(frame, AT_TID, 8, ++tid);
		}
		EXPECT_EQ(counter.by(), 3u);
		EXPECT_EQ(left.by(), 0u);
		EXPECT_TRUE(quiet(b));
		EXPECT_TRUE(there.holds(2));
		EXPECT_TRUE(here.holds(1));
		EXPECT_EQ(b.lmt().value().state, pavo::WindowState::valid);
		EXPECT_TRUE(honest());
	}

	Wire in;
	Wire out;
	uint32_t forged_a = 0;
	uint32_t forged_b = 0;
	uint64_t tid = 0;
	Frame model;
};

/* A change of the model, and the counter that says why it is dropped. */
struct Forgery {
	const char *name;
	const char *counter;
	void (*forge)(Scene &scene, Frame &frame);
};

} // namespace windows

#endif // PAVO_WINDOW_SCENE_H
