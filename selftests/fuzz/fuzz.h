/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz.h - what the fuzz targets share: taking the input apart, and a check
 * that ends the program where libFuzzer sees it.
 */
#ifndef PAVO_FUZZ_H
#define PAVO_FUZZ_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition)) {                                   \
			std::fprintf(stderr, "%s:%d: not true: %s\n", \
				     __FILE__, __LINE__, #condition); \
			std::abort();                                 \
		}                                                     \
	} while (0)

/* The input, taken from its beginning; zeros behind its end. */
class Input {
public:
	Input(const uint8_t *data, size_t size) : data_(data), left_(size) {}

	template <typename Number> Number take()
	{
		Number number{};
		size_t n = left_ < sizeof(number) ? left_ : sizeof(number);

		std::memcpy(&number, data_, n);
		data_ += n;
		left_ -= n;
		return number;
	}

	/*
	 * @size bytes in a block of their own, so that the sanitizer sees who
	 * reads behind them.
	 */
	std::unique_ptr<uint8_t[]> block(size_t size)
	{
		std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]());
		size_t n = left_ < size ? left_ : size;

		std::memcpy(bytes.get(), data_, n);
		data_ += n;
		left_ -= n;
		return bytes;
	}

	size_t left() const { return left_; }

private:
	const uint8_t *data_;
	size_t left_;
};

#endif /* PAVO_FUZZ_H */
