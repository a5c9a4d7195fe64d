// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * route.c - the nodes that a window knows, and the routes to each
 * (sources.md#windows-striping).
 *
 * Called by verbs/ in process context to change them, by send.c, rdma.c and place.c
 * for each packet under RCU. Packets may come in any order, so each may take another
 * route: another UDP source port, by which switches and receivers tell flows from each
 * other, another address of the node, or another of this adapter.
 */
#include <linux/hash.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include "window/window_private.h"

/* Routes of an adapter's windows that wait for their end before who changes some does. */
#define MOST_RETIRED 1024
/* Ports of a route of which none were asked for; uapi says so. */
#define USUAL_PORTS 4
/* What ports are told by: the bits of a flow label below its upper six. */
#define PORT_BITS 14
#define PORT_MASK (BIT(PORT_BITS) - 1)
/* From port to port: odd, so all differ, and far, so that many bits do. */
#define PORT_STEP 10127

/**
 * struct pavo_routes - the ways to a node.
 * @later: how they end
 * @all:   of their adapter, which ends after them
 * @moved: the flows belong to those that came after these
 * @turn:  counts packets, by several CPUs at a time, so some turns are taken twice
 * @n:     how many, at least 1
 * @flows: each with a port of its own
 */
struct pavo_routes {
	struct pavo_later later;
	struct pavo_windows *all;
	bool moved;
	u32 turn;
	u32 n;
	struct pavo_flow flows[];
};

/* ------------------------------------------------------------------ packets */

static struct pavo_routes *routes_to(const struct pavo_fifo_window *window,
				     u32 node)
{
	if (node >= window->nodes)
		return NULL;
	node = array_index_nospec(node, window->nodes);
	return rcu_dereference(window->routes[node]);
}

/*
 * Every route once in a round. Where a round begins is as good as random: what is sent
 * in step with it, such as attempts at the same thing, does not meet the same route
 * for ever.
 */
struct pavo_flow *pavo_window_flow(struct pavo_fifo_window *window, u32 node)
{
	struct pavo_routes *routes = routes_to(window, node);
	u32 turn, round;

	if (!routes)
		return NULL;
	turn = READ_ONCE(routes->turn);
	WRITE_ONCE(routes->turn, turn + 1);
	round = turn / routes->n;
	return &routes->flows[(turn + hash_32(round, 16)) % routes->n];
}

struct pavo_flow *pavo_window_flow_of(struct pavo_fifo_window *window, u32 node,
				      u32 turn)
{
	struct pavo_routes *routes = routes_to(window, node);

	return routes ? &routes->flows[turn % routes->n] : NULL;
}

bool pavo_window_knows(const struct pavo_fifo_window *window, u32 node)
{
	return routes_to(window, node);
}

/* ------------------------------------------------------------------ changes */

/*
 * The flow label of route @i to a node, never 0, which would be none. The source port
 * follows from it (rdma_get_udp_sport()): all have the same upper bits and others
 * below, so the ports of up to 2^14 routes differ, too.
 */
static u32 label_of(const struct pavo_fifo_window *window, u32 node, u32 i)
{
	u32 first = hash_64((u64)window->id << 32 | node, 20);

	return (first & ~PORT_MASK) | BIT(PORT_BITS) |
	       ((first + i * PORT_STEP) & PORT_MASK);
}

static int add_route(struct pavo_routes *routes,
		     struct pavo_fifo_window *window,
		     const struct pavo_window_node_args *args)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	struct pavo_flow *flow = &routes->flows[routes->n];
	u16 sgid_index = args->flags & PAVO_NODE_SGID ? args->sgid_index :
							window->sgid_index;
	int err;

	/* A byte to rdma core. */
	if (sgid_index > U8_MAX)
		return -EINVAL;
	rdma_ah_set_grh(&attr, NULL, label_of(window, args->node, routes->n),
			sgid_index, 0, 0);
	memcpy(rdma_ah_retrieve_grh(&attr)->dgid.raw, args->gid,
	       sizeof(args->gid));
	err = pavo_flow_init(flow, window->dev, &attr, window->id, args->node,
			     true);
	if (!err)
		routes->n++;
	return err;
}

/* From @first on; no packet uses them. */
static void free_routes(struct pavo_routes *routes, u32 first)
{
	u32 i;

	for (i = first; i < routes->n; i++)
		pavo_flow_destroy(&routes->flows[i]);
	kfree(routes);
}

/* @old, which may be NULL, with @args added. */
static struct pavo_routes *extend(struct pavo_fifo_window *window,
				  struct pavo_routes *old,
				  const struct pavo_window_node_args *args)
{
	u32 kept = old ? old->n : 0, ports = args->ports ?: USUAL_PORTS;
	struct pavo_routes *routes;
	int err = 0;

	if (kept + ports > PAVO_ROUTES_MOST)
		return ERR_PTR(-ENOSPC);
	routes = kzalloc(struct_size(routes, flows, kept + ports),
			 GFP_KERNEL_ACCOUNT);
	if (!routes)
		return ERR_PTR(-ENOMEM);
	routes->all = &window->dev->windows;
	routes->n = kept;
	if (old)
		memcpy(routes->flows, old->flows, kept * sizeof(*old->flows));
	while (!err && routes->n < kept + ports)
		err = add_route(routes, window, args);
	if (!err)
		return routes;
	free_routes(routes, kept);
	return ERR_PTR(err);
}

/* No packet takes one of them any more. */
static void end_routes(struct pavo_later *later)
{
	struct pavo_routes *routes =
		container_of(later, struct pavo_routes, later);

	atomic_sub(routes->n, &routes->all->retired);
	free_routes(routes, routes->moved ? routes->n : 0);
}

static void retire(struct pavo_routes *routes, bool moved)
{
	routes->moved = moved;
	atomic_add(routes->n, &routes->all->retired);
	pavo_later(&routes->later, end_routes);
}

static bool valid(const struct pavo_fifo_window *window,
		  const struct pavo_window_node_args *args)
{
	return args->node < window->nodes && !args->reserved[0] &&
	       !args->reserved[1] && !args->reserved[2] &&
	       args->ports <= PAVO_ROUTE_PORTS_MOST &&
	       !(args->flags & ~PAVO_NODE_FLAGS) &&
	       (args->flags & PAVO_NODE_SGID || !args->sgid_index);
}

int pavo_window_node(struct pavo_fifo_window *window,
		     const struct pavo_window_node_args *args)
{
	bool add = args->flags & PAVO_NODE_ADD;
	struct pavo_routes *routes, *old;

	if (!valid(window, args))
		return -EINVAL;
	if (atomic_read(&window->dev->windows.retired) > MOST_RETIRED)
		pavo_later_settle();
	mutex_lock(&window->mutex);
	old = rcu_dereference_protected(window->routes[args->node],
					lockdep_is_held(&window->mutex));
	routes = extend(window, add ? old : NULL, args);
	if (!IS_ERR(routes)) {
		rcu_assign_pointer(window->routes[args->node], routes);
		if (old)
			retire(old, add);
	}
	mutex_unlock(&window->mutex);
	return PTR_ERR_OR_ZERO(routes);
}

int pavo_window_nodes_init(struct pavo_fifo_window *window, u32 nodes)
{
	window->routes =
		kvcalloc(nodes, sizeof(*window->routes), GFP_KERNEL_ACCOUNT);
	if (!window->routes)
		return -ENOMEM;
	window->nodes = nodes;
	return 0;
}

void pavo_window_nodes_destroy(struct pavo_fifo_window *window)
{
	struct pavo_routes *routes;
	u32 i;

	for (i = 0; window->routes && i < window->nodes; i++) {
		routes = rcu_dereference_protected(window->routes[i], true);
		if (routes)
			free_routes(routes, 0);
	}
	kvfree(window->routes);
}
