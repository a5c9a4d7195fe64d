/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * TUNNEL_SOCK: functions of UDP tunnels take a struct sock
 * TUNNEL_SOCKET: functions of UDP tunnels take a struct socket
 */
#include <net/udp_tunnel.h>

#ifdef PAVO_HAS_TUNNEL_SOCK
#define SOCKET struct sock *socket
#else
#define SOCKET struct socket *socket
#endif

void probe(struct net *net, SOCKET, struct udp_tunnel_sock_cfg *tunnel)
{
	setup_udp_tunnel_sock(net, socket, tunnel);
	udp_tunnel_sock_release(socket);
}
