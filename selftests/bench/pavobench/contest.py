# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: windows beside queue pairs, as far as table.py does not compare them: goodput while
# packets overtake each other, and windows that do nothing. Called by ../windows; computes and
# formats, no more.
from . import table

FIRST = "windows"
NAMES = ("windows", "pavo", "rxe", "rxe-ud")
# Of windows' goodput has to be left when packets overtake each other: all, but for what
# varies.
UNCHANGED = 0.95
# The part of the packets that has to be sent ahead of the others: a quarter was asked for.
AHEAD = 0.20, 0.30
# Of several nodes: by an operation of windows, and by the processes alone or another interface.
WAYS = ("with", "without")
NODES = "native speed: 1 CPU for all nodes, four network namespaces on a bridge"
LEGEND = """
  third   C sends to A for a controller            without: the controller reads, then writes
  castN   a write to a group of N                  without: a write to each
  flag    8 parts, and a flag held for them        without: the process waits for the parts
  stream  TCP (iperf3) over an interface of windows   without: over the wire"""


def good(rows):
    """{key: nanoseconds} of rows that are results."""
    return {table.key_of(row): table.time_of(row) for row in rows if "error" not in row}


def ahead(wire):
    """The part of the packets that netem sent at once, past those that waited for their
    delay: it counts these as requeues. The rows are what tc shows of the interface."""
    counts = [qdisc for row in wire for qdisc in row if qdisc["kind"] == "netem"]
    packets = sum(count["packets"] for count in counts)
    return sum(count["requeues"] for count in counts) / packets if packets else 0.0


def reordering(rounds):
    """({contestant: goodput while packets overtake, in parts of that without}, {contestant: in
    words why it has none}, where packets did not overtake). Each round is
    {contestant: (level rows, reordered rows, reordering wire)}."""
    of, refused = {}, {}
    for name in rounds[0]:
        pairs = [(good(names[name][0]), good(names[name][1])) for names in rounds]
        ratios = [level[key] / late[key] for level, late in pairs for key in level if key in late]
        part = table.spread([ahead(names[name][2]) for names in rounds])
        if ratios and not AHEAD[0] <= part["median"] <= AHEAD[1]:
            refused[name] = (
                f"{name}: of the packets {table.spread_text(part, 1, 100)} % were sent ahead of "
                f"the others, not {100 * AHEAD[0]:.0f} to {100 * AHEAD[1]:.0f}: no goodput")
        elif ratios:
            op, test, size = next(key for level, _ in pairs for key in level)
            of[name] = {"op": op, "test": test, "size": size, "ahead": part,
                        "ratio": table.spread(ratios),
                        "level_ns": table.spread([t for level, _ in pairs for t in level.values()]),
                        "reordered_ns": table.spread([t for _, late in pairs
                                                      for t in late.values()])}
    return of, refused


def packets_text(rounds):
    """The packets that node 0 sends for an operation, in both ways."""
    sent = {}
    for names in rounds:
        for way in WAYS:
            for row in names[way]:
                if "tx_packets" in row:
                    sent.setdefault(table.name_of(row), {}).setdefault(way, []).append(
                        row["tx_packets"] / row["messages"])
    return "\npackets that node 0 sends for an operation, with and without\n" + "".join(
        f"  {name:32}" + "".join(f"{table.spread_text(table.spread(found[way]), 1):>26}"
                                 for way in WAYS if way in found) + "\n"
        for name, found in sent.items())


def below(of):
    """In words, what reordering() found that windows may not be."""
    left = of[FIRST]["ratio"]["median"] if FIRST in of else 1
    return [] if left >= UNCHANGED else [
        f"windows keep {left:.2f} of their goodput when packets overtake each other, "
        f"less than {UNCHANGED}"]


def idle(rows):
    """One dict per quantity and number of windows; those of messages are rows of tests."""
    values = {}
    for row in rows:
        if "error" not in row:
            what = row.get("what") or ("message there" if row["test"] == "latency" else
                                       "message of many")
            values.setdefault((what, row["windows"], row.get("unit", "ns")), []).append(
                row["value"] if "what" in row else table.time_of(row))
    return [{"what": what, "windows": windows, "unit": unit, **table.spread(found)}
            for (what, windows, unit), found in values.items()]


def text(reordered, idles):
    """The part of the table that is not table.py's."""
    out = []
    if reordered:
        out += ["goodput of writes while packets overtake: MiB/s, and parts of that of the same "
                "wire without. It delays them by", "200 us, but sends some at once, ahead "
                "of those that wait: as many in 100 as the last figure says"]
    for name, values in reordered.items():
        out.append(f"  {table.NAMES.get(name, name):12}{table.speed(values, values['reordered_ns']):>27}"
                   f"{table.spread_text(values['ratio'], 2):>22}"
                   f"{table.spread_text(values['ahead'], 1, 100):>22} %")
    if idles:
        out += ["", "windows that are open and do nothing"]
    out += [f"  {line['what']:20}{line['windows']:>7} windows {line['median']:>12,.0f} "
            f"{line['unit']:5} ({line['min']:,.0f} - {line['max']:,.0f}), n {line['n']}"
            for line in idles]
    return "\n".join(out) + "\n"
