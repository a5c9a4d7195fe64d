/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp_table.h - from the QPN in a completion to the QP it belongs to.
 *
 * Owns: the map of a context. Read by cq.cpp under a CQ's lock, without any
 * lock of its own; written by qp.cpp under the context's qp_mutex. A QP leaves
 * the table under the locks of both of its CQs, so a reader's QP stays alive
 * for as long as the reader holds the lock of its CQ.
 *
 * A hash table with open addressing, as large as the QPs that there are at a
 * time: the module draws QPNs at random from 24 bits. A QP that goes leaves its
 * key behind. When too many keys fill the table, or too few QPs are left in it,
 * the writer copies the QPs to another array. No array is unmapped before the
 * table ends, because a reader may be in it: there are two of each size, taken
 * in turn, and the kernel takes the pages of one that is given up. A reader
 * looks again if the writer has changed arrays meanwhile.
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

	/** Any 32-bit value may be asked for: it comes from shared memory. */
	Qp *find(uint32_t qpn) const
	{
		for (;;) {
			const uint32_t before =
				changes_.load(std::memory_order_acquire);
			const Array *array =
				current_.load(std::memory_order_acquire);
			const Slot *slot = array ? array->find(qpn) : nullptr;
			Qp *qp = slot ? slot->qp.load(
						std::memory_order_acquire) :
					nullptr;

			if (changes_.load(std::memory_order_relaxed) == before)
				return qp;
		}
	}

	/** False without memory, or if no QP has such a number. */
	bool insert(uint32_t qpn, Qp *qp);

	/** @qpn was inserted. */
	void remove(uint32_t qpn);

	/** Bytes of the arrays in use. */
	size_t size() const
	{
		const Array *array = current_.load(std::memory_order_relaxed);

		return array ? array->bytes() : 0;
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
		uint32_t bits = 0;

		uint32_t mask() const { return (1u << bits) - 1; }
		size_t bytes() const { return sizeof(Slot) << bits; }

		/** Where @qpn is, or null. */
		const Slot *find(uint32_t qpn) const
		{
			uint32_t key = 0;
			const Slot *slot = probe(qpn, &key);

			return key ? slot : nullptr;
		}

		/** Where @qpn is, or belongs if @key is 0; null: the array is full. */
		Slot *probe(uint32_t qpn, uint32_t *key) const
		{
			uint32_t at = qpn * 0x9e3779b1u >> (32 - bits);

			for (uint32_t i = 0; i <= mask(); i++) {
				Slot &slot = slots[(at + i) & mask()];

				*key = slot.key.load(std::memory_order_acquire);
				if (!*key || *key == qpn + 1)
					return &slot;
			}
			*key = 0;
			return nullptr;
		}

		bool map(uint32_t of_bits);
		void put(uint32_t qpn, Qp *qp);
		void empty();
	};

	bool change_array(uint32_t qps);

	std::atomic<uint32_t> changes_{0};
	std::atomic<Array *> current_{nullptr};
	uint32_t used_ = 0; /* slots with a key */
	uint32_t live_ = 0; /* slots with a QP */
	std::array<std::array<Array, 2>, sizes> arrays_{};
};

} // namespace pavo

#endif /* PAVO_PROVIDER_QP_TABLE_H */
