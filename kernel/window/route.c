// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * route.c - the nodes that a window knows, and the routes to each
 * (sources.md#windows-striping).
 *
 * Called by verbs/ in process context to change routes, and by send.c, rdma.c and actions.c
 * for each packet under RCU. Packets may arrive in any order, so each may take another
 * route: another UDP source port, by which switches and receivers distinguish flows,
 * another address of the node, or another address of this adapter.
 */
#include <linux/hash.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include "window/window_private.h"

/* Replaced routes of an adapter, not freed yet, up to which a change does not wait. */
#define MOST_RETIRED 1024
/* Ports of a node for which a process sets 0; documented in uapi. */
#define USUAL_PORTS 4
/* Low bits of a flow label, which make UDP source ports differ. */
#define PORT_BITS 14
#define PORT_MASK (BIT(PORT_BITS) - 1)
/* Step from port to port: odd, so that all ports differ; large, so that many bits differ. */
#define PORT_STEP 10127

/**
 * struct pavo_routes - the routes to a node.
 * @deferred: frees them
 * @all:   windows of their adapter, which ends after them
 * @moved: the flows were moved to the routes that replaced these
 * @sent:  counts packets. Several CPUs count without a lock, so some values are used twice
 * @n:     number of routes, at least 1
 * @many:  they lead to multicast groups
 * @flows: the routes, each with a port of its own
 */
struct pavo_routes {
	struct pavo_deferred_free deferred;
	struct pavo_windows *all;
	bool moved;
	u32 sent;
	u32 n;
	bool many;
	struct pavo_flow flows[];
};

/* ------------------------------------------------------------------ packets */

static struct pavo_routes *
find_any_routes(const struct pavo_fifo_window *window, u32 node)
{
	if (node >= window->nodes)
		return NULL;
	node = array_index_nospec(node, window->nodes);
	return rcu_dereference(window->routes[node]);
}

/* Find the routes to @node that lead to window @to. */
static struct pavo_routes *find_routes(const struct pavo_fifo_window *window,
				       u32 node, u32 to)
{
	struct pavo_routes *routes = find_any_routes(window, node);

	return routes && routes->many && !(to & PAVO_WINDOW_GROUP) ? NULL :
								     routes;
}

/*
 * Take every route once in a round, and begin each round at a hashed route. So packets that are
 * sent in step with the rounds, as attempts at one operation may be, do not always take the
 * same route.
 */
struct pavo_flow *pavo_window_flow(struct pavo_fifo_window *window, u32 node,
				   u32 to)
{
	struct pavo_routes *routes = find_routes(window, node, to);
	u32 sent, round;

	if (!routes)
		return NULL;
	sent = READ_ONCE(routes->sent);
	WRITE_ONCE(routes->sent, sent + 1);
	round = sent / routes->n;
	return &routes->flows[(sent + hash_32(round, 16)) % routes->n];
}

struct pavo_flow *pavo_window_flow_of(struct pavo_fifo_window *window,
				      const struct pavo_rdma_control *control,
				      u32 route)
{
	struct pavo_routes *routes =
		find_routes(window, control->node, control->window);

	return routes ? &routes->flows[route % routes->n] : NULL;
}

bool pavo_window_has_route(const struct pavo_fifo_window *window, u32 node,
			   u32 to)
{
	return find_routes(window, node, to);
}

u32 pavo_window_no_route(const struct pavo_fifo_window *window, u32 node)
{
	return find_any_routes(window, node) ? PAVO_FRAME_BAD_WINDOW :
					       PAVO_FRAME_BAD_NODE;
}

/* ------------------------------------------------------------------ changes */

/*
 * Make the flow label of route @i to a node, never 0, which would mean no label. The source
 * port follows from it (rdma_get_udp_sport()). All labels to a node have the same upper bits
 * and different lower ones, so the ports of up to 2^14 routes differ, too.
 */
static u32 make_flow_label(const struct pavo_fifo_window *window, u32 node,
			   u32 i)
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

	/* rdma core has a byte for the index. */
	if (sgid_index > U8_MAX)
		return -EINVAL;
	rdma_ah_set_grh(&attr, NULL,
			make_flow_label(window, args->node, routes->n),
			sgid_index, 0, 0);
	memcpy(rdma_ah_retrieve_grh(&attr)->dgid.raw, args->gid,
	       sizeof(args->gid));
	err = pavo_flow_init(flow, &window->dev->port, &attr, window->id,
			     args->node, true);
	if (!err)
		routes->n++;
	return err;
}

/* Free routes and their flows from @first on; no packet uses them. */
static void free_routes(struct pavo_routes *routes, u32 first)
{
	u32 i;

	for (i = first; i < routes->n; i++)
		pavo_flow_destroy(&routes->flows[i]);
	kfree(routes);
}

static struct in6_addr
get_node_address(const struct pavo_window_node_args *args)
{
	struct in6_addr gid;

	memcpy(&gid, args->gid, sizeof(gid));
	return gid;
}

static bool are_args_of_group(const struct pavo_window_node_args *args)
{
	const struct in6_addr gid = get_node_address(args);

	return pavo_gid_is_group(&gid);
}

/*
 * May @window send to the address? To a group only if its process opened it for that. A broadcast
 * would disturb all machines of the subnet; members of a group have joined it.
 */
static bool may_send_to(const struct pavo_fifo_window *window,
			const struct pavo_window_node_args *args)
{
	const struct in6_addr gid = get_node_address(args);

	if (pavo_gid_is_group(&gid))
		return window->flags & PAVO_WINDOW_BROADCAST;
	return !pavo_net_is_broadcast(&window->dev->port, &gid);
}

/* Make a copy of @old, which may be NULL, with the routes of @args added. */
static struct pavo_routes *
extend_routes(struct pavo_fifo_window *window, struct pavo_routes *old,
	      const struct pavo_window_node_args *args)
{
	u32 kept = old ? old->n : 0, ports = args->ports ?: USUAL_PORTS;
	struct pavo_routes *routes;
	int err = 0;

	if (kept + ports > PAVO_ROUTES_MOST)
		return ERR_PTR(-ENOSPC);
	/* A node is one machine, or a group. */
	if (old && old->many != are_args_of_group(args))
		return ERR_PTR(-EINVAL);
	routes = kzalloc(struct_size(routes, flows, kept + ports),
			 GFP_KERNEL_ACCOUNT);
	if (!routes)
		return ERR_PTR(-ENOMEM);
	routes->all = window->dev->windows;
	routes->n = kept;
	routes->many = are_args_of_group(args);
	if (old)
		memcpy(routes->flows, old->flows, kept * sizeof(*old->flows));
	while (!err && routes->n < kept + ports)
		err = add_route(routes, window, args);
	if (!err)
		return routes;
	free_routes(routes, kept);
	return ERR_PTR(err);
}

/* Free replaced routes: a grace period is over, and no packet uses them. */
static void end_routes(struct pavo_deferred_free *deferred)
{
	struct pavo_routes *routes =
		container_of(deferred, struct pavo_routes, deferred);

	atomic_sub(routes->n, &routes->all->retired);
	free_routes(routes, routes->moved ? routes->n : 0);
}

static void retire_routes(struct pavo_routes *routes, bool moved)
{
	routes->moved = moved;
	atomic_add(routes->n, &routes->all->retired);
	pavo_deferred_free(&routes->deferred, end_routes);
}

static bool are_node_args_valid(const struct pavo_fifo_window *window,
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

	if (!are_node_args_valid(window, args) || !may_send_to(window, args))
		return -EINVAL;
	if (atomic_read(&window->dev->windows->retired) > MOST_RETIRED)
		pavo_deferred_free_flush();
	mutex_lock(&window->mutex);
	old = rcu_dereference_protected(window->routes[args->node],
					lockdep_is_held(&window->mutex));
	routes = extend_routes(window, add ? old : NULL, args);
	if (!IS_ERR(routes)) {
		rcu_assign_pointer(window->routes[args->node], routes);
		if (old)
			retire_routes(old, add);
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
