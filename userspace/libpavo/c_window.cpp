// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_window.cpp - windows and their handlers of pavo.h and pavo_window.h. */
#include <pavo/pavo.h>
#include <pavo/pavo_window.h>

#include <cstring>
#include <span>
#include <vector>

#include "abi.hpp"
#include "c_objects.hpp"
#include "shared_window.hpp"

using pavo::c::object_of;
using pavo::c::status_of;

namespace {

int routes(pavo_window *window, bool add, uint16_t node, const uint8_t *gid,
	   const pavo_route_options &options)
{
	pavo::RouteOptions all{.ports = options.ports};
	pavo::Gid copy;

	memcpy(copy.data(), gid, copy.size());
	if (options.gid_index > UINT16_MAX)
		return -EINVAL;
	if (options.gid_index >= 0)
		all.gid_index = uint16_t(options.gid_index);
	pavo::Window &own = window->window;

	return status_of(add ? own.add_route(node, copy, all) :
			       own.set_node(node, copy, all));
}

std::span<const std::byte> bytes_at(const void *payload, size_t bytes)
{
	return {static_cast<const std::byte *>(payload), bytes};
}

} // namespace

pavo_window *pavo_window_open(pavo_job *job, const pavo_window_options *options)
{
	pavo::WindowOptions all;

	all.node = options->node;
	all.gid_index = options->gid_index;
	if (options->send_frames)
		all.send_frames = options->send_frames;
	if (options->recv_frames)
		all.recv_frames = options->recv_frames;
	if (options->nodes)
		all.nodes = options->nodes;
	all.broadcast = options->broadcast != 0;
	if (options->recv_event > 0)
		all.recv_event = options->recv_event;
	if (options->send_event > 0)
		all.send_event = options->send_event;
	return object_of<pavo_window>(pavo::Window::open(job->job, all));
}

void pavo_window_close(pavo_window *window)
{
	delete window;
}

uint32_t pavo_window_number(const pavo_window *window)
{
	return window->window.number();
}

size_t pavo_window_max_payload(const pavo_window *window)
{
	return window->window.max_payload();
}

int pavo_window_set_node(pavo_window *window, uint16_t node, const uint8_t *gid)
{
	return routes(window, false, node, gid, {.ports = 0, .gid_index = -1});
}

int pavo_window_set_routes(pavo_window *window, uint16_t node,
			   const uint8_t *gid,
			   const pavo_route_options *options)
{
	return routes(window, false, node, gid, *options);
}

int pavo_window_add_routes(pavo_window *window, uint16_t node,
			   const uint8_t *gid,
			   const pavo_route_options *options)
{
	return routes(window, true, node, gid, *options);
}

int pavo_window_event_after(pavo_window *window, uint32_t n, int early)
{
	pavo::Window &own = window->window;

	return status_of(early ? own.recv_threshold_early(n) :
				 own.recv_threshold(n));
}

int pavo_window_disable(pavo_window *window)
{
	return status_of(window->window.disable());
}

int pavo_window_snapshot(const pavo_window *window)
{
	return status_of(window->window.snapshot());
}

int pavo_window_send(pavo_window *window, uint16_t node, uint32_t to,
		     uint8_t kind, const void *payload, size_t bytes)
{
	return status_of(window->window.send({node, to},
					     bytes_at(payload, bytes), kind));
}

int pavo_window_prepare(pavo_window *window, uint16_t node, uint32_t to,
			uint8_t kind, const void *payload, size_t bytes)
{
	return status_of(window->window.prepare(
		{node, to}, bytes_at(payload, bytes), kind));
}

int pavo_window_start(pavo_window *window)
{
	return status_of(window->window.start());
}

size_t pavo_window_receive(pavo_window *window, size_t most,
			   pavo_take_call *take, void *context)
{
	return window->window.receive(
		[&](const pavo::Message &message) {
			const pavo_message copy{
				.node = message.from.node,
				.type = uint8_t(message.type),
				.kind = message.kind,
				.window = message.from.window,
				.payload = message.payload.data(),
				.bytes = message.payload.size()};

			take(context, &copy);
		},
		most);
}

uint32_t pavo_window_received(const pavo_window *window)
{
	return window->window.received();
}

size_t pavo_window_sent(pavo_window *window, uint32_t *states, size_t n)
{
	size_t known = 0;
	pavo::FrameState state;

	while (known < n && window->window.sent({&state, 1}))
		states[known++] = uint32_t(state);
	return known;
}

void pavo_window_forget_sent(pavo_window *window)
{
	window->window.forget_sent();
}

int pavo_window_sent_event_after(pavo_window *window, uint32_t n)
{
	return status_of(window->window.send_threshold(n));
}

int pavo_window_lmt(const pavo_window *window, pavo_lmt *lmt)
{
	return status_of(pavo::shared_of(window->window).query(*lmt));
}

int pavo_window_take_rcxts(pavo_window *window, uint32_t *rcxts, size_t n)
{
	return status_of(window->window.take_rcxts({rcxts, n}));
}

int pavo_window_return_rcxts(pavo_window *window, const uint32_t *rcxts,
			     size_t n)
{
	return status_of(window->window.return_rcxts({rcxts, n}));
}

int pavo_window_cancel(pavo_window *window, const uint32_t *rcxts, size_t n)
{
	return status_of(window->window.cancel({rcxts, n}));
}

int pavo_window_prepare_rdma(pavo_window *window, int write, uint16_t node,
			     uint32_t to, const pavo_rdma_request *request)
{
	return status_of(window->window.prepare_rdma(
		write ? pavo::Direction::write : pavo::Direction::read,
		{node, to}, pavo::from_abi(*request)));
}

int pavo_window_prepare_third(pavo_window *window, uint16_t node, uint32_t to,
			      const pavo_rdma_third *third)
{
	return status_of(window->window.prepare_third({node, to},
						      pavo::from_abi(*third)));
}

int pavo_window_prepare_piece(pavo_window *window, uint16_t node, uint32_t to,
			      const pavo_rdma_piece *piece, const void *data,
			      size_t bytes)
{
	pavo::Window &own = window->window;

	if (bytes > own.max_piece())
		return -EMSGSIZE;
	return status_of(own.prepare_piece(
		{node, to}, pavo::from_abi(*piece), uint32_t(bytes),
		[&](std::span<std::byte> payload) {
			memcpy(payload.data(), data, payload.size());
		}));
}

uint32_t pavo_window_recoveries(const pavo_window *window)
{
	return window->window.recoveries();
}

size_t pavo_window_max_piece(const pavo_window *window)
{
	return window->window.max_piece();
}

int pavo_window_prepare_held(pavo_window *window, uint32_t counter,
			     uint64_t target, const pavo_held_request *requests,
			     size_t n)
{
	return pavo::c::status([&] {
		std::vector<pavo::HeldRequest> all;

		for (size_t i = 0; i < n; i++)
			all.push_back({requests[i].write ?
					       pavo::Direction::write :
					       pavo::Direction::read,
				       {requests[i].node, requests[i].to},
				       pavo::from_abi(requests[i].request)});
		return status_of(
			window->window.prepare_held(counter, target, all));
	});
}

uint32_t pavo_window_frames(const pavo_window *window)
{
	return window->window.frames();
}

size_t pavo_window_released(pavo_window *window, uint32_t *frames,
			    uint32_t *states, size_t n)
{
	size_t known = 0;

	for (pavo::HeldOutcome one;
	     known < n && window->window.released({&one, 1}); known++) {
		frames[known] = one.frame;
		states[known] = uint32_t(one.state);
	}
	return known;
}

int pavo_window_prepare_counter(pavo_window *window, uint8_t type,
				const pavo_counter_request *request)
{
	return status_of(window->window.prepare_counter(
		pavo::FrameType(type), pavo::from_abi(*request)));
}

pavo_handler *pavo_handler_open(pavo_window *window)
{
	return object_of<pavo_handler>(pavo::Handler::open(window->window));
}

void pavo_handler_close(pavo_handler *handler)
{
	delete handler;
}

int pavo_handler_fd(const pavo_handler *handler)
{
	return handler->handler.fd();
}

uint32_t pavo_handler_number(const pavo_handler *handler)
{
	return handler->handler.number();
}

int pavo_handler_ready(pavo_handler *handler)
{
	return status_of(handler->handler.ready());
}

int pavo_handler_take(pavo_handler *handler)
{
	return handler->handler.take();
}

pavo_adapter_handler *pavo_adapter_handler_open(pavo_device *device)
{
	return object_of<pavo_adapter_handler>(
		pavo::AdapterHandler::open(device->device));
}

void pavo_adapter_handler_close(pavo_adapter_handler *handler)
{
	delete handler;
}

int pavo_adapter_handler_fd(const pavo_adapter_handler *handler)
{
	return handler->handler.fd();
}

int pavo_adapter_handler_ready(pavo_adapter_handler *handler)
{
	return status_of(handler->handler.ready());
}

int pavo_adapter_handler_take(pavo_adapter_handler *handler)
{
	return handler->handler.take();
}

int pavo_adapter_handler_windows(pavo_adapter_handler *handler,
				 uint32_t *numbers, size_t n)
{
	auto taken = handler->handler.windows({numbers, n});

	return taken ? int(*taken) : -taken.error().number();
}
