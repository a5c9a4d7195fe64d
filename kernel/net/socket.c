// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * socket.c - the UDP sockets on the RoCEv2 port, one pair per namespace.
 *
 * Called by main.c when adapters come and go, and by the network stack when a
 * namespace ends. The sockets only receive: tx.c sends without them.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/udp_tunnel.h>
#include "compat.h"
#include "net_private.h"

/**
 * struct pavo_net - the sockets of a namespace that has adapters.
 * @node:  in nets
 * @net:   the namespace; never dereferenced, since it may have been freed, and another one may have
 *         the same address
 * @users: number of its adapters
 * @v4:    NULL if the namespace has ended
 * @v6:    NULL also without IPv6
 */
struct pavo_net {
	struct list_head node;
	const struct net *net;
	unsigned int users;
	struct socket *v4;
	struct socket *v6;
};

static LIST_HEAD(nets);
static unsigned int adapters; /* in all of them */
static DEFINE_MUTEX(nets_mutex); /* the list and all that is in it */
/* Set once, while the module is loaded. */
static const struct pavo_net_calls *calls;

bool pavo_net_guarded(void)
{
	return READ_ONCE(adapters);
}

static struct pavo_net *find_net(const struct net *net)
{
	struct pavo_net *pn;

	list_for_each_entry(pn, &nets, node)
		if (pn->net == net)
			return pn;
	return NULL;
}

static struct socket *open_socket(struct net *net, int family)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = calls->receive,
		.gro_receive = pavo_gro_receive,
		.gro_complete = pavo_gro_complete,
	};
	/* RoCEv2 has no UDP checksum, over IPv6 either. */
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(PAVO_UDP_PORT),
		.ipv6_v6only = family == AF_INET6,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &port, &sock);
	if (err)
		return ERR_PTR(err);
	setup_udp_tunnel_sock(net, pavo_tunnel_sock(sock), &tunnel);
	return sock;
}

static void close_sockets(struct pavo_net *pn)
{
	if (pn->v4)
		udp_tunnel_sock_release(pavo_tunnel_sock(pn->v4));
	if (pn->v6)
		udp_tunnel_sock_release(pavo_tunnel_sock(pn->v6));
	pn->v4 = NULL;
	pn->v6 = NULL;
	/* a CPU that has found the socket may still be in calls->receive() */
	synchronize_net();
}

static int open_sockets(struct pavo_net *pn, struct net *net)
{
	struct socket *v4, *v6;

	v4 = open_socket(net, AF_INET);
	if (IS_ERR(v4))
		return PTR_ERR(v4);

	v6 = open_socket(net, AF_INET6);
	if (PTR_ERR(v6) == -EAFNOSUPPORT || PTR_ERR(v6) == -EPFNOSUPPORT)
		v6 = NULL;
	if (IS_ERR(v6)) {
		udp_tunnel_sock_release(pavo_tunnel_sock(v4));
		return PTR_ERR(v6);
	}
	pn->v4 = v4;
	pn->v6 = v6;
	return 0;
}

int pavo_net_get(struct net *net)
{
	struct pavo_net *pn;
	int err = 0;

	mutex_lock(&nets_mutex);
	pn = find_net(net);
	if (!pn) {
		pn = kzalloc(sizeof(*pn), GFP_KERNEL);
		if (!pn) {
			err = -ENOMEM;
			goto out;
		}
		pn->net = net;
		list_add(&pn->node, &nets);
	}
	if (!pn->v4)
		err = open_sockets(pn, net);
	if (!err) {
		pn->users++;
		WRITE_ONCE(adapters, adapters + 1);
	} else if (!pn->users) {
		list_del(&pn->node);
		kfree(pn);
	}
out:
	mutex_unlock(&nets_mutex);
	return err;
}

void pavo_net_put(struct net *net)
{
	struct pavo_net *pn;

	mutex_lock(&nets_mutex);
	pn = find_net(net);
	if (WARN_ON(!pn))
		goto out;
	WRITE_ONCE(adapters, adapters - 1);
	if (!--pn->users) {
		close_sockets(pn);
		list_del(&pn->node);
		kfree(pn);
	}
out:
	mutex_unlock(&nets_mutex);
}

/*
 * Close the sockets of a namespace that ends, after its interfaces were unregistered. Adapters that
 * are being removed may still refer to them.
 */
static void __net_exit end_namespace(struct net *net)
{
	struct pavo_net *pn;

	mutex_lock(&nets_mutex);
	pavo_guard_end(net);
	pn = find_net(net);
	if (pn)
		close_sockets(pn);
	mutex_unlock(&nets_mutex);
}

static struct pernet_operations net_ops = {
	.init = pavo_guard_begin,
	.exit = end_namespace,
};

int pavo_net_init(const struct pavo_net_calls *net_calls)
{
	int err;

	calls = net_calls;
	err = pavo_offload_init(calls);
	if (err)
		return err;
	err = pavo_icrc_init();
	if (err)
		goto err_offload;
	err = pavo_pages_init();
	if (err)
		goto err_icrc;
	err = register_pernet_subsys(&net_ops);
	if (err)
		goto err_pages;
	pavo_offload_start();
	return 0;

err_pages:
	pavo_pages_exit();
err_icrc:
	pavo_icrc_exit();
err_offload:
	pavo_offload_stop();
	return err;
}

void pavo_net_exit(void)
{
	WARN_ON(!list_empty(&nets));
	pavo_offload_stop();
	unregister_pernet_subsys(&net_ops);
	pavo_offload_exit();
	pavo_pages_exit();
	pavo_icrc_exit();
}
