// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Dialogues and their text: see dialogue.h.
 */
#include "dialogue.h"

#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace wf {

const Value *Step::find(std::string_view key) const
{
	for (auto &[name, value] : args)
		if (name == key)
			return &value;
	return nullptr;
}

Value *Step::find(std::string_view key)
{
	return const_cast<Value *>(std::as_const(*this).find(key));
}

uint64_t Step::number(std::string_view key, uint64_t otherwise) const
{
	const Value *value = find(key);

	return value ? value->number : otherwise;
}

void Step::set(std::string_view key, const Value &value)
{
	if (Value *old = find(key))
		*old = value;
	else
		args.emplace_back(key, value);
}

namespace {

/* Above that numbers are bits rather than counts. */
constexpr uint64_t shown_in_decimal = 1 << 20;

std::string print_number(uint64_t number)
{
	char text[32];

	std::snprintf(text, sizeof(text),
		      number < shown_in_decimal ? "%llu" : "0x%llx",
		      static_cast<unsigned long long>(number));
	return text;
}

std::string print_value(const Value &value)
{
	const bool negative = value.number >> 63;

	if (value.symbol.empty())
		return print_number(value.number);
	if (!value.number)
		return value.symbol;
	return value.symbol + (negative ? "-" : "+") +
	       print_number(negative ? -value.number : value.number);
}

uint64_t parse_number(const std::string &text)
{
	size_t end = 0;
	uint64_t number = 0;

	try {
		number = std::stoull(text, &end, 0);
	} catch (const std::logic_error &) {
		end = std::string::npos;
	}
	if (end != text.size())
		throw std::runtime_error("not a number: " + text);
	return number;
}

Value parse_value(const std::string &text)
{
	const bool named = !text.empty() &&
			   !std::isdigit(static_cast<unsigned char>(text[0]));
	const size_t sign = named ? text.find_first_of("+-") : 0;
	Value value;

	if (!named)
		return {"", parse_number(text)};
	value.symbol = text.substr(0, sign);
	if (sign == std::string::npos)
		return value;
	value.number = parse_number(text.substr(sign + 1));
	if (text[sign] == '-')
		value.number = -value.number;
	return value;
}

Step parse_step(const std::string &line)
{
	std::istringstream words(line);
	std::string word;
	Step step;

	words >> step.verb;
	while (words >> word) {
		const size_t equals = word.find('=');

		if (equals != std::string::npos)
			step.args.emplace_back(
				word.substr(0, equals),
				parse_value(word.substr(equals + 1)));
		else if (step.subject.empty())
			step.subject = word;
		else if (step.name.empty())
			step.name = word;
		else
			throw std::runtime_error("one word too many: " + line);
	}
	return step;
}

} // namespace

std::string print(const Dialogue &dialogue)
{
	std::string text;

	for (const Step &step : dialogue) {
		text += step.verb;
		for (const std::string &word : {step.subject, step.name})
			if (!word.empty())
				text += " " + word;
		for (auto &[key, value] : step.args)
			text += " " + key + "=" + print_value(value);
		text += "\n";
	}
	return text;
}

Dialogue parse(std::string_view text)
{
	std::istringstream lines{std::string(text)};
	std::string line;
	Dialogue dialogue;

	while (std::getline(lines, line))
		if (line.find_first_not_of(" \t\r") != std::string::npos &&
		    line[0] != '#')
			dialogue.push_back(parse_step(line));
	return dialogue;
}

} // namespace wf
