// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_post.hpp - a range is armed and a work request is posted to it, in one call. Calls
 * functions of pavo_dv_direct.h, so a program that uses it links with the provider, as pavodv(7)
 * says.
 */
#ifndef PAVO_DIRECT_POST_HPP
#define PAVO_DIRECT_POST_HPP

#include <pavo/direct.hpp>
#include <pavo/pavo_dv_direct.h>

namespace pavo {

/**
 * Arms @range for @total bytes, and posts the list @wr. Either both are done or neither. Waits
 * for no buffer. Fails as DirectWindow::arm() and ibv_post_send().
 */
inline Result<void> post_direct(const DirectWindow &window, uint32_t range,
				uint32_t total, ibv_qp *qp, ibv_send_wr &wr,
				Direction direction = Direction::write) noexcept
{
	pavodv_direct plain = {};
	ibv_send_wr *bad;

	plain.context = window.context();
	plain.handle = window.handle();
	return Error(pavodv_direct_post(
		&plain, range, total,
		direction == Direction::read ? PAVO_DIRECT_READ : 0, qp, &wr,
		&bad));
}

} // namespace pavo

#endif // PAVO_DIRECT_POST_HPP
