# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: windows beside queue pairs. Rows of every round become one entry per test with
# median, least and most of each contestant, and how many times as good windows are; the
# same of goodput while packets overtake each other, and of windows that do nothing.
# Called by ../windows; computes and formats, no more.
import statistics

from . import table

FIRST = "windows"
NAMES = {"windows": "windows", "pavo": "pavo RC", "rxe": "rdma_rxe RC",
         "rxe-ud": "rdma_rxe UD"}
# Of windows' goodput has to be left when packets overtake each other: all, but for what
# varies.
UNCHANGED = 0.95
# The part of the packets that has to be sent ahead of the others: a quarter was asked for.
AHEAD = 0.20, 0.30


def spread(values):
    """What is told of several repetitions."""
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "n": len(values)}


def good(rows):
    """{key: nanoseconds} of rows that are results."""
    return {table.key_of(row): table.time_of(row) for row in rows
            if "error" not in row}


def compare(rounds):
    """One dict per test: {"op", "test", "size", "of": {contestant: ...}}. A ratio above 1
    means that windows took less time than that contestant, in the same round."""
    times = [{name: good(rows) for name, rows in names.items()}
             for names in rounds]
    keys = {key: None for names in times for found in names.values()
            for key in found}
    return [{"op": key[0], "test": key[1], "size": key[2],
             "of": _of_test(times, key)} for key in keys]


def _of_test(times, key):
    of = {}
    for name in times[0]:
        here = [found[name][key] for found in times if key in found[name]]
        ratios = [found[name][key] / found[FIRST][key] for found in times
                  if name != FIRST and key in found[name]
                  and key in found.get(FIRST, {})]
        if here:
            of[name] = {"ns": spread(here)}
        if ratios:
            of[name]["ratio"] = spread(ratios)
    return of


def ahead(wire):
    """The part of the packets that netem sent at once, past those that waited for their
    delay: it counts these as requeues. The rows are what tc shows of the interface."""
    counts = [qdisc for row in wire for qdisc in row if qdisc["kind"] == "netem"]
    packets = sum(count["packets"] for count in counts)
    return sum(count["requeues"] for count in counts) / packets if packets else 0.0


def reordering(rounds):
    """({contestant: goodput while packets overtake, in parts of that without}, in words
    those that are refused, because that was not so). Each round is
    {contestant: (level rows, reordered rows, reordering wire)}."""
    of, refused = {}, []
    for name in rounds[0]:
        pairs = [(good(names[name][0]), good(names[name][1])) for names in rounds]
        ratios = [level[key] / reordered[key] for level, reordered in pairs
                  for key in level if key in reordered]
        part = spread([ahead(names[name][2]) for names in rounds])
        if ratios and not AHEAD[0] <= part["median"] <= AHEAD[1]:
            refused.append(
                f"{NAMES[name]}: of the packets {_percent(part)} % were sent ahead of the "
                f"others, not {100 * AHEAD[0]:.0f} to {100 * AHEAD[1]:.0f}: no goodput")
        elif ratios:
            size = next(key[2] for level, _ in pairs for key in level)
            of[name] = {
                "size": size, "ahead": part, "ratio": spread(ratios),
                "level_ns": spread([t for level, _ in pairs for t in level.values()]),
                "reordered_ns": spread([t for _, late in pairs
                                        for t in late.values()])}
    return of, refused


def below(of):
    """In words, what reordering() found that windows may not be."""
    left = of[FIRST]["ratio"]["median"] if FIRST in of else 1
    return [] if left >= UNCHANGED else [
        f"windows keep {left:.2f} of their goodput when packets overtake each other, "
        f"less than {UNCHANGED}"]


def failures(rounds):
    """In words, what did not come to a result."""
    return [f"round {number}: {NAMES.get(name, name)}: {row['op']} {row['test']} "
            f"{row['size']}: {row['error']}"
            for number, names in enumerate(rounds, 1)
            for name, rows in names.items() for row in rows if "error" in row]


def idle(rows):
    """One dict per quantity and number of windows."""
    values = {}
    for row in rows:
        values.setdefault((row["what"], row["windows"], row["unit"]),
                          []).append(row["value"])
    return [{"what": what, "windows": windows, "unit": unit, **spread(found)}
            for (what, windows, unit), found in values.items()]


def _figure(test, size, ns):
    if test == "latency":
        return f"{ns / 1000:.2f} us"
    if test == "rate":
        return f"{1e6 / ns:.2f} k/s"
    return f"{size * 1e9 / ns / 2**20:.2f} MiB/s"


def _times(test, size, ns):
    """A figure with its spread, least first: the longest time is the least rate."""
    ends = ("min", "max") if test == "latency" else ("max", "min")
    least, most = (_figure(test, size, ns[end]) for end in ends)
    return f"{_figure(test, size, ns['median']):>15}  ({least} - {most})"


def _percent(part):
    return "{median:.1f} ({min:.1f} - {max:.1f})".format(
        **{key: 100 * value for key, value in part.items()})


def _ratio(ratio):
    return f"{ratio['median']:6.2f} ({ratio['min']:.2f} - {ratio['max']:.2f})"


def text(title, lines, reordered, idles):
    """The table people read."""
    out = [title, "", "A ratio is how many times as good windows are as that one; "
           "median (least - most) of the rounds.", ""]
    for line in lines:
        out.append(f"{line['op']} {line['test']} {table.size_text(line['size'])}")
        for name, values in line["of"].items():
            figure = _times(line["test"], line["size"], values["ns"])
            ratio = _ratio(values["ratio"]) if "ratio" in values else ""
            out.append(f"  {NAMES[name]:12}{figure:52}{ratio}".rstrip())
    if reordered:
        out += ["", "goodput of writes while packets overtake: parts of that of the same "
                "wire without. It delays them by", "200 us, but sends some at once, ahead "
                "of those that wait: as many in 100 as the last figure says"]
    for name, values in reordered.items():
        figure = _times("bandwidth", values["size"], values["reordered_ns"])
        out.append(f"  {NAMES[name]:12}{figure:52}{_ratio(values['ratio'])}  "
                   f"{_percent(values['ahead'])} %")
    if idles:
        out += ["", "windows that are open and do nothing"]
    for line in idles:
        out.append(f"  {line['what']:20}{line['windows']:>7} windows "
                   f"{line['median']:>12,.0f} {line['unit']:5} "
                   f"({line['min']:,.0f} - {line['max']:,.0f}), "
                   f"n {line['n']}")
    return "\n".join(out) + "\n"
