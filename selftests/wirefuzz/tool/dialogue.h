/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Dialogues: what a peer sends and what an application does, step by step, with values
 * by name, so that one dialogue means the same in every run. As text: a step a line.
 *
 * Owns: struct Step and its text. Used by: all others. Pure.
 */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wf {

/* A number, or one that counts from what a symbol stands for: r+100. */
struct Value {
	std::string symbol;
	uint64_t number = 0;

	bool operator==(const Value &) const = default;
};

/* VERB [SUBJECT [NAME]] [key=value...] */
struct Step {
	std::string verb, subject, name;
	std::vector<std::pair<std::string, Value>> args;

	const Value *find(std::string_view key) const;
	Value *find(std::string_view key);
	uint64_t number(std::string_view key, uint64_t otherwise) const;
	void set(std::string_view key, const Value &value);
	bool operator==(const Step &) const = default;
};

using Dialogue = std::vector<Step>;

/* The verb of a packet to the adapter. */
constexpr std::string_view verb_packet = "<";

std::string print(const Dialogue &dialogue);
/* Lines that begin with # are comments. Throws std::runtime_error. */
Dialogue parse(std::string_view text);

} // namespace wf
