# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the comparison. Raw rows of every round become one line per test:
# medians, the ratio pavo/rxe of each round with median, least and most, and
# whether the floor is kept; or pavo beside several others, without a floor.
# Called by ../run; computes and formats, no more.
import statistics

# (test, size) -> least ratio in the repeatable mode; elsewhere 1.0
FLOOR_ALL = 1.0
FLOOR_LARGE = 1.5
LARGE = (65536, 1048576)
LARGE_OPS = ("write", "read")
# Where several are compared: the one that the ratios are of, and the kernel's streams,
# which stand beside every operation of their size.
SUBJECT = "pavo"
# pavo on the wire that rdma_rxe needs: its ratio is of one path
SUBJECT_ON_RULES = "pavo-rules"
STREAMS = ("tcp", "tcp-zerocopy")
NAMES = {"rxe": "rdma_rxe", "tcp": "TCP", "tcp-zerocopy": "TCP, no copy"}


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


def figure_of(rows):
    """What is told of the rows of one driver and test."""
    times = [time_of(row) for row in rows]
    ns = statistics.median(times)
    return {"ns_per_message": ns, "ns_min": min(times), "ns_max": max(times),
            "messages_per_s": 1e9 / ns, "mib_per_s": rows[0]["size"] * 1e9 / ns / 2**20,
            "drops": sum(row["drops"] for row in rows)}


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
            line[name] = figure_of([row[which] for row in rows])
        lines.append(line)
    return lines


def others_of(drivers):
    """Those that pavo is compared with, if it is there."""
    ours = (SUBJECT, SUBJECT_ON_RULES)
    return [name for name in drivers if name not in ours and SUBJECT in drivers]


def _rows_of(names, name):
    """The rows of a driver in a round. Those of streams become rows of each test of pavo
    that has their name and size."""
    if name not in STREAMS or SUBJECT not in names:
        return names[name]
    streams = {key_of(row)[1:]: row for row in names[name]}
    return [{**streams[key_of(row)[1:]], "op": row["op"]}
            for row in names[SUBJECT] if key_of(row)[1:] in streams]


def beside(rounds, other):
    """The rounds of pavo and one other, on the same wire; beside a stream the rows that
    it has."""
    found = []
    for names in rounds:
        on_rules = other == "rxe" and SUBJECT_ON_RULES in names
        ours = names[SUBJECT_ON_RULES if on_rules else SUBJECT]
        theirs = _rows_of(names, other)
        if other in STREAMS:
            keys = {key_of(row) for row in theirs}
            ours = [row for row in ours if key_of(row) in keys]
        found.append({SUBJECT: ours, other: theirs})
    return found


def compare_several(rounds, drivers):
    """One dict per test: figures of each driver, and the ratio of pavo to each other one,
    with least and most. A ratio above 1 means that pavo is the better one."""
    results = {}
    for names in rounds:
        for name in drivers:
            for row in _rows_of(names, name):
                if "error" not in row:
                    results.setdefault(key_of(row), {}).setdefault(name, []).append(row)
    lines = {key: {"op": key[0], "test": key[1], "size": key[2], "rounds": {}, "ratios": {},
                   "figures": {name: figure_of(rows) for name, rows in found.items()}}
             for key, found in results.items()}
    for other in others_of(drivers):
        for pair in compare(beside(rounds, other), other, SUBJECT):
            line = lines[key_of(pair)]
            line["rounds"][other] = pair["rounds"]
            line["ratios"][other] = {"median": pair["ratio"], "min": pair["ratio_min"],
                                     "max": pair["ratio_max"]}
    return list(lines.values())


def vanished_of_several(rounds, drivers):
    """As vanished(), of pavo and each other one."""
    return [line for other in others_of(drivers)
            for line in vanished(beside(rounds, other), other, SUBJECT)]


def incomplete_of_several(lines, rounds):
    """As incomplete(), of the ratios to each other one."""
    return [f"{line['op']} {line['test']} {line['size']}: compared with {other} in "
            f"{count} of {rounds} rounds"
            for line in lines for other, count in line["rounds"].items() if count < rounds]


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


def _row_name(line):
    return f"{line['op']:6}{line['test']:10}{size_text(line['size']):>7}"


def _spread(middle, least, most, digits):
    return f"{middle:.{digits}f} ({least:.{digits}f} - {most:.{digits}f})"


def _speed(line, name):
    """MiB/s, or thousands of messages per second, of which the least time is the most; of a
    latency microseconds."""
    value = line["figures"].get(name)
    if not value:
        return "-"
    if line["test"] == "latency":
        return _spread(*(value[key] / 1000 for key in ("ns_per_message", "ns_min", "ns_max")), 2)
    factor = line["size"] / 2**20 if line["size"] >= 4096 else 1e-3
    middle, most, least = (factor * 1e9 / value[key]
                           for key in ("ns_per_message", "ns_min", "ns_max"))
    return _spread(middle, least, most, 0)


def _ratio(line, name):
    value = line["ratios"].get(name)
    return _spread(value["median"], value["min"], value["max"], 2) if value else "-"


def text_of_several(title, lines, drivers):
    """The table people read: figures, then ratios."""
    others = others_of(drivers)
    drops = [f"{_row_name(line)}  {name}: {value['drops']} packets were dropped"
             for line in lines for name, value in line["figures"].items() if value["drops"]]
    out = [title, "", "medians (least - most); MiB/s, of 64 B thousands of messages per second, "
           "latency in us",
           f"{'':23}" + "".join(f"{NAMES.get(name, name):>24}" for name in drivers)]
    out += [_row_name(line) + "".join(f"{_speed(line, name):>24}" for name in drivers)
            for line in lines]
    if others:
        out += ["", f"{'':23}" + "".join(f"{SUBJECT + '/' + NAMES.get(name, name):>24}"
                                         for name in others)]
        out += [_row_name(line) + "".join(f"{_ratio(line, name):>24}" for name in others)
                for line in lines]
    return "\n".join(out + [""] + drops) + "\n"
