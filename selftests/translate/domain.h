// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* domain.h - adapters by way of libibverbs, and what is registered with them. */
#ifndef PAVO_TRANSLATE_DOMAIN_H
#define PAVO_TRANSLATE_DOMAIN_H

#include <infiniband/verbs.h>

#include <cstddef>
#include <memory>
#include <span>

namespace world {

inline constexpr int all_rights = IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_WRITE;

/* The adapter that a variable of the environment names; throws where there is none. */
ibv_context *open_adapter(const char *variable);

/* A protection domain of that adapter. */
class Domain {
public:
	explicit Domain(const char *variable);
	~Domain();
	Domain(const Domain &) = delete;

	operator ibv_pd *() const { return pd_; }

private:
	ibv_context *context_;
	ibv_pd *pd_;
};

struct Deregister {
	void operator()(ibv_mr *mr) const { ibv_dereg_mr(mr); }
};

using Region = std::unique_ptr<ibv_mr, Deregister>;

/* None and errno where it is refused. */
inline Region region(ibv_pd *pd, std::span<std::byte> part,
		     int access = all_rights)
{
	return Region(ibv_reg_mr(pd, part.data(), part.size(), access));
}

} // namespace world

#endif // PAVO_TRANSLATE_DOMAIN_H
