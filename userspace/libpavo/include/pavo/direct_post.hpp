// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_post.hpp - arm a range and post work requests that name it in one call. Uses
 * pavo_dv_direct.h, so the program has to link with the provider, as pavodv(7) describes.
 */
#ifndef PAVO_DIRECT_POST_HPP
#define PAVO_DIRECT_POST_HPP

#include <pavo/language.hpp>

#include <cerrno>

#include <pavo/direct.hpp>
#include <pavo/pavo_dv_direct.h>

#pragma GCC visibility push(default)

namespace pavo {

/**
 * Arms @range for @total bytes, and posts the list @wr: both or neither. It does not wait:
 * NoBuffer::wait is as NoBuffer::fail. Fails as DirectWindow::arm() and ibv_post_send().
 */
inline Result<Armed> post_direct(const DirectWindow &window, uint32_t range,
				 uint32_t total, ibv_qp *qp, ibv_send_wr &wr,
				 const ArmOptions &options = {}) noexcept
{
	const bool falls_back = options.no_buffer == NoBuffer::fall_back;
	pavodv_direct plain = {};
	uint32_t flags = 0;
	ibv_send_wr *bad;

	plain.context = window.context();
	plain.handle = window.handle();
	if (options.direction == Direction::read)
		flags |= PAVO_DIRECT_READ;
	if (options.whole)
		flags |= PAVO_DIRECT_WHOLE;
	if (falls_back)
		flags |= PAVO_DIRECT_FALLBACK;
	int err =
		pavodv_direct_post(&plain, range, total, flags, qp, &wr, &bad);

	if (err == EAGAIN && falls_back)
		return Armed::no_buffer;
	if (err)
		return Unexpected(err);
	return Armed::armed;
}

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_DIRECT_POST_HPP
