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

/* A file has that value while this lives. Throws Missing: it cannot have it. */
class Setting {
public:
	template <class T>
	Setting(const std::string &path, const T &value)
		: path_(path), before_(read_word(path_))
	{
		if (!write_word(path_, value))
			throw Missing("such value of " + path_);
	}

	~Setting() { write_word(path_, before_); }
	Setting(const Setting &) = delete;

private:
	std::string path_, before_;
};

/* A parameter of the module, likewise. */
class Parameter : public Setting {
public:
	template <class T>
	Parameter(const std::string &name, const T &value)
		: Setting(parameter_file(name), value)
	{
	}
};

} // namespace common

#endif /* PAVO_COMMON_PARAMETER_H */
