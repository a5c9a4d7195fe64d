/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* parameter.h - reads a parameter of the module, or sets it for the length of a test. */
#ifndef PAVO_COMMON_PARAMETER_H
#define PAVO_COMMON_PARAMETER_H

#include "files.h"

namespace common {

inline std::string parameter_file(const std::string &name)
{
	return "/sys/module/pavo/parameters/" + name;
}

/* Throws Missing. */
inline unsigned parameter(const std::string &name)
{
	return read_word<unsigned>(parameter_file(name));
}

/* It has that value while this lives. Throws Missing: it cannot have it. */
class Parameter {
public:
	template <class T>
	Parameter(const std::string &name, const T &value)
		: path_(parameter_file(name)), before_(read_word(path_))
	{
		if (!write_word(path_, value))
			throw Missing("such value of " + path_);
	}

	~Parameter() { write_word(path_, before_); }
	Parameter(const Parameter &) = delete;

private:
	std::string path_, before_;
};

} // namespace common

#endif /* PAVO_COMMON_PARAMETER_H */
