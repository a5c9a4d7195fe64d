# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what I/Os of a disk cost on each way. The counter's sections beside the rows of
# pavo-bench-direct become one entry per wire, size, depth and way with median, least and most of
# each thing that was counted, ratios to the direct window, and what is wrong with them.
# Called by ../direct; computes and formats, no more.
#
# A string instruction is one instruction, however many bytes it copies or clears: a CPU with
# fast ones moves dozens of bytes in each cycle, and the bytes that it copies have a column.
import collections

from .symbols import USER_END
from .table import spread

FIRST = "direct"
WAYS = {"direct": "direct window", "io": "direct window, one call", "region": "ordinary region",
        "uring": "region, io_uring", "double": "double-buffered", "nvmet": "nvmet-rdma",
        "disk": "(the disk alone)", "link": "(the link alone)"}
WIRES = {"near": "same-host peers: GSO super-packets, no ICRC",
         "cut": "interfaces do not segment tunnels: packets of 4 KiB, each with its ICRC"}
MTU = 4096  # of the path
# No unit serves these: they are measured one at a time.
ONE_AT_A_TIME = ("nvmet", "disk")
# Entries of the kernel's that are counted.
CALLS, SWITCHES = "entry_SYSCALL_64", "__switch_to_asm"
# Columns of the table: name, title, digits behind the point. Ways are compared by the first one: of
# an emulated guest that is the number of instructions, at native speed the time.
COLUMNS = (("instructions", "instructions", 0), ("copied", "bytes copied", 0),
           ("calls", "calls", 1), ("switches", "switches", 1), ("packets", "packets", 1))
NATIVE_COLUMNS = (("ns", "nanoseconds", 0), ("packets", "packets", 1))


def measured(row, counts, symbols):
    """The row with what the counter saw, for each I/O."""
    def entered(name):
        start = symbols.kernel.start(name)
        return sum(times for address, _, times in counts.blocks if address == start)

    ios = row["messages"]
    by = collections.Counter()
    for address, length in counts.copies:
        # those of the program it has told of itself: a library may copy otherwise
        if address >= USER_END:
            by[symbols.function(address).name] += length / ios
    by_kernel = sum(by.values())
    every = sum(length * times for _, length, times in counts.blocks)
    repeated = sum(times for _, times in counts.repeats)
    return {**row,
            "instructions": (every - repeated) / ios, "repeated": repeated / ios,
            "calls": entered(CALLS) / ios, "switches": entered(SWITCHES) / ios,
            "copied": by_kernel + row["copied"], "copied_by_kernel": by_kernel,
            "copied_by_program": row["copied"], "copied_by": dict(by.most_common(8))}


def key_of(row):
    """Rows that are compared."""
    return row["wire"], row["size"], row["depth"]


def compare(rounds, columns=COLUMNS):
    """[{"wire", "size", "depth", "of": {way: {column: spread, "ratio": spread}}}]; a ratio above 1:
    the way takes more of the first column than the direct window, in the same round."""
    found, by = {}, columns[0][0]
    for ways in rounds:
        first = {key_of(row): row[by] for row in ways.get(FIRST, [])}
        for way, row in [(way, row) for way, rows in ways.items() for row in rows]:
            values = found.setdefault(key_of(row), {}).setdefault(way, {})
            for column, *_ in columns:
                values.setdefault(column, []).append(row[column])
            if key_of(row) in first:
                values.setdefault("ratio", []).append(row[by] / first[key_of(row)])
    return [{"wire": wire, "size": size, "depth": depth, "of": {
        way: {column: spread(many) for column, many in values.items()}
        for way, values in of.items()}} for (wire, size, depth), of in found.items()]


def wrong(rounds, wanted):
    """Lines for people: what is to be there of @wanted = (wires, sizes, depths, ways) and is not,
    and rows that are not what they are called."""
    wires, sizes, depths, ways = wanted
    lines = []
    for number, found in enumerate(rounds, 1):
        for way in ways:
            keys = [key_of(row) for row in found.get(way, [])]
            lines += [f"round {number}: {way}, {size} bytes, {depth} at a time, {wire}: "
                      "not measured"
                      for wire in wires for size in sizes for depth in depths
                      if (wire, size, depth) not in keys
                      and (depth == 1 or way not in ONE_AT_A_TIME)]
            lines += [f"round {number}: {way}, {row['size']} bytes, {row['depth']} at a time, "
                      f"{row['wire']}: {said}"
                      for row in found.get(way, []) for said in _faults(way, row)]
    return lines


def _faults(way, row):
    """What a row's own counters say against it."""
    if row["drops"]:
        yield f"{row['drops']} packets were dropped"
    if way not in (FIRST, "io"):
        return
    # A window that copies, or that sends nothing, is not what was to be measured. Packets that are
    # retransmitted are copied.
    if row["direct_copied"] > MTU * row["retransmits"]:
        yield f"the adapter copied {row['direct_copied']:.0f} bytes of each I/O"
    if row["sent"] != 1:
        yield f"{row['sent']:.2f} ranges were sent for each I/O"


def text(title, comparison, columns=COLUMNS):
    """The table."""
    lines = [title]
    for entry in comparison:
        rows = [["for each I/O", *(said for _, said, _ in columns), "to direct"]]
        for way, said in WAYS.items():
            values = entry["of"].get(way)
            if values:
                rows.append([said, *(_told(values[column], digits)
                                     for column, _, digits in columns),
                             _told(values["ratio"], 2) if "ratio" in values else ""])
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines += ["", f"{entry['size']} bytes, {entry['depth']} at a time, "
                  f"{WIRES.get(entry['wire'], entry['wire'])}"]
        lines += ["    " + "   ".join([row[0].ljust(widths[0])] + [
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]) for row in rows]
    return "\n".join(lines) + "\n"


def _told(of, digits):
    """Median, and the least and the most where they differ."""
    told = [f"{of[name]:,.{digits}f}" for name in ("median", "min", "max")]
    return told[0] if len(set(told)) == 1 else f"{told[0]} ({told[1]}..{told[2]})"
