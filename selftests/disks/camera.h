/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * camera.h - the kernel's virtual camera (vivid), a driver that takes dma-bufs of others for its
 * frames. All frames are the same picture, of a byte for each point.
 */
#ifndef PAVO_DISKS_CAMERA_H
#define PAVO_DISKS_CAMERA_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pv {

class Camera {
public:
	/* Throws Skip where the guest has none. */
	Camera();
	~Camera();
	Camera(const Camera &) = delete;

	uint32_t frame_bytes() const { return bytes_; }
	/* A frame, by memory of the driver's own. */
	std::vector<uint8_t> take_frame() const;
	/* One frame into each of these dma-bufs; two are the least. */
	void take_frames(std::span<const int> buffers) const;

private:
	void still() const;
	void request(uint32_t count, uint32_t memory) const;
	void stream(bool on) const;
	void call(unsigned long number, void *argument, const char *what) const;

	int fd_ = -1;
	uint32_t bytes_ = 0;
};

} // namespace pv

#endif /* PAVO_DISKS_CAMERA_H */
