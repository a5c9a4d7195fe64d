// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-stuck: a queue pair that waits for a page that never comes, for tests that take
 * away what is below it. The page is of a file in a FUSE filesystem whose server, another
 * process, takes the request for it and never answers.
 *
 * Prints "asked" when the request is on its way, and ends by a signal. Called by
 * selftests/life/security_tests.sh. Owns the mount point that it is given.
 */
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <vector>

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"
#include "link.h"
#include "tap.h"

namespace {

constexpr size_t file_size = 4096;
constexpr uint64_t file_node = 2;

/* Answers to what the kernel asks about the one file there is. */
class Server {
public:
	explicit Server(int fd) : fd_(fd), request_(1 << 17) {}

	[[noreturn]] void serve()
	{
		for (;;) {
			ssize_t n = read(fd_, request_.data(), request_.size());

			if (n < 0 && errno == EINTR)
				continue;
			if (n < ssize_t(sizeof(fuse_in_header)))
				_exit(0); /* unmounted */
			answer(*reinterpret_cast<fuse_in_header *>(
				request_.data()));
		}
	}

private:
	template <class T> void reply(const fuse_in_header &to, const T &body)
	{
		struct {
			fuse_out_header header;
			T body;
		} out = {{uint32_t(sizeof(out)), 0, to.unique}, body};

		(void)!write(fd_, &out, sizeof(out));
	}

	void refuse(const fuse_in_header &to, int error)
	{
		fuse_out_header out = {sizeof(out), -error, to.unique};

		(void)!write(fd_, &out, sizeof(out));
	}

	static fuse_attr attributes(uint64_t node)
	{
		fuse_attr attr = {};

		attr.ino = node;
		attr.nlink = 1;
		attr.size = node == file_node ? file_size : 0;
		attr.mode = node == file_node ? S_IFREG | 0600 : S_IFDIR | 0700;
		return attr;
	}

	void answer(const fuse_in_header &in)
	{
		switch (in.opcode) {
		case FUSE_INIT: {
			fuse_init_out out = {};
			out.major = FUSE_KERNEL_VERSION;
			out.minor = FUSE_KERNEL_MINOR_VERSION;
			out.max_write = 4096;
			reply(in, out);
			break;
		}
		case FUSE_LOOKUP: {
			fuse_entry_out out = {};
			out.nodeid = file_node;
			out.attr_valid = out.entry_valid = 1000;
			out.attr = attributes(file_node);
			reply(in, out);
			break;
		}
		case FUSE_GETATTR: {
			fuse_attr_out out = {};
			out.attr_valid = 1000;
			out.attr = attributes(in.nodeid);
			reply(in, out);
			break;
		}
		case FUSE_OPEN:
			reply(in, fuse_open_out{});
			break;
		case FUSE_READ: /* for ever */
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;
		default:
			refuse(in, ENOSYS);
		}
	}

	int fd_;
	std::vector<char> request_;
};

[[noreturn]] void fail(const char *what)
{
	std::cerr << "pavo-stuck: " << what << ": " << strerror(errno) << '\n';
	exit(1);
}

/* A mapping of the file, mounted at `where`. */
void *map_never(const std::string &where)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	std::string options =
		pv::str("fd=", fd, ",rootmode=40000,user_id=0,group_id=0");

	if (fd < 0)
		fail("/dev/fuse");
	if (mount("never", where.c_str(), "fuse", MS_NODEV | MS_NOSUID,
		  options.c_str()))
		fail("mount");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		Server(fd).serve();
	}
	close(fd);

	int file = open((where + "/file").c_str(), O_RDWR | O_CLOEXEC);
	if (file < 0)
		fail("file");
	void *at = mmap(nullptr, file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			file, 0);
	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::cerr << "usage: pavo-stuck DEVICE PEER MOUNT-POINT\n";
		return 2;
	}
	try {
		pv::Selector dev, peer;
		dev.device = argv[1];
		peer.device = argv[2];
		pv::LocalHost a(dev), b(peer);
		pv::Env env(a, b, pv::EnvOptions{}, dev, peer);
		pv::LinkSpec spec = {.timeout = 0};
		pv::Link link = pv::connect(env, spec);
		pv::Mr out = pv::must_reg(a, {8});
		ibv_mr *region =
			ibv_reg_mr(b.raw_pd(0), map_never(argv[3]), file_size,
				   int(pv::all_access | IBV_ACCESS_ON_DEMAND));
		if (!region)
			fail("ibv_reg_mr");
		pv::Mr in = {.address = uintptr_t(region->addr),
			     .rkey = region->rkey};
		pv::must_post(link.a,
			      std::vector<pv::SendWr>{pv::make_wr(
				      pv::Op::write, {out, 0}, 8, {in, 0})});
		std::cout << "asked" << std::endl;
		for (;;)
			pause();
	} catch (const std::exception &error) {
		std::cerr << "pavo-stuck: " << error.what() << '\n';
		return 1;
	}
}
