/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How queue pairs share an adapter: its policy for the length of a test, and links that always
 * have more to send.
 *
 * Owns: files of the policy in sysfs. Used by: share_tests.cpp, credit_tests.cpp.
 */
#pragma once

#include <string>
#include <vector>

#include "../common/adapter.h"
#include "link.h"
#include "tap.h"

namespace pv {

/* A file of the policy of an adapter has that value while this lives. Skips: no such file. */
class Policy {
public:
	Policy(Host &host, const std::string &name, const std::string &value)
		: path_(common::adapter_folder(device_name(host)) + name)
	{
		std::ifstream file(path_);

		if (!std::getline(file, before_))
			throw Skip("no " + name);
		set(value);
	}

	~Policy() { common::write_word(path_, before_); }
	Policy(const Policy &) = delete;

	void set(const std::string &value)
	{
		REQUIRE(common::write_word(path_, value), path_, " refuses ",
			value);
	}

	bool takes(const std::string &value)
	{
		return common::write_word(path_, value);
	}

	std::string now() const
	{
		std::ifstream file(path_);
		std::string line;

		std::getline(file, line);
		return line;
	}

private:
	std::string path_, before_;
};

/* Writes, or reads, of A's that are posted again as soon as they are complete. */
class Saturation {
public:
	/* @spec: of all; @levels: a link for each, with that service level */
	Saturation(Env &env, LinkSpec spec, const std::vector<uint8_t> &levels,
		   uint32_t length, uint32_t depth, Op op = Op::write);

	/* Until so many more messages are complete; by link. */
	std::vector<uint64_t> run(uint64_t messages);
	/* Takes the messages that are complete by now, and posts no more. By link. */
	std::vector<uint64_t> take_complete();
	/* The same, and posts as many. */
	std::vector<uint64_t> refill();
	/* Completes all that is under way; every byte is where it should be. */
	void drain();
	/* Goes on after drain(). */
	void fill();

	std::vector<Link> links;

private:
	void post(size_t link, uint32_t count);
	size_t take_one();

	Env &env_;
	Cq cq_;
	Place at_a_, at_b_;
	uint32_t length_, depth_;
	Op op_;
	uint64_t under_way_ = 0;
	uint64_t seed_;
};

} // namespace pv
