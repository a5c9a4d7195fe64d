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

/** An I/O of post_io(): @length bytes at @offset of the file @fd. */
struct DirectIo {
	uint32_t range = 0;
	uint32_t length = 0;
	int fd = -1;
	uint64_t offset = 0;
	/** write: the file is read and sent; read: the response is written to the file. */
	Direction direction = Direction::write;
};

/**
 * Arms the range, posts the list @wr, and has the adapter move the bytes: none of it fails alone.
 * It does not wait; the last byte of the file sends the request, and that of the response begins
 * the I/O. An I/O that fails, fails the request; registers(range).error says why.
 */
inline Result<void> post_io(const DirectWindow &window, const DirectIo &io,
			    ibv_qp *qp, ibv_send_wr &wr) noexcept
{
	const bool reads = io.direction == Direction::read;
	const pavo_direct_io_args args = {
		io.range, io.length, reads ? PAVO_DIRECT_READ : 0u, io.fd,
		io.offset};
	pavodv_direct plain = {};
	ibv_send_wr *bad;

	plain.context = window.context();
	plain.handle = window.handle();
	int err = pavodv_direct_io(&plain, &args, 1, qp, &wr, &bad);

	if (err)
		return Unexpected(err);
	return {};
}

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_DIRECT_POST_HPP
