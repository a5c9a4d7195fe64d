# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: from a function of the guest's kernel to the stage of a message's way that it belongs to,
# and tables of both. Called by profiling.py and sampling.py.
import re

PROGRAMS = "programs"
REST = "rest of the kernel"

# Names of modules that differ from the driver's.
MODULES = {"rxe": "rdma_rxe", "pavo-rules": "pavo", "with": "pavo", "without": "pavo"}

# The first row whose pattern a function's name has gives the stage. The driver's own functions
# that fit none are a stage of their own.
STAGES = (
    ("CRC", r"crc32|icrc|_crc$|fold"),
    ("copy", r"memcpy|copy_page|copy_highpage|copy_bits|memmove|__memset|clear_page"),
    ("locks", r"spin_(un)?lock|spin_trylock|_bh$|local_bh|rcu_read|mutex_(un)?lock|preempt_count"
              r"|um_trace|irq_(save|restore)"),
    ("skb", r"skb(?!_tunnel)|kmem_cache|page_frag|napi_alloc|free_(unref_)?page|put_page|kfree"
            r"|kmalloc|slab|___cache|alloc_pages|rmqueue"),
    ("stack", r"^ip_|^ip4_|^ip6_|^inet|^udp|^__udp|neigh|fib_|route|dst_|dev_|netif|veth|qdisc"
              r"|napi|net_rx|nf_|validate_xmit|eth_|process_backlog|sock|xmit|flow_dissect"
              r"|csum"),
    ("completion", r"pavo_cq|eventfd|wake_up|uverbs.*(event|comp)|_cqe|poll_wait|ep_"),
    ("calls", r"sys_|ptrace|userspace|wait|interrupt|signal|handle_|schedule|uverbs"
                     r"|vfs_|fd|file|timer|clock|ktime|time|tick|context_switch|switch_"
                     r"|segv|fault|mm_|tlb|pte|os_"),
)


def stage_of(function, driver):
    """The stage of a function of the guest's kernel while a driver is measured."""
    module = MODULES.get(driver, driver)
    if function.place == module:
        return "CRC" if re.search(STAGES[0][1], function.name) else module
    for stage, pattern in STAGES:
        if re.search(pattern, function.name):
            return stage
    return REST


def write(out, unit, each, size, by_stage, by_function, top, of_function=lambda function: ""):
    """Tables by stage and by function, of which one count is @each of the unit for a message."""
    total = by_stage.total()

    def line(name, count, more):
        print(f"    {name:44} {each * count:10.1f}  {100 * count / total:5.1f} %  {more}".rstrip(),
              file=out)

    print(f"\n    {'stage':44} {unit:>10}    share  per byte", file=out)
    for stage, count in by_stage.most_common():
        line(stage, count, f"{each * count / size:8.3f}")
    print(f"\n    {'function':44} {unit:>10}    share", file=out)
    for function, count in by_function.most_common(top):
        line(f"{function.name} [{function.place}]", count, of_function(function))
