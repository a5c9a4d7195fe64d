// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * reduction.hpp - vectors of many senders become one (sources.md#windows-half): each
 * sender puts its own from memory, and the receiver folds the pieces in as they come. It
 * stores no vector but the result.
 */
#ifndef PAVO_EXAMPLES_REDUCTION_HPP
#define PAVO_EXAMPLES_REDUCTION_HPP

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include <pavo/rdma.hpp>

namespace examples {

enum class Fold { SUM, MIN, MAX };

/** The result so far of vectors of @T: int64_t or double. */
template <class T> class Reduction {
	static_assert(pavo::piece_align % sizeof(T) == 0);

public:
	/** @own: the vector of this machine, with which the result begins */
	Reduction(Fold fold, std::vector<T> own)
		: fold_(fold), result_(std::move(own))
	{
	}

	/**
	 * Some elements of another vector. RdmaMove::remote of its sender is 0, so
	 * bytes are counted from its first. Throws std::out_of_range: no piece of a
	 * vector of this length.
	 */
	void take(const pavo::RdmaPiece &piece)
	{
		size_t first = piece.at / sizeof(T);
		size_t n = piece.bytes.size() / sizeof(T);

		if (piece.at % sizeof(T) || piece.bytes.size() % sizeof(T) ||
		    first > result_.size() || n > result_.size() - first)
			throw std::out_of_range("piece of another vector");
		for (size_t i = 0; i < n; i++) {
			T value;

			memcpy(&value, &piece.bytes[i * sizeof(T)],
			       sizeof(value));
			fold(result_[first + i], value);
		}
	}

	const std::vector<T> &result() const { return result_; }

private:
	void fold(T &into, T value) const
	{
		switch (fold_) {
		case Fold::SUM:
			into += value;
			break;
		case Fold::MIN:
			into = std::min(into, value);
			break;
		case Fold::MAX:
			into = std::max(into, value);
			break;
		}
	}

	Fold fold_;
	std::vector<T> result_;
};

} // namespace examples

#endif // PAVO_EXAMPLES_REDUCTION_HPP
