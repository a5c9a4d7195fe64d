#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the comparison (pavobench/table.py): ratios, medians, the floor.
# Prints TAP. Run by the group unit through Meson; touches nothing.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from pavobench import table  # noqa: E402  (path set above)


def row(op, test, size, ns, drops=0):
    """A result row of pavo-bench in which every message took ns."""
    messages = 10
    # of a latency only the typical time counts, of a stream only the total
    typical, total = (ns, 1) if test == "latency" else (1, ns * messages)
    return {"op": op, "test": test, "size": size, "messages": messages,
            "total_ns": total, "typical_ns": typical, "drops": drops}


def compare(op, test, size, rxe, pavo):
    """The one line for rounds with these times."""
    rounds = [{"rxe": [row(op, test, size, a)], "pavo": [row(op, test, size, b)]}
              for a, b in zip(rxe, pavo)]
    return table.compare(rounds, "rxe", "pavo")[0]


def ratio_is_of_rounds():
    """Each round's own ratio, then the median: 3, 2, 0.5 -> 2."""
    line = compare("send", "bandwidth", 64, (300, 200, 50), (100, 100, 100))
    return (line["ratio"], line["ratio_min"], line["ratio_max"]) == (2, 0.5, 3)


def latency_uses_typical():
    """A latency row's total says nothing about one message."""
    line = compare("read", "latency", 2, (500,), (250,))
    return line["ratio"] == 2 and line["rxe"]["ns_per_message"] == 500


def figures():
    """1 MiB in 1 ms is 1000 MiB/s and 1000 messages/s."""
    line = compare("write", "rate", 2**20, (10**6,), (10**6,))
    return (line["pavo"]["mib_per_s"], line["pavo"]["messages_per_s"]) == \
        (1000, 1000)


def floor(op, size, rxe, pavo, below):
    """Whether a single row is seen as below its floor, or not."""
    line = compare(op, "bandwidth", size, (rxe,), (pavo,))
    return (table.below_floor([line]) == [line]) == below


def floors():
    """1.0 everywhere, 1.5 for large writes and reads; equality keeps it."""
    return (floor("send", 2, 100, 100, False) and
            floor("send", 2, 100, 101, True) and
            floor("send", 65536, 149, 100, False) and
            floor("write", 65536, 149, 100, True) and
            floor("write", 65536, 150, 100, False) and
            floor("read", 2**20, 149, 100, True) and
            floor("read", 4096, 101, 100, False))


def unequal_rounds():
    """A driver that skipped a test must not go unnoticed."""
    rounds = [{"rxe": [row("send", "rate", 2, 1)], "pavo": []}]
    try:
        table.compare(rounds, "rxe", "pavo")
    except table.UnequalRounds:
        return True
    return False


def failures_are_told():
    """A failed test has no ratio, and is named; the other rounds count."""
    bad = {"op": "send", "test": "rate", "size": 2, "error": "hangs",
           "drops": 0}
    good = row("send", "rate", 2, 100)
    rounds = [{"rxe": [bad], "pavo": [good]}, {"rxe": [good], "pavo": [good]}]
    return (table.failures(rounds, "rxe") ==
            ["round 1: rxe: send rate 2: hangs"] and
            not table.failures(rounds, "pavo") and
            table.compare(rounds, "rxe", "pavo")[0]["rounds"] == 1 and
            not table.compare(rounds[:1], "rxe", "pavo"))


def table_tells():
    """What is below the floor, or dropped packets, is said in words."""
    lines = [compare("write", "bandwidth", 65536, (140,), (100,)),
             compare("write", "latency", 2, (90,), (100,))]
    lines[0]["pavo"]["drops"] = 7
    text = table.text("t", lines, "rxe", "pavo")
    return ("BELOW 1.5, pavo: 7 drops" in text and "WORSE THAN rxe" in text
            and "2 rows, 2 below" in text)


TESTS = (ratio_is_of_rounds, latency_uses_typical, figures, floors,
         unequal_rounds, failures_are_told, table_tells)

print("TAP version 13")
print(f"1..{len(TESTS)}")
failed = 0
for number, test in enumerate(TESTS, 1):
    good = test()
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} bench: "
          f"{test.__name__.replace('_', ' ')}")
sys.exit(1 if failed else 0)
