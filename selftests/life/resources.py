#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Compares what `rdma resource show` says of a running pavo-traffic with what that
# has said of itself. Ends with status 1 and says what differs. Called by
# resource_tests.sh.
#
# usage: resources.py LOG PID
import json
import subprocess
import sys

# all that pavo-traffic's regions allow: local and remote writing, reading, atomics
ACCESS = 0xf


def shown(kind, pid, json_output=True):
    """Of one process: the list of JSON objects, or the lines for people."""
    options = "-jdd" if json_output else "-dd"
    said = subprocess.run(["rdma", options, "resource", "show", kind],
                          check=True, capture_output=True, text=True).stdout
    if json_output:
        return [entry for entry in json.loads(said)
                if entry.get("pid") == pid]
    return [line for line in said.splitlines() if f" pid {pid} " in line]


def told(log):
    """What pavo-traffic has: kind -> device -> lists of numbers."""
    objects = {"mr": {}, "cq": {}, "qp": {}}
    with open(log, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and words[0] in objects:
                numbers = [int(word, 0) for word in words[2:]]
                objects[words[0]].setdefault(words[1], []).append(numbers)
    return objects


def must(what, got, wanted):
    """Ends the program where two numbers differ."""
    if got != wanted:
        sys.exit(f"{what}: {got}, not {wanted}")


def of_device(entries, device):
    """Those of one device, which are some."""
    mine = [entry for entry in entries if entry["ifname"] == device]
    if not mine:
        sys.exit(f"{device}: nothing is shown")
    for entry in mine:
        must("comm", entry["comm"], "pavo-traffic")
    return mine


def check_cqs(entries, device, made):
    """Two CQs, each with one queue, and completions in both."""
    cqs = of_device(entries, device)
    must("CQs", len(cqs), len(made))
    for cq, (depth,) in zip(cqs, made):
        must("cqe", cq["cqe"], depth)
        must("users", cq["users"], 1)
        must("drv_size", cq["drv_size"], depth)
        must("drv_armed", cq["drv_armed"], 0)
        must("drv_overrun", cq["drv_overrun"], 0)
        if cq["drv_written"] <= 0:
            sys.exit("nothing was ever written to a CQ")


def check_mrs(entries, lines, device, made):
    """One region, known by its key."""
    mrs = of_device(entries, device)
    must("MRs", len(mrs), len(made))
    address, length, lkey, rkey = made[0]
    must("mrlen", mrs[0]["mrlen"], length)
    must("lkey", int(mrs[0]["lkey"], 16), lkey)
    must("rkey", int(mrs[0]["rkey"], 16), rkey)
    must("drv_valid", mrs[0]["drv_valid"], 1)
    must("drv_access", mrs[0]["drv_access"], ACCESS)
    must("drv_windows", mrs[0]["drv_windows"], 0)
    # iproute2 6.1 has but 32 bits of such a number in its JSON
    must("drv_iova", mrs[0]["drv_iova"] & 0xffffffff, address & 0xffffffff)
    (line,) = [line for line in lines if line.startswith(f"dev {device} ")]
    words = line.split()
    must("drv_iova", int(words[words.index("drv_iova") + 1]), address)


def check_pds(entries, device, mrs, qps):
    """One domain, which the region and the queue pair are in."""
    pds = of_device(entries, device)
    must("PDs", len(pds), 1)
    must("users of the PD", pds[0]["users"], 2)
    for other in of_device(mrs, device) + of_device(qps, device):
        must("pdn", other["pdn"], pds[0]["pdn"])


def main():
    """Everything of both devices."""
    made, pid = told(sys.argv[1]), int(sys.argv[2])
    mrs, qps = shown("mr", pid), shown("qp", pid)
    cqs, pds = shown("cq", pid), shown("pd", pid)
    lines = shown("mr", pid, json_output=False)
    for device in ("la", "lb"):
        check_cqs(cqs, device, made["cq"][device])
        check_mrs(mrs, lines, device, made["mr"][device])
        check_pds(pds, device, mrs, qps)
        must("QPs", [[qp["lqpn"]] for qp in of_device(qps, device)],
             made["qp"][device])


if __name__ == "__main__":
    main()
