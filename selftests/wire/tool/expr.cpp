// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Arithmetic of scripts: see expr.h.
 */
#include "expr.h"

#include <cctype>
#include <charconv>

namespace pw {

namespace {

/* Recursive descent: sum of products of (number | name | bracket | -factor). */
class Evaluator {
public:
	Evaluator(std::string_view text, const Lookup &lookup)
		: all(text), rest(text), lookup(lookup)
	{
	}

	uint64_t run()
	{
		uint64_t value = sum();

		if (!rest.empty())
			fail("cannot read the rest of");
		return value;
	}

private:
	[[noreturn]] void fail(const std::string &why)
	{
		throw ScriptError(why + " '" + std::string(all) + "'");
	}

	bool eat(char c)
	{
		if (rest.empty() || rest.front() != c)
			return false;
		rest.remove_prefix(1);
		return true;
	}

	uint64_t sum()
	{
		uint64_t value = product();

		for (;;) {
			if (eat('+'))
				value += product();
			else if (eat('-'))
				value -= product();
			else
				return value;
		}
	}

	uint64_t product()
	{
		uint64_t value = factor();

		for (;;) {
			const bool times = eat('*');
			const bool divide = !times && eat('/');

			if (!times && !divide && !eat('%'))
				return value;

			const uint64_t right = factor();

			if (!times && !right)
				fail("division by zero in");
			value = times  ? value * right :
				divide ? value / right :
					 value % right;
		}
	}

	uint64_t factor()
	{
		if (eat('-'))
			return 0 - factor();
		if (eat('(')) {
			uint64_t value = sum();

			if (!eat(')'))
				fail("missing bracket in");
			return value;
		}
		if (rest.empty())
			fail("something is missing in");
		return std::isdigit(static_cast<unsigned char>(rest[0])) ?
			       number() :
			       name();
	}

	uint64_t number()
	{
		uint64_t value = 0;
		const bool hex = rest.starts_with("0x");

		if (hex)
			rest.remove_prefix(2);

		auto [end, error] = std::from_chars(rest.data(),
						    rest.data() + rest.size(),
						    value, hex ? 16 : 10);

		if (error != std::errc())
			fail("bad number in");
		rest.remove_prefix(static_cast<size_t>(end - rest.data()));
		return value;
	}

	uint64_t name()
	{
		size_t n = 0;

		while (n < rest.size() &&
		       (std::isalnum(static_cast<unsigned char>(rest[n])) ||
			rest[n] == '_'))
			n++;
		if (!n || !lookup)
			fail("cannot read");

		std::string_view word = rest.substr(0, n);

		rest.remove_prefix(n);
		return lookup(word);
	}

	std::string_view all, rest;
	const Lookup &lookup;
};

} // namespace

uint64_t evaluate(std::string_view text, const Lookup &lookup)
{
	return Evaluator(text, lookup).run();
}

uint64_t evaluate(std::string_view text)
{
	return evaluate(text, Lookup());
}

int64_t duration(const std::string &text)
{
	struct Unit {
		std::string_view suffix;
		int64_t ns;
	};
	/* "ms" and "us" before "s", which ends both. */
	for (Unit unit :
	     {Unit{"ms", 1000000}, Unit{"us", 1000}, Unit{"s", 1000000000}})
		if (text.ends_with(unit.suffix))
			return static_cast<int64_t>(
				       evaluate(std::string_view(text).substr(
					       0,
					       text.size() -
						       unit.suffix.size()))) *
			       unit.ns;
	throw ScriptError("not a duration: " + text);
}

} // namespace pw
