// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connects queue pairs of iWARP. The identifiers do not own the queue pairs: connect and
 * accept name them by their numbers.
 *
 * Called by: pair.cpp. A socket of siw is in the namespace of the thread that asks for it.
 */
#include "iwarp.h"

#include <cerrno>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "../../common/errors.h"

namespace bench {

using common::must_make;
using common::must_return_0;

namespace {

constexpr int resolve_ms = 2000;
/* rdma_cm takes a port at random, which a socket of TCP may have, or have had. */
constexpr int ports_to_try = 20;

rdma_cm_id *make_id(rdma_event_channel *channel)
{
	rdma_cm_id *id = nullptr;

	must_return_0(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP),
		      "rdma_create_id");
	return id;
}

/* That call has failed: ends the identifier if another port may do. */
void give_up_port(rdma_cm_id *&id, const char *call, int tries)
{
	if (errno != EADDRINUSE || tries == ports_to_try)
		must_return_0(-1, call);
	rdma_destroy_id(id);
	id = nullptr;
}

rdma_conn_param parameters(const Device &device, const ibv_qp *qp)
{
	rdma_conn_param param = {};

	param.responder_resources = uint8_t(device.max_reads());
	param.initiator_depth = uint8_t(device.max_reads());
	param.qp_num = qp->qp_num;
	return param;
}

sockaddr_in socket_address(const Device &device, uint16_t port)
{
	sockaddr_in address = {};

	address.sin_family = AF_INET;
	address.sin_addr = device.address();
	address.sin_port = port;
	return address;
}

} // namespace

Caller::Caller(Device &device) : device_(device)
{
	Inside inside(device.space());

	channel_ = must_make(rdma_create_event_channel(), "event channel");
}

Caller::~Caller()
{
	if (id_) {
		rdma_disconnect(id_);
		rdma_destroy_id(id_);
	}
	if (listener_)
		rdma_destroy_id(listener_);
	rdma_destroy_event_channel(channel_);
}

/* Return: the identifier that the event is of. */
rdma_cm_id *Caller::await(int kind)
{
	rdma_cm_event *event;

	must_return_0(rdma_get_cm_event(channel_, &event), "rdma_cm event");
	rdma_cm_id *id = event->id;
	const int found = event->event;

	rdma_ack_cm_event(event);
	if (found != kind)
		throw std::runtime_error(
			std::string("rdma_cm: ") +
			rdma_event_str(rdma_cm_event_type(found)));
	return id;
}

uint16_t Caller::listen()
{
	Inside inside(device_.space());
	sockaddr_in address = socket_address(device_, 0);

	for (int i = 1; !listener_; i++) {
		listener_ = make_id(channel_);
		must_return_0(
			rdma_bind_addr(listener_,
				       reinterpret_cast<sockaddr *>(&address)),
			"rdma_bind_addr");
		if (!rdma_listen(listener_, 1))
			break;
		give_up_port(listener_, "rdma_listen", i);
	}
	return rdma_get_src_port(listener_);
}

/* Finds the way there, from another port each time. */
void Caller::resolve(const Device &peer, uint16_t port)
{
	sockaddr_in from = socket_address(device_, 0);
	sockaddr_in to = socket_address(peer, port);

	id_ = make_id(channel_);
	must_return_0(rdma_resolve_addr(
			      id_, reinterpret_cast<sockaddr *>(&from),
			      reinterpret_cast<sockaddr *>(&to), resolve_ms),
		      "rdma_resolve_addr");
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	must_return_0(rdma_resolve_route(id_, resolve_ms),
		      "rdma_resolve_route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void Caller::call(const Device &peer, uint16_t port, const ibv_qp *qp)
{
	Inside inside(device_.space());
	rdma_conn_param param = parameters(device_, qp);

	for (int i = 1; !id_; i++) {
		resolve(peer, port);
		if (!rdma_connect(id_, &param))
			break;
		give_up_port(id_, "rdma_connect", i);
	}
}

void Caller::answer(const ibv_qp *qp)
{
	Inside inside(device_.space());
	rdma_conn_param param = parameters(device_, qp);

	id_ = await(RDMA_CM_EVENT_CONNECT_REQUEST);
	must_return_0(rdma_accept(id_, &param), "rdma_accept");
}

void Caller::finish()
{
	await(RDMA_CM_EVENT_ESTABLISHED);
}

Call::Call(Device &a, const ibv_qp *from, Device &b, const ibv_qp *to)
	: caller_(a), callee_(b)
{
	caller_.call(b, callee_.listen(), from);
	callee_.answer(to);
	caller_.finish();
	callee_.finish();
}

} // namespace bench
