// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * xrc.cpp - XRC domains, and target QPs that another process made in one.
 *
 * The kernel knows which processes share a domain (by the file it was opened
 * with) and keeps a target until its last user has closed it.
 */
#include <cerrno>
#include <memory>

#include "provider.h"

namespace pavo {

ibv_xrcd *open_xrcd(ibv_context *context, ibv_xrcd_init_attr *attr)
{
	auto xrcd = make_object<verbs_xrcd>();
	ib_uverbs_open_xrcd_resp resp = {};
	verbs_cmd_open_xrcd cmd = {};
	int err;

	if (!xrcd)
		return nullptr;
	err = ibv_cmd_open_xrcd(context, xrcd.get(), sizeof(*xrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		errno = err;
		return nullptr;
	}
	return &xrcd.release()->xrcd;
}

int close_xrcd(ibv_xrcd *ibxrcd)
{
	verbs_xrcd *xrcd = to_xrcd(ibxrcd);
	int err = ibv_cmd_close_xrcd(xrcd);

	if (!err)
		adopt_object(xrcd).reset();
	return err;
}

ibv_qp *open_qp(ibv_context *context, ibv_qp_open_attr *attr)
{
	auto qp = make_object<Qp>(true);
	ib_uverbs_create_qp_resp resp = {};
	verbs_cmd_open_qp cmd = {};
	int err;

	if (!qp)
		return nullptr;
	err = ibv_cmd_open_qp(context, &qp->verbs, sizeof(qp->verbs), attr,
			      &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		errno = err;
		return nullptr;
	}
	return &qp.release()->verbs.qp;
}

} // namespace pavo
