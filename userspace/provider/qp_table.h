/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp_table.h - from the QPN in a completion to the QP it belongs to.
 *
 * Owns: the map of a context. Read by cq.cpp under a CQ's lock, without any
 * lock of its own; written by qp.cpp under the context's qp_mutex. A QP leaves
 * the table under the locks of both of its CQs, so a reader's QP stays alive
 * for as long as the reader holds the lock of its CQ.
 *
 * A hash table with open addressing, sized by the number of QPs at a time: the module draws QPNs
 * at random from 24 bits. A removed QP leaves its key as a tombstone. When too many keys fill
 * the table, or too few QPs are left in it, the writer copies the QPs to another array. No array
 * is unmapped before the table ends, because a reader may be in it: there are two of each size,
 * used alternately, and the pages of the unused one are returned to the kernel. A reader repeats
 * its search if the writer has changed arrays meanwhile.
 */
#ifndef PAVO_PROVIDER_QP_TABLE_H
#define PAVO_PROVIDER_QP_TABLE_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pavo {

struct Qp;

class QpTable {
public:
	QpTable() = default;
	QpTable(const QpTable &) = delete;
	QpTable &operator=(const QpTable &) = delete;
	~QpTable();

	/** The QP; null: none. @qpn may be any 32-bit value: it comes from shared memory. */
	Qp *find(uint32_t qpn) const
	{
		const uint32_t before =
			changes_.load(std::memory_order_acquire);
		const Array *array = current_.load(std::memory_order_acquire);
		const Slot &slot = array->slots[array->home(qpn)];

		/* The home slot, where most are. No QP has the QPN that a key of 0 would be of. */
		if (slot.key.load(std::memory_order_acquire) == qpn + 1 &&
		    qpn < qpn_count) {
			Qp *qp = slot.qp.load(std::memory_order_acquire);

			if (changes_.load(std::memory_order_relaxed) == before)
				return qp;
		}
		return search(qpn);
	}

	/** False without memory, or if @qpn is no valid QPN. */
	bool insert(uint32_t qpn, Qp *qp);

	/** @qpn was inserted. */
	void remove(uint32_t qpn);

	/** Bytes of the array in use. */
	size_t size() const
	{
		return current_.load(std::memory_order_relaxed)->bytes();
	}

private:
	static constexpr uint32_t qpn_count = 1u << 24;
	static constexpr uint32_t least_bits = 8; /* a page of 4 KiB */
	static constexpr uint32_t sizes = 18; /* twice @qpn_count */

	struct Slot {
		std::atomic<uint32_t> key; /* QPN + 1; 0: free */
		std::atomic<Qp *> qp; /* null: gone */
	};

	struct Array {
		Slot *slots = nullptr;
		uint32_t shift = 0; /* 32 - binary logarithm of the slots */

		uint32_t count() const { return 1u << (32 - shift); }
		size_t bytes() const { return sizeof(Slot) * count(); }
		uint32_t home(uint32_t qpn) const
		{
			return qpn * 0x9e3779b1u >> shift;
		}

		Slot *probe(uint32_t qpn, uint32_t *key) const;
		bool map(uint32_t bits);
		void put(uint32_t qpn, Qp *qp);
		void empty();
	};

	Qp *search(uint32_t qpn) const;
	bool change_array(uint32_t qps);

	std::atomic<uint32_t> changes_{0};
	std::array<Slot, 2> none_{};
	Array first_ = {none_.data(), 31}; /* of a table without QPs */
	std::atomic<Array *> current_{&first_};
	uint32_t used_ = 0; /* slots with a key */
	uint32_t live_ = 0; /* slots with a QP */
	std::array<std::array<Array, 2>, sizes> arrays_{};
};

} // namespace pavo

#endif /* PAVO_PROVIDER_QP_TABLE_H */
