// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many queue pairs on one adapter, all connected, all used; and what one costs
 * while it rests.
 */
#include <sys/mman.h>

#include "../common/files.h"
#include "../common/slow_kernel.h"
#include "link.h"
#include "paged.h"
#include "tap.h"

using namespace pv;

namespace {

/* The memory that the kernel has given away, but for this process's own heap. */
int64_t kernel_memory()
{
	return -1024 *
	       int64_t(common::number_behind("/proc/meminfo", "MemAvailable:") +
		       common::number_behind("/proc/self/status", "RssAnon:"));
}

/* Bytes of all objects in use of the kernel's slabs; pages of processes are none. */
int64_t slab_memory()
{
	int64_t all = 0;

	for (const std::string &line : common::lines_of("/proc/slabinfo", "")) {
		int64_t objects, bytes;

		if (sscanf(line.c_str(), "%*s %ld %*d %ld", &objects, &bytes) ==
		    2)
			all += objects * bytes;
	}
	return all;
}

constexpr uint32_t scale_slot = 64; /* bytes of each message */

/* One message on every link, all under way at once; each byte is checked. */
void use_all(Env &env, std::vector<Link> &links, Side Link::*from,
	     Side Link::*to, const Mr &out, const Mr &in, Cq sent, Cq received)
{
	const uint64_t seed = env.seed();
	const uint32_t batch = 256;
	Side &sender = links[0].*from, &receiver = links[0].*to;

	sender.host->fill(out.id, 0, out.length, seed, 0);
	receiver.host->fill(in.id, 0, in.length, seed + 1, 0);
	for (uint32_t i = 0; i < links.size(); i++) {
		SendWr send = make_wr(Op::send, {out, int64_t(i) * scale_slot},
				      scale_slot);

		must_post(links[i].*to,
			  RecvWr{.sges = {{in.id, int64_t(i) * scale_slot,
					   scale_slot, 0}}});
		must_post(links[i].*from, send);
		if (i % batch == batch - 1 || i + 1 == links.size()) {
			const uint32_t count = i % batch + 1;

			for (const Wc &wc : wait_completions(env, sender, sent,
							     count, "sends"))
				REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS,
					   "send");
			for (const Wc &wc :
			     wait_completions(env, receiver, received, count,
					      "receives"))
				REQUIRE_EQ(wc.byte_len, scale_slot, "received");
		}
	}
	must_match(*receiver.host, in, 0, in.length, seed, 0,
		   "what came, each at its queue pair's place");
}

/* Bytes of this process' own memory. */
int64_t own_memory()
{
	return 1024 * common::number_behind("/proc/self/status", "RssAnon:");
}

void make_and_destroy(Env &env, Cq cq, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		Qp qp = env.a.create_qp({.send_cq = cq.id,
					 .recv_cq = cq.id,
					 .cap = {1, 1, 1, 1, 0}});

		REQUIRE_EQ(qp.error, 0, "create_qp ", i);
		REQUIRE_EQ(env.a.destroy(Kind::qp, qp.id), 0, "destroy");
	}
}

} // namespace

PV_TEST_LOCAL(
	"scale.come_and_go",
	"queue pairs that are made and destroyed one after the other leave "
	"no memory of the process behind")
{
	constexpr uint32_t count = 4000;
	Cq cq = env.a.create_cq(16, false);

	REQUIRE_EQ(cq.error, 0, "create_cq");
	make_and_destroy(env, cq, 500);

	const int64_t before = own_memory();

	make_and_destroy(env, cq, count);

	const int64_t grown = own_memory() - before;

	note(str(count, " queue pairs: ", grown, " bytes more"));
	REQUIRE(grown < 1 << 20, "the process grew by ", grown, " bytes");
}

PV_TEST_LOCAL("scale.many_qps",
	      "--many queue pairs are connected on one adapter and all work; "
	      "prints what each costs at rest")
{
	const uint32_t many = env.options.many;
	std::vector<Link> links;

	REQUIRE(env.info_a.device.max_qp >= int(many), "max_qp ",
		env.info_a.device.max_qp);
	Mr mr_a = must_reg(env.a, {uint64_t(many) * scale_slot});
	Mr mr_b = must_reg(env.b, {uint64_t(many) * scale_slot});
	LinkSpec spec = {.cap = {1, 1, 1, 1, 0},
			 .cq_a = env.a.create_cq(1024, false),
			 .cq_b = env.b.create_cq(1024, false)};
	links.reserve(many);
	/* one to begin with: what is made once only */
	links.push_back(connect(env, spec));

	const int64_t before = kernel_memory();
	while (links.size() < many)
		links.push_back(connect(env, spec));
	const int64_t each = (kernel_memory() - before) / (2 * (many - 1));

	show(str(many, " connected queue pairs on each of two adapters, ", each,
		 " bytes of kernel memory for each at rest"));
	/* A queue pair is its struct, a ring for each direction and room for
	 * what is outstanding. More than this is a leak, or a wrong default. */
	REQUIRE(each < 64 << 10, each, " bytes for a queue pair at rest");

	use_all(env, links, &Link::a, &Link::b, mr_a, mr_b, spec.cq_a,
		spec.cq_b);
	use_all(env, links, &Link::b, &Link::a, mr_b, mr_a, spec.cq_b,
		spec.cq_a);
	for (Link &link : links)
		REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_RTS, "state");
}

PV_TEST_LOCAL("scale.regions",
	      "10,000 regions of 4 KiB, each of another page: prints how much "
	      "memory of the kernel each takes")
{
	constexpr uint32_t count = 10000;
	const size_t length = count * page;
	uint8_t *at = static_cast<uint8_t *>(
		mmap(nullptr, length, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));

	REQUIRE(at != MAP_FAILED, "mmap: ", strerror(errno));
	std::vector<RawMr> regions(count);
	auto fill = [&] {
		for (uint32_t i = 0; i < count; i++)
			regions[i] = must_reg_raw(env.a, at + i * page, page);
	};

	/* one to begin with: what is made once only */
	const RawMr first = must_reg_raw(env.a, at, page);
	const int64_t before = slab_memory();
	fill();
	const int64_t all = slab_memory() - before;
	show(str(count, " regions of a page, ", all / count,
		 " bytes of kernel memory for each"));
	/*
	 * Objects of about 600 bytes. Keys are random: a tree would have a node of 576 bytes for
	 * nearly each. Checkers make every object larger.
	 */
	REQUIRE(all / count > 100, "no object is seen");
	REQUIRE(all / count < 1024 || common::slow_kernel(), all / count,
		" bytes for a region");
	regions.clear();
	munmap(at, length);
}
