/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * program.h - a program: calls in their order, each made by one of four processes. As
 * text a call is a line:
 *
 *   [NAME =] ACTOR CALL [FIELD=VALUE...] [!TWIST=A[:B]...] [?ERRNO] [&]
 *
 * A VALUE is a number, or what an earlier call gave: NAME.OUTPUT, or with an addition
 * NAME.OUTPUT+NUMBER. A field that is not named is the first of its hints, and one that
 * takes a result is the last one of its class. `?`: how the call has to end while the program
 * is a seed (?EINVAL; ?0 is success). `&`: the next call does not wait for it.
 */
#ifndef PAVO_CALLFUZZ_PROGRAM_H
#define PAVO_CALLFUZZ_PROGRAM_H

#include <string>
#include <vector>

#include "table.h"

namespace callfuzz {

/* A: root. B: a user. C: root of namespaces of its own. D: a child of A, with its files. */
constexpr int actors = 4;
constexpr size_t most_calls = 48;

struct Value {
	int call = -1; /* whose result it is, or none's */
	int output = 0;
	uint64_t number = 0; /* what is added to that */

	bool operator==(const Value &) const = default;
};

/** A fault of the call itself. */
enum class Twist {
	cut, /* the last bytes are not there */
	more, /* more bytes behind the last */
	flip, /* the word at that offset, exclusive-or a value */
	omit, /* an attribute is not there; of a command: no answer's buffer */
	id, /* an attribute has another number */
	room, /* other size of the answer's buffer */
	flags, /* of all attributes; of the message */
	nth, /* that many allocations later one fails */
	foreign, /* the answer's buffer is at an address that is not this */
	count_,
};

struct Twisted {
	Twist twist;
	uint32_t a = 0, b = 0;

	bool operator==(const Twisted &) const = default;
};

struct Call {
	const Entry *entry;
	int actor = 0;
	bool async = false;
	std::vector<Value> args = {};
	std::vector<Twisted> twists = {};
	int expected = -1; /* errno, or none is expected; not in text() */
};

struct Program {
	std::vector<Call> calls;

	std::string text() const;
	/** Throws std::runtime_error with the line. */
	static Program parse(const std::string &text);

	/** Without call @at; what used its results uses others. */
	void remove(size_t at);
	/** @call, whose values count calls before @at only. */
	void insert(size_t at, Call call);
};

/** A call with the first hints, and the last results of each class before @at. */
Call default_call(const Program &program, size_t at, const Entry &entry,
		  int actor);
/** The last result of @cls before call @at, of @actor if there is one. */
Value find_value(const Program &program, size_t at, const std::string &cls,
		 int actor);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_PROGRAM_H */
