// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-forking - a small server of ordinary sockets that forks for a connection, and its client:
 * what rsocket(7) says of fork(), under librspreload. Of system calls it makes those that the preload
 * library knows, so no accept4(). Run by rsocket_tests.cpp.
 *
 * usage: pavo-forking serve ADDRESS PORT child|parent|lost...
 *            says "listening", then serves a connection for each word: by a child; by itself; by a
 *            child that is killed at the end, whatever it did. That one polls when the parent has
 *            closed the connection: who destroys a completion queue waits until each event that was
 *            read from its channel is acknowledged, and an event that a child read never is. Exit
 *            status: 0, or 1 + the number of a connection that was not served
 *        pavo-forking ask ADDRESS PORT
 *            sends bytes and wants them back. Exit status: 0 or 1
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr size_t amount = 200000;
constexpr unsigned patience_seconds = 30;

bool read_all(int fd, std::vector<char> &bytes)
{
	for (size_t done = 0; done < bytes.size();) {
		const ssize_t n =
			read(fd, bytes.data() + done, bytes.size() - done);

		if (n <= 0)
			return false;
		done += size_t(n);
	}
	return true;
}

bool write_all(int fd, const std::vector<char> &bytes)
{
	for (size_t done = 0; done < bytes.size();) {
		const ssize_t n =
			write(fd, bytes.data() + done, bytes.size() - done);

		if (n <= 0)
			return false;
		done += size_t(n);
	}
	return true;
}

/* All bytes come back. */
bool echo(int fd)
{
	std::vector<char> bytes(amount);
	char more;

	/* Its end comes when the client has seen them all. */
	return read_all(fd, bytes) && write_all(fd, bytes) &&
	       read(fd, &more, 1) == 0;
}

/* A child that shares its parent's objects posts, and returns when the parent has closed the connection. */
void post_and_wait(int fd, const int (&closed)[2])
{
	char none;

	write_all(fd, std::vector<char>(1000));
	close(closed[1]);
	while (read(closed[0], &none, 1) > 0)
		;
}

int serve(const sockaddr_in &address, char **words, int connections)
{
	const int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	std::vector<pid_t> children(size_t(connections), 0);
	int status = 0, bad = 0, closed[2];

	if (listener < 0 ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(listener, reinterpret_cast<const sockaddr *>(&address),
		 sizeof(address)) ||
	    listen(listener, 4)) {
		perror("listen");
		return 100;
	}
	puts("listening");
	fflush(stdout);
	for (int i = 0; i < connections; i++) {
		const int fd = accept(listener, nullptr, nullptr);

		if (fd < 0) {
			perror("accept");
			return 1 + i;
		}
		if (!strcmp(words[i], "parent")) {
			if (!echo(fd))
				bad = 1 + i;
			close(fd);
			continue;
		}
		if (pipe(closed)) {
			perror("pipe");
			return 1 + i;
		}
		children[size_t(i)] = fork();
		if (!children[size_t(i)]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(patience_seconds);
			if (!strcmp(words[i], "lost"))
				post_and_wait(fd, closed);
			_exit(!echo(fd));
		}
		close(fd);
		close(closed[0]);
		close(closed[1]);
	}
	for (int i = 0; i < connections; i++) {
		if (!children[size_t(i)])
			continue;
		if (!strcmp(words[i], "lost"))
			kill(children[size_t(i)], SIGKILL);
		waitpid(children[size_t(i)], &status, 0);
		if (status && strcmp(words[i], "lost"))
			bad = 1 + i;
	}
	return bad;
}

int ask(const sockaddr_in &address)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	std::vector<char> out(amount), in(amount);

	for (size_t i = 0; i < amount; i++)
		out[i] = char(i * 7 + i / 251);
	if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr *>(&address),
			      sizeof(address))) {
		perror("connect");
		return 1;
	}
	if (!write_all(fd, out) || !read_all(fd, in)) {
		perror("no answer");
		return 1;
	}
	close(fd);
	return in != out;
}

} // namespace

int main(int argc, char **argv)
{
	sockaddr_in address = {};

	if (argc < 4)
		return 2;
	address.sin_family = AF_INET;
	address.sin_port = htons(uint16_t(atoi(argv[3])));
	if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1)
		return 2;
	alarm(patience_seconds);
	return strcmp(argv[1], "serve") ? ask(address) :
					  serve(address, argv + 4, argc - 4);
}
