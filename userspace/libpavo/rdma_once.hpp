// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_once.hpp - filters duplicates: remembers which data arrived by a context, so that the
 * program gets it once. The adapter drops duplicates itself, but loses its state in a recovery.
 * Private to the library.
 */
#ifndef PAVO_RDMA_ONCE_HPP
#define PAVO_RDMA_ONCE_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pavo {

/** The contexts of a window, by all numbers that they ever had. */
class RdmaOnce {
public:
	/** Add contexts. */
	void add(std::span<const uint32_t> rcxts)
	{
		for (uint32_t rcxt : rcxts) {
			index_[rcxt] = all_.size();
			all_.push_back({.name = rcxt});
		}
	}

	/** Give contexts new numbers, in the order of names(). */
	void rename(std::span<const uint32_t> names)
	{
		for (size_t i = 0; i < names.size(); i++) {
			all_[i].name = names[i];
			index_[names[i]] = i;
		}
	}

	std::vector<uint32_t> names() const
	{
		std::vector<uint32_t> names;

		for (const Context &context : all_)
			names.push_back(context.name);
		return names;
	}

	/** Return the present number of a context; @rcxt itself if it is unknown. */
	uint32_t name(uint32_t rcxt) const
	{
		auto found = index_.find(rcxt);

		return found == index_.end() ? rcxt : all_[found->second].name;
	}

	bool knows(uint32_t rcxt) const { return index_.contains(rcxt); }

	/** Return the first tid of the last operation that ended by a context; 0: none has. */
	uint64_t ended(uint32_t rcxt) const
	{
		auto found = index_.find(rcxt);

		return found == index_.end() ? 0 : all_[found->second].ended;
	}

	/**
	 * Note a received fragment of the operation whose first attempt had tid @first.
	 * Return: false if it is a duplicate.
	 */
	bool piece(uint32_t rcxt, uint64_t first, uint32_t fragment)
	{
		Context *context = find(rcxt);

		if (!context || first < context->first)
			return false;
		if (first > context->first) {
			context->first = first;
			context->seen.clear();
		}
		return context->seen.insert(fragment).second;
	}

	/** Note the final notification of an operation, after which the peer repeats nothing. */
	void end(uint32_t rcxt, uint64_t first)
	{
		if (Context *context = find(rcxt))
			context->ended = first;
	}

private:
	struct Context {
		uint32_t name;
		uint64_t first = 0;
		std::unordered_set<uint32_t> seen = {};
		uint64_t ended = 0;
	};

	Context *find(uint32_t rcxt)
	{
		auto found = index_.find(rcxt);

		return found == index_.end() ? nullptr : &all_[found->second];
	}

	std::vector<Context> all_;
	std::unordered_map<uint32_t, size_t> index_;
};

} // namespace pavo

#endif // PAVO_RDMA_ONCE_HPP
