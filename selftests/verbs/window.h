/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory windows of an end of this process, for the tests of windows and of
 * invalidation: libibverbs is called directly.
 *
 * Owns: the window objects and how binds are posted. Used by: *_tests.cpp.
 */
#pragma once

#include "link.h"

namespace pv {

constexpr unsigned window_access = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC;
/* Bindable, and of no use to a peer in itself. */
constexpr unsigned bindable_access = IBV_ACCESS_LOCAL_WRITE |
				     IBV_ACCESS_MW_BIND;

/* A window; deallocated in the end unless free() did. */
class Window {
public:
	Window(Host &host, ibv_mw_type type, Handle pd = 0);
	Window(const Window &) = delete;
	Window &operator=(const Window &) = delete;
	~Window();

	int free();
	ibv_mw *operator->() { return mw_; }
	ibv_mw *get() { return mw_; }

private:
	ibv_mw *mw_;
};

struct BindSpec {
	Mr mr;
	int64_t offset = 0;
	uint64_t length = 0;
	unsigned access = window_access;
	uint32_t key_step = 1; /* type 2: added to the present key */
	uint32_t key_xor = 0; /* type 2: and then flipped */
	unsigned flags = IBV_SEND_SIGNALED;
	int64_t base = -1; /* first address of the range; -1: the region's */
};

/* Posts a bind; the id comes back in the completion. */
uint64_t post_bind(Side &side, Window &window, const BindSpec &spec);
/* Posts, waits and demands success. */
void must_bind(Env &env, Side &side, Window &window, const BindSpec &spec);
uint64_t post_local_inv(Side &side, uint32_t key,
			unsigned flags = IBV_SEND_SIGNALED);
void must_invalidate(Env &env, Side &side, uint32_t key);
/* A send that takes a key of the peer back, and the key that its receive tells. */
SendWr send_inv(const Place &local, uint64_t length, uint32_t key);
uint32_t key_of(const Wc &wc);

/* A peer's view of a window: the region's memory by the window's key. */
Mr view_of(Window &window, const BindSpec &spec);

/* Checks vendor_err (enum pavo_vendor_err), which others fill as they like. */
void check_vendor(Side &side, const Wc &wc, uint32_t vendor, const char *what);

/*
 * One operation of 8 bytes by this key must be a remote access error and
 * change nothing; that costs both queue pairs of the link (one of its own, if
 * none is given).
 */
void must_refuse(Env &env, const Mr &view, int64_t offset, Op op,
		 const char *what);
void must_refuse_on(Env &env, Link &link, const Mr &view, int64_t offset, Op op,
		    const char *what);

} // namespace pv
