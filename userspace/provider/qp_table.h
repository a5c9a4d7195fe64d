/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp_table.h - from the QPN in a completion to the QP it belongs to.
 *
 * Owns: the map of a context. Read by cq.cpp under a CQ's lock, without any
 * lock of its own; written by qp.cpp under the context's qp_mutex. A QP leaves
 * the table under the locks of both of its CQs, so a reader's QP stays alive
 * for as long as the reader holds the lock of its CQ.
 */
#ifndef PAVO_PROVIDER_QP_TABLE_H
#define PAVO_PROVIDER_QP_TABLE_H

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

namespace pavo {

struct Qp;

class QpTable {
public:
	QpTable() = default;
	QpTable(const QpTable &) = delete;
	QpTable &operator=(const QpTable &) = delete;

	~QpTable()
	{
		for (auto &leaf : leaves_)
			delete leaf.load(std::memory_order_relaxed);
	}

	/** Any 32-bit value may be asked for: it comes from shared memory. */
	Qp *find(uint32_t qpn) const
	{
		const Leaf *leaf;

		if (qpn >= qpn_count)
			return nullptr;
		leaf = leaves_[qpn / leaf_size].load(std::memory_order_acquire);
		if (!leaf)
			return nullptr;
		return (*leaf)[qpn % leaf_size].load(std::memory_order_acquire);
	}

	bool insert(uint32_t qpn, Qp *qp)
	{
		Leaf *leaf;

		if (qpn >= qpn_count)
			return false;

		auto &root = leaves_[qpn / leaf_size];

		leaf = root.load(std::memory_order_relaxed);
		if (!leaf) {
			leaf = new (std::nothrow) Leaf{};
			if (!leaf)
				return false;
			root.store(leaf, std::memory_order_release);
		}
		(*leaf)[qpn % leaf_size].store(qp, std::memory_order_release);
		return true;
	}

	/** @qpn was inserted. */
	void remove(uint32_t qpn)
	{
		Leaf *leaf = leaves_[qpn / leaf_size].load(
			std::memory_order_relaxed);

		(*leaf)[qpn % leaf_size].store(nullptr,
					       std::memory_order_release);
	}

private:
	static constexpr uint32_t qpn_count = 1u << 24;
	static constexpr uint32_t leaf_size = 1u << 10;
	using Leaf = std::array<std::atomic<Qp *>, leaf_size>;

	std::array<std::atomic<Leaf *>, qpn_count / leaf_size> leaves_{};
};

} // namespace pavo

#endif /* PAVO_PROVIDER_QP_TABLE_H */
