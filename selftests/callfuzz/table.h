/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * table.h - what can be called: an entry for each uverbs command, method, netlink
 * command, and thing done by hand to shared memory. entries.cpp is the list, a line for
 * each; table.cpp reads those lines. Used by everything that makes or runs programs.
 */
#ifndef PAVO_CALLFUZZ_TABLE_H
#define PAVO_CALLFUZZ_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace callfuzz {

/** How a call reaches the kernel. */
enum class How { hand, write, extended, method, netlink };

/** Where the value of a field comes from. */
enum class What {
	number,
	padding, /* zeros */
	response, /* address of the answer's buffer */
	value, /* what an earlier call gave, of the field's class */
	gid, /* 16 bytes, by the number of an address */
	sgid, /* index of an adapter's own address, by number */
	text, /* a string, by number */
	made, /* the kernel puts a handle here (methods) */
	out, /* the kernel puts bytes here (methods) */
	file, /* the file that the call is made on; no bytes */
};

struct Field {
	What what = What::number;
	unsigned size = 0;
	int attr = -1; /* of methods and netlink */
	bool optional = false; /* left out where its value is 0 */
	std::string name;
	std::string cls; /* of a value */
	std::vector<uint64_t> hints; /* the first is what it is unless told */
	int arg = -1; /* number of the argument, if it takes one */
};

/** A result of a call that later calls use. */
struct Output {
	std::string name, cls;
	int attr = -1;
	unsigned at = 0, size = 0;
};

struct Hands;
/** A call by hand. Returns 0 or an errno. */
using Hand = int (*)(Hands &hands, const uint64_t *args, uint64_t *outs);

/** A line of the list. */
struct Line {
	const char *name;
	const char *makes; /* beginning of its results' names, or "" */
	const char *how; /* "w 3", "x 24 5 6", "m 1 0", "n 4", "h" */
	const char *fields;
	const char *outputs;
	unsigned weight = 4; /* how often it is chosen */
	Hand hand = nullptr;
};

struct Entry {
	std::string name, makes;
	How how = How::hand;
	/* Command; object and method; words of the answer's two parts; flags. */
	unsigned numbers[3] = {};
	std::vector<Field> fields;
	std::vector<Output> outputs;
	unsigned weight = 0;
	Hand hand = nullptr;
	/* Fields that take an argument. */
	std::vector<unsigned> args;
	unsigned index = 0;
};

constexpr unsigned most_args = 32, most_outputs = 12;

/** The list, read once. */
const std::vector<Entry> &entries();
const Entry *find_entry(const std::string &name);
const std::vector<Line> &lines();
const std::vector<Line> &hand_lines();

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_TABLE_H */
