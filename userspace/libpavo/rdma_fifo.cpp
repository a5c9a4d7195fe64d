// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_fifo.cpp - transfers in messages; see rdma_fifo.hpp. */
#include "rdma_fifo.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "error.hpp"

namespace pavo {

namespace {

constexpr uint32_t mask_bits = 64;

/* The lowest @n bits. */
uint64_t low_bits(uint32_t n)
{
	return n >= mask_bits ? ~uint64_t(0) : (uint64_t(1) << n) - 1;
}

/* Move on behind chunks that are done. */
void skip_done(uint32_t &base, uint64_t &mask)
{
	uint32_t n = uint32_t(std::countr_one(mask));

	base += n;
	mask = n < mask_bits ? mask >> n : 0;
}

/* Note a chunk, which is at most 63 above @base. Return: false: it was noted before. */
bool note_chunk(uint32_t &base, uint64_t &mask, uint32_t chunk)
{
	uint64_t bit = uint64_t(1) << (chunk - base);

	if (mask & bit)
		return false;
	mask |= bit;
	skip_done(base, mask);
	return true;
}

bool is_same_transfer(const FifoMessage &a, const FifoMessage &b)
{
	return a.flags == b.flags && a.chunk_bytes == b.chunk_bytes &&
	       a.pvo == b.pvo && a.total == b.total && a.tag == b.tag;
}

} // namespace

RdmaFifo::RdmaFifo(FifoPort &port, const RdmaOptions &options, uint64_t first)
	: port_(port), options_(options), next_(first)
{
	options_.attempts = std::clamp(options_.attempts, 1u, 65535u);
}

uint16_t RdmaFifo::chunk_bytes() const
{
	return uint16_t((port_.max_message() - FifoMessage::size) &
			~size_t(FifoMessage::least_chunk - 1));
}

RdmaFifo::Clock::duration RdmaFifo::timeout(const Own &own) const
{
	auto wait = options_.timeout;

	for (unsigned i = 0; i < own.attempts && wait < options_.max_timeout;
	     i++)
		wait *= 2;
	return std::min(wait, options_.max_timeout);
}

void RdmaFifo::start(const FifoTransfer &transfer, Done done,
		     Clock::time_point now)
{
	const bool write = transfer.direction == Direction::write;
	Own own = {.what = transfer,
		   .done = std::move(done),
		   .head = {.type = write ? FifoMessage::put : FifoMessage::get,
			    .flags = transfer.flags,
			    .chunk_bytes = chunk_bytes(),
			    .id = next_,
			    .pvo = transfer.remote,
			    .total = transfer.length,
			    .tag = transfer.tag}};

	own.deadline = now + timeout(own);
	own_.emplace(Key(transfer.peer, next_++), std::move(own));
}

void RdmaFifo::finish(std::map<Key, Own>::iterator at, std::error_code error,
		      Clock::time_point now)
{
	Done done = std::move(at->second.done);

	own_.erase(at);
	done(error, now);
}

/* Some chunks are done: the peer answers. */
void RdmaFifo::advance(std::map<Key, Own>::iterator at, Clock::time_point now)
{
	Own &own = at->second;

	own.attempts = 0;
	own.deadline = now + timeout(own);
	if (own.base >= own.head.chunks())
		finish(at, {}, now);
}

/* ------------------------------------------------- messages of other windows */

void RdmaFifo::take(WindowAddress from, std::span<const std::byte> bytes,
		    Clock::time_point now)
{
	auto head = FifoMessage::decode(bytes);

	if (!head)
		return;
	bytes = bytes.subspan(FifoMessage::size);
	switch (head->type) {
	case FifoMessage::put:
		take_put(from, *head, bytes);
		break;
	case FifoMessage::answer:
		take_answer(from, *head, now);
		break;
	case FifoMessage::get:
		take_get(from, *head);
		break;
	case FifoMessage::data:
		take_data(from, *head, bytes, now);
		break;
	}
}

void RdmaFifo::take_put(WindowAddress from, const FifoMessage &head,
			std::span<const std::byte> bytes)
{
	auto known = senders_.find(from);

	if (known == senders_.end()) {
		if (senders_.size() >= most_peers)
			return;
		known = senders_.emplace(from, Sender()).first;
	}
	Sender &sender = known->second;
	if (head.oldest > sender.oldest && head.oldest <= head.id) {
		sender.oldest = head.oldest;
		sender.incoming.erase(sender.incoming.begin(),
				      sender.incoming.lower_bound(head.oldest));
	}
	/* A duplicate of a transfer that is over at its source. */
	if (head.id < sender.oldest)
		return;
	auto at = sender.incoming.find(head.id);
	if (at == sender.incoming.end()) {
		if (sender.incoming.size() >= most_incoming)
			return;
		Incoming fresh = {.head = head};

		if (!(head.flags & rdma_flag::to_fifo) &&
		    !port_.holds(head.pvo, head.total)) {
			fresh.status = PvoResult::key;
			fresh.over = true;
		}
		at = sender.incoming.emplace(head.id, fresh).first;
	}
	Incoming &incoming = at->second;
	if (!is_same_transfer(incoming.head, head))
		return;
	if (!incoming.due) {
		incoming.due = true;
		answers_.emplace_back(from, head.id);
	}
	if (!incoming.over && head.chunk >= incoming.base &&
	    head.chunk - incoming.base < mask_bits)
		place(from, incoming, head.chunk, bytes);
}

void RdmaFifo::place(WindowAddress from, Incoming &incoming, uint32_t chunk,
		     std::span<const std::byte> bytes)
{
	const FifoMessage head = incoming.head;
	const bool fifo = head.flags & rdma_flag::to_fifo;
	const uint64_t at = head.pvo + head.start_of(chunk);

	if (!note_chunk(incoming.base, incoming.mask, chunk))
		return;
	/* The process may have unmapped it meanwhile. */
	if (!fifo && !bytes.empty() && !port_.write(at, bytes)) {
		incoming.status = PvoResult::key;
		incoming.over = true;
		return;
	}
	incoming.over = incoming.base >= head.chunks();
	const bool over = incoming.over;
	/* Last: the callbacks may throw. */
	if (fifo && !bytes.empty())
		port_.take({from, head.tag, at, bytes});
	if (over && head.flags & rdma_flag::notify_target)
		port_.arrive(from, head.tag, head.total);
}

void RdmaFifo::take_answer(WindowAddress from, const FifoMessage &head,
			   Clock::time_point now)
{
	auto at = own_.find({from, head.id});

	if (at == own_.end() || at->second.head.type != FifoMessage::put)
		return;
	Own &own = at->second;
	if (head.status != PvoResult::ok) {
		finish(at, code(std::errc::bad_address), now);
		return;
	}
	/* An answer of before, or one that cannot be true. */
	if (head.chunk < own.base || head.chunk > own.head.chunks() ||
	    (head.chunk == own.base && !(head.mask & ~own.mask)))
		return;
	const uint32_t moved = head.chunk - own.base;

	own.mask = (moved < mask_bits ? own.mask >> moved : 0) | head.mask;
	own.base = head.chunk;
	skip_done(own.base, own.mask);
	own.next = std::max(own.next, own.base);
	advance(at, now);
}

void RdmaFifo::take_get(WindowAddress from, const FifoMessage &head)
{
	Wanted wanted = {from, head, {}};

	std::erase_if(wanted_, [&](const Wanted &other) {
		return other.to == from && other.head.id == head.id;
	});
	if (wanted_.size() >= most_wanted)
		return;
	if (head.flags & rdma_flag::from_fifo) {
		wanted.fill =
			port_.feed({from, head.tag, head.pvo, head.total});
		/* As of a half operation: the peer times out. */
		if (!wanted.fill)
			return;
	}
	wanted_.push_back(std::move(wanted));
}

void RdmaFifo::take_data(WindowAddress from, const FifoMessage &head,
			 std::span<const std::byte> bytes,
			 Clock::time_point now)
{
	auto at = own_.find({from, head.id});

	if (at == own_.end() || at->second.head.type != FifoMessage::get)
		return;
	Own &own = at->second;
	if (head.status != PvoResult::ok) {
		finish(at, code(std::errc::bad_address), now);
		return;
	}
	if (!is_same_transfer(own.head, head) || head.chunk < own.base ||
	    head.chunk - own.base >= mask_bits ||
	    !note_chunk(own.base, own.mask, head.chunk))
		return;
	const uint64_t to = own.what.local + head.start_of(head.chunk);
	if (own.what.flags & rdma_flag::to_fifo)
		port_.take({from, head.tag, to, bytes});
	else if (!bytes.empty() && !port_.write(to, bytes)) {
		finish(at, code(std::errc::bad_address), now);
		return;
	}
	advance(at, now);
}

/* ------------------------------------------------------------------ sending */

std::error_code RdmaFifo::send(WindowAddress to, const FifoMessage &head,
			       std::span<const std::byte> bytes)
{
	std::array<std::byte, 2048> message;
	auto begin = head.encode();

	if (begin.size() + bytes.size() > message.size())
		return code(std::errc::message_size);
	std::ranges::copy(begin, message.begin());
	std::ranges::copy(bytes, message.begin() + begin.size());
	return port_.message(
		to, std::span(message).first(begin.size() + bytes.size()));
}

std::error_code RdmaFifo::send_chunk(const Key &key, Own &own, uint32_t chunk)
{
	std::array<std::byte, 2048> space;
	auto bytes = std::span(space).first(own.head.length_of(chunk));
	const uint64_t from = own.what.local + own.head.start_of(chunk);
	FifoMessage head = own.head;

	if (own.what.fill)
		own.what.fill(from, bytes);
	else if (!bytes.empty() && !port_.read(from, bytes))
		return code(std::errc::bad_address);
	head.chunk = chunk;
	head.oldest = own_.lower_bound({key.first, 0})->first.second;
	return send(key.first, head, bytes);
}

std::error_code RdmaFifo::send_puts(const Key &key, Own &own)
{
	const uint32_t end =
		std::min(own.base + most_unanswered, own.head.chunks());

	for (; own.next < end; own.next++) {
		if (own.next >= own.base &&
		    own.mask >> (own.next - own.base) & 1)
			continue;
		if (auto error = send_chunk(key, own, own.next))
			return error;
	}
	return {};
}

/* Request more chunks when all that were requested have arrived. */
std::error_code RdmaFifo::send_get(const Key &key, Own &own)
{
	FifoMessage head = own.head;

	if (own.base < own.next)
		return {};
	const uint32_t end =
		std::min(own.base + most_unanswered, own.head.chunks());
	head.chunk = own.base;
	head.mask = low_bits(end - own.base) & ~own.mask;
	auto error = send(key.first, head, {});
	if (!error)
		own.next = end;
	return error;
}

/* Return: false: there is no space. */
bool RdmaFifo::send_answers()
{
	for (; !answers_.empty(); answers_.pop_front()) {
		auto [from, id] = answers_.front();
		auto &all = senders_[from].incoming;
		auto at = all.find(id);

		if (at == all.end())
			continue;
		Incoming &incoming = at->second;
		FifoMessage head = incoming.head;

		head.type = FifoMessage::answer;
		head.status = incoming.status;
		head.chunk = incoming.base;
		head.mask = incoming.mask;
		head.oldest = 0;
		if (send(from, head, {}))
			return false;
		incoming.due = false;
	}
	return true;
}

/* Return: false: there is no space. */
bool RdmaFifo::send_wanted_chunk(const Wanted &wanted, uint32_t chunk)
{
	std::array<std::byte, 2048> space;
	auto bytes = std::span(space).first(wanted.head.length_of(chunk));
	const uint64_t from = wanted.head.pvo + wanted.head.start_of(chunk);
	FifoMessage head = wanted.head;

	head.type = FifoMessage::data;
	head.chunk = chunk;
	head.mask = 0;
	if (wanted.fill) {
		wanted.fill(from, bytes);
	} else if (!port_.holds(head.pvo, head.total) ||
		   (!bytes.empty() && !port_.read(from, bytes))) {
		head.status = PvoResult::key;
		bytes = {};
	}
	return !send(wanted.to, head, bytes);
}

/* Return: false: there is no space. */
bool RdmaFifo::send_wanted()
{
	for (; !wanted_.empty(); wanted_.pop_front()) {
		Wanted &wanted = wanted_.front();
		FifoMessage &head = wanted.head;

		while (head.mask) {
			uint32_t bit = uint32_t(std::countr_zero(head.mask));
			uint64_t chunk = uint64_t(head.chunk) + bit;

			if (chunk < head.chunks() &&
			    !send_wanted_chunk(wanted, uint32_t(chunk)))
				return false;
			head.mask &= head.mask - 1;
		}
	}
	return true;
}

/* Return: false: there is no space. */
bool RdmaFifo::send_own(Clock::time_point now)
{
	for (auto at = own_.begin(); at != own_.end();) {
		auto &[key, own] = *at;
		auto error = own.what.direction == Direction::write ?
				     send_puts(key, own) :
				     send_get(key, own);

		if (error == std::errc::no_buffer_space)
			return false;
		auto failed = at++;
		if (error)
			finish(failed, error, now);
	}
	return true;
}

void RdmaFifo::retry(std::map<Key, Own>::iterator at, Clock::time_point now)
{
	Own &own = at->second;

	if (own.attempts + 1 >= options_.attempts) {
		finish(at, code(std::errc::timed_out), now);
		return;
	}
	own.attempts++;
	repeated_++;
	own.next = own.base;
	own.deadline = now + timeout(own);
}

void RdmaFifo::look(Clock::time_point now)
{
	std::vector<Key> late;

	for (const auto &[key, own] : own_)
		if (own.deadline <= now)
			late.push_back(key);
	/* Done of one may stop others. */
	for (const Key &key : late)
		if (auto at = own_.find(key); at != own_.end())
			retry(at, now);
	if (send_answers() && send_wanted())
		send_own(now);
}

bool RdmaFifo::has_more_to_send(const Own &own) const
{
	if (own.what.direction == Direction::read)
		return own.base >= own.next;
	return own.next <
	       std::min(own.base + most_unanswered, own.head.chunks());
}

RdmaFifo::Clock::time_point RdmaFifo::due() const
{
	auto due = Clock::time_point::max();

	if (!answers_.empty() || !wanted_.empty())
		return Clock::time_point::min();
	for (const auto &[key, own] : own_)
		due = std::min(due, has_more_to_send(own) ?
					    Clock::time_point::min() :
					    own.deadline);
	return due;
}

void RdmaFifo::stop()
{
	own_.clear();
	answers_.clear();
	wanted_.clear();
}

} // namespace pavo
