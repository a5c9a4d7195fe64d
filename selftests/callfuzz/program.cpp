// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * program.cpp - see program.h: programs as text, and how their calls refer to each other.
 */
#include "program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>

namespace callfuzz {
namespace {

const char *const twist_names[] = {"cut",  "more",  "flip", "omit",   "id",
				   "room", "flags", "nth",  "foreign"};

std::string result_name(const Program &program, size_t at)
{
	return program.calls[at].entry->makes + std::to_string(at);
}

std::string hex(uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), number < 10000 ? "%llu" : "0x%llx",
		 static_cast<unsigned long long>(number));
	return text;
}

std::string print_value(const Program &program, const Value &value)
{
	if (value.call < 0)
		return hex(value.number);

	const Entry &from = *program.calls[size_t(value.call)].entry;
	std::string text = result_name(program, size_t(value.call)) + "." +
			   from.outputs[size_t(value.output)].name;

	return value.number ? text + "+" + hex(value.number) : text;
}

void print_call(std::ostringstream &out, const Program &program, size_t at)
{
	const Call &call = program.calls[at];
	const Entry &entry = *call.entry;

	if (!entry.outputs.empty())
		out << result_name(program, at) << " = ";
	out << "ABCD"[call.actor] << ' ' << entry.name;
	for (size_t i = 0; i < entry.args.size(); i++) {
		const Field &field = entry.fields[entry.args[i]];

		if (call.args[i].call < 0 && field.what != What::value &&
		    field.what != What::file &&
		    call.args[i].number == field.hints[0])
			continue;
		out << ' ' << field.name << '='
		    << print_value(program, call.args[i]);
	}
	for (const Twisted &twisted : call.twists)
		out << " !" << twist_names[int(twisted.twist)] << '='
		    << twisted.a << ':' << hex(twisted.b);
	out << (call.async ? " &\n" : "\n");
}

/* Reads a program line by line. */
class Reader {
public:
	void read(std::string line)
	{
		size_t end = line.find('#');
		std::string word, name;

		if (end != std::string::npos)
			line.erase(end);
		line_ = line;
		std::istringstream in(line);
		if (!(in >> word))
			return;
		if (word.size() != 1 || !strchr("ABCD", word[0])) {
			name = word;
			in >> word;
			if (word != "=" || !(in >> word))
				fail("NAME = ACTOR");
		}
		read_call(in, word, name);
	}

	Program program;

private:
	[[noreturn]] void fail(const std::string &what) const
	{
		throw std::runtime_error("line \"" + line_ + "\": " + what);
	}

	void read_call(std::istringstream &in, const std::string &actor,
		       const std::string &name)
	{
		const size_t at = program.calls.size();
		const char *known = strchr("ABCD", actor[0]);
		std::string word;

		if (!known || actor.size() != 1 || !(in >> word))
			fail("no actor, or no call");
		const Entry *entry = find_entry(word);
		if (!entry)
			fail("no such call: " + word);
		if (at == most_calls)
			fail("too many calls");
		Call call =
			default_call(program, at, *entry, int(known - "ABCD"));
		for (; in >> word;)
			read_word(call, word);
		program.calls.push_back(call);
		if (!name.empty())
			names_[name] = at;
	}

	void read_word(Call &call, const std::string &word)
	{
		size_t equals = word.find('=');

		if (word == "&") {
			call.async = true;
		} else if (word[0] == '!') {
			read_twist(call, word.substr(1));
		} else if (word[0] == '?') {
			read_error(call, word.substr(1));
		} else if (equals == std::string::npos) {
			fail("FIELD=VALUE: " + word);
		} else {
			read_arg(call, word.substr(0, equals),
				 word.substr(equals + 1));
		}
	}

	void read_twist(Call &call, const std::string &word)
	{
		size_t equals = std::min(word.find('='), word.size());
		size_t colon = word.find(':');

		for (int i = 0; i < int(Twist::count_); i++) {
			if (word.substr(0, equals) != twist_names[i])
				continue;
			Twisted twisted{Twist(i)};
			if (equals < word.size())
				twisted.a = number(word.substr(equals + 1));
			if (colon != std::string::npos)
				twisted.b = number(word.substr(colon + 1));
			call.twists.push_back(twisted);
			return;
		}
		fail("no such twist: " + word);
	}

	void read_error(Call &call, const std::string &word)
	{
		for (int error = 0; error < 134; error++) {
			const char *name = strerrorname_np(error);

			if (name && word == name)
				call.expected = error;
		}
		if (call.expected < 0)
			fail("no such errno: " + word);
	}

	static uint32_t number(const std::string &text)
	{
		return uint32_t(strtoull(text.c_str(), nullptr, 0));
	}

	void read_arg(Call &call, const std::string &field,
		      const std::string &text)
	{
		const Entry &entry = *call.entry;

		for (size_t i = 0; i < entry.args.size(); i++) {
			if (entry.fields[entry.args[i]].name != field)
				continue;
			call.args[i] = read_value(text);
			return;
		}
		fail("no such field: " + field);
	}

	Value read_value(const std::string &text)
	{
		size_t dot = text.find('.'), plus = text.find('+');

		if (isdigit(text[0]))
			return {-1, 0, strtoull(text.c_str(), nullptr, 0)};
		auto found = names_.find(text.substr(0, std::min(dot, plus)));
		if (found == names_.end())
			fail("no such name: " + text);
		Value value{int(found->second), 0, 0};
		if (plus != std::string::npos)
			value.number = strtoull(&text[plus + 1], nullptr, 0);
		if (dot == std::string::npos)
			return value;
		const auto &outputs =
			program.calls[found->second].entry->outputs;
		const std::string name = text.substr(dot + 1, plus - dot - 1);
		for (size_t i = 0; i < outputs.size(); i++)
			if (outputs[i].name == name) {
				value.output = int(i);
				return value;
			}
		fail("no such output: " + text);
	}

	std::string line_;
	std::map<std::string, size_t> names_;
};

} // namespace

std::string Program::text() const
{
	std::ostringstream out;

	for (size_t i = 0; i < calls.size(); i++)
		print_call(out, *this, i);
	return out.str();
}

Program Program::parse(const std::string &text)
{
	std::istringstream in(text);
	std::string line;
	Reader reader;

	while (std::getline(in, line))
		reader.read(line);
	return reader.program;
}

Value find_value(const Program &program, size_t at, const std::string &cls,
		 int actor)
{
	Value other;

	for (size_t i = at; i--;) {
		const Call &call = program.calls[i];
		const auto &outputs = call.entry->outputs;

		for (size_t k = 0; k < outputs.size(); k++) {
			if (outputs[k].cls != cls)
				continue;
			if (call.actor == actor)
				return {int(i), int(k), 0};
			if (other.call < 0)
				other = {int(i), int(k), 0};
		}
	}
	return other;
}

Call default_call(const Program &program, size_t at, const Entry &entry,
		  int actor)
{
	Call call{&entry, actor};

	for (unsigned index : entry.args) {
		const Field &field = entry.fields[index];
		Value value;

		if ((field.what == What::value && field.hints[0] == 0 &&
		     !field.optional) ||
		    field.what == What::file)
			value = find_value(program, at, field.cls, actor);
		if (value.call < 0)
			value.number = field.hints[0];
		call.args.push_back(value);
	}
	return call;
}

void Program::remove(size_t at)
{
	const int gone = int(at);

	for (size_t i = at + 1; i < calls.size(); i++)
		for (size_t k = 0; k < calls[i].args.size(); k++) {
			Value &value = calls[i].args[k];

			if (value.call < gone)
				continue;
			if (value.call > gone) {
				value.call--;
				continue;
			}
			const Entry &entry = *calls[i].entry;
			value = find_value(*this, at,
					   entry.fields[entry.args[k]].cls,
					   calls[i].actor);
		}
	calls.erase(calls.begin() + gone);
}

void Program::insert(size_t at, Call call)
{
	for (size_t i = at; i < calls.size(); i++)
		for (Value &value : calls[i].args)
			if (value.call >= int(at))
				value.call++;
	calls.insert(calls.begin() + long(at), std::move(call));
}

} // namespace callfuzz
