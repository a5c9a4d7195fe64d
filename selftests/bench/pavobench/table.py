# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the comparison. Raw rows of every round become one line per test: what each driver took,
# and how many times as good the subject is as each other one in the same round; both as median,
# least and most. Then whether the floor is kept. Called by the tools of ../; computes and
# formats, no more.
import statistics

# The least ratio in the repeatable mode: of all rows, and of large writes and reads.
FLOOR_ALL, FLOOR_LARGE = 1.0, 1.5
LARGE, LARGE_OPS = (65536, 1048576), ("write", "read")
# The one that the ratios are of at native speed, and the kernel's streams, which stand beside
# every operation of their size.
SUBJECT = "pavo"
# pavo on the wire that rdma_rxe needs: its ratio is of one path
SUBJECT_ON_RULES = "pavo-rules"
STREAMS = ("tcp", "tcp-zerocopy")
# Those of paths alone, by --drivers: "tcp" is cubic without offloads there.
PATH_STREAMS = ("tcp-bbr", "tcp-offloads")
ALL_STREAMS = STREAMS + PATH_STREAMS
# Tests that a driver may lack: iWARP connects queue pairs by rdma_cm
PARTIAL = ("setup",)
TAIL = "-p99.9"
NAMES = {"rxe": "rdma_rxe", "tcp": "TCP", "tcp-zerocopy": "TCP, no copy",
         "tcp-bbr": "TCP, BBR", "tcp-offloads": "TCP, offloads", "rxe-ud": "rdma_rxe UD"}


def spread(values):
    """What is told of several repetitions."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "n": len(values)}


def floor_of(op, size):
    """The least ratio a row may have."""
    return FLOOR_LARGE if op in LARGE_OPS and size in LARGE else FLOOR_ALL


def time_of(row):
    """Nanoseconds per message: the median where each was timed."""
    return (row["typical_ns"] if row["test"] == "latency" or row.get("each") else
            row["total_ns"] / row["messages"])


def with_tails(rows):
    """The rows, and a row for each 99.9th percentile: a test of its own."""
    return rows + [{**row, "test": row["test"] + TAIL, "typical_ns": row["p999_ns"]}
                   for row in rows if "p999_ns" in row]


def key_of(row):
    """What makes two rows comparable."""
    return row["op"], row["test"], row["size"]


def name_of(row):
    """The same in words."""
    return "{} {} {}".format(*key_of(row))


def failures(rounds, drivers):
    """{driver: in words, the tests in which it failed}."""
    return {driver: [f"round {number}: {driver}: {name_of(row)}: {row['error']}"
                     for number, names in enumerate(rounds, 1)
                     for row in names[driver] if "error" in row]
            for driver in drivers}


class UnequalRounds(Exception):
    """The drivers did not run the same tests."""


def others_of(drivers, subject):
    """Those that the subject is compared with, if it is there."""
    return [name for name in drivers
            if name not in (subject, SUBJECT_ON_RULES) and subject in drivers]


def _rows_of(names, name):
    """{key: row} of a driver in a round. Those of streams become rows of each test of pavo
    that has their name and size."""
    rows = {key_of(row): row for row in names[name]}
    if name not in ALL_STREAMS or SUBJECT not in names:
        return rows
    streams = {key[1:]: row for key, row in rows.items()}
    return {key: {**streams[key[1:]], "op": key[0]}
            for key in map(key_of, names[SUBJECT]) if key[1:] in streams}


def _ratios(rounds, other, subject, same):
    """{key: ratios of the rounds} on the same wire, of what both have. A failure has no time;
    failures() tells of it."""
    found = {}
    for number, names in enumerate(rounds, 1):
        on_rules = other == "rxe" and SUBJECT_ON_RULES in names
        ours = _rows_of(names, SUBJECT_ON_RULES if on_rules else subject)
        theirs = _rows_of(names, other)
        if same and other not in ALL_STREAMS and any(
                key[1] not in PARTIAL for key in ours.keys() ^ theirs.keys()):
            raise UnequalRounds(f"round {number}: {other} and {subject} have different rows")
        for key in [key for key in theirs if key in ours]:
            found.setdefault(key, [])
            if "error" not in ours[key] and "error" not in theirs[key]:
                found[key].append(time_of(theirs[key]) / time_of(ours[key]))
    return found


def vanished(rounds, drivers, subject=SUBJECT):
    """In words, the tests that have no ratio, because in no round both drivers came to a
    result: it is unknown whether their floor is kept."""
    return ["{} {} {}".format(*key) + f": in no round {other} and {subject} both finished it, "
            "there is no ratio" for other in others_of(drivers, subject)
            for key, ratios in _ratios(rounds, other, subject, True).items() if not ratios]


def figure_of(rows):
    """What is told of the rows of one driver and test."""
    ns = spread([time_of(row) for row in rows])
    return {"ns": ns, "messages_per_s": 1e9 / ns["median"],
            "mib_per_s": rows[0]["size"] * 1e9 / ns["median"] / 2**20,
            "drops": sum(row["drops"] for row in rows)}


def compare(rounds, drivers, subject=SUBJECT, same=True):
    """One dict per test: figures of each driver, and the ratio of the subject to each other one
    by rounds. A ratio above 1 means that the subject is the better one. @same: drivers have to
    have the same rows."""
    results = {}
    for names in rounds:
        for name in drivers:
            for key, row in _rows_of(names, name).items():
                if "error" not in row:
                    results.setdefault(key, {}).setdefault(name, []).append(row)
    lines = {key: {"op": key[0], "test": key[1], "size": key[2],
                   "floor": floor_of(key[0], key[2]), "ratios": {},
                   "figures": {name: figure_of(rows) for name, rows in found.items()}}
             for key, found in results.items()}
    for other in others_of(drivers, subject):
        for key, ratios in _ratios(rounds, other, subject, same).items():
            if ratios:
                lines[key]["ratios"][other] = spread(ratios)
    return list(lines.values())


def incomplete(lines, rounds):
    """In words, the ratios that not all rounds have: too few to say that a floor is kept."""
    return [f"{name_of(line)}: compared with {other} in {ratio['n']} of {rounds} rounds"
            for line in lines for other, ratio in line["ratios"].items() if ratio["n"] < rounds]


def below_floor(lines):
    """The lines with a median ratio below their floor."""
    return [line for line in lines
            if any(ratio["median"] < line["floor"] for ratio in line["ratios"].values())]


def size_text(size):
    """In the largest unit that fits."""
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def spread_text(of, digits, factor=1):
    """Median, and in brackets the least and the most."""
    middle, least, most = (f"{factor * of[key]:.{digits}f}" for key in ("median", "min", "max"))
    return f"{middle} ({least} - {most})"


def unit_of(line):
    """The unit of the speeds of a test."""
    if line["test"] in ("latency", "setup") or line["test"].startswith("lat-"):
        return "us"
    return "MiB/s" if line["size"] >= 4096 and line["test"] != "rate" else "k/s"


def speed(line, ns):
    """A speed, or a latency, in that unit, of which the longest time is the least."""
    if unit_of(line) == "us":
        return spread_text(ns, 2, 1e-3)
    each = 1e6 if unit_of(line) == "k/s" else line["size"] * 1e9 / 2**20
    return spread_text({"median": each / ns["median"], "min": each / ns["max"],
                        "max": each / ns["min"]}, 0 if each / ns["median"] >= 100 else 2)


def _remark(line):
    words = []
    for other, ratio in line["ratios"].items():
        if ratio["median"] < FLOOR_ALL:
            words.append(f"WORSE THAN {other}")
        elif ratio["median"] < line["floor"]:
            words.append(f"BELOW {line['floor']}")
        if ratio["min"] < line["floor"] <= ratio["median"]:
            words.append("once below")
    return "  " + ", ".join(words)


def _block(head, lines, columns, end=lambda line: ""):
    """A part of the table: {title of a column: its cell of a line, or ""}."""
    return ["", f"{head:34}" + "".join(f"{title:>29}" for title in columns)] + [
        (f"{line['op']:6}{line['test']:13}{size_text(line['size']):>7}{'':8}"
         + "".join(f"{cell(line) or '-':>29}" for cell in columns.values())
         + end(line)).rstrip() for line in lines]


def text(title, lines, drivers, subject=SUBJECT, floors=False):
    """The table people read: speeds, nanoseconds of a message, ratios."""
    def column(what, name, cell):
        return lambda line: name in line[what] and cell(line, line[what][name])

    def figures(cell):
        return {NAMES.get(name, name): column("figures", name, cell) for name in drivers}

    out = [title, "", "median (least - most) of the rounds"]
    out += _block("speed, or latency", lines, figures(lambda line, figure: speed(
        line, figure["ns"])), lambda line: f" {unit_of(line)}")
    out += _block("nanoseconds of a message", lines, figures(lambda line, figure: spread_text(
        figure["ns"], 0)))
    ratios = {f"{subject}/{NAMES.get(name, name)}": column(
        "ratios", name, lambda line, ratio: spread_text(ratio, 2))
        for name in others_of(drivers, subject)}
    if ratios:
        out += _block("times as good, in the same round", lines, ratios,
                      _remark if floors else lambda line: "")
    if floors:
        out += ["", f"{len(lines)} rows, {len(below_floor(lines))} below their floor (1.0; "
                f"{FLOOR_LARGE} for writes and reads of 64 KiB and 1 MiB)"]
    out += [f"{name_of(line)}: {name}: {figure['drops']} packets were dropped"
            for line in lines for name, figure in line["figures"].items() if figure["drops"]]
    return "\n".join(out) + "\n"
