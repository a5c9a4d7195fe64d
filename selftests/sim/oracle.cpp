// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * oracle.cpp - see oracle.hpp.
 */
#include "oracle.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "random.hpp"

namespace sim {

namespace {

constexpr size_t page = 4096;

template <class... Args>
[[noreturn]] void fail(std::string kind, fmt::format_string<Args...> text,
		       Args &&...args)
{
	throw Failure(std::move(kind),
		      fmt::format(text, std::forward<Args>(args)...));
}

uint64_t load(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

Bytes bytes_of(uint64_t value)
{
	Bytes bytes(sizeof(value));

	memcpy(bytes.data(), &value, sizeof(value));
	return bytes;
}

Bytes slice(const Bytes &from, size_t offset, size_t size)
{
	return Bytes(from.begin() + long(offset),
		     from.begin() + long(offset + size));
}

/* Add field by field; a set bit of @tops is the highest of its field. */
uint64_t add_fields(uint64_t a, uint64_t b, uint64_t tops)
{
	uint64_t sum = 0, carry = 0;

	for (unsigned bit = 0; bit < 64; bit++) {
		const uint64_t at = (a >> bit & 1) + (b >> bit & 1) + carry;

		sum |= (at & 1) << bit;
		carry = tops >> bit & 1 ? 0 : at >> 1;
	}
	return sum;
}

/* The word after an atomic. */
uint64_t result_of(const Message &m, uint64_t old)
{
	switch (m.op) {
	case Op::fetch_add:
		return old + m.operand;
	case Op::ext_fetch_add:
		return add_fields(old, m.operand, m.mask);
	case Op::cmp_swap:
		return old == m.compare ? m.operand : old;
	case Op::ext_cmp_swap:
		if ((old ^ m.compare) & m.compare_mask)
			return old;
		return (old & ~m.mask) | (m.operand & m.mask);
	default: /* swap and write */
		return m.operand;
	}
}

/* Space that a message needs in FlowMemory::out and ::in. */
size_t out_size(const Message &m)
{
	if (is_write(m.op) || is_send(m.op) || m.op == Op::atomic_write)
		return m.length;
	return 0;
}

size_t in_size(const Message &m)
{
	return m.op == Op::read || returns_value(m.op) ? m.length : 0;
}

size_t total(const Flow &flow, size_t (*size)(const Message &))
{
	size_t sum = 0;

	/* In front of each a few bytes, so that none is aligned by chance. */
	for (const Message &m : flow.messages)
		sum += size(m) + 3;
	return std::max<size_t>(sum, 1);
}

size_t count_receives(const Flow &flow)
{
	return size_t(
		std::count_if(flow.messages.begin(), flow.messages.end(),
			      [](const Message &m) { return receives(m.op); }));
}

} // namespace

/* ----------------------------------------------------------------- memory */

Memory::Memory(size_t size, size_t skew) : size_(size)
{
	const size_t space = (skew + whole() + page - 1) / page * page;

	pooled_ = !pool.empty();
	if (pooled_ && space > pool.size())
		throw std::bad_alloc();
	pages_ =
		pooled_ ?
			pool.data() :
			static_cast<uint8_t *>(std::aligned_alloc(page, space));
	if (!pages_)
		throw std::bad_alloc();
	if (pooled_)
		pool = pool.subspan(space);
	memset(pages_, fill, space);
	first_ = pages_ + skew + guard;
}

Memory::~Memory()
{
	if (!pooled_)
		std::free(pages_);
}

std::span<uint8_t> Memory::pool;

FlowMemory::FlowMemory(const Connection &connection, const Flow &flow)
	: area(area_bytes, 3000),
	  slots(std::max<size_t>(1, connection.receive_size *
					    count_receives(flow)),
		11),
	  out(total(flow, out_size), 1021), in(total(flow, in_size), 57)
{
}

/* ------------------------------------------------------------------ track */

size_t Track::watch(const Memory &memory)
{
	watched_.push_back({&memory, Bytes(memory.begin(),
					   memory.begin() + memory.whole())});
	return watched_.size() - 1;
}

Track::Progress Track::progress(const Effect &effect) const
{
	const Watched &w = watched_[effect.memory];
	const uint8_t *is = w.memory->at(effect.offset);
	const uint8_t *was = w.expected.data() + Memory::guard + effect.offset;
	const size_t size = effect.after.size();
	size_t done = 0;

	/* Nearly always one of these. */
	if (!memcmp(is, was, size))
		return Progress::none;
	if (!memcmp(is, effect.after.data(), size))
		return Progress::all;
	for (size_t i = 0; i < size; i++) {
		bool good = is[i] == effect.after[i];

		for (size_t n = 0; !good && n < effect.others.size(); n++)
			good = is[i] == effect.others[n][i];
		done += good;
		if (!good && is[i] != was[i])
			return Progress::over;
	}
	if (done == size)
		return Progress::all;
	if (effect.whole)
		return Progress::over;
	return done ? Progress::some : Progress::none;
}

/* Compare all that does not change at present. */
void Track::check_others(const Effect *partly) const
{
	for (size_t i = 0; i < watched_.size(); i++) {
		const Watched &w = watched_[i];
		size_t from = w.memory->whole(), until = from;

		if (partly && partly->memory == i) {
			from = Memory::guard + partly->offset;
			until = from + partly->after.size();
		}
		const uint8_t *is = w.memory->begin();

		if (!memcmp(is, w.expected.data(), from) &&
		    !memcmp(is + until, w.expected.data() + until,
			    w.memory->whole() - until))
			continue;
		for (size_t at = 0; at < w.memory->whole(); at++)
			if ((at < from || at >= until) &&
			    is[at] != w.expected[at])
				fail("byte changed",
				     "byte {} of memory {} (of {} bytes) is "
				     "{:#x}, not {:#x}: it was written without "
				     "a message, out of order or twice; {} of "
				     "{} effects are there",
				     long(at) - long(Memory::guard), i,
				     w.memory->size(), is[at], w.expected[at],
				     next_, effects_.size());
	}
}

/*
 * Values of a byte do not come back. So one that is neither that before an effect nor that after it
 * is of a later effect, of the same step, or wrong: then it differs from what all effects leave.
 */
void Track::check(size_t posted)
{
	const Effect *partly = nullptr;

	for (; next_ < effects_.size(); next_++) {
		const Effect &effect = effects_[next_];
		const Progress there = progress(effect);
		uint8_t *expected = watched_[effect.memory].expected.data() +
				    Memory::guard + effect.offset;
		const Bytes &after = effect.after;

		if (effect.message >= posted) {
			if (there != Progress::none)
				fail("early",
				     "message {} shows before it is posted, or a byte "
				     "of its memory is wrong",
				     effect.message);
			break;
		}
		if (there == Progress::none || there == Progress::some) {
			partly = &effect;
			break;
		}
		if (there == Progress::over)
			memcpy(expected, after.data(), after.size());
		else
			memcpy(expected,
			       watched_[effect.memory].memory->at(
				       effect.offset),
			       after.size());
	}
	check_others(partly);
}

bool Track::done(size_t end) const
{
	return complete() || effects_[next_].message >= end;
}

/* ------------------------------------------------------------------- flow */

FlowOracle::FlowOracle(const Connection &connection, const Flow &flow,
		       FlowMemory &memory)
	: mtu_(uint32_t(connection.mtu)), retries_(connection.retries),
	  rnr_retries_(connection.rnr_retries),
	  shared_(connection.shared_receives ||
		  connection.service == Service::xrc),
	  slot_size_(connection.receive_size), memory_(memory),
	  messages_(flow.messages)
{
	place(memory);
}

/* Compute what each message changes, and set the memory at both ends accordingly. */
void FlowOracle::place(FlowMemory &memory)
{
	Bytes image(area_bytes);
	size_t out = 0, in = 0;
	Random random(messages_.empty() ? 0 : messages_[0].number, 2);

	for (uint8_t &byte : image)
		byte = uint8_t(random.next());
	memcpy(memory.area.at(), image.data(), image.size());
	for (size_t i = 0; i < messages_.size(); i++) {
		const Message &m = messages_[i];

		out_at_.push_back(out += 3);
		in_at_.push_back(in += 3);
		out += out_size(m);
		in += in_size(m);
		if (sim::receives(m.op))
			receives_.push_back(i);
		if (m.wrong != Wrong::no)
			continue;
		if (is_write(m.op))
			place_write(i, image, memory);
		else if (is_send(m.op))
			place_send(i, memory);
		else if (is_atomic(m.op))
			place_atomic(i, image, memory);
		else if (m.op == Op::read)
			place_read(i, image);
	}
	target_.watch(memory.area);
	target_.watch(memory.slots);
	for (Effect &effect : read_effects_) {
		/* A byte that shows whether the answer is there. */
		for (size_t at = 0; at < effect.after.size(); at++) {
			uint8_t before = uint8_t(effect.after[at] + 1);

			while (std::any_of(effect.others.begin(),
					   effect.others.end(),
					   [&](const Bytes &b) {
						   return b[at] == before;
					   }) ||
			       before == effect.after[at])
				before++;
			*memory.in.at(effect.offset + at) = before;
		}
		local_.add(std::move(effect));
	}
	local_.watch(memory.in);
	local_.watch(memory.out);
}

/* A payload that gives no byte a value that it had: by a step that depends on the byte's place. */
static Bytes differing(const uint8_t *before, size_t size, uint64_t place)
{
	Bytes bytes(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = uint8_t(before[i] + (scramble(place + i) | 1));
	return bytes;
}

void FlowOracle::place_write(size_t i, Bytes &image, FlowMemory &memory)
{
	const Message &m = messages_[i];
	Bytes after = differing(image.data() + m.offset, m.length, m.offset);

	if (after.empty())
		return;
	std::copy(after.begin(), after.end(), image.begin() + m.offset);
	std::copy(after.begin(), after.end(), memory.out.at(out_at_[i]));
	/* A read that is sent once more may find it. */
	for (Effect &read : read_effects_) {
		const Message &r = messages_[read.message];
		const auto fenced = [](const Message &later) {
			return later.fence;
		};

		if (r.op == Op::read &&
		    std::none_of(messages_.begin() + long(read.message) + 1,
				 messages_.begin() + long(i) + 1, fenced) &&
		    r.offset < m.offset + m.length &&
		    m.offset < r.offset + r.length) {
			read.others.push_back(slice(image, r.offset, r.length));
			order_.add_version(read.message, i, m.length <= mtu_,
					   read.others.back());
		}
	}
	target_.add({i, 0, m.offset, std::move(after), {}, false});
}

void FlowOracle::place_send(size_t i, FlowMemory &memory)
{
	const Message &m = messages_[i];
	const Bytes before(m.length, Memory::fill);
	Bytes after =
		differing(before.data(), m.length, uint64_t(m.number) << 32);

	if (after.empty())
		return;
	std::copy(after.begin(), after.end(), memory.out.at(out_at_[i]));
	/* Which slot of a shared queue it gets depends on other flows. */
	if (!shared_)
		target_.add({i,
			     1,
			     (receives_.size() - 1) * slot_size_,
			     std::move(after),
			     {},
			     false});
}

void FlowOracle::place_atomic(size_t i, Bytes &image, FlowMemory &memory)
{
	Message &m = messages_[i];
	const uint64_t old = load(image.data() + m.offset);

	/* Half of the comparisons succeed. */
	if (m.compare & 1)
		m.compare = old;
	const uint64_t now = result_of(m, old);

	if (m.op == Op::atomic_write)
		memcpy(memory.out.at(out_at_[i]), &m.operand,
		       sizeof(m.operand));
	else
		read_effects_.push_back(
			{i, 0, in_at_[i], bytes_of(old), {}, true});
	if (now == old)
		return;
	const Bytes after = bytes_of(now);

	std::copy(after.begin(), after.end(), image.begin() + m.offset);
	target_.add({i, 0, m.offset, after, {}, true});
}

void FlowOracle::place_read(size_t i, const Bytes &image)
{
	const Message &m = messages_[i];

	if (!m.length)
		return;
	Bytes bytes = slice(image, m.offset, m.length);

	order_.add_read(i, in_at_[i], bytes);
	read_effects_.push_back({i, 0, in_at_[i], std::move(bytes), {}, false});
}

bool FlowOracle::wrong_posted() const
{
	return posted_ && posted_ == messages_.size() &&
	       messages_.back().wrong != Wrong::no;
}

void FlowOracle::check()
{
	target_.check(posted_);
	local_.check(posted_);
}

void FlowOracle::send_done(const Completion &done, const Excuse &excuse)
{
	const size_t i = done.id;

	if (i < completed_ || i >= posted_)
		fail("completion order",
		     "completion of message {}, but {} are complete and {} posted",
		     i, completed_, posted_);
	for (size_t before = completed_; before < i; before++)
		if (failed_ || messages_[before].signaled)
			fail("completion lost",
			     "message {} completes, {} before it has not", i,
			     before);
	check();
	if (!failed_)
		check_done(done.status ? i : i + 1);
	if (done.status) {
		send_failed(done, excuse);
	} else {
		const Message &m = messages_[i];

		if (failed_)
			fail("completion after error",
			     "message {} succeeds behind one that failed", i);
		if (!m.signaled)
			fail("completion twice", "message {} is not signaled",
			     i);
		if (m.wrong != Wrong::no)
			fail("wrong request", "message {} succeeds", i);
		order_.complete(i + 1, memory_.in.at());
	}
	completed_ = i + 1;
}

/* All messages before @end are carried out. */
void FlowOracle::check_done(size_t end) const
{
	const auto last =
		std::lower_bound(receives_.begin(), receives_.end(), end);

	if (!target_.done(end) || !local_.done(end))
		fail("completion early",
		     "message {} completes, but its bytes or those before it "
		     "are not there",
		     end - 1);
	if (received_ < size_t(last - receives_.begin()) && !receive_failed_)
		fail("receive late", "message {} completes before its receive",
		     end - 1);
}

void FlowOracle::send_failed(const Completion &done, const Excuse &excuse)
{
	if (failed_ && done.status != IBV_WC_WR_FLUSH_ERR)
		fail("second error",
		     "message {} ends with \"{}\" after an error", done.id,
		     ibv_wc_status_str(done.status));
	if (!failed_)
		check_status(messages_[done.id], done, excuse);
	failed_ = true;
}

/* The first error of a flow needs a reason. */
void FlowOracle::check_status(const Message &m, const Completion &done,
			      const Excuse &excuse) const
{
	const bool wrong = wrong_posted();
	bool right = false;

	switch (done.status) {
	case IBV_WC_WR_FLUSH_ERR:
		right = excuse.ended;
		break;
	case IBV_WC_RETRY_EXC_ERR:
		/* After a refusal the peer is silent, so one lost answer is enough. */
		right = excuse.harm > retries_ || excuse.ended ||
			(wrong && excuse.faults);
		break;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		/* The network may have delivered a NAK twice. */
		right = rnr_retries_ < 7 && excuse.not_ready &&
			excuse.not_ready + excuse.harm > rnr_retries_;
		break;
	case IBV_WC_REM_ACCESS_ERR:
		right = m.wrong == Wrong::key || m.wrong == Wrong::bounds;
		break;
	case IBV_WC_REM_INV_REQ_ERR:
		right = m.wrong == Wrong::alignment ||
			m.wrong == Wrong::too_long;
		break;
	default:
		break;
	}
	if (!right)
		fail(fmt::format("error {}", int(done.status)),
		     "message {} ({}) ends with \"{}\" without a reason: {} packets "
		     "had faults since the oldest before it was posted, {} RNR NAKs",
		     done.id, name_of(m.op), ibv_wc_status_str(done.status),
		     excuse.harm, excuse.not_ready);
}

void FlowOracle::receive_done(const Completion &done, const uint8_t *slot,
			      const Excuse &excuse)
{
	if (done.status) {
		const bool too_long = wrong_posted() &&
				      messages_.back().wrong == Wrong::too_long;

		if (!excuse.ended && !wrong_posted() && !failed_)
			fail("receive error", "a receive ends with \"{}\"",
			     ibv_wc_status_str(done.status));
		if (done.status != IBV_WC_WR_FLUSH_ERR &&
		    !(too_long && done.status == IBV_WC_LOC_LEN_ERR))
			fail("receive error", "a receive ends with \"{}\"",
			     ibv_wc_status_str(done.status));
		receive_failed_ = true;
		return;
	}
	if (receive_failed_)
		fail("receive after error",
		     "a receive succeeds after one failed");
	if (received_ == receives_.size() || receives_[received_] >= posted_)
		fail("receive surplus", "a receive of no message");
	if (!slot && done.id != received_)
		fail("receive order", "receive {} completes, {} is the next",
		     done.id, received_);
	const size_t i = receives_[received_++];

	check();
	if (!target_.done(i + 1))
		fail("receive early",
		     "message {} is received, but its bytes or those before it "
		     "are not there",
		     i);
	check_received(messages_[i], done);
	if (slot && is_send(messages_[i].op) &&
	    memcmp(slot, memory_.out.at(out_at_[i]), messages_[i].length))
		fail("receive bytes", "message {} is received with other bytes",
		     i);
}

void FlowOracle::check_received(const Message &m, const Completion &done) const
{
	const bool imm = m.op == Op::send_imm || m.op == Op::write_imm;
	const uint32_t length = m.op == Op::imm64 ? 8 : m.length;

	if (m.wrong != Wrong::no)
		fail("wrong request", "message {} is received", m.number);
	if (done.length != length)
		fail("receive length",
		     "message {} of {} bytes is received with {}", m.number,
		     length, done.length);
	if (bool(done.flags & IBV_WC_WITH_IMM) != imm ||
	    (imm && done.imm != uint32_t(m.operand)))
		fail("immediate data", "message {} is received with {:#x}",
		     m.number, done.imm);
	if (done.imm64.has_value() != (m.op == Op::imm64) ||
	    (done.imm64 && *done.imm64 != m.operand))
		fail("immediate data", "message {} is received with {:#x}",
		     m.number, done.imm64.value_or(0));
	if (done.opcode !=
	    (m.op == Op::write_imm ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		fail("receive opcode", "message {} is received as {}", m.number,
		     int(done.opcode));
}

void FlowOracle::check_end(bool ended)
{
	check();
	if (!ended && posted_ != messages_.size())
		fail("stuck", "{} of {} messages are posted", posted_,
		     messages_.size());
	/* If none failed, those at the end may be unsignaled: then they are complete. */
	for (size_t i = completed_; i < posted_; i++)
		if (failed_ || messages_[i].signaled)
			fail("stuck", "{} messages are posted, {} complete",
			     posted_, completed_);
	if (!failed_)
		check_done(posted_);
	if (ended)
		return;
	if (!target_.complete() || !local_.complete())
		fail("lost", "bytes of a message are not there at the end");
	if (received_ != receives_.size())
		fail("lost", "{} of {} receives are complete at the end",
		     received_, receives_.size());
}

} // namespace sim
