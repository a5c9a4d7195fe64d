// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hands.cpp - see hands.h: files, the memory of an actor, and the world around it.
 */
#include "hands.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/udmabuf.h>
#include <linux/userfaultfd.h>
#include <net/if.h>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace callfuzz {
namespace {

void *address(uint64_t at)
{
	return reinterpret_cast<void *>(at);
}

int result(long returned)
{
	return returned < 0 ? errno : 0;
}

void map_fixed(uint64_t at, int rights, int flags, int fd)
{
	mmap(address(at), memory_size, rights, flags | MAP_FIXED, fd, 0);
}

/* A file of memory, of @size bytes. */
int memory_file(size_t size)
{
	int fd = memfd_create("callfuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && ftruncate(fd, off_t(size)))
		perror("# ftruncate");
	return fd;
}

void make_userfault(Hands &hands)
{
	uffdio_api api = {};
	uffdio_register range = {};

	map_fixed(user_memory, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	hands.uffd = int(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
	if (hands.uffd < 0)
		return;
	api.api = UFFD_API;
	range.range = {user_memory, memory_size};
	range.mode = UFFDIO_REGISTER_MODE_MISSING;
	if (ioctl(hands.uffd, UFFDIO_API, &api) ||
	    ioctl(hands.uffd, UFFDIO_REGISTER, &range))
		perror("# userfaultfd");
}

/* Memory that the kernel itself cannot reach; User-Mode Linux has none. */
void make_secret()
{
	int fd = int(syscall(SYS_memfd_secret, O_CLOEXEC));

	if (fd < 0)
		return;
	if (!ftruncate(fd, memory_size))
		map_fixed(secret_memory, PROT_READ | PROT_WRITE, MAP_SHARED,
			  fd);
	close(fd);
}

/* In /sys, which is the same for all actors. */
int read_all(const std::string &path)
{
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	char text[4096];

	if (fd < 0)
		return errno;
	for (int i = 0; i < 64 && read(fd, text, sizeof(text)) > 0; i++)
		;
	close(fd);
	return 0;
}

std::string device_folder(uint64_t device)
{
	static const char *const names[] = {"fa0", "fb0", "fc0", "fd0"};

	return std::string("/sys/class/infiniband/") + names[device % devices];
}

const char *interface_of(uint64_t which)
{
	static const char *const names[] = {"fa", "fb", "fc", "fd"};

	return names[which % devices];
}

/* Changes an interface by ioctl() of a socket. */
int change_interface(uint64_t which, unsigned long what, ifreq &request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = 0;

	strcpy(request.ifr_name, interface_of(which));
	if (fd < 0 || ioctl(fd, what, &request))
		error = errno;
	close(fd);
	return error;
}

} // namespace

void make_memory(Hands &hands, int fuse)
{
	const int both = PROT_READ | PROT_WRITE;
	int file = memory_file(memory_size), hole = memory_file(page_size);

	map_fixed(plain_memory, both, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	map_fixed(read_memory, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	map_fixed(file_memory, both, MAP_SHARED, file);
	map_fixed(hole_memory, both, MAP_SHARED, hole);
	make_secret();
	make_userfault(hands);
	if (fuse >= 0)
		map_fixed(fuse_memory, both, MAP_SHARED, fuse);
	close(file);
	close(hole);
}

int open_device(Hands &hands, const uint64_t *args, uint64_t *outs)
{
	const int number = hands.shared.places.uverbs[args[0] % devices];
	const std::string path =
		"/dev/infiniband/uverbs" + std::to_string(number);
	int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);

	outs[0] = uint64_t(fd);
	return result(fd);
}

/* Files below are those of the actor itself. */
int close_file(Hands &hands, const uint64_t *args, uint64_t *)
{
	return result(close(own_file(hands, args[0])));
}

int read_file(Hands &hands, const uint64_t *args, uint64_t *)
{
	pollfd ready = {own_file(hands, args[0]), POLLIN, 0};
	char bytes[64];

	if (poll(&ready, 1, 5) != 1)
		return EAGAIN;
	return result(read(ready.fd, bytes, sizeof(bytes)));
}

int make_eventfd(Hands &, const uint64_t *, uint64_t *outs)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	outs[0] = uint64_t(fd);
	return result(fd);
}

int make_dmabuf(Hands &, const uint64_t *args, uint64_t *outs)
{
	const size_t size = args[0] % 1024 * page_size;
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int file = memory_file(size);
	udmabuf_create create = {};
	int fd = -1, error = 0;

	fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
	create.memfd = uint32_t(file);
	create.flags = UDMABUF_FLAGS_CLOEXEC;
	create.size = size;
	if (device >= 0)
		fd = ioctl(device, UDMABUF_CREATE, &create);
	if (fd < 0)
		error = errno;
	outs[0] = uint64_t(fd);
	close(device);
	close(file);
	return error;
}

int make_file(Hands &, const uint64_t *, uint64_t *outs)
{
	int fd = memory_file(page_size);

	outs[0] = uint64_t(fd);
	return result(fd);
}

int map_area(Hands &hands, const uint64_t *args, uint64_t *outs)
{
	void *at = mmap(nullptr, args[2] % (1u << 30), int(args[3]),
			int(args[4]) & ~MAP_FIXED, own_file(hands, args[0]),
			off_t(args[1]));

	if (at == MAP_FAILED)
		return errno;
	outs[0] = uint64_t(at);
	hands.late.add_area(outs[0], args[2], args[0], args[1]);
	return 0;
}

/* Not the actor's own: its code and stacks are above. */
static bool is_own(uint64_t at, uint64_t length)
{
	return at < plain_memory || at + length < at ||
	       at + length > end_of_memory;
}

int unmap_memory(Hands &, const uint64_t *args, uint64_t *)
{
	/* Areas of the module are where mmap() puts them, page by page. */
	if (is_own(args[0], args[1]) && args[1] > 2 * page_size)
		return EPERM;
	return result(munmap(address(args[0]), args[1]));
}

int map_memory(Hands &, const uint64_t *args, uint64_t *)
{
	if (is_own(args[0], args[1]))
		return EPERM;
	return mmap(address(args[0]), args[1], int(args[2]),
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == MAP_FAILED ?
		       errno :
		       0;
}

int protect_memory(Hands &, const uint64_t *args, uint64_t *)
{
	if (is_own(args[0], args[1]))
		return EPERM;
	return result(mprotect(address(args[0]), args[1], int(args[2])));
}

int advise_memory(Hands &, const uint64_t *args, uint64_t *)
{
	if (is_own(args[0], args[1]))
		return EPERM;
	return result(madvise(address(args[0]), args[1], int(args[2])));
}

int move_memory(Hands &hands, const uint64_t *args, uint64_t *)
{
	if (is_own(args[0], args[1]))
		return EPERM;
	/* The pattern says where it was written. */
	hands.late.clean();
	return mremap(address(args[0]), args[1], args[1],
		      MREMAP_MAYMOVE | MREMAP_FIXED,
		      address(free_memory)) == MAP_FAILED ?
		       errno :
		       0;
}

int touch_pages(Hands &, const uint64_t *args, uint64_t *)
{
	struct Range {
		uint64_t at, length, seed;
	} range{args[0], args[1] % (memory_size + 1), args[2]};

	if (is_own(args[0], range.length))
		return EPERM;
	return touch_memory(
		[](void *context) {
			auto *one = static_cast<Range *>(context);

			for (uint64_t i = 0; i < one->length; i += 64)
				*static_cast<volatile uint8_t *>(address(
					one->at + i)) = uint8_t(one->seed + i);
		},
		&range);
}

/* Its memory is copied on write from then on. */
int fork_and_exit(Hands &, const uint64_t *, uint64_t *)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0)
		return errno;
	waitpid(pid, nullptr, 0);
	return 0;
}

int fill_userfault(Hands &hands, const uint64_t *args, uint64_t *)
{
	alignas(page_size) static const uint8_t page[page_size] = {0x55};
	uffdio_copy copy = {};

	copy.dst = user_memory + args[0] % 16 * page_size;
	copy.src = uint64_t(page);
	copy.len = page_size;
	return result(ioctl(hands.uffd, UFFDIO_COPY, &copy));
}

int close_userfault(Hands &hands, const uint64_t *, uint64_t *)
{
	int fd = hands.uffd;

	hands.uffd = -1;
	return result(close(fd));
}

int pause_call(Hands &, const uint64_t *args, uint64_t *)
{
	const timespec rest = {0, long(args[0] % 50) * 1000000};

	nanosleep(&rest, nullptr);
	return 0;
}

int read_stats(Hands &, const uint64_t *args, uint64_t *)
{
	return read_all(device_folder(args[0]) +
			"/ports/1/hw_counters/rx_packets");
}

int recover_windows(Hands &, const uint64_t *args, uint64_t *)
{
	const std::string path = device_folder(args[0]) + "/recover";
	const std::string text = std::to_string(args[1]);
	int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0 || write(fd, text.data(), text.size()) < 0)
		error = errno;
	close(fd);
	return error;
}

int read_debug(Hands &, const uint64_t *args, uint64_t *)
{
	const std::string folder = "/sys/kernel/debug/pavo";
	DIR *dir = opendir(folder.c_str());
	int error = ENOENT, n = 0;

	if (!dir)
		return errno;
	while (dirent *entry = readdir(dir))
		if (entry->d_name[0] != '.' && n++ == int(args[0] % 16))
			error = read_all(folder + "/" + entry->d_name);
	closedir(dir);
	return error;
}

int set_link(Hands &, const uint64_t *args, uint64_t *)
{
	ifreq request = {};

	request.ifr_flags = args[1] ? IFF_UP : 0;
	return change_interface(args[0], SIOCSIFFLAGS, request);
}

int set_mtu(Hands &, const uint64_t *args, uint64_t *)
{
	ifreq request = {};

	request.ifr_mtu = int(args[1] % 10000);
	return change_interface(args[0], SIOCSIFMTU, request);
}

/* A program of iproute2: it is rare. */
int remove_link(Hands &hands, const uint64_t *args, uint64_t *)
{
	pid_t pid = hands.actor ? -1 : fork();

	if (!pid) {
		execlp("ip", "ip", "link", "del", interface_of(args[0]),
		       nullptr);
		_exit(127);
	}
	if (pid < 0)
		return EPERM;
	waitpid(pid, nullptr, 0);
	return 0;
}

int write_late(Hands &hands, const uint64_t *args, uint64_t *)
{
	return hands.late.write(hands.shared, hands.actor, args[0], args[1]);
}

/* All packets of the namespace are held until they are read. */
int open_packets(Hands &hands, const uint64_t *, uint64_t *outs)
{
	const int room = 16 << 20;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

	outs[0] = uint64_t(fd);
	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	hands.late.add_socket(fd);
	return 0;
}

/* Root of this namespace may see all that is in it; C may not see what is late. */
static int read_socket(Hands &hands, int fd)
{
	std::vector<char> packet(1 << 17);

	for (int i = 0; i < 1000; i++) {
		ssize_t n =
			recv(fd, packet.data(), packet.size(), MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN ? 0 : errno;
		if (hands.actor == 2)
			look_in_packet(hands.shared, packet.data(), size_t(n));
	}
	return 0;
}

int read_packets(Hands &hands, const uint64_t *args, uint64_t *)
{
	return read_socket(hands, own_file(hands, args[0]));
}

void find_late_bytes(Hands &hands)
{
	for (int fd : hands.late.sockets())
		read_socket(hands, fd);
	look_for_late(hands.shared, hands.actor);
}

int nothing_to_do(Hands &, const uint64_t *, uint64_t *)
{
	return 0;
}

} // namespace callfuzz
