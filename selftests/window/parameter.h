// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* parameter.h - a parameter of the module that a test sets. */
#ifndef PAVO_WINDOW_PARAMETER_H
#define PAVO_WINDOW_PARAMETER_H

#include <string>

namespace windows {

/* It has that value while this lives. Throws std::runtime_error: it cannot have it. */
class Parameter {
public:
	Parameter(const std::string &name, unsigned value);
	~Parameter();
	Parameter(const Parameter &) = delete;

private:
	std::string path_;
	unsigned before_ = 0;
};

} // namespace windows

#endif // PAVO_WINDOW_PARAMETER_H
