// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * read_order.cpp - see read_order.hpp.
 */
#include "read_order.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "oracle.hpp"

namespace sim {

void ReadOrder::add_read(size_t message, size_t in_at,
			 std::vector<uint8_t> bytes)
{
	reads_.push_back(
		{message, in_at, {{message, message, std::move(bytes)}}});
}

void ReadOrder::add_version(size_t read, size_t writer, bool whole,
			    std::vector<uint8_t> bytes)
{
	const auto found = std::find_if(reads_.begin(), reads_.end(),
					[&](const Read &known) {
						return known.message == read;
					});

	found->versions.push_back(
		{writer, whole ? writer : writer - 1, std::move(bytes)});
}

void ReadOrder::complete(size_t end, const uint8_t *in)
{
	for (; next_ < reads_.size() && reads_[next_].message < end; next_++)
		check(reads_[next_], in + reads_[next_].in_at);
}

void ReadOrder::check(const Read &read, const uint8_t *bytes)
{
	const std::vector<Version> &versions = read.versions;
	size_t shown = newest_;
	/* The oldest one that it may show. */
	const auto least = std::find_if(versions.rbegin(), versions.rend() - 1,
					[&](const Version &version) {
						return version.writer <=
						       newest_;
					})
				   .base() -
			   1;

	for (size_t at = 0; at < versions[0].bytes.size(); at++) {
		const auto is_shown = [&](const Version &version) {
			return version.bytes[at] == bytes[at];
		};

		if (std::none_of(least, versions.end(), is_shown))
			throw Failure(
				"read order",
				fmt::format(
					"byte {} of read {} is older than message {}, "
					"which a read before it shows",
					at, read.message, newest_));
		shown = std::max(shown, std::find_if(versions.begin(),
						     versions.end(), is_shown)
						->shows);
	}
	/* Its own number says no more than its place. */
	if (shown > read.message)
		newest_ = shown;
}

} // namespace sim
