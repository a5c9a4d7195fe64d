// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_api.cpp - pavo.h by the C++ classes; windows and handlers: c_window.cpp. */
#include <pavo/pavo.h>

#include <chrono>
#include <memory>
#include <span>

#include "abi.hpp"
#include "c_objects.hpp"

using pavo::c::object_of;
using pavo::c::status;
using pavo::c::status_of;
using pavo::c::unless_no_memory;

namespace {

pavo::RdmaFill filler(pavo_fill_call *fill, void *context, uint32_t tag)
{
	return [=](uint64_t at, std::span<std::byte> to) {
		fill(context, tag, at, to.data(), to.size());
	};
}

/* An option that is 0 stays as it was. */
template <class T> void set(T &option, uint32_t value)
{
	if (value)
		option = T(value);
}

pavo::RdmaOptions with(pavo::RdmaOptions all, const pavo_rdma_options &options)
{
	set(all.timeout, options.timeout);
	set(all.max_timeout, options.max_timeout);
	set(all.attempts, options.attempts);
	set(all.piece, options.piece);
	set(all.half_piece, options.half_piece);
	all.rdma_from = options.rdma_from;
	return all;
}

pavo::StripedOptions with(pavo::StripedOptions all,
			  const pavo_striped_options &options)
{
	set(all.chunk, options.chunk);
	all.path = with(all.path, options.path);
	set(all.timeout, options.timeout);
	set(all.max_timeout, options.max_timeout);
	set(all.attempts, options.attempts);
	return all;
}

pavo::Rdma::Done over(pavo_done_call *done, void *context)
{
	return [done, context](const pavo::Result<void> &ended) {
		if (done)
			done(context, status_of(ended));
	};
}

/* Rounded up: who waits so long is not too early. */
int64_t microseconds_until(pavo::Rdma::Clock::time_point due)
{
	auto now = pavo::Rdma::Clock::now();

	if (due == due.max())
		return -1;
	if (due <= now)
		return 0;
	return std::chrono::ceil<std::chrono::microseconds>(due - now).count();
}

pavo::RdmaEnd end_of(int is_fifo)
{
	return is_fifo ? pavo::RdmaEnd::fifo : pavo::RdmaEnd::memory;
}

pavo::RdmaMove move_of(const pavo_move &move)
{
	pavo::RdmaMove what{.local = {move.local_pvo},
			    .remote = {move.remote_pvo},
			    .length = move.bytes,
			    .notify = move.notify != 0,
			    .tag = move.tag,
			    .target = end_of(move.to_fifo),
			    .source = end_of(move.from_fifo)};

	if (move.counter)
		what.counter = move.counter - 1;
	if (move.after)
		what.after =
			pavo::RdmaCondition{move.after - 1, move.after_value};
	return what;
}

int begin(pavo_rdma *rdma, pavo::Direction direction, int peer,
	  const pavo_move *move, pavo_done_call *done, void *context)
{
	return status([&] {
		pavo::RdmaMove what = move_of(*move);
		bool write = direction == pavo::Direction::write;
		pavo::Rdma &own = rdma->rdma;
		auto ended = over(done, context);

		if (write && move->from_fifo && move->fill)
			what.fill =
				filler(move->fill, move->context, move->tag);
		/* A negative one is as little a peer as any that is too high. */
		return status_of(write ? own.put(size_t(peer), what, ended) :
					 own.get(size_t(peer), what, ended));
	});
}

int begin(pavo_striped *striped, pavo::Direction direction,
	  const pavo_striped_move *move, pavo_done_call *done, void *context)
{
	return status([&] {
		pavo::StripedMove what{.local = {move->local_pvo},
				       .remote = {move->remote_pvo},
				       .length = move->bytes,
				       .notify = move->notify != 0,
				       .tag = move->tag};
		pavo::Striped &own = striped->striped;
		auto ended = over(done, context);

		return status_of(direction == pavo::Direction::write ?
					 own.put(what, ended) :
					 own.get(what, ended));
	});
}

} // namespace

pavo_device *pavo_device_open(const char *name)
{
	return object_of<pavo_device>(pavo::Device::open(name));
}

void pavo_device_close(pavo_device *device)
{
	delete device;
}

int pavo_device_poll(pavo_device *device, uint32_t idle)
{
	return status_of(device->device.poll(std::chrono::microseconds(idle)));
}

pavo_job *pavo_job_open(pavo_device *device, uint32_t id, uint64_t key)
{
	return object_of<pavo_job>(pavo::Job::open(device->device, id, key));
}

pavo_job *pavo_job_reserve(pavo_device *device, uint32_t id, uint64_t key,
			   uint64_t limit)
{
	return object_of<pavo_job>(
		pavo::Job::reserve(device->device, id, key, limit));
}

pavo_job *pavo_job_join(pavo_device *device, uint32_t id, uint64_t key)
{
	return object_of<pavo_job>(pavo::Job::join(device->device, id, key));
}

void pavo_job_close(pavo_job *job)
{
	delete job;
}

int pavo_job_info_of(const pavo_job *job, pavo_job_info *info)
{
	auto asked = job->job.info();
	int error = -asked.error_or({}).number();

	*info = pavo::to_abi(std::move(asked).value_or({}));
	return error;
}

int pavo_job_check(const pavo_job *job, uint64_t pvo, uint64_t bytes)
{
	return status_of(job->job.check({pvo}, bytes));
}

pavo_mapping *pavo_mapping_open(pavo_job *job, void *memory, size_t bytes)
{
	std::span buffer(static_cast<std::byte *>(memory), bytes);

	return object_of<pavo_mapping>(pavo::Mapping::open(job->job, buffer));
}

void pavo_mapping_close(pavo_mapping *mapping)
{
	delete mapping;
}

uint64_t pavo_mapping_pvo(const pavo_mapping *mapping)
{
	return mapping->mapping.pvo().value;
}

uint32_t pavo_mapping_page_size(const pavo_mapping *mapping)
{
	return mapping->mapping.page_size();
}

int pavo_mapping_shared(const pavo_mapping *mapping)
{
	return mapping->mapping.shared();
}

pavo_rdma *pavo_rdma_open(pavo_window *window, const pavo_rdma_options *options,
			  pavo_message_call *message,
			  pavo_arrival_call *arrival, void *context)
{
	return unless_no_memory([&] {
		std::unique_ptr<pavo_rdma> made(object_of<pavo_rdma>(
			pavo::Rdma::open(window->window,
					 options ? with({}, *options) :
						   pavo::RdmaOptions{})));

		if (made && message)
			made->rdma.on_message([=](const pavo::Message &m) {
				message(context, m.from.node, m.from.window,
					m.payload.data(), m.payload.size());
			});
		if (made && arrival)
			made->rdma.on_arrival([=](const pavo::RdmaArrival &a) {
				arrival(context, a.from.node, a.from.window,
					a.tag, a.length);
			});
		return made.release();
	});
}

void pavo_rdma_close(pavo_rdma *rdma)
{
	delete rdma;
}

void pavo_rdma_on_piece(pavo_rdma *rdma, pavo_piece_call *piece, void *context)
{
	rdma->rdma.on_piece([=](const pavo::RdmaPiece &p) {
		piece(context, p.from.node, p.from.window, p.tag, p.at,
		      p.bytes.data(), p.bytes.size());
	});
}

void pavo_rdma_on_feed(pavo_rdma *rdma, pavo_fill_call *fill, void *context)
{
	rdma->rdma.on_feed([=](const pavo::RdmaReadRequest &request) {
		return filler(fill, context, request.tag);
	});
}

void pavo_rdma_on_read_request(pavo_rdma *rdma, pavo_read_request_call *call,
			       void *context)
{
	rdma->rdma.on_feed([=](const pavo::RdmaReadRequest &request) {
		void *with = context;
		pavo_fill_call *fill = call(context, request.from.node,
					    request.from.window, request.tag,
					    request.at, request.length, &with);

		return fill ? filler(fill, with, request.tag) :
			      pavo::RdmaFill();
	});
}

int pavo_rdma_take_rcxts(pavo_rdma *rdma, uint32_t *rcxts, size_t n)
{
	return status_of(rdma->rdma.take_rcxts({rcxts, n}));
}

int pavo_rdma_add(pavo_rdma *rdma, uint16_t node, uint32_t window,
		  const uint32_t *rcxts, size_t n)
{
	return status([&] {
		return status_of(
			rdma->rdma.add({{node, window}, {rcxts, rcxts + n}}));
	});
}

int pavo_rdma_take_counter(pavo_rdma *rdma)
{
	return status_of(rdma->rdma.take_counter());
}

int pavo_rdma_count_arrivals(pavo_rdma *rdma, uint32_t counter,
			     const uint32_t *rcxts, size_t n)
{
	return status_of(rdma->rdma.count_arrivals(counter, {rcxts, n}));
}

int pavo_rdma_reset_counter(pavo_rdma *rdma, uint32_t counter)
{
	return status_of(rdma->rdma.reset_counter(counter));
}

int pavo_rdma_put(pavo_rdma *rdma, int peer, const pavo_move *move,
		  pavo_done_call *done, void *context)
{
	return begin(rdma, pavo::Direction::write, peer, move, done, context);
}

int pavo_rdma_get(pavo_rdma *rdma, int peer, const pavo_move *move,
		  pavo_done_call *done, void *context)
{
	return begin(rdma, pavo::Direction::read, peer, move, done, context);
}

int pavo_rdma_third_party(pavo_rdma *rdma, int source, int target,
			  const pavo_move *move, pavo_done_call *done,
			  void *context)
{
	return status([&] {
		return status_of(rdma->rdma.third_party(
			size_t(source), size_t(target), move_of(*move),
			over(done, context)));
	});
}

int pavo_rdma_send(pavo_rdma *rdma, uint16_t node, uint32_t window,
		   const void *payload, size_t bytes)
{
	std::span message(static_cast<const std::byte *>(payload), bytes);

	return status_of(rdma->rdma.send({node, window}, message));
}

int pavo_rdma_progress(pavo_rdma *rdma)
{
	return status([&] { return status_of(rdma->rdma.progress()); });
}

size_t pavo_rdma_pending(const pavo_rdma *rdma)
{
	return rdma->rdma.pending();
}

int64_t pavo_rdma_due(const pavo_rdma *rdma)
{
	return microseconds_until(rdma->rdma.due());
}

uint64_t pavo_rdma_retries(const pavo_rdma *rdma)
{
	return rdma->rdma.retries();
}

void pavo_rdma_on_control(pavo_rdma *rdma, uint8_t kind,
			  pavo_message_call *message, void *context)
{
	rdma->rdma.on_control(kind, [=](const pavo::Message &m) {
		message(context, m.from.node, m.from.window, m.payload.data(),
			m.payload.size());
	});
}

int pavo_rdma_send_control(pavo_rdma *rdma, uint8_t kind, uint16_t node,
			   uint32_t window, const void *payload, size_t bytes)
{
	std::span message(static_cast<const std::byte *>(payload), bytes);

	return status_of(
		rdma->rdma.send_control(kind, {node, window}, message));
}

void pavo_complete(void *context, int error)
{
	auto *completion = static_cast<pavo_completion *>(context);

	completion->error = error;
	completion->over = 1;
}

pavo_striped *pavo_striped_open(const pavo_striped_options *options,
				pavo_striped_arrival_call *arrival,
				void *context)
{
	return unless_no_memory([&] {
		auto made = std::make_unique<pavo_striped>(
			options ? with({}, *options) : pavo::StripedOptions{});

		if (arrival)
			made->striped.on_arrival(
				[=](const pavo::StripedArrival &a) {
					arrival(context, a.tag, a.length);
				});
		return made.release();
	});
}

void pavo_striped_close(pavo_striped *striped)
{
	delete striped;
}

int pavo_striped_add(pavo_striped *striped, pavo_window *window,
		     uint32_t *rcxts, size_t n)
{
	auto added = striped->striped.add(window->window, {rcxts, n});

	return added.has_value() ? int(striped->striped.paths()) - 1 :
				   status_of(added);
}

int pavo_striped_connect(pavo_striped *striped, int path, uint16_t node,
			 uint32_t window, const uint32_t *rcxts, size_t n)
{
	return status([&] {
		return status_of(striped->striped.connect(
			size_t(path), {{node, window}, {rcxts, rcxts + n}}));
	});
}

int pavo_striped_put(pavo_striped *striped, const pavo_striped_move *move,
		     pavo_done_call *done, void *context)
{
	return begin(striped, pavo::Direction::write, move, done, context);
}

int pavo_striped_get(pavo_striped *striped, const pavo_striped_move *move,
		     pavo_done_call *done, void *context)
{
	return begin(striped, pavo::Direction::read, move, done, context);
}

int pavo_striped_progress(pavo_striped *striped)
{
	return status([&] { return int(striped->striped.progress()); });
}

size_t pavo_striped_pending(const pavo_striped *striped)
{
	return striped->striped.pending();
}

int64_t pavo_striped_due(const pavo_striped *striped)
{
	return microseconds_until(striped->striped.due());
}

size_t pavo_striped_paths(const pavo_striped *striped)
{
	return striped->striped.paths();
}

int pavo_striped_path_of(const pavo_striped *striped, int number,
			 pavo_striped_path *path)
{
	pavo::StripedPath all = striped->striped.path(size_t(number));

	if (size_t(number) >= striped->striped.paths())
		return -EINVAL;
	*path = {.alive = all.alive,
		 .error = -all.error.number(),
		 .chunks = all.chunks,
		 .bytes = all.bytes};
	return 0;
}
