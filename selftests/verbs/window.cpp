// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * See window.h.
 */
#include "window.h"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <unistd.h>

#include "tap.h"

namespace pv {

namespace {

uint64_t next_id()
{
	static uint64_t last = 0x6d77000000000000;

	return ++last;
}

LocalHost &local_of(Side &side)
{
	return dynamic_cast<LocalHost &>(*side.host);
}

ibv_mw_bind_info info_of(Side &side, const BindSpec &spec)
{
	uint64_t base = spec.base < 0 ? spec.mr.address : uint64_t(spec.base);
	ibv_mw_bind_info info = {
		.mr = spec.mr.id ? local_of(side).raw_mr(spec.mr.id) : nullptr,
		.addr = spec.mr.id ? base + uint64_t(spec.offset) : 0,
		.length = spec.length,
		.mw_access_flags = spec.access};

	return info;
}

} // namespace

Window::Window(Host &host, ibv_mw_type type, Handle pd)
{
	auto &local = dynamic_cast<LocalHost &>(host);

	mw_ = ibv_alloc_mw(local.raw_pd(pd), type);
	if (!mw_ && errno == EOPNOTSUPP)
		throw Skip("the driver has no memory windows");
	REQUIRE(mw_, "alloc_mw: ", strerror(errno));
}

Window::~Window()
{
	free();
}

int Window::free()
{
	int error = mw_ ? ibv_dealloc_mw(mw_) : 0;

	if (!error)
		mw_ = nullptr;
	return error;
}

uint64_t post_bind(Side &side, Window &window, const BindSpec &spec)
{
	ibv_qp *qp = local_of(side).raw_qp(side.qp.id);
	uint64_t id = next_id();
	int error;

	if (window->type == IBV_MW_TYPE_1) {
		ibv_mw_bind bind = {.wr_id = id,
				    .send_flags = spec.flags,
				    .bind_info = info_of(side, spec)};

		error = ibv_bind_mw(qp, window.get(), &bind);
		REQUIRE(!error, "ibv_bind_mw: ", strerror(error));
		return id;
	}

	const uint32_t before = window->rkey;
	ibv_send_wr wr = {}, *bad;

	wr.wr_id = id;
	wr.opcode = IBV_WR_BIND_MW;
	wr.send_flags = spec.flags;
	wr.bind_mw.mw = window.get();
	wr.bind_mw.rkey = (window->rkey & ~0xffu) |
			  ((window->rkey + spec.key_step) & 0xff);
	wr.bind_mw.rkey ^= spec.key_xor;
	wr.bind_mw.bind_info = info_of(side, spec);
	error = ibv_post_send(qp, &wr, &bad);
	REQUIRE(!error, "post bind: ", strerror(error));
	/* The provider says what the key is from now on, or the verbs of a peer do not. */
	if (window->rkey == before)
		window->rkey = wr.bind_mw.rkey;
	return id;
}

void must_bind(Env &env, Side &side, Window &window, const BindSpec &spec)
{
	uint64_t id = post_bind(side, window, spec);
	Wc wc = expect_send(env, side, id, "bind");
	REQUIRE_EQ(int(wc.opcode), IBV_WC_BIND_MW, "opcode of a bind");
}

uint64_t post_local_inv(Side &side, uint32_t key, unsigned flags)
{
	ibv_send_wr wr = {}, *bad;

	wr.wr_id = next_id();
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.send_flags = flags;
	wr.invalidate_rkey = key;
	int error = ibv_post_send(local_of(side).raw_qp(side.qp.id), &wr, &bad);
	REQUIRE(!error, "post local invalidate: ", strerror(error));
	return wr.wr_id;
}

void must_invalidate(Env &env, Side &side, uint32_t key)
{
	uint64_t id = post_local_inv(side, key);
	Wc wc = expect_send(env, side, id, "local invalidate");
	REQUIRE_EQ(int(wc.opcode), IBV_WC_LOCAL_INV, "its opcode");
}

SendWr send_inv(const Place &local, uint64_t length, uint32_t key)
{
	SendWr wr = make_wr(Op::send, local, length);

	wr.opcode = IBV_WR_SEND_WITH_INV;
	/* Immediate data travels in network order, keys as they are. */
	wr.imm = ntohl(key);
	return wr;
}

uint32_t key_of(const Wc &wc)
{
	return htonl(wc.imm);
}

Mr view_of(Window &window, const BindSpec &spec)
{
	Mr view = spec.mr;

	view.rkey = window->rkey;
	return view;
}

void check_vendor(Side &side, const Wc &wc, uint32_t vendor, const char *what)
{
	ibv_device *device = local_of(side).context()->device;

	if (access(str(device->ibdev_path, "/pavo_abi").c_str(), F_OK))
		return;
	REQUIRE_EQ(wc.vendor, vendor, what, ": vendor_err");
}

void must_refuse_on(Env &env, Link &link, const Mr &view, int64_t offset, Op op,
		    const char *what)
{
	Mr at_a = must_reg(env.a, {4096});
	SendWr wr = make_wr(op, {at_a, 0}, 8, {view, offset});
	uint64_t clean = env.seed();

	env.expect_async();
	env.b.fill(view.id, 0, view.length, clean, 0);
	env.a.fill(at_a.id, 0, 8, clean + 7, 0);
	must_send(env, link.a, wr, what, IBV_WC_REM_ACCESS_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
	must_match(env.b, view, 0, view.length, clean, 0, what);
	must_match(env.a, at_a, 0, 8, clean + 7, 0, what);
}

void must_refuse(Env &env, const Mr &view, int64_t offset, Op op,
		 const char *what)
{
	Link link = connect(env);

	must_refuse_on(env, link, view, offset, op, what);
	env.a.destroy(Kind::qp, link.a.qp.id);
	env.b.destroy(Kind::qp, link.b.qp.id);
}

} // namespace pv
