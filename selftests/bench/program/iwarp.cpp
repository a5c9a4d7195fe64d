// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connects queue pairs of iWARP. The identifiers do not own the queue pairs: connect and
 * accept name them by their numbers. Each waits for its own events, so the ends are two threads.
 *
 * Called by: pair.cpp. A socket of siw is in the namespace of the thread that asks for it.
 */
#include "pair.h"

#include <future>

#include <net/if.h>
#include <rdma/rdma_cma.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../common/errors.h"

namespace bench {

using common::must_return_0;

namespace {

constexpr int resolve_ms = 2000;
/* rdma_cm takes a port at random, which a socket of TCP may have, or have had. */
constexpr int ports_to_try = 20;

/* An identifier for which @prepare returns 0; it gets another port as long as that is taken. */
template <class Prepare> rdma_cm_id *make_id(Prepare &&prepare)
{
	for (int left = ports_to_try;; left--) {
		rdma_cm_id *id = nullptr;

		must_return_0(rdma_create_id(nullptr, &id, nullptr,
					     RDMA_PS_TCP),
			      "rdma_create_id");
		if (!prepare(id))
			return id;
		if (errno != EADDRINUSE || !left)
			must_return_0(-1, "rdma_listen or rdma_connect");
		rdma_destroy_id(id);
	}
}

rdma_conn_param parameters(const Device &device, const ibv_qp *qp)
{
	rdma_conn_param param = {};

	param.responder_resources = uint8_t(device.max_reads);
	param.initiator_depth = uint8_t(device.max_reads);
	param.qp_num = qp->qp_num;
	return param;
}

/* In the namespace of the device. */
sockaddr address_of(const Device &device)
{
	ifreq request = {};

	device.netdev.copy(request.ifr_name, IF_NAMESIZE - 1);
	int ask = common::must_not_fail(
		socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
	int error = ioctl(ask, SIOCGIFADDR, &request);

	close(ask);
	must_return_0(error, "IPv4 address of " + device.netdev);
	return request.ifr_addr;
}

} // namespace

Call::Call(const Device &a, const ibv_qp *from, const Device &b,
	   const ibv_qp *to)
{
	sockaddr there;
	std::future<void> answering;

	{
		Inside inside(b.space);

		there = address_of(b);
		listener_ = make_id([&](rdma_cm_id *id) {
			must_return_0(rdma_bind_addr(id, &there),
				      "rdma_bind_addr");
			return rdma_listen(id, 1);
		});
	}
	reinterpret_cast<sockaddr_in &>(there).sin_port =
		rdma_get_src_port(listener_);
	answering = std::async(std::launch::async, [&] {
		Inside inside(b.space);
		rdma_conn_param param = parameters(b, to);

		must_return_0(rdma_get_request(listener_, &callee_),
			      "rdma_get_request");
		must_return_0(rdma_accept(callee_, &param), "rdma_accept");
	});
	Inside inside(a.space);
	sockaddr here = address_of(a);
	rdma_conn_param param = parameters(a, from);

	caller_ = make_id([&](rdma_cm_id *id) {
		must_return_0(rdma_resolve_addr(id, &here, &there, resolve_ms),
			      "rdma_resolve_addr");
		must_return_0(rdma_resolve_route(id, resolve_ms),
			      "rdma_resolve_route");
		return rdma_connect(id, &param);
	});
	answering.get();
}

Call::~Call()
{
	for (rdma_cm_id *id : {caller_, callee_, listener_})
		rdma_destroy_id(id);
}

} // namespace bench
