// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fuse.cpp - see fuse.h: requests of the kernel are read from /dev/fuse and answered, those
 * for pages only while the shared memory says so. Each file that is looked up is another.
 */
#include "fuse.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "hands.h"

namespace callfuzz {
namespace {

constexpr char folder[] = "/run/callfuzz-fuse";

class Server {
public:
	Server(int fd, Shared &shared) : fd_(fd), shared_(shared) {}

	[[noreturn]] void serve()
	{
		for (;;) {
			pollfd asked = {fd_, POLLIN, 0};

			poll(&asked, 1, held_.empty() ? -1 : 10);
			if (shared_.fuse_answers)
				let_go();
			ssize_t size = asked.revents ? read(fd_, room_.data(),
							    room_.size()) :
						       0;
			if (size < 0 && errno == ENODEV)
				_exit(0);
			if (size >= ssize_t(sizeof(fuse_in_header)))
				take();
		}
	}

private:
	const fuse_in_header &header() const
	{
		return *reinterpret_cast<const fuse_in_header *>(room_.data());
	}

	void answer(uint64_t unique, int error, const void *bytes, size_t size)
	{
		fuse_out_header out = {};
		iovec parts[2] = {{&out, sizeof(out)},
				  {const_cast<void *>(bytes), size}};

		out.len = uint32_t(sizeof(out) + size);
		out.error = -error;
		out.unique = unique;
		(void)!writev(fd_, parts, 2);
	}

	template <class Out> void answer_with(const Out &out)
	{
		answer(header().unique, 0, &out, sizeof(out));
	}

	static fuse_attr attributes(uint64_t node)
	{
		fuse_attr attr = {};

		attr.ino = node;
		attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0777 :
						   S_IFREG | 0666;
		attr.nlink = 1;
		attr.size = memory_size;
		attr.blocks = memory_size / 512;
		attr.blksize = page_size;
		return attr;
	}

	void init()
	{
		fuse_init_out out = {};

		out.major = FUSE_KERNEL_VERSION;
		out.minor = 31;
		out.max_write = memory_size;
		out.max_readahead = page_size;
		answer_with(out);
	}

	void look_up()
	{
		fuse_entry_out out = {};

		out.nodeid = ++last_node_;
		out.attr = attributes(out.nodeid);
		answer_with(out);
	}

	void tell_attributes()
	{
		fuse_attr_out out = {};

		out.attr = attributes(header().nodeid);
		answer_with(out);
	}

	void take_write()
	{
		const auto *in = reinterpret_cast<const fuse_write_in *>(
			room_.data() + sizeof(fuse_in_header));
		fuse_write_out out = {};

		out.size = in->size;
		answer_with(out);
	}

	void take_read()
	{
		const auto *in = reinterpret_cast<const fuse_read_in *>(
			room_.data() + sizeof(fuse_in_header));

		shared_.fuse_asked++;
		held_.push_back({header().unique, in->size});
		if (shared_.fuse_answers)
			let_go();
	}

	void let_go()
	{
		for (const Held &held : held_) {
			std::vector<char> page(held.size, 0x66);

			answer(held.unique, 0, page.data(), page.size());
		}
		held_.clear();
	}

	void take()
	{
		switch (header().opcode) {
		case FUSE_INIT:
			return init();
		case FUSE_LOOKUP:
			return look_up();
		case FUSE_GETATTR:
		case FUSE_SETATTR:
			return tell_attributes();
		case FUSE_OPEN:
		case FUSE_OPENDIR:
			return answer_with(fuse_open_out{});
		case FUSE_READ:
			return take_read();
		case FUSE_WRITE:
			return take_write();
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			return;
		case FUSE_RELEASE:
		case FUSE_FLUSH:
		case FUSE_FSYNC:
		case FUSE_RELEASEDIR:
			return answer(header().unique, 0, nullptr, 0);
		default:
			return answer(header().unique, ENOSYS, nullptr, 0);
		}
	}

	struct Held {
		uint64_t unique;
		uint32_t size;
	};

	int fd_;
	Shared &shared_;
	std::vector<char> room_ = std::vector<char>(memory_size + 65536);
	std::vector<Held> held_;
	uint64_t last_node_ = FUSE_ROOT_ID;
};

} // namespace

std::string start_fuse(Shared &shared)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	const std::string options =
		"fd=" + std::to_string(fd) +
		",rootmode=40000,user_id=0,group_id=0,allow_other";

	mkdir(folder, 0755);
	if (fd < 0 || mount("callfuzz", folder, "fuse", 0, options.c_str())) {
		perror("# FUSE");
		return "";
	}
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		Server(fd, shared).serve();
	}
	close(fd);
	return pid < 0 ? "" : folder;
}

} // namespace callfuzz
