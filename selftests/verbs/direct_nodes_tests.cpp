// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Direct windows and the memory of other nodes: an address that comes in a packet gets a range,
 * which is no part of that address, and headers of any size leave the bytes where they belong. Claims are
 * those of sources.md#direct. A is the node with the window; with one machine B is its neighbour.
 */
#include "../common/pattern.h"
#include "direct.h"
#include "tap.h"
#include "xrc.h"

using namespace pv;

namespace {

/* No process has memory there by itself. */
constexpr uint64_t far_address = 0x300000000;
constexpr uint32_t size = 16384;

/* Memory that a node has named in a message, as an I/O request does. */
struct Named {
	uint64_t address;
	uint32_t rkey;
	uint32_t length;
};

/* A connection on which B names memory. */
struct Node {
	explicit Node(Env &env)
		: env(env), link(connect(env)),
		  order(must_reg(env.b, {sizeof(Named)})),
		  mailbox(must_reg(env.a, {sizeof(Named)}))
	{
	}

	/* The name of that place, as it arrived. */
	Named name(const Mr &mr, uint32_t length)
	{
		Named named;

		must_post(link.a,
			  RecvWr{1, {{mailbox.id, 0, sizeof(named), 0}}});
		env.b.store(order.id, 0, mr.address);
		env.b.store(order.id, 8, uint64_t(length) << 32 | mr.rkey);
		must_send(env, link.b,
			  make_wr(Op::send, {order}, sizeof(named)), "request");
		expect_recv(env, link.a, 1, "request");
		memcpy(&named, local(env.a).memory(mailbox.id), sizeof(named));
		return named;
	}

	/* Posts what moves bytes between the range and that memory. */
	void post(const Direct &window, uint32_t range, ibv_wr_opcode opcode,
		  const Named &named)
	{
		ibv_send_wr wr = {};

		wr.wr_id = range;
		wr.opcode = opcode;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.rdma.remote_addr = named.address;
		wr.wr.rdma.rkey = named.rkey;
		post_raw_send(link.a, wr, window.sge(range, named.length));
	}

	/* A write of the pattern, by way of the range. */
	void write(const Direct &window, uint32_t range, const Named &named,
		   uint64_t seed)
	{
		window.arm(range, named.length);
		post(window, range, IBV_WR_RDMA_WRITE, named);
		window.put(range, 0, named.length, seed);
		expect_send(env, link.a, range, "write");
	}

	Env &env;
	Link link;
	Mr order, mailbox;
};

/* Where payload begins in a packet of such an operation. */
struct Headers {
	const char *name;
	ibv_qp_type type;
	ibv_wr_opcode opcode;
};

constexpr Headers headers[] = {
	{"send", IBV_QPT_RC, IBV_WR_SEND},
	{"send with immediate", IBV_QPT_RC, IBV_WR_SEND_WITH_IMM},
	{"write", IBV_QPT_RC, IBV_WR_RDMA_WRITE},
	{"write with immediate", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM},
	{"send of XRC", IBV_QPT_XRC_SEND, IBV_WR_SEND},
	{"write of XRC", IBV_QPT_XRC_SEND, IBV_WR_RDMA_WRITE},
	{"write of XRC with immediate", IBV_QPT_XRC_SEND,
	 IBV_WR_RDMA_WRITE_WITH_IMM},
	{"write of UC", IBV_QPT_UC, IBV_WR_RDMA_WRITE},
	{"write of UC with immediate", IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM},
};

bool takes_receive(ibv_wr_opcode opcode)
{
	return opcode != IBV_WR_RDMA_WRITE;
}

bool is_send(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
}

/* One operation of such headers, from a part of a range; memory of B takes it at @at. */
void move_part(Env &env, Link &link, const Headers &how, const Direct &window,
	       uint32_t range, uint32_t offset, uint32_t length, const Mr &at_b)
{
	const uint64_t seed = env.seed(), around = env.seed();
	ibv_send_wr wr = {};

	env.b.fill(at_b.id, 0, at_b.length, around, 0);
	if (takes_receive(how.opcode)) {
		const RecvWr receive = {7,
					{{at_b.id, offset,
					  is_send(how.opcode) ? length : 0,
					  0}}};

		if (link.b.srq)
			REQUIRE_EQ(env.b.post_srq(link.b.srq, {receive}).error,
				   0, "receive");
		else
			must_post(link.b, receive);
	}
	wr.wr_id = 3;
	wr.opcode = how.opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = at_b.address + offset;
	wr.wr.rdma.rkey = at_b.rkey;
	wr.qp_type.xrc.remote_srqn = link.a.srqn;
	window.arm(range, offset + length);
	post_raw_send(link.a, wr, window.sge(range, length, offset));
	window.put(range, 0, offset + length, seed);
	expect_send(env, link.a, 3, how.name);
	if (takes_receive(how.opcode))
		expect_recv(env, link.b, 7, how.name);
	/* A write of UC completes before it has arrived. */
	REQUIRE(eventually(env,
			   [&] {
				   return env.b.verify(at_b.id, offset, length,
						       seed, offset) < 0;
			   }),
		how.name, ": ", length, " bytes from ", offset, " on");
	must_match(env.b, at_b, 0, offset, around, 0, "before");
	must_match(env.b, at_b, offset + length, at_b.length - offset - length,
		   around, offset + length, "behind");
}

} // namespace

PV_TEST_LOCAL_A(
	"direct.nodes_addresses",
	"a node names two addresses that are far apart: one range, armed "
	"before the first, serves them in turn (claims 38, 39)")
{
	Node node(env);
	Direct window(env.a);
	Mr near = must_reg(env.b, {4096}),
	   far = must_reg(env.b, {.length = 4096, .at = far_address});
	uint64_t before = 0;

	window.arm(5, 4096);
	window.disarm(5);
	for (int round = 0; round < 4; round++)
		for (const auto &[mr, other] :
		     {std::pair(near, far), std::pair(far, near)}) {
			const uint64_t seed = env.seed();

			node.write(window, 5, node.name(mr, 4096), seed);
			must_match(env.b, mr, 0, 4096, seed, 0, "written");
			if (before)
				must_match(env.b, other, 0, 4096, before, 0,
					   "the other address");
			before = seed;
		}
}

PV_TEST_LOCAL_A(
	"direct.nodes_same_address",
	"two nodes name the same address: one range serves them in turn, and "
	"many ranges at once, both ways (claim 40)")
{
	if (!env.options.two_machines)
		throw Skip("both nodes would be one process");
	Env home(env.a, env.a, env.options, env.device_a, env.device_a);
	Node nodes[] = {Node(env), Node(home)};
	Direct window(env.a, {0, 8, size, 8});
	const MrSpec spec = {.length = size, .at = far_address};
	const Mr memory[] = {must_reg(env.b, spec), must_reg(env.a, spec)};
	const Named named[] = {nodes[0].name(memory[0], size),
			       nodes[1].name(memory[1], size)};
	uint64_t seeds[2];

	REQUIRE_EQ(named[0].address, named[1].address, "the same address");
	for (int round = 0; round < 8; round++) {
		const int node = round % 2;

		seeds[node] = env.seed();
		nodes[node].write(window, 2, named[node], seeds[node]);
		for (int i = 0; round && i < 2; i++)
			must_match(nodes[i].env.b, memory[i], 0, size, seeds[i],
				   0, i ? "at home" : "abroad");
	}
	/* A quarter of the memory by each range; those of the nodes are filled in turn. */
	for (uint32_t range = 0; range < 8; range++) {
		const int i = range % 2;
		Named part = named[i];

		part.address += uint64_t(range / 2) * (size / 4);
		part.length = size / 4;
		window.arm(range, part.length);
		nodes[i].post(window, range, IBV_WR_RDMA_WRITE, part);
		window.put(range, 0, part.length, 7000 + range);
	}
	for (uint32_t range = 0; range < 8; range++) {
		const int i = range % 2;
		const int64_t at = int64_t(range / 2) * (size / 4);

		expect_send(nodes[i].env, nodes[i].link.a, range, "at once");
		must_match(nodes[i].env.b, memory[i], at, size / 4,
			   7000 + range, 0, "at once");
	}
	/* The other way, by one range. */
	for (int i = 0; i < 2; i++) {
		nodes[i].env.b.fill(memory[i].id, 0, size, 9000u + i, 0);
		window.arm_read(4, size);
		nodes[i].post(window, 4, IBV_WR_RDMA_READ, named[i]);
		window.take(env, 4, 0, size, 9000u + i);
		expect_send(nodes[i].env, nodes[i].link.a, 4, "read");
	}
}

PV_TEST_LOCAL_A(
	"direct.nodes_two_ranges",
	"a node names one address twice: two ranges serve it, and the one "
	"that is posted last stays (claim 41)")
{
	Node node(env);
	Direct window(env.a);
	Mr memory = must_reg(env.b, {.length = 4096, .at = far_address});
	const uint64_t first = env.seed(), second = env.seed();

	for (uint32_t range : {11u, 12u}) {
		const Named named = node.name(memory, 4096);

		window.arm(range, 4096);
		node.post(window, range, IBV_WR_RDMA_WRITE, named);
	}
	window.put(12, 0, 4096, second);
	window.put(11, 0, 4096, first);
	expect_send(env, node.link.a, 11, "first");
	expect_send(env, node.link.a, 12, "second");
	must_match(env.b, memory, 0, 4096, second, 0, "the last one");
}

PV_TEST_LOCAL_A(
	"direct.nodes_header_sizes",
	"headers of every size, ranges of two sizes, parts of a range: a bus "
	"address is the same byte of the message (claims 12-14)")
{
	Mr at_b = must_reg(env.b, {size});
	Link rc = connect(env), uc = connect(env, {.type = IBV_QPT_UC}),
	     xrc = connect_xrc(env);

	for (uint32_t range_size : {4096u, size}) {
		Direct window(env.a, {0x12345678, 8, range_size, 8});

		for (const Headers &how : headers) {
			Link &link = how.type == IBV_QPT_RC ? rc :
				     how.type == IBV_QPT_UC ? uc :
							      xrc;

			for (uint32_t offset :
			     {0u, 1u, 0x88u, range_size - 777})
				for (uint32_t length : {1u, 777u})
					move_part(env, link, how, window, 2,
						  offset, length, at_b);
			move_part(env, link, how, window, 7, 0, range_size,
				  at_b);
		}
	}
}
