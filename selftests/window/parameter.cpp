// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* parameter.cpp - see parameter.h. */
#include "parameter.h"

#include <fstream>
#include <stdexcept>

namespace windows {

Parameter::Parameter(const std::string &name, unsigned value)
	: path_("/sys/module/pavo/parameters/" + name)
{
	if (!(std::ifstream(path_) >> before_) ||
	    !(std::ofstream(path_) << value << std::flush))
		throw std::runtime_error(name + " cannot be set");
}

Parameter::~Parameter()
{
	std::ofstream(path_) << before_;
}

} // namespace windows
