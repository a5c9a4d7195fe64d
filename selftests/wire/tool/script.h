/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Script files: reading them, the variants a file asks for, and one line taken
 * apart into verb, words and key=value.
 *
 * Owns: the grammar, not the meaning, of the language. Used by: main.cpp (cases)
 * and the machine (statements). Touches: script files, to read.
 */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "expr.h"

namespace pw {

struct Line {
	unsigned number;
	std::string text;
};

using Variables = std::map<std::string, std::string, std::less<>>;

/* Where the tested PSNs lie. */
struct Bases {
	uint32_t sq = 0, rq = 0;
};

/* One run of a script: a choice for everything it leaves open. */
struct Case {
	std::string name;
	Variables variables;
	bool ip6 = false;
	Bases bases;
};

struct Script {
	std::string path, name;
	std::vector<Line> lines; /* body, without directives */
	std::vector<Case> cases;
	std::string rxe_differs; /* why rdma_rxe may fail it */
	std::string rxe_breaks; /* what it does to rdma_rxe's kernel */
	std::string only; /* the one device type it is for */
	bool in_a_row = false; /* packets have to arrive before works run */
	bool engine = false; /* it wants an interface that obeys scripts */
	bool flush = false; /* it wants regions that may be flushed */
};

/* `name` is the path below the scripts folder without its suffix. */
Script read_script(const std::string &path, const std::string &name);

struct Statement {
	unsigned line = 0;
	std::string text;
	std::string verb;
	std::vector<std::string> words; /* neither verb nor key=value */
	std::vector<std::pair<std::string, std::string>> args;

	const std::string *find(std::string_view key) const;
	const std::string &get(std::string_view key) const;
	bool has_word(std::string_view word) const;
	const std::string &word(size_t i) const;
};

/* Replaces $name and takes the line apart. */
Statement parse_statement(const Line &line, const Variables &variables);

std::vector<std::string> split(const std::string &text, char separator);

} // namespace pw
