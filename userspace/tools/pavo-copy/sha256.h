/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sha256.h - SHA-256 by libcrypto, by which both sides of a copy compare the file. Used by file.cpp
 * and to_many.cpp.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

#include <openssl/evp.h>

namespace copy {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
public:
	Sha256()
	{
		if (!context_ ||
		    !EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr))
			throw std::bad_alloc();
	}

	void add(std::span<const std::byte> bytes)
	{
		if (!EVP_DigestUpdate(context_.get(), bytes.data(),
				      bytes.size()))
			throw std::bad_alloc();
	}

	/* All that was added. Nothing may be added after that. */
	Digest finish()
	{
		Digest digest;

		if (!EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr))
			throw std::bad_alloc();
		return digest;
	}

private:
	struct Free {
		void operator()(EVP_MD_CTX *context) const
		{
			EVP_MD_CTX_free(context);
		}
	};

	std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

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
