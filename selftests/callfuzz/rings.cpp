// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rings.cpp - see hands.h: an actor writes work requests and commands that are nearly right
 * into memory that it shares with the module, at addresses that may be wrong.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <rdma/pavo-abi.h>

#include "hands.h"

namespace callfuzz {
namespace {

constexpr uint32_t next = 0xffffffff;

struct Copy {
	uint64_t to;
	const void *from;
	size_t size;
};

/* One more than the number at @at, which is returned; the entry is written before. */
int put_entry(uint64_t at, uint64_t ring, uint32_t entries, const void *entry,
	      size_t size)
{
	uint32_t number;
	int error = copy_from(&number, at, sizeof(number));

	if (!error)
		error = copy_to(ring + size_t{number % entries} * size, entry,
				size);
	number++;
	return error ? error : copy_to(at, &number, sizeof(number));
}

int ring_doorbell(uint64_t page, uint64_t bits)
{
	return put_entry(page + offsetof(pavo_doorbell_page, prod),
			 page + offsetof(pavo_doorbell_page, ring),
			 PAVO_DB_RING_ENTRIES, &bits, sizeof(bits));
}

/* A work request under construction. */
class Wqe {
public:
	template <class Segment> void add(const Segment &segment)
	{
		static_assert(sizeof(segment) % 16 == 0);
		memcpy(bytes_ + size_, &segment, sizeof(segment));
		size_ += sizeof(segment);
	}

	/* @length bytes that go with it. */
	void add_inline(uint32_t length)
	{
		const uint32_t bytes = length % 512;
		const uint32_t word = PAVO_INLINE_SEG | bytes;

		memset(bytes_ + size_, 0x5a, bytes + 20);
		memcpy(bytes_ + size_, &word, sizeof(word));
		size_ += (bytes + 4 + 15) / 16 * 16;
	}

	const void *bytes() const { return bytes_; }
	size_t size() const { return size_; }

private:
	alignas(16) uint8_t bytes_[1024] = {};
	size_t size_ = 0;
};

/* The first arguments of all that is posted to a send queue. */
struct Queue {
	uint64_t area, stride, count, number, page;
	uint32_t index;

	explicit Queue(const uint64_t *args)
		: area(args[0]), stride(args[1]), count(args[2]),
		  number(args[3]), page(args[4]), index(uint32_t(args[5]))
	{
	}
};

int post(Hands &hands, Queue queue, const Wqe &wqe, uint32_t op, bool fence)
{
	uint32_t &posted = hands.posted[(queue.area >> 12) % 64];

	if (!queue.count || !queue.stride)
		return EINVAL;
	if (queue.index == next)
		queue.index = posted++;
	const uint64_t slot = queue.index % queue.count * queue.stride;
	const uint64_t bits = (op & PAVO_DB_OP_MASK) |
			      (fence ? PAVO_DB_FENCE : 0) |
			      (slot / PAVO_WQE_UNIT & PAVO_DB_OFFSET_MAX)
				      << PAVO_DB_OFFSET_SHIFT |
			      uint64_t(wqe.size() / PAVO_WQE_UNIT & 0xff)
				      << PAVO_DB_SIZE_SHIFT |
			      queue.number << PAVO_DB_QPN_SHIFT;

	hands.late.use(queue.area, queue.count * queue.stride, Role::sends);
	hands.late.use(queue.page, sizeof(pavo_doorbell_page), Role::doorbells);
	hands.late.begin_request(uint32_t(queue.number & 0xffffff));
	int error = copy_to(queue.area + slot, wqe.bytes(), wqe.size());

	return error ? error : ring_doorbell(queue.page, bits);
}

void add_datagram_way(Hands &hands, Wqe &wqe, const uint64_t *args)
{
	const Places &places = hands.shared.places;
	pavo_ud_seg way = {};

	memcpy(way.dgid, places.gid[args[0] % 16], 16);
	way.sgid_index =
		uint8_t(args[1] < 2 * devices ? places.sgid[args[1]] : args[1]);
	way.dest_qpn = uint32_t(args[2]);
	way.qkey = uint32_t(args[3]);
	way.hop_limit = 64;
	way.port_num = PAVO_PORT;
	wqe.add(way);
}

bool names_remote(uint64_t op)
{
	return (op >= PAVO_WQE_WRITE && op <= PAVO_WQE_FETCH_ADD) ||
	       op == PAVO_WQE_ATOMIC_WRITE || op == PAVO_WQE_FLUSH;
}

/* op flags fence length lkey va rkey rva imm */
void add_body(Wqe &wqe, const uint64_t *args, bool carried)
{
	const uint64_t op = args[0];
	const uint32_t length = uint32_t(args[3]);

	if (names_remote(op))
		wqe.add(pavo_raddr_seg{args[7], uint32_t(args[6]), length});
	if (op == PAVO_WQE_CMP_SWAP || op == PAVO_WQE_FETCH_ADD)
		wqe.add(pavo_atomic_seg{1, 0});
	if (carried)
		wqe.add_inline(length);
	else if (op && op != PAVO_WQE_FLUSH)
		wqe.add(pavo_data_seg{length, uint32_t(args[4]), args[5]});
}

} // namespace

int copy_to(uint64_t to, const void *from, size_t size)
{
	Copy copy{to, from, size};

	return touch_memory(
		[](void *context) {
			auto *one = static_cast<Copy *>(context);

			memcpy(reinterpret_cast<void *>(one->to), one->from,
			       one->size);
			std::atomic_thread_fence(std::memory_order_seq_cst);
		},
		&copy);
}

int copy_from(void *to, uint64_t from, size_t size)
{
	Copy copy{from, to, size};

	return touch_memory(
		[](void *context) {
			auto *one = static_cast<Copy *>(context);

			memcpy(const_cast<void *>(one->from),
			       reinterpret_cast<void *>(one->to), one->size);
		},
		&copy);
}

int ring_bits(Hands &hands, const uint64_t *args, uint64_t *)
{
	hands.late.lose_control();
	return ring_doorbell(args[0], args[1]);
}

int poke(Hands &hands, const uint64_t *args, uint64_t *)
{
	hands.late.lose_control();
	return copy_to(args[0] + uint32_t(args[1]), &args[2],
		       args[3] > 8 ? 8 : args[3]);
}

int post_wqe(Hands &hands, const uint64_t *args, uint64_t *)
{
	const uint64_t *body = args + 6, *rest = args + 15;
	Wqe wqe;

	wqe.add(pavo_next_seg{0, 0, uint32_t(body[1]), uint32_t(body[8])});
	/* inline srqn gid sgid dest qkey kind times */
	if (rest[6] == 1)
		add_datagram_way(hands, wqe, rest + 2);
	else if (rest[6] == 2)
		wqe.add(pavo_xrc_seg{uint32_t(rest[1]), {}});
	add_body(wqe, body, rest[0]);
	int error = 0;
	for (uint64_t n = 0; n < std::min<uint64_t>(rest[7], 256) && !error;
	     n++)
		error = post(hands, Queue(args), wqe, uint32_t(body[0]),
			     body[2]);
	return error;
}

int post_invalidate(Hands &hands, const uint64_t *args, uint64_t *)
{
	const uint64_t *body = args + 6;
	Wqe wqe;

	wqe.add(pavo_next_seg{0, 0, uint32_t(body[1]), uint32_t(args[15])});
	if (body[0] != PAVO_WQE_LOCAL_INV)
		add_body(wqe, body, false);
	return post(hands, Queue(args), wqe, uint32_t(body[0]), body[2]);
}

int post_bind(Hands &hands, const uint64_t *args, uint64_t *)
{
	const uint32_t old = uint32_t(args[6]);
	Wqe wqe;

	wqe.add(pavo_next_seg{0, 0, PAVO_WQE_SIGNALED, 0});
	wqe.add(pavo_bind_seg{args[9], args[10], old,
			      (old & ~0xffu) | (uint32_t(args[7]) & 0xff),
			      uint32_t(args[8]), uint32_t(args[11])});
	return post(hands, Queue(args), wqe, PAVO_WQE_BIND_MW, false);
}

int post_receive(Hands &hands, const uint64_t *args, uint64_t *)
{
	const uint64_t area = args[0], stride = args[1], count = args[2];
	uint32_t &posted = hands.posted[(area >> 12) % 64];
	uint32_t index = uint32_t(args[3]);
	Wqe wqe;

	if (!count || !stride)
		return EINVAL;
	if (index == next)
		index = posted;
	wqe.add(pavo_srq_seg{args[7] ? index + 1 : 0, 0});
	wqe.add(pavo_data_seg{uint32_t(args[4]), uint32_t(args[5]), args[6]});
	if (stride > wqe.size())
		wqe.add(pavo_data_seg{});
	hands.late.use(area, PAVO_RQ_HEADER_SIZE + count * stride,
		       Role::receives);
	int error = copy_to(area + PAVO_RQ_HEADER_SIZE + index % count * stride,
			    wqe.bytes(), wqe.size());
	if (error)
		return error;
	posted = index + 1;
	return copy_to(area, &posted, sizeof(posted));
}

int poll_ring(Hands &hands, const uint64_t *args, uint64_t *)
{
	const uint64_t area = args[0], count = args[1];
	const timespec rest = {0, 1000000};
	/* So that each entry is taken once. */
	std::lock_guard guard(hands.polling);
	uint32_t cons;

	hands.late.use(area, PAVO_CQ_HEADER_SIZE + count * sizeof(pavo_cqe),
		       Role::completions);

	if (!count || copy_from(&cons, area, sizeof(cons)))
		return EFAULT;
	for (int n = 0, waited = 0; n < 64;) {
		pavo_cqe cqe;

		if (copy_from(&cqe,
			      area + PAVO_CQ_HEADER_SIZE +
				      cons % count * sizeof(cqe),
			      sizeof(cqe)))
			return EFAULT;
		if ((cqe.flags & PAVO_CQE_OWNER) != ((cons / count & 1) ^ 1)) {
			if (n || waited++ >= int(args[2]))
				break;
			nanosleep(&rest, nullptr);
			continue;
		}
		note(hands.shared, 2,
		     uint64_t{cqe.status} << 24 | cqe.opcode << 16 |
			     cqe.vendor_err << 8 | cqe.flags >> 1);
		if (!(cqe.flags & PAVO_CQE_RECV))
			hands.late.end_request(cqe.qpn);
		n++;
		cons++;
	}
	return copy_to(area, &cons, sizeof(cons));
}

int write_command(Hands &hands, const uint64_t *args, uint64_t *)
{
	const uint64_t bits = args[1] << PAVO_WCMD_OP_SHIFT | uint32_t(args[2]);

	hands.late.use(args[0], sizeof(pavo_command_page), Role::commands);
	return put_entry(args[0] + offsetof(pavo_command_page, producer),
			 args[0] + offsetof(pavo_command_page, ring),
			 PAVO_WCMD_RING, &bits, sizeof(bits));
}

} // namespace callfuzz
