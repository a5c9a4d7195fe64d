// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Limits at their edge: what a queue or a device says it holds, it holds, and
 * one more is refused. Registration of memory that cannot be registered.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../common/child.h"
#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

ibv_device_attr_ex query_ex(Env &env)
{
	ibv_device_attr_ex attr = {};

	REQUIRE_EQ(ibv_query_device_ex(local(env.a).context(), nullptr, &attr),
		   0, "ibv_query_device_ex");
	return attr;
}

/* So many addresses without memory, or MAP_FAILED. */
void *map_addresses(uint64_t length)
{
	return mmap(nullptr, length, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Whether a process has so many addresses: on some machines it has only 2^39. */
bool has_addresses(uint64_t length)
{
	void *map = map_addresses(length);

	return map != MAP_FAILED && !munmap(map, length);
}

/* Registers so many bytes of addresses; the error, or 0. */
int register_addresses(LocalHost &host, uint64_t length)
{
	void *map = map_addresses(length);

	if (map == MAP_FAILED)
		return ENXIO;
	errno = 0;
	return ibv_reg_mr(host.raw_pd(0), map, length, 0) ? 0 : errno;
}

/*
 * The same by a user who may lock 64 KiB, so that it does not come to memory. In
 * a process of its own, which leaves all behind.
 */
int register_as_user(const Selector &device, uint64_t length)
{
	constexpr rlimit little = {64 << 10, 64 << 10};
	constexpr uid_t ordinary = 65534;
	common::Child child([&] {
		REQUIRE(!setrlimit(RLIMIT_MEMLOCK, &little) &&
				!setresuid(ordinary, ordinary, ordinary),
			"an ordinary user");
		LocalHost host(device);

		_exit(register_addresses(host, length));
	});
	const int status = child.wait();

	REQUIRE(WIFEXITED(status), "status ", status);
	return WEXITSTATUS(status);
}

} // namespace

PV_TEST("limit.send_queue_full",
	"exactly max_send_wr requests fit; the next is ENOMEM and named by bad_wr")
{
	for (uint32_t depth : {1u, 3u, 16u, 100u}) {
		Link link = connect(env, {.cap = {depth, 200, 1, 1, 0}});
		uint32_t room = link.a.qp.cap.max_send_wr;

		REQUIRE(room >= depth, "asked for ", depth, ", got ", room);
		/* They wait for receives, so none leaves the queue. */
		std::vector<SendWr> wrs(room, make_wr(Op::send, {}, 0));

		wrs.push_back(wrs[0]);
		must_not_post(link.a, wrs, ENOMEM, int(room),
			      str("one more than ", room));
		must_not_post(link.a, std::vector{wrs[0]}, ENOMEM, 0,
			      "and again");
		must_post(link.b, std::vector<RecvWr>(std::min(room, 200u)));
		if (room > 200)
			continue;
		wait_completions(env, link.a, link.a.send_cq, room, "sends");
		must_post(link.b, RecvWr{});
		must_send(env, link.a, wrs[0], "room again");
	}
}

PV_TEST("limit.recv_queue_full",
	"exactly max_recv_wr receives fit; the next is ENOMEM and named by bad_wr")
{
	for (uint32_t depth : {1u, 3u, 16u, 100u}) {
		Link link = connect(env, {.cap = {16, depth, 1, 1, 0}});
		uint32_t room = link.b.qp.cap.max_recv_wr;

		REQUIRE(room >= depth, "asked for ", depth, ", got ", room);
		must_not_post(link.b, std::vector<RecvWr>(room + 1), ENOMEM,
			      int(room), str("one more than ", room));
		must_post(link.a, make_wr(Op::send, {}, 0));
		wait_recv(env, link.b, "receive");
		must_post(link.b, RecvWr{});
		must_not_post(link.b, std::vector{RecvWr{}}, ENOMEM, 0,
			      "full again");
	}
}

PV_TEST("limit.queues_longest",
	"max_qp_wr requests fit into a queue at once, and all of them run")
{
	const uint32_t most_a = uint32_t(env.info_a.device.max_qp_wr);
	const uint32_t most_b = uint32_t(env.info_b.device.max_qp_wr);
	const uint32_t depth = std::min(most_a, most_b);

	if (depth > 1u << 15)
		throw Skip(str("a queue has room for ", depth));
	Link link = connect(env, {.cap = {depth, depth, 1, 1, 0},
				  .cq_depth = int(depth)});
	const uint32_t room_a = link.a.qp.cap.max_send_wr;
	const uint32_t room_b = link.b.qp.cap.max_recv_wr;
	REQUIRE(room_a >= depth && room_a <= most_a, "got ", room_a);
	REQUIRE(room_b >= depth && room_b <= most_b, "got ", room_b);
	std::vector<SendWr> sends(depth, make_wr(Op::send, {}, 0));
	std::vector<RecvWr> receives = numbered_receives(0, depth);

	for (uint32_t i = 0; i < depth; i++)
		sends[i].id = i;
	/* They wait for receives, so none leaves the queue. */
	must_post(link.a, sends);
	if (room_a == depth)
		must_not_post(link.a, std::vector{sends[0]}, ENOMEM, 0,
			      "one send more");
	must_post(link.b, receives);
	auto sent = wait_completions(env, link.a, link.a.send_cq, depth,
				     "sends", uint64_t{depth} << 10);
	auto received = wait_completions(env, link.b, link.b.recv_cq, depth,
					 "receives", uint64_t{depth} << 10);
	for (uint32_t i = 0; i < depth; i++) {
		check_wc(sent[i], i, IBV_WC_SUCCESS, "send");
		check_wc(received[i], i, IBV_WC_SUCCESS, "receive");
	}
	must_post(link.b, receives);
	if (room_b == depth)
		must_not_post(link.b, std::vector{RecvWr{}}, ENOMEM, 0,
			      "one receive more");
}

PV_TEST("limit.sge_read",
	"a read scatters over max_sge_rd entries, one more is refused")
{
	const uint32_t most = uint32_t(env.info_a.device.max_sge_rd);

	REQUIRE(most > 0 && most <= uint32_t(env.info_a.device.max_sge),
		"max_sge_rd ", most);
	Link link = connect(env, {.cap = {4, 4, most, 1, 0}});
	Mr in = must_reg(env.a, {most * 5}, 1),
	   from = must_reg(env.b, {most * 3}, 2);
	SendWr wr = make_wr(Op::read, {}, 0, {from, 0});

	for (uint32_t i = 0; i < most; i++)
		wr.sges.push_back({in.id, 5 * i, 3, 0});
	must_send(env, link.a, wr, "read");
	for (uint32_t i = 0; i < most; i++) {
		must_match(env.a, in, 5 * i, 3, 2, 3 * i, "entry");
		must_match(env.a, in, 5 * i + 3, 2, 1, 5 * i + 3, "gap");
	}
	wr.sges.push_back({in.id, 0, 3, 0});
	if (link.a.qp.cap.max_send_sge == most)
		must_not_post(link.a, std::vector{wr}, EINVAL, 0, "one more");
}

PV_TEST("limit.sge",
	"max_sge entries are taken, one more is EINVAL, the rest of the chain "
	"is not posted")
{
	Link link = connect(env);
	Mr out = must_reg(env.a, {4096}), in = must_reg(env.b, {4096});
	uint32_t sends = link.a.qp.cap.max_send_sge;
	uint32_t recvs = link.b.qp.cap.max_recv_sge;
	SendWr good = make_wr(Op::send, {}, 0), bad = good, after = good;
	RecvWr good_recv, bad_recv;

	good.sges.assign(sends, {out.id, 0, 3, 0});
	bad.sges.assign(sends + 1, {out.id, 0, 3, 0});
	good_recv.sges.assign(recvs, {in.id, 0, 3, 0});
	bad_recv.sges.assign(recvs + 1, {in.id, 0, 3, 0});
	for (uint32_t i = 0; i < recvs; i++)
		good_recv.sges[i].offset = 3 * i;
	good_recv.sges.back().length = 1000;

	must_not_post(link.b, std::vector{good_recv, bad_recv}, EINVAL, 1,
		      str(recvs + 1, " entries to receive"));
	must_not_post(link.a, std::vector{good, bad, after}, EINVAL, 1,
		      str(sends + 1, " entries to send"));
	expect_send(env, link.a, good.id, "the request before the bad one");
	REQUIRE_EQ(wait_recv(env, link.b, "receive").byte_len, 3 * sends,
		   "byte_len");
	none_sent(link.a, 30, "something after the bad request was posted");
}

PV_TEST("limit.inline",
	"max_inline_data bytes are taken inline, one more is refused")
{
	for (uint32_t asked : {0u, 1u, 16u, 60u, 200u}) {
		Link link = connect(env, {.cap = inline_cap(asked)});
		uint32_t room = link.a.qp.cap.max_inline_data;
		Mr out = must_reg(env.a, {room + 1}),
		   in = must_reg(env.b, {room + 1});
		SendWr wr = make_wr(Op::write, {out, 0}, room, {in, 0});

		REQUIRE(room >= asked, "asked for ", asked, ", got ", room);
		/* some programs ask for none and take these for granted */
		REQUIRE(room >= 16, "asked for ", asked, ", got ", room);
		wr.flags |= IBV_SEND_INLINE;
		must_send(env, link.a, wr, "the most there is");
		wr.sges = {{out.id, 0, room + 1, 0}};
		int error = env.a.post_send(link.a.qp.id, {wr}).error;
		REQUIRE(error == EINVAL || error == ENOMEM,
			"one byte more: ", error);
		no_more(link.a, "refused inline");
	}
}

PV_TEST("limit.inline_read", "a read cannot be inline")
{
	env.expect_async();
	Link link = connect(env, {.cap = inline_cap(64)});
	Mr out = must_reg(env.a, {64}, 3), in = must_reg(env.b, {64}, 4);
	SendWr wr = make_wr(Op::read, {out, 0}, 16, {in, 0});

	wr.flags |= IBV_SEND_INLINE;
	/* Refused at once, or an error completion, or the flag is ignored. */
	if (!env.a.post_send(link.a.qp.id, {wr}).error) {
		Wc wc = wait_send(env, link.a, "inline read");

		if (wc.status == IBV_WC_SUCCESS)
			must_match(env.a, out, 0, 16, 4, 0, "data read");
		else
			must_match(env.a, out, 0, 64, 3, 0, "memory");
	}
}

PV_TEST("limit.bad_opcode", "an opcode that is none is refused when posted")
{
	Link link = connect(env);

	for (int opcode : {14, 31, 100, 255, -1}) {
		SendWr wr = make_wr(Op::send, {}, 0);

		wr.opcode = ibv_wr_opcode(opcode);
		PostResult result = env.a.post_send(link.a.qp.id, {wr});
		REQUIRE(result.error, "opcode ", opcode, " was accepted");
		REQUIRE_EQ(result.bad_index, 0, "bad_wr");
	}
	prove_alive(env, link);
}

PV_TEST("limit.message_too_long",
	"2 GiB and more in one message is refused or LOC_LEN_ERR, never sent")
{
	env.expect_async();
	Link link = connect(env, {.cap = {4, 4, 4, 4, 0}});
	Mr out = must_reg(env.a, {1 << 20}), in = must_reg(env.b, {1 << 20});
	SendWr wr = make_wr(Op::write, {}, 0, {in, 0});

	env.b.fill(in.id, 0, 4096, 5, 0);
	/* Each entry is out of bounds too: either error is precise. */
	wr.sges = {{out.id, 0, 0x7fffffff, 0}, {out.id, 0, 1, 0}};
	PostResult result = env.a.post_send(link.a.qp.id, {wr});
	if (!result.error) {
		Wc wc = wait_send(env, link.a, "too long");

		REQUIRE(wc.status == IBV_WC_LOC_LEN_ERR ||
				wc.status == IBV_WC_LOC_PROT_ERR ||
				wc.status == IBV_WC_LOC_QP_OP_ERR,
			ibv_wc_status_str(wc.status));
	}
	must_match(env.b, in, 0, 4096, 5, 0, "target");
}

PV_TEST("limit.message_longest",
	"max_msg_sz + 1 bytes of memory that is there: too long, none is sent")
{
	const uint64_t total = uint64_t{env.info_a.port.max_msg_sz} + 1;
	const uint32_t parts = uint32_t(env.info_a.device.max_sge);
	const uint64_t length = (total + parts - 1) / parts;

	if (length > 256u << 20)
		throw Skip("it would take too much memory");
	env.expect_async();
	Link link = connect(env, {.cap = {4, 4, parts, 4, 0}});
	Mr out = must_reg(env.a, {length}), in = must_reg(env.b, {4096}, 5);

	for (Op op : {Op::write, Op::read, Op::send}) {
		SendWr wr = make_wr(op, {}, 0, {in, 0});

		for (uint64_t left = total; left;) {
			uint32_t part = uint32_t(std::min(left, length));

			wr.sges.push_back({out.id, 0, part, 0});
			left -= part;
		}
		/* At once, or by a completion that says what is wrong. */
		PostResult result = env.a.post_send(link.a.qp.id, {wr});

		if (result.error) {
			REQUIRE_EQ(result.error, EINVAL, name_of(op));
			prove_alive(env, link);
			continue;
		}
		expect_send(env, link.a, wr.id, name_of(op),
			    IBV_WC_LOC_LEN_ERR);
		wait_state(env, link.a, IBV_QPS_ERR);
		reconnect(link);
	}
	must_match(env.b, in, 0, 4096, 5, 0, "target");
}

PV_TEST("limit.qp_capacity",
	"a queue pair may have what the device says, and not more")
{
	Cq cq = env.a.create_cq(16, false);
	const ibv_device_attr &dev = env.info_a.device;
	QpSpec spec;
	auto attempt = [&](ibv_qp_cap cap) {
		spec.cap = cap;
		Qp qp = env.a.create_qp(spec);
		if (!qp.error)
			env.a.destroy(Kind::qp, qp.id);
		return qp.error;
	};
	uint32_t wr = uint32_t(dev.max_qp_wr), sge = uint32_t(dev.max_sge);
	spec.send_cq = spec.recv_cq = cq.id;
	REQUIRE_EQ(attempt({wr, 1, 1, 1, 0}), 0, "send wr ", wr);
	REQUIRE_EQ(attempt({1, wr, 1, 1, 0}), 0, "recv wr ", wr);
	REQUIRE_EQ(attempt({1, 1, sge, 1, 0}), 0, "send sge ", sge);
	REQUIRE_EQ(attempt({1, 1, 1, sge, 0}), 0, "recv sge ", sge);
	REQUIRE_EQ(attempt({0, 1, 0, 1, 0}), 0, "no send queue");
	REQUIRE_EQ(attempt({1, 0, 1, 0, 0}), 0, "no receive queue");
	REQUIRE(attempt({wr + 1, 1, 1, 1, 0}), "send wr + 1");
	REQUIRE(attempt({1, wr + 1, 1, 1, 0}), "recv wr + 1");
	REQUIRE(attempt({1, 1, sge + 1, 1, 0}), "send sge + 1");
	REQUIRE(attempt({1, 1, 1, sge + 1, 0}), "recv sge + 1");
	REQUIRE(attempt({1, 1, 1, 1, 1 << 20}), "1 MiB inline");
	REQUIRE(attempt({0xffffffff, 1, 1, 1, 0}), "send wr 2^32-1");
	REQUIRE(attempt({1, 1, 0xffffffff, 1, 0}), "send sge 2^32-1");
	REQUIRE(attempt({1, 1, 1, 1, 0xffffffff}), "inline 2^32-1");
}

PV_TEST("limit.cq_capacity",
	"a CQ holds at least what was asked, not more than the device says")
{
	int most = env.info_a.device.max_cqe;

	for (int depth : {1, 2, 3, 63, 64, 65, 1000}) {
		Cq cq = env.a.create_cq(depth, false);

		REQUIRE_EQ(cq.error, 0, "depth ", depth);
		REQUIRE(cq.depth >= depth, "asked ", depth, ", got ", cq.depth);
	}
	REQUIRE_EQ(env.a.create_cq(most, false).error, 0, "max_cqe ", most);
	REQUIRE(env.a.create_cq(0, false).error, "depth 0");
	REQUIRE(env.a.create_cq(-1, false).error, "depth -1");
	if (most < 0x7fffffff)
		REQUIRE(env.a.create_cq(most + 1, false).error, "max_cqe + 1");
	REQUIRE(env.a.create_cq(0x7fffffff, false).error, "depth 2^31-1");
}

PV_TEST("limit.device_attributes", "the device describes itself within reason")
{
	const ibv_device_attr &dev = env.info_a.device;
	const ibv_port_attr &port = env.info_a.port;

	REQUIRE(dev.max_qp >= 1024, "max_qp ", dev.max_qp);
	REQUIRE(dev.max_cq >= 1024, "max_cq ", dev.max_cq);
	REQUIRE(dev.max_mr >= 1024, "max_mr ", dev.max_mr);
	REQUIRE(dev.max_pd >= 1024, "max_pd ", dev.max_pd);
	REQUIRE(dev.max_qp_wr >= 1024, "max_qp_wr ", dev.max_qp_wr);
	REQUIRE(dev.max_sge >= 4, "max_sge ", dev.max_sge);
	REQUIRE(dev.max_cqe >= 1024, "max_cqe ", dev.max_cqe);
	REQUIRE(dev.max_mr_size >= 1ull << 32, "max_mr_size ", dev.max_mr_size);
	REQUIRE(dev.max_qp_rd_atom >= 1, "max_qp_rd_atom");
	REQUIRE(dev.max_qp_init_rd_atom >= 1, "max_qp_init_rd_atom");
	REQUIRE(dev.atomic_cap != IBV_ATOMIC_NONE, "no atomics");
	REQUIRE(dev.page_size_cap & 4096, "page_size_cap ", dev.page_size_cap);
	REQUIRE_EQ(int(dev.phys_port_cnt), 1, "ports");
	REQUIRE(dev.node_guid, "node GUID is 0");
	REQUIRE(dev.sys_image_guid, "system image GUID is 0");
	REQUIRE_EQ(int(port.state), IBV_PORT_ACTIVE, "port state");
	REQUIRE_EQ(int(port.link_layer), IBV_LINK_LAYER_ETHERNET, "link layer");
	REQUIRE_EQ(int(port.max_mtu), IBV_MTU_4096, "max_mtu");
	REQUIRE(port.gid_tbl_len >= 16, "gid_tbl_len ", port.gid_tbl_len);
	REQUIRE_EQ(port.pkey_tbl_len, 1, "pkey_tbl_len");
	REQUIRE(port.max_msg_sz >= 0x7fffffff, "max_msg_sz ", port.max_msg_sz);
	REQUIRE(port.active_speed && port.active_width, "speed, width");
}

/*
 * The capabilities that pavo claims, and the tests that show them. A flag that is not
 * here needs a test first.
 */
PV_TEST_LOCAL("limit.capabilities",
	      "the device claims what has a test, no more")
{
	constexpr uint64_t tested =
		IBV_DEVICE_CURR_QP_STATE_MOD | /* state.current */
		IBV_DEVICE_PORT_ACTIVE_EVENT | /* life: down and up */
		IBV_DEVICE_SYS_IMAGE_GUID | /* limit.device_attributes */
		IBV_DEVICE_RC_RNR_NAK_GEN | /* rnr.*, wire: responder/rnr */
		IBV_DEVICE_MEM_WINDOW | /* mw.* */
		IBV_DEVICE_MEM_WINDOW_TYPE_2B | /* mw.* */
		IBV_DEVICE_MEM_MGT_EXTENSIONS | /* inv.*; kverbs: fast reg */
		IBV_DEVICE_XRC; /* xrc.* */
	/* Only where the kernel has them: qpex.atomic_write, ext.flush, persistent.* */
	constexpr uint64_t newer = 1ull << 40 | 1ull << 38 | 1ull << 39;
	const ibv_device_attr_ex attr = query_ex(env);
	const uint64_t flags = attr.device_cap_flags_ex;

	if (access(str(local(env.a).context()->device->ibdev_path, "/pavo_abi")
			   .c_str(),
		   F_OK))
		throw Skip("about pavo");
	REQUIRE_EQ(flags & ~newer, tested, "capabilities");
	REQUIRE_EQ(uint64_t(attr.orig_attr.device_cap_flags), flags & ~0u,
		   "the old way to ask");
	/* nothing is claimed that cards compute */
	REQUIRE_EQ(attr.rss_caps.supported_qpts, 0u, "RSS");
	REQUIRE_EQ(attr.tm_caps.max_num_tags, 0u, "tag matching");
	REQUIRE_EQ(attr.tso_caps.max_tso, 0u, "TSO");
	REQUIRE_EQ(attr.raw_packet_caps, 0u, "raw packets");
	REQUIRE_EQ(attr.max_dm_size, 0u, "device memory");
	REQUIRE_EQ(int(attr.phys_port_cnt_ex), 1, "ports");
}

PV_TEST_LOCAL("limit.gid_table",
	      "GIDs are where the table is; what is not there cannot be used")
{
	ibv_context *context = local(env.a).context();
	const int length = env.info_a.port.gid_tbl_len;
	std::vector<ibv_gid_entry> entries(length);
	ssize_t count =
		ibv_query_gid_table(context, entries.data(), entries.size(), 0);
	std::vector<bool> used(std::max(length, 256));
	ibv_gid gid;
	Link link = make_link(env);

	REQUIRE(count > 0, "ibv_query_gid_table: ", count);
	for (ssize_t i = 0; i < count; i++) {
		REQUIRE(entries[i].gid_index < uint32_t(length), "index ",
			entries[i].gid_index);
		REQUIRE(!ibv_query_gid(context, 1, int(entries[i].gid_index),
				       &gid) &&
				!memcmp(&gid, &entries[i].gid, sizeof(gid)),
			"GID ", entries[i].gid_index);
		used[entries[i].gid_index] = true;
	}
	REQUIRE(ibv_query_gid(context, 1, length, &gid), "beyond the table");
	REQUIRE(ibv_query_gid(context, 1, -1, &gid), "before the table");
	REQUIRE(ibv_query_gid(context, 2, 0, &gid), "of no port");
	must_modify(link.a, init_attr(link.spec), init_mask, "to INIT");
	/* a path names its GID by a byte */
	for (int index = 0; index < 256; index++) {
		ibv_qp_attr attr = rtr_attr(link, link.a, link.b);

		if (used[index])
			continue;
		attr.ah_attr.grh.sgid_index = uint8_t(index);
		REQUIRE(env.a.modify(link.a.qp.id, attr, rtr_mask),
			"a queue pair with GID ", index);
		ibv_ah *ah =
			ibv_create_ah(local(env.a).raw_pd(0), &attr.ah_attr);
		REQUIRE(!ah, "an address handle with GID ", index);
	}
	must_modify(link.a, rtr_attr(link, link.a, link.b), rtr_mask, "to RTR");
}

PV_TEST_LOCAL("limit.mr_size", "one byte more than max_mr_size is refused")
{
	const uint64_t most = env.info_a.device.max_mr_size;

	if (!has_addresses(most + 1))
		throw Skip("no process has so many addresses");
	REQUIRE_EQ(register_as_user(env.device_a, most), ENOMEM, "max_mr_size");
	REQUIRE_EQ(register_as_user(env.device_a, most + 1), EINVAL,
		   "one byte more");
}

PV_TEST("limit.mr_flags",
	"remote write and atomics need local write; unknown flags are refused")
{
	REQUIRE(env.a.reg_mr({4096, 0, IBV_ACCESS_REMOTE_WRITE}).error,
		"REMOTE_WRITE alone");
	REQUIRE(env.a.reg_mr({4096, 0, IBV_ACCESS_REMOTE_ATOMIC}).error,
		"REMOTE_ATOMIC alone");
	REQUIRE(env.a.reg_mr({4096, 0, 1u << 15}).error, "unknown flag");
	REQUIRE_EQ(env.a.reg_mr({4096, 0, 0}).error, 0, "no flags");
	REQUIRE_EQ(env.a.reg_mr({4096, 0, IBV_ACCESS_REMOTE_READ}).error, 0,
		   "REMOTE_READ");
}

PV_TEST_LOCAL("limit.mr_memory",
	      "memory that is not there, read-only or wraps is not registered")
{
	LocalHost &host = local(env.a);
	auto *map = static_cast<uint8_t *>(
		mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	auto attempt = [&](void *at, size_t length, int access) {
		ibv_mr *mr = ibv_reg_mr(host.raw_pd(0), at, length, access);

		if (mr)
			ibv_dereg_mr(mr);
		return mr != nullptr;
	};

	REQUIRE(map != MAP_FAILED, "mmap");
	munmap(map + 2 * 4096, 4096);
	mprotect(map + 3 * 4096, 4096, PROT_READ);
	bool whole = attempt(map, 4 * 4096, IBV_ACCESS_LOCAL_WRITE);
	bool hole = attempt(map + 4096, 4097, IBV_ACCESS_LOCAL_WRITE);
	bool good = attempt(map, 2 * 4096, IBV_ACCESS_LOCAL_WRITE);
	bool read_only = attempt(map + 3 * 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	bool wraps = attempt(reinterpret_cast<void *>(~0ull - 4095), 8192,
			     IBV_ACCESS_LOCAL_WRITE);
	bool null = attempt(nullptr, 4096, 0);
	bool endless = attempt(map, ~size_t(0) - 4096, 0);

	munmap(map, 2 * 4096);
	munmap(map + 3 * 4096, 4096);
	REQUIRE(good, "two good pages were refused");
	REQUIRE(!whole && !hole, "a hole was registered");
	REQUIRE(!read_only, "read-only memory was registered for writing");
	REQUIRE(!wraps && !null && !endless, "nonsense was registered");
}

PV_TEST("limit.chain_stops_at_bad",
	"a bad request in a chain: those before it run, those after it do not")
{
	Link link = connect(env);
	std::vector<SendWr> chain(10, make_wr(Op::send, {}, 0));

	for (size_t i = 0; i < chain.size(); i++)
		chain[i].id = i;
	chain[6].sges.assign(link.a.qp.cap.max_send_sge + 1, {});
	Mr mr = must_reg(env.a, {64});
	for (Sge &sge : chain[6].sges)
		sge.mr = mr.id;
	must_post(link.b, std::vector<RecvWr>(6));
	must_not_post(link.a, chain, EINVAL, 6, "chain");
	expect_all(env, link.a, link.a.send_cq, numbers(0, 6), "before");
	none_sent(link.a, 30, "after");
	wait_completions(env, link.b, link.b.recv_cq, 6, "received");
	prove_alive(env, link);
}
