/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sha256.h - SHA-256 (FIPS 180-4), by which both sides of a copy compare the file. Used by
 * to_many.cpp.
 */
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace copy {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
public:
	void add(std::span<const std::byte> bytes)
	{
		length_ += bytes.size();
		while (!bytes.empty()) {
			size_t n =
				std::min(bytes.size(), block_.size() - used_);

			std::transform(bytes.begin(), bytes.begin() + long(n),
				       block_.begin() + long(used_),
				       [](std::byte b) { return uint8_t(b); });
			bytes = bytes.subspan(n);
			used_ += n;
			if (used_ == block_.size())
				take_block();
		}
	}

	/* All that was added. Nothing may be added after that. */
	Digest finish()
	{
		const uint64_t bits = length_ * 8;
		Digest digest;

		block_[used_++] = 0x80;
		if (used_ > 56) {
			std::fill(block_.begin() + long(used_), block_.end(),
				  0);
			take_block();
		}
		std::fill(block_.begin() + long(used_), block_.begin() + 56, 0);
		for (size_t i = 0; i < 8; i++)
			block_[56 + i] = uint8_t(bits >> (56 - 8 * i));
		take_block();
		for (size_t i = 0; i < digest.size(); i++)
			digest[i] = uint8_t(state_[i / 4] >> (24 - i % 4 * 8));
		return digest;
	}

private:
	/* The first 32 bits of the fraction of a root of the @n-th prime. */
	static const std::array<uint32_t, 64> &constants();

	void take_block()
	{
		const auto &k = constants();
		std::array<uint32_t, 64> w;
		auto [a, b, c, d, e, f, g, h] = state_;

		for (size_t i = 0; i < 16; i++)
			w[i] = uint32_t(block_[4 * i]) << 24 |
			       uint32_t(block_[4 * i + 1]) << 16 |
			       uint32_t(block_[4 * i + 2]) << 8 |
			       block_[4 * i + 3];
		for (size_t i = 16; i < 64; i++) {
			uint32_t x = w[i - 15], y = w[i - 2];

			w[i] = w[i - 16] + w[i - 7] +
			       (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) +
			       (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
		}
		for (size_t i = 0; i < 64; i++) {
			uint32_t t = h +
				     (std::rotr(e, 6) ^ std::rotr(e, 11) ^
				      std::rotr(e, 25)) +
				     ((e & f) ^ (~e & g)) + k[i] + w[i];
			uint32_t u = (std::rotr(a, 2) ^ std::rotr(a, 13) ^
				      std::rotr(a, 22)) +
				     ((a & b) ^ (a & c) ^ (b & c));

			h = g, g = f, f = e, e = d + t;
			d = c, c = b, b = a, a = t + u;
		}
		const std::array<uint32_t, 8> add = {a, b, c, d, e, f, g, h};
		for (size_t i = 0; i < state_.size(); i++)
			state_[i] += add[i];
		used_ = 0;
	}

	std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
					  0xa54ff53a, 0x510e527f, 0x9b05688c,
					  0x1f83d9ab, 0x5be0cd19};
	std::array<uint8_t, 64> block_{};
	size_t used_ = 0;
	uint64_t length_ = 0;
};

inline const std::array<uint32_t, 64> &Sha256::constants()
{
	static const std::array<uint32_t, 64> all = [] {
		std::array<uint32_t, 64> k{};
		size_t n = 0;

		for (uint64_t p = 2; n < k.size(); p++) {
			bool prime = true;

			for (uint64_t q = 2; q * q <= p; q++)
				prime = prime && p % q;
			if (!prime)
				continue;
			/* The largest x with x^3 <= p * 2^96, whose lower half is meant. */
			unsigned __int128 goal = (unsigned __int128)p << 96;
			uint64_t x = 0;

			for (int bit = 35; bit >= 0; bit--) {
				unsigned __int128 y = x | 1ull << bit;

				if (y * y * y <= goal)
					x |= 1ull << bit;
			}
			k[n++] = uint32_t(x);
		}
		return k;
	}();

	return all;
}

/* As sha256sum prints it. */
inline std::string to_text(const Digest &digest)
{
	static const char digits[] = "0123456789abcdef";
	std::string text;

	for (uint8_t byte : digest) {
		text += digits[byte >> 4];
		text += digits[byte & 15];
	}
	return text;
}

} // namespace copy
