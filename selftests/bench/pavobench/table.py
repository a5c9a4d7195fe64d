# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the comparison. Raw rows of every round become one line per test:
# medians, the ratio pavo/rxe of each round with median, least and most, and
# whether the floor is kept. Called by ../run; computes and formats, no more.
import statistics

# (test, size) -> least ratio in the repeatable mode; elsewhere 1.0
FLOOR_ALL = 1.0
FLOOR_LARGE = 1.5
LARGE = (65536, 1048576)
LARGE_OPS = ("write", "read")


def floor_of(op, size):
    """The least ratio a row may have."""
    return FLOOR_LARGE if op in LARGE_OPS and size in LARGE else FLOOR_ALL


def time_of(row):
    """Nanoseconds per message: the median where each was timed."""
    if row["test"] == "latency":
        return row["typical_ns"]
    return row["total_ns"] / row["messages"]


def key_of(row):
    """What makes two rows comparable."""
    return row["op"], row["test"], row["size"]


def failures(rounds, driver):
    """In words, the tests in which a driver failed."""
    return [f"round {number}: {driver}: {row['op']} {row['test']} "
            f"{row['size']}: {row['error']}"
            for number, drivers in enumerate(rounds, 1)
            for row in drivers[driver] if "error" in row]


class UnequalRounds(Exception):
    """The drivers did not run the same tests."""


def _pairs(rounds, base, other):
    """{key: [(row of base, row of other) per round]} in order of running."""
    pairs = {}
    for number, drivers in enumerate(rounds, 1):
        left = {key_of(row): row for row in drivers[base]}
        right = {key_of(row): row for row in drivers[other]}
        if left.keys() != right.keys():
            raise UnequalRounds(f"round {number}: {base} and {other} have "
                                "different rows")
        for key, row in left.items():
            pairs.setdefault(key, [])
            # a failure has no time; failures() tells of it
            if "error" not in row and "error" not in right[key]:
                pairs[key].append((row, right[key]))
    return pairs


def vanished(rounds, base, other):
    """In words, the tests that compare() has no line of, because in no round both
    drivers came to a result: it is unknown whether their floor is kept."""
    return [f"{op} {test} {size}: in no round {base} and {other} both finished it, "
            "there is no ratio"
            for (op, test, size), rows in _pairs(rounds, base, other).items()
            if not rows]


def compare(rounds, base, other):
    """One dict per test that succeeded at least once on both sides. A ratio
    above 1 means that `other` is the better one."""
    lines = []
    for (op, test, size), rows in _pairs(rounds, base, other).items():
        if not rows:
            continue
        ratios = [time_of(b) / time_of(o) for b, o in rows]
        line = {"op": op, "test": test, "size": size,
                "ratio": statistics.median(ratios),
                "ratio_min": min(ratios), "ratio_max": max(ratios),
                "floor": floor_of(op, size), "rounds": len(rows)}
        for name, which in ((base, 0), (other, 1)):
            times = [time_of(row[which]) for row in rows]
            ns = statistics.median(times)
            line[name] = {
                "ns_per_message": ns, "ns_min": min(times),
                "ns_max": max(times), "messages_per_s": 1e9 / ns,
                "mib_per_s": size * 1e9 / ns / 2**20,
                "drops": sum(row[which]["drops"] for row in rows)}
        lines.append(line)
    return lines


def below_floor(lines):
    """The lines whose median ratio is below their floor."""
    return [line for line in lines if line["ratio"] < line["floor"]]


def incomplete(lines, rounds):
    """In words, the lines that not all rounds have a ratio for: too few to say that a
    floor is kept."""
    return [f"{line['op']} {line['test']} {line['size']}: compared in "
            f"{line['rounds']} of {rounds} rounds"
            for line in lines if line["rounds"] < rounds]


def size_text(size):
    """In the largest unit that fits."""
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def _figure(line, name):
    value = line[name]
    if line["test"] == "latency":
        return f"{value['ns_per_message'] / 1000:.2f} us"
    if line["test"] == "rate":
        return f"{value['messages_per_s'] / 1000:.2f} k/s"
    return f"{value['mib_per_s']:.2f} MiB/s"


def _remark(line, base, other):
    words = []
    if line["ratio"] < FLOOR_ALL:
        words.append(f"WORSE THAN {base}")
    elif line["ratio"] < line["floor"]:
        words.append(f"BELOW {line['floor']}")
    if line["ratio_min"] < line["floor"] <= line["ratio"]:
        words.append("once below")
    for name in (base, other):
        if line[name]["drops"]:
            words.append(f"{name}: {line[name]['drops']} drops")
    return ", ".join(words)


def text(title, lines, base, other):
    """The table people read."""
    out = [title, "",
           f"{'':23}{base:>15}{other:>15} {base:>11}{other:>11}   "
           f"{other}/{base}",
           f"{'test':23}{'':>30} {'ns/msg':>11}{'ns/msg':>11}   "
           "median (min - max)"]
    previous = None
    for line in lines:
        if line["op"] != previous:
            out.append("")
        previous = line["op"]
        name = f"{line['op']:6}{line['test']:10}{size_text(line['size']):>7}"
        out.append(
            f"{name}{_figure(line, base):>15}{_figure(line, other):>15} "
            f"{line[base]['ns_per_message']:11.0f}"
            f"{line[other]['ns_per_message']:11.0f}   "
            f"{line['ratio']:5.2f} ({line['ratio_min']:.2f} - "
            f"{line['ratio_max']:.2f})  {_remark(line, base, other)}".rstrip())
    bad = below_floor(lines)
    out += ["", f"{len(lines)} rows, {len(bad)} below their floor (1.0; "
            f"{FLOOR_LARGE} for writes and reads of 64 KiB and 1 MiB)"]
    return "\n".join(out) + "\n"
