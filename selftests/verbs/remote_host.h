/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The end that lives in another process: every call of Host becomes a request
 * on a stream socket and is carried out by serve() over there.
 *
 * Owns: the socket. Made by: main.cpp (--connect), process_tests.cpp.
 * serve() is the other side: main.cpp (--server), forked children.
 */
#pragma once

#include <memory>

#include "host.h"

namespace pv {

/* It owns the socket. */
std::unique_ptr<Host> remote_host(int fd);

/* Carries out the calls that arrive on `fd` until the other side closes it. */
void serve(Host &host, int fd);

/* Control sockets between machines. */
int listen_on(uint16_t port);
int accept_from(int listener);
int connect_to(const std::string &address, uint16_t port, unsigned seconds);

} // namespace pv
