# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The list of counters (kernel/stats.h), as far as the compiler does not check it: room in the
message of netlink that shows those of the port, their page (docs/statistics.md), and names that
tools know."""
import re

LIST = "kernel/stats.h"
PAGE = "docs/statistics.md"
DASHBOARD = "packaging/grafana/pavo.json"

# rdma core answers `rdma statistic` with one message: a page less the skb_shared_info.
MESSAGE = 4096 - 320
# So many counters can be added before a list has to be cut.
SPARE = 20
# nlmsghdr, device index, the longest name of a device, port index, and the nest of counters
HEAD = 16 + 8 + 4 + 64 + 8 + 4

# Names that the exporter of Prometheus (procfs, InfiniBandHwCounters) looks for in ports/1/hw_counters,
# less lifespan, which rdma core adds; and two more of mlx5.
KNOWN_TO_TOOLS = """
duplicate_request implied_nak_seq_err local_ack_timeout_err np_cnp_sent np_ecn_marked_roce_packets
out_of_buffer out_of_sequence packet_seq_err req_cqe_error req_cqe_flush_error
req_remote_access_errors req_remote_invalid_request resp_cqe_error resp_cqe_flush_error
resp_local_length_error resp_remote_access_errors rnr_nak_retry_err roce_adp_retrans
roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps roce_slow_restart_trans rp_cnp_handled
rp_cnp_ignored rx_atomic_requests rx_dct_connect rx_icrc_encapsulated rx_read_requests
rx_write_requests req_transport_retries_exceeded req_rnr_retries_exceeded
""".split()


def lists(text):
    """The counters of the port and those of the device in kernel/stats.h."""
    found = [re.findall(r"^\tX\((\w+)\)", part, re.M)
             for part in text.split("define PAVO_DEVICE_COUNTERS")]
    return found[0], found[1]


def entry_bytes(name):
    """A nest with a string and eight bytes. Where memory has to be aligned, every second value
    has four more bytes before it."""
    return 4 + (4 + len(name) + 1 + 3) // 4 * 4 + 4 + 8 + 2


def message_bytes(port):
    """Of the message that shows the port's counters."""
    return HEAD + sum(map(entry_bytes, port))


def find_no_room(port):
    """Can SPARE more of average length be added?"""
    more = SPARE * (message_bytes(port) - HEAD) // len(port)
    size = message_bytes(port)
    return [f"{LIST}: the port's counters are {size} bytes of a message of {MESSAGE}, and {SPARE} "
            f"more would be {more}: move some of few users to those of the device"] \
        if size + more > MESSAGE else []


def rows(page):
    """The counters that the page explains, and whether it says that they are the device's."""
    found, device = {}, False
    for line in page.split("\n"):
        if line.startswith("## "):
            device = line.endswith("(device)")
        elif row := re.match(r"\| (`.*?) \|", line):
            found.update(dict.fromkeys(re.findall(r"`(\w+)`", row[1]), device))
    return found


def find_unexplained(port, device, page):
    """Is each counter on the page, in a section of where it is, and nothing else?"""
    told = rows(page)
    return [f"{LIST}: {n} is not explained" for n in port + device if n not in told] + \
        [f"{PAGE}: there is no counter {n}" for n in told if n not in port + device] + \
        [f"{PAGE}: {n} is in a section of the other kind" for n in port + device
         if told.get(n, n in device) != (n in device)]


def find_hidden(port, device, page):
    """Does each name that tools know stand where they read it, or does the page say why not?"""
    return [f"{LIST}: tools look for {n} with the port" for n in KNOWN_TO_TOOLS if n in device] + \
        [f"{PAGE}: tools read {n}: say why there is no such counter" for n in KNOWN_TO_TOOLS
         if n not in port + device and f"`{n}`" not in page]


def find_undrawn(port, device, dashboard):
    """Counters that the dashboard names and `pavo metrics` does not: drops are one metric."""
    known = {name for name in port + device if "_drop_" not in name} | {"drops"}
    return [f"{DASHBOARD}: pavo_{name}_total is no metric"
            for name in sorted(set(re.findall(r"pavo_(\w+?)_total", dashboard)) - known)]


def find(text, page, dashboard):
    """All of them; the arguments are the contents of LIST, PAGE and DASHBOARD."""
    port, device = lists(text)
    return find_no_room(port) + find_unexplained(port, device, page) + \
        find_hidden(port, device, page) + find_undrawn(port, device, dashboard)
