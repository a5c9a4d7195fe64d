# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what keys cost, and messages among many queue pairs, and what a second CPU brings. Rows of
# the guests become one line for each thing that was measured, with median, 99th percentile, least
# and most; walks also a histogram; then what is out of its bound, or was not measured. Called by
# ../many; computes and formats, no more.
import collections
import statistics

from . import frame, table

# Instructions of a hit in a cache, without the caller's loop.
MOST_OF_A_HIT = 100
# A write among the most regions or queue pairs, in times of one among the fewest.
MOST_OF_MANY = 1.1
# Two processes on two CPUs, in times of one.
LEAST_OF_TWO = 1.7
# How long an adapter stands still if microcode walks (sources.md#keys-alternatives): 256
# queue pairs.
STANDSTILL = 18432
LOOP, TWO = "the loop", "two CPUs to one"
WALKS = ("walk", "end of a key", "longest write")
HITS = ("region found", "region given back", "mapping found", "mapping given back")
# Of writes: among how many of what. Of other things: their names, or a parameter of each.
AMONG = {"keys": ("regions", (10, 10000, 1000000)),
         "scale": ("queue pairs", (1, 16, 256, 1024, 16384)),
         "direct": ("ranges", (16, 128, 1024))}
# Operations that are to cost the same among many.
EVEN = {"keys": ("write",), "scale": ("write",), "direct": ("arm", "poll", "read")}
WANTED = {"keys": [(what, None) for what in (LOOP, *HITS, *WALKS)],
          "scale": [(TWO, ("size", size)) for size in (64, 65536)], "direct": []}


def _rate(rows):
    """Messages in a second while all of these streams were under way."""
    ends = [row["began_ns"] + row["total_ns"] for row in rows]
    began = min(row["began_ns"] for row in rows)
    return sum(row["messages"] for row in rows) * 1e9 / (max(ends) - began)


def speeds(rows):
    """Rows of what two processes did in times of one, one for each round. One is the mean of
    both, alone, because CPUs of a host may differ."""
    rounds = {}
    for row in rows:
        if "error" not in row:
            rounds.setdefault((row["size"], row["round"]), []).append(row)
    for (size, _), all_of in sorted(rounds.items()):
        alone = [_rate([row]) for row in all_of if row["processes"] == 1]
        both = [row for row in all_of if row["processes"] == 2]
        if alone and len(both) == 2:
            yield {"what": TWO, "size": size, "times": _rate(both) / statistics.mean(alone)}


def series(rows):
    """{(what, parameters, unit): values}, in the order in which they came."""
    found = {}
    for row in [row for row in rows if row["what"] != "cpus"] + list(
            speeds(row for row in rows if row["what"] == "cpus")):
        unit = next(unit for unit in ("walk_ns", "times", "ns") if unit in row)
        parameters = tuple((name, value) for name, value in row.items()
                           if name not in ("what", unit))
        found.setdefault((row["what"], parameters, unit), []).append(row[unit])
    return found


def percentile(values, part):
    """The least value that so many of a hundred are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]


def histogram(values):
    """[(upper bound, how many)]: powers of two, from the first that has any."""
    counts = collections.Counter(value.bit_length() for value in values)
    return [(2 ** bits, counts[bits]) for bits in range(min(counts), max(counts) + 1)]


def _medians(found, what):
    """[(parameters, median)] of all lines of that name."""
    return [(dict(parameters), statistics.median(values))
            for (name, parameters, _), values in found.items() if name == what]


def missing(found, tool, most):
    """Lines for people: what is to be measured and was not, among up to @most."""
    name, counts = AMONG[tool]
    lines = [what if pair is None else f"{what}, {pair[1]} bytes" for what, pair in WANTED[tool]
             if not any(pair is None or pair in parameters.items()
                        for parameters, _ in _medians(found, what))]
    for what in EVEN[tool]:
        has = [parameters[name] for parameters, _ in _medians(found, what)]
        lines += [f"{what} among {count:,} {name}" for count in counts
                  if count <= most and count not in has]
    return lines


def out_of_bounds(found, tool):
    """Lines for people: what costs more or brings less than it may."""
    loop = next((median for _, median in _medians(found, LOOP)), 0)
    lines = [f"{what}, {parameters['entries']} entries: {median - loop:.0f} instructions, not "
             f"less than {MOST_OF_A_HIT}" for what in HITS
             for parameters, median in _medians(found, what) if median - loop >= MOST_OF_A_HIT]
    name, _ = AMONG[tool]
    for what in EVEN[tool]:
        costs = sorted((parameters[name], median)
                       for parameters, median in _medians(found, what))
        if costs and costs[-1][1] > MOST_OF_MANY * costs[0][1]:
            lines.append(f"{what} among {costs[-1][0]:,} {name}: "
                         f"{costs[-1][1] / costs[0][1]:.2f} times one among "
                         f"{costs[0][0]}, more than {MOST_OF_MANY}")
    return lines + [f"two CPUs do {median:.2f} times what one does with {parameters['size']} "
                    f"bytes, less than {LEAST_OF_TWO}"
                    for parameters, median in _medians(found, TWO) if median < LEAST_OF_TWO]


def _label(what, parameters):
    return ", ".join([what] + [f"{name} {str(value).lower()}" for name, value in parameters])


def text(found, tool):
    """The table. Of those operations it tells the ratio to one among the fewest."""
    lines = [f"{'':44}{'median':>13}{'p99':>13}{'min':>13}{'max':>13}{'n':>6}   ratio"]
    fewest = {what: min(((next(iter(parameters.values())), median)
                         for parameters, median in _medians(found, what)), default=(0, 0))[1]
              for what in EVEN[tool]}
    for (what, parameters, unit), values in found.items():
        told = {**table.spread(values), "p99": percentile(values, 99)}
        form = ",.2f" if unit == "times" else ",.0f"
        lines.append((f"{_label(what, parameters):44}" + "".join(
            f"{told[name]:>13{form}}" for name in ("median", "p99", "min", "max"))
            + f"{told['n']:>6}"
            + (f"{told['median'] / fewest[what]:8.2f}" if what in fewest else "")))
    for (what, parameters, unit), values in found.items():
        if unit != "walk_ns":
            continue
        lines.append(f"\n{_label(what, parameters)}: how many took less than so many ns")
        most = max(count for _, count in histogram(values))
        lines += [f"{bound:>14,} {count:>6} {'#' * (count * 50 // most)}"
                  for bound, count in histogram(values)]
        if dict(parameters)["qps"] == 256:
            lines.append(f"  an adapter whose microcode walks: {STANDSTILL:,} "
                         "ns in which nothing else moves")
    return "\n".join(lines) + "\n"


def judge(rows, tool, most):
    """(The table and what is wrong, the JSON's part, whether something is wrong)."""
    found = series(rows)
    bad, lost = out_of_bounds(found, tool), missing(found, tool, most)
    return (text(found, tool) + frame.said("OUT OF BOUNDS", bad) + frame.said("NOT MEASURED", lost),
            {"out_of_bounds": bad, "missing": lost, "series": [
                {"what": what, **dict(parameters), "unit": unit, "values": values}
                for (what, parameters, unit), values in found.items()]}, bool(bad or lost))
