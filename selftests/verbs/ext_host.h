/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ext_host.h - an end of this process with pavo's extended operations (pavo_dv.h). */
#ifndef PAVO_VERBS_EXT_HOST_H
#define PAVO_VERBS_EXT_HOST_H

#include "local_host.h"

namespace pv {

/* Others can ask for what these operations leave: immediate data of eight bytes. */
class ExtHost : public LocalHost {
public:
	using LocalHost::LocalHost;

	bool knows_ext() override;
	Cq create_ext_cq(bool events) override;
	std::vector<Arrival> poll_arrivals(Handle cq, uint32_t most) override;
};

} // namespace pv

#endif /* PAVO_VERBS_EXT_HOST_H */
