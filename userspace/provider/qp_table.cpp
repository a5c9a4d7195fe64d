// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * qp_table.cpp - the writer's side of the table; see qp_table.h.
 */
#include "qp_table.h"

#include <sys/mman.h>

namespace pavo {

QpTable::~QpTable()
{
	for (auto &pair : arrays_)
		for (Array &array : pair)
			if (array.slots)
				munmap(array.slots, array.bytes());
}

/* Where @qpn is, or belongs if @key is 0; null: the array is full. */
QpTable::Slot *QpTable::Array::probe(uint32_t qpn, uint32_t *key) const
{
	const uint32_t mask = count() - 1;

	for (uint32_t i = 0; i <= mask; i++) {
		Slot &slot = slots[(home(qpn) + i) & mask];

		*key = slot.key.load(std::memory_order_acquire);
		if (!*key || *key == qpn + 1)
			return &slot;
	}
	*key = 0;
	return nullptr;
}

/* Probes all slots, and repeats that if the writer has changed arrays meanwhile. */
Qp *QpTable::search(uint32_t qpn) const
{
	for (;;) {
		const uint32_t before =
			changes_.load(std::memory_order_acquire);
		uint32_t key;
		const Slot *slot = current_.load(std::memory_order_acquire)
					   ->probe(qpn, &key);
		Qp *qp = key ? slot->qp.load(std::memory_order_acquire) :
			       nullptr;

		if (changes_.load(std::memory_order_relaxed) == before)
			return qp;
	}
}

bool QpTable::Array::map(uint32_t bits)
{
	void *at;

	if (slots)
		return true;
	shift = 32 - bits;
	/* Zeroes are free slots. */
	at = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	slots = static_cast<Slot *>(at);
	return true;
}

/* The QP first: a reader that finds the key finds it. The array has a free slot. */
void QpTable::Array::put(uint32_t qpn, Qp *qp)
{
	uint32_t key;
	Slot *slot = probe(qpn, &key);

	slot->qp.store(qp, std::memory_order_release);
	slot->key.store(qpn + 1, std::memory_order_release);
}

/* A reader that is still in this array sees from changes_ that it is outdated. */
void QpTable::Array::empty()
{
	std::atomic_thread_fence(std::memory_order_release);
	/* Not of memory that the process has locked. */
	if (!madvise(slots, bytes(), MADV_DONTNEED))
		return;
	for (uint32_t i = 0; i < count(); i++) {
		slots[i].key.store(0, std::memory_order_relaxed);
		slots[i].qp.store(nullptr, std::memory_order_relaxed);
	}
}

/* Moves to an array that @qps QPs fill by half at most. False without memory. */
bool QpTable::change_array(uint32_t qps)
{
	Array *from = current_.load(std::memory_order_relaxed);
	uint32_t bits = least_bits;

	while (qps > 1u << (bits - 1))
		bits++;
	auto &pair = arrays_[bits - least_bits];
	Array &to = &pair[0] == from ? pair[1] : pair[0];

	if (!to.map(bits))
		return false;
	for (uint32_t i = 0; i < from->count(); i++) {
		Slot &slot = from->slots[i];
		Qp *qp = slot.qp.load(std::memory_order_relaxed);

		if (qp)
			to.put(slot.key.load(std::memory_order_relaxed) - 1,
			       qp);
	}
	used_ = live_;
	current_.store(&to, std::memory_order_release);
	changes_.fetch_add(1, std::memory_order_release);
	if (from != &first_)
		from->empty();
	return true;
}

bool QpTable::insert(uint32_t qpn, Qp *qp)
{
	Array *array = current_.load(std::memory_order_relaxed);

	if (qpn >= qpn_count)
		return false;
	/* Three quarters are the most. */
	if (array == &first_ || used_ >= array->count() / 4 * 3) {
		if (!change_array(live_ + 1))
			return false;
		array = current_.load(std::memory_order_relaxed);
	}
	uint32_t key;
	const Slot *slot = array->probe(qpn, &key);

	if (!key)
		used_++;
	/* A child of fork() may have a QP of its parent's with this QPN. */
	if (!slot->qp.load(std::memory_order_relaxed))
		live_++;
	array->put(qpn, qp);
	return true;
}

void QpTable::remove(uint32_t qpn)
{
	Array *array = current_.load(std::memory_order_relaxed);
	uint32_t key;
	Slot *slot = array->probe(qpn, &key);

	slot->qp.store(nullptr, std::memory_order_release);
	live_--;
	/* Without memory for a smaller one it stays. */
	if (array->shift < 32 - least_bits && live_ < array->count() / 8)
		change_array(live_);
}

} // namespace pavo
