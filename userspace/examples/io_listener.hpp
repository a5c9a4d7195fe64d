// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* io_listener.hpp - where the hosts of an I/O unit come. */
#ifndef PAVO_EXAMPLES_IO_LISTENER_HPP
#define PAVO_EXAMPLES_IO_LISTENER_HPP

#include <cstdint>
#include <string>

#include "verbs_end.hpp"

namespace examples {

/** A port of rdma_cm at the address of an adapter. */
class Listener {
public:
	/** Of the adapter with that name. Throws. */
	Listener(const std::string &adapter, uint16_t port);

	const CmChannel &events() const { return events_; }
	ibv_context *context() const { return id_->verbs; }

private:
	CmChannel events_;
	CmId id_;
};

} // namespace examples

#endif
