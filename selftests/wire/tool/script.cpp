// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Script files: see script.h.
 */
#include "script.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

namespace pw {

namespace {

constexpr uint32_t psn_circle = 1u << 24;
/* Different, so that a PSN of the wrong direction shows. */
constexpr Bases plain_bases = {0x0a1000, 0x5b2000};

struct Choices {
	std::vector<std::pair<std::string, std::vector<std::string>>> params;
	std::vector<std::string> wraps = {"2"};
	bool ip6 = false;
};

bool is_name(char c)
{
	return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::vector<std::string> tokens(const std::string &text)
{
	std::istringstream in(text);
	std::vector<std::string> out;
	std::string token;

	while (in >> token)
		out.push_back(token);
	return out;
}

/* Directives come first and are about the file, not steps of it. */
bool directive(Script &script, Choices &choices,
	       const std::vector<std::string> &t)
{
	const std::vector<std::string> rest(t.begin() + 1, t.end());
	std::string text;

	for (const std::string &word : rest)
		text += (text.empty() ? "" : " ") + word;
	if (t[0] == "param" && rest.size() > 1)
		choices.params.push_back(
			{rest[0], {rest.begin() + 1, rest.end()}});
	else if (t[0] == "wrap")
		choices.wraps = rest == std::vector<std::string>{"none"} ?
					std::vector<std::string>() :
					rest;
	else if (t[0] == "family" && text == "both")
		choices.ip6 = true;
	else if (t[0] == "rxe-differs")
		script.rxe_differs = text;
	else if (t[0] == "rxe-breaks")
		script.rxe_breaks = text;
	else if (t[0] == "only")
		script.only = text;
	else if (t[0] == "in-a-row")
		script.in_a_row = true;
	else if (t[0] == "engine")
		script.engine = true;
	else if (t[0] == "flush")
		script.flush = true;
	else
		return false;
	return true;
}

/* All combinations of parameters, as name suffix and variables. */
std::vector<std::pair<std::string, Variables>>
combinations(const Choices &choices)
{
	std::vector<std::pair<std::string, Variables>> out = {{"", {}}};

	for (const auto &[name, values] : choices.params) {
		decltype(out) longer;

		for (const auto &[suffix, variables] : out) {
			for (const std::string &value : values) {
				Variables more = variables;

				more[name] = value;
				longer.push_back(
					{suffix + " " + name + "=" + value,
					 more});
			}
		}
		out = std::move(longer);
	}
	return out;
}

void make_cases(Script &script, const Choices &choices)
{
	for (const auto &[suffix, variables] : combinations(choices)) {
		const std::string name = script.name + suffix;

		script.cases.push_back({name, variables, false, plain_bases});
		for (const std::string &wrap : choices.wraps) {
			const auto at = static_cast<uint32_t>(psn_circle -
							      evaluate(wrap));

			script.cases.push_back({name + " wrap=" + wrap,
						variables,
						false,
						{at, at}});
		}
		if (choices.ip6)
			script.cases.push_back(
				{name + " ip6", variables, true, plain_bases});
	}
}

} // namespace

Script read_script(const std::string &path, const std::string &name)
{
	std::ifstream in(path);
	Choices choices;
	std::string text;
	bool body = false;

	if (!in)
		throw ScriptError("cannot read " + path);
	Script script = {.path = path, .name = name};
	for (unsigned number = 1; std::getline(in, text); number++) {
		text = text.substr(0, text.find('#'));

		const auto t = tokens(text);

		if (t.empty() || (!body && directive(script, choices, t)))
			continue;
		body = true;
		script.lines.push_back({number, text});
	}
	make_cases(script, choices);
	return script;
}

const std::string *Statement::find(std::string_view key) const
{
	for (const auto &[name, value] : args)
		if (name == key)
			return &value;
	return nullptr;
}

const std::string &Statement::get(std::string_view key) const
{
	const std::string *value = find(key);

	if (!value)
		throw ScriptError(verb + " needs " + std::string(key) + "=");
	return *value;
}

bool Statement::has_word(std::string_view word) const
{
	return std::find(words.begin(), words.end(), word) != words.end();
}

const std::string &Statement::word(size_t i) const
{
	if (i >= words.size())
		throw ScriptError(verb + ": a word is missing");
	return words[i];
}

static std::string substitute(const std::string &text,
			      const Variables &variables)
{
	std::string out;

	for (size_t i = 0; i < text.size(); i++) {
		if (text[i] != '$') {
			out += text[i];
			continue;
		}

		size_t end = i + 1;

		while (end < text.size() && is_name(text[end]))
			end++;

		auto found = variables.find(text.substr(i + 1, end - i - 1));

		if (found == variables.end())
			throw ScriptError("no variable " +
					  text.substr(i, end - i));
		out += found->second;
		i = end - 1;
	}
	return out;
}

Statement parse_statement(const Line &line, const Variables &variables)
{
	auto all = tokens(substitute(line.text, variables));
	Statement s = {.line = line.number, .verb = all.front()};

	for (const std::string &token : all) {
		s.text += (s.text.empty() ? "" : " ") + token;
		if (&token == &all.front())
			continue;

		const size_t equals = token.find('=');

		if (equals == std::string::npos)
			s.words.push_back(token);
		else
			s.args.push_back({token.substr(0, equals),
					  token.substr(equals + 1)});
	}
	return s;
}

std::vector<std::string> split(const std::string &text, char separator)
{
	std::vector<std::string> out;
	std::istringstream in(text);
	std::string part;

	while (std::getline(in, part, separator))
		out.push_back(part);
	return out;
}

} // namespace pw
