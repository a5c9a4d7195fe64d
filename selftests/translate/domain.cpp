// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* domain.cpp - adapters and protection domains; see domain.h. */
#include "domain.h"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

namespace world {

ibv_context *open_adapter(const char *variable)
{
	const char *name = getenv(variable);
	ibv_device **list = ibv_get_device_list(nullptr);
	ibv_context *context = nullptr;

	for (int i = 0; name && list && list[i] && !context; i++)
		if (name == std::string(ibv_get_device_name(list[i])))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!context)
		throw std::runtime_error(std::string(variable) +
					 ": no such adapter");
	return context;
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
