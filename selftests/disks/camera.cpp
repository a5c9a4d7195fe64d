// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* camera.cpp - see camera.h. */
#include "camera.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/errors.h"
#include "../verbs/tap.h"

namespace pv {
namespace {

constexpr uint32_t width = 320, height = 180; /* the least that it has */
/* The driver begins when it has as many frames to fill. */
constexpr uint32_t least_buffers = 2;

v4l2_buffer buffer_of(uint32_t index, uint32_t memory)
{
	v4l2_buffer buffer = {};

	buffer.index = index;
	buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
	buffer.memory = memory;
	return buffer;
}

/* The first of the driver's devices that captures pictures. */
int open_camera()
{
	std::error_code none;

	for (const auto &entry : std::filesystem::directory_iterator(
		     "/sys/class/video4linux", none)) {
		const std::string path =
			"/dev/" + entry.path().filename().string();
		int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
		v4l2_capability can = {};

		if (fd < 0)
			continue;
		if (!ioctl(fd, VIDIOC_QUERYCAP, &can) &&
		    !strcmp(reinterpret_cast<char *>(can.driver), "vivid") &&
		    can.device_caps & V4L2_CAP_VIDEO_CAPTURE &&
		    !(can.device_caps & V4L2_CAP_TOUCH))
			return fd;
		close(fd);
	}
	throw Skip("no virtual camera");
}

} // namespace

Camera::Camera() : fd_(open_camera())
{
	v4l2_format format = {};

	format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
	format.fmt.pix.width = width;
	format.fmt.pix.height = height;
	format.fmt.pix.pixelformat = V4L2_PIX_FMT_GREY;
	call(VIDIOC_S_FMT, &format, "format");
	REQUIRE_EQ(format.fmt.pix.pixelformat, uint32_t(V4L2_PIX_FMT_GREY),
		   "format");
	bytes_ = format.fmt.pix.sizeimage;
	still();
}

Camera::~Camera()
{
	close(fd_);
}

void Camera::call(unsigned long number, void *argument, const char *what) const
{
	if (ioctl(fd_, number, argument))
		common::throw_errno(errno, std::string("camera: ") + what);
}

/* Without the time and the number of the frame, which the driver paints into it. */
void Camera::still() const
{
	v4l2_queryctrl control = {};

	control.id = V4L2_CTRL_FLAG_NEXT_CTRL;
	while (!ioctl(fd_, VIDIOC_QUERYCTRL, &control)) {
		if (!strcmp(reinterpret_cast<char *>(control.name),
			    "OSD Text Mode")) {
			v4l2_control off = {control.id, control.maximum};

			call(VIDIOC_S_CTRL, &off, "text");
			return;
		}
		control.id |= V4L2_CTRL_FLAG_NEXT_CTRL;
	}
	throw Skip("its text cannot be switched off");
}

void Camera::request(uint32_t count, uint32_t memory) const
{
	v4l2_requestbuffers request = {};

	request.count = count;
	request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
	request.memory = memory;
	call(VIDIOC_REQBUFS, &request, "buffers");
	REQUIRE_EQ(request.count, count, "buffers");
}

void Camera::stream(bool on) const
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;

	call(on ? VIDIOC_STREAMON : VIDIOC_STREAMOFF, &type, "stream");
}

std::vector<uint8_t> Camera::take_frame() const
{
	v4l2_buffer buffer = {};

	request(least_buffers, V4L2_MEMORY_MMAP);
	for (uint32_t i = 0; i < least_buffers; i++) {
		buffer = buffer_of(i, V4L2_MEMORY_MMAP);
		call(VIDIOC_QBUF, &buffer, "a buffer");
	}
	stream(true);
	call(VIDIOC_DQBUF, &buffer, "a frame");
	void *at = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd_,
			buffer.m.offset);

	REQUIRE(at != MAP_FAILED, "frame");
	const uint8_t *first = static_cast<uint8_t *>(at);
	std::vector<uint8_t> frame(first, first + bytes_);

	munmap(at, bytes_);
	stream(false);
	request(0, V4L2_MEMORY_MMAP);
	return frame;
}

void Camera::take_frames(std::span<const int> buffers) const
{
	REQUIRE(buffers.size() >= least_buffers, "buffers");
	request(uint32_t(buffers.size()), V4L2_MEMORY_DMABUF);
	for (uint32_t i = 0; i < buffers.size(); i++) {
		v4l2_buffer buffer = buffer_of(i, V4L2_MEMORY_DMABUF);

		buffer.m.fd = buffers[i];
		call(VIDIOC_QBUF, &buffer, "a dma-buf");
	}
	stream(true);
	for (size_t i = 0; i < buffers.size(); i++) {
		v4l2_buffer buffer = buffer_of(0, V4L2_MEMORY_DMABUF);

		call(VIDIOC_DQBUF, &buffer, "a frame");
		REQUIRE(!(buffer.flags & V4L2_BUF_FLAG_ERROR), "frame");
		REQUIRE_EQ(buffer.bytesused, bytes_, "frame");
	}
	stream(false);
	request(0, V4L2_MEMORY_DMABUF);
}

} // namespace pv
