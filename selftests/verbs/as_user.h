/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* as_user.h - a thread of a test that acts for an ordinary user for a while. */
#ifndef PAVO_VERBS_AS_USER_H
#define PAVO_VERBS_AS_USER_H

#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

namespace pv {

constexpr uid_t ordinary_user = 4711;

/* The thread has no capabilities while this lives; its open files stay as they are. */
class AsUser {
public:
	explicit AsUser(uid_t user) { change(user); }
	~AsUser() { syscall(SYS_setresuid, -1, 0, -1); }
	AsUser(const AsUser &) = delete;

private:
	/* That of libc changes all threads. */
	static void change(uid_t user)
	{
		REQUIRE(!syscall(SYS_setresuid, -1, user, -1), "setresuid");
	}
};

} // namespace pv

#endif /* PAVO_VERBS_AS_USER_H */
