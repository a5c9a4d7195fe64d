/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * xrc.h - connections of XRC (IBA annex A14): an initiator at A and a target at B, whose
 * receives come from shared queues of B's domain. Throws Skip where a device has no XRC.
 */
#ifndef PAVO_VERBS_XRC_H
#define PAVO_VERBS_XRC_H

#include "link.h"

namespace pv {

struct XrcLink : Link {
	Handle xrcd = 0;
	Srq srq;
};

Handle must_domain(Host &host);
Srq must_srq(Env &env, Handle xrcd, const Cq &cq, Handle pd = 0);
/* @xrcd: the domain, or 0 for a new one */
XrcLink connect_xrc(Env &env, LinkSpec spec = {}, Handle xrcd = 0);
/* The same request, to a receive of @srq. */
SendWr to_srq(const Srq &srq, SendWr wr);
/* A message that is refused with @status; the target is in Error then. */
void must_refuse_xrc(Env &env, XrcLink &link, const SendWr &wr,
		     ibv_wc_status status, const char *what);

} // namespace pv

#endif /* PAVO_VERBS_XRC_H */
