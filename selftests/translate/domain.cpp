// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* domain.cpp - adapters and protection domains; see domain.h. */
#include "domain.h"

#include <cstdlib>

#include "../common/device.h"

namespace world {

ibv_context *open_adapter(const char *variable)
{
	const char *name = getenv(variable);

	return common::open_device(name ? name : variable);
}

Domain::Domain(const char *variable)
	: context_(open_adapter(variable)), pd_(ibv_alloc_pd(context_))
{
	if (pd_)
		return;
	const int error = errno;
	ibv_close_device(context_);
	throw std::system_error(error, std::generic_category(),
				"protection domain");
}

Domain::~Domain()
{
	ibv_dealloc_pd(pd_);
	ibv_close_device(context_);
}

} // namespace world
