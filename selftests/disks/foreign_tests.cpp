// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A driver of another subsystem fills ranges of a direct window, which it has as dma-bufs. */
#include "../verbs/direct.h"
#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "camera.h"

using namespace pv;

PV_TEST_LOCAL(
	"foreign.camera",
	"a camera's driver puts frames into dma-bufs of ranges, which leave as writes "
	"without a copy")
{
	constexpr uint32_t ranges = 2, size = 65536;
	const Camera camera;
	const uint32_t bytes = camera.frame_bytes();
	DirectWriting w(env, {}, {0, ranges, size, ranges});
	Moved copied(env.a, "direct_copied"), sent(env.a, "direct_sent");

	REQUIRE(bytes <= size, "a frame has ", bytes, " bytes");
	for (uint32_t range = 0; range < ranges; range++) {
		w.window.arm(range, bytes);
		w.post(range, bytes);
		/* A byte that the camera does not write is seen. */
		w.window.store(range, 0, bytes, env.seed());
	}
	const std::vector<uint8_t> frame = camera.take_frame();
	{
		const Exported first(w.window, 0), second(w.window, 1);

		camera.take_frames(std::vector<int>{first.fd(), second.fd()});
		none_sent(w.link.a, 10, "before the bytes are counted");
		for (uint32_t range = 0; range < ranges; range++)
			w.window.count(range, bytes);
		for (uint32_t range = 0; range < ranges; range++)
			w.expect(range, "frame");
	}
	for (uint32_t range = 0; range < ranges; range++) {
		const uint8_t *got =
			local(env.b).memory(w.at_b.id) + range * size;

		for (uint32_t i = 0; i < bytes; i++)
			REQUIRE_EQ(int(got[i]), int(frame[i]), "range ", range,
				   ", byte ", i);
	}
	REQUIRE_EQ(copied.by(), 0u, "copied bytes");
	REQUIRE_EQ(sent.by(), uint64_t(ranges), "writes");
	w.window.must_be_whole(env);
}
