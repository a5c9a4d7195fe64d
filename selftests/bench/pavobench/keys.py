# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what keys cost. Rows of pavo-bench-keys become one line for each thing that was
# measured, with median, 99th percentile, least and most; walks also a histogram; and
# what is dearer than it may be, or was not measured. Run by ../keys: python3 -m
# pavobench.keys OUT RELEASE MOST-REGIONS FILE..., from this folder's parent; writes
# OUT/keys.json and OUT/keys.txt.
import json
import pathlib
import statistics
import sys

from . import environment

# Instructions of a hit in a cache, without the caller's loop.
MOST_OF_A_HIT = 100
# A write among the most regions, in times of one among the fewest.
MOST_OF_MANY = 1.1
# How long an adapter stands still if microcode walks (sources.md#keys-alternatives): 256
# queue pairs.
STANDSTILL = 18432
LOOP = "the loop"
REGIONS = (10, 10000, 1000000)
WALKS = ("walk", "end of a key", "longest write")
HITS = ("region found", "region given back", "mapping found", "mapping given back")


def series(rows):
    """{(what, parameters, unit): values}, in the order in which they came."""
    found = {}
    for row in rows:
        unit = "walk_ns" if "walk_ns" in row else "ns"
        parameters = tuple((name, value) for name, value in row.items()
                           if name not in ("what", unit))
        found.setdefault((row["what"], parameters, unit), []).append(row[unit])
    return found


def percentile(values, part):
    """The least value that so many of a hundred are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]


def summary(values):
    """What is told of many values."""
    return {"median": statistics.median(values), "p99": percentile(values, 99),
            "min": min(values), "max": max(values), "n": len(values)}


def histogram(values):
    """[(upper bound, how many)]: powers of two, from the first that has any."""
    counts = {}
    for value in values:
        counts[value.bit_length()] = counts.get(value.bit_length(), 0) + 1
    return [(2 ** bits, counts.get(bits, 0))
            for bits in range(min(counts), max(counts) + 1)]


def _medians(found, what):
    """[(parameters, median)] of all lines of that name."""
    return [(dict(parameters), statistics.median(values))
            for (name, parameters, _), values in found.items() if name == what]


def missing(found, most):
    """Lines for people: what is to be measured and was not, up to @most regions."""
    lines = [what for what in (LOOP, *HITS, *WALKS) if not _medians(found, what)]
    counts = {parameters["regions"] for parameters, _ in _medians(found, "write")}
    return lines + [f"a write among {count:,} regions" for count in REGIONS
                    if count <= most and count not in counts]


def too_dear(found):
    """Lines for people: what is above its bound."""
    lines = []
    loop = next((median for _, median in _medians(found, LOOP)), 0)
    for what in HITS:
        for parameters, median in _medians(found, what):
            if median - loop >= MOST_OF_A_HIT:
                lines.append(f"{what}, {parameters['entries']} entries: "
                             f"{median - loop:.0f} instructions, "
                             f"not less than {MOST_OF_A_HIT}")
    writes = sorted((parameters["regions"], median)
                    for parameters, median in _medians(found, "write"))
    if writes and writes[-1][1] > MOST_OF_MANY * writes[0][1]:
        lines.append(f"a write among {writes[-1][0]:,} regions: "
                     f"{writes[-1][1] / writes[0][1]:.2f} times one among "
                     f"{writes[0][0]}, more than {MOST_OF_MANY}")
    return lines


def _label(what, parameters):
    said = [f"{name} {str(value).lower()}" for name, value in parameters]
    return ", ".join([what] + said)


def text(found):
    """The table."""
    lines = [f"{'':44}{'median':>13}{'p99':>13}{'min':>13}{'max':>13}{'n':>6}"]
    for (what, parameters, _), values in found.items():
        told = summary(values)
        lines.append(f"{_label(what, parameters):44}" + "".join(
            f"{told[name]:>13,.0f}" for name in ("median", "p99", "min", "max"))
            + f"{told['n']:>6}")
    for (what, parameters, unit), values in found.items():
        if unit != "walk_ns":
            continue
        lines.append(f"\n{_label(what, parameters)}: how many took less than so many ns")
        most = max(count for _, count in histogram(values))
        for bound, count in histogram(values):
            lines.append(f"{bound:>14,} {count:>6} {'#' * (count * 50 // most)}")
        if dict(parameters)["qps"] == 256:
            lines.append(f"  an adapter whose microcode walks: {STANDSTILL:,} "
                         "ns in which nothing else moves")
    return "\n".join(lines) + "\n"


def main(out, release, most, *files):
    """Writes and shows; returns the exit status: 1: too dear, or not known to be not."""
    rows = []
    for path in files:
        rows += [json.loads(line)
                 for line in pathlib.Path(path).read_text().splitlines()]
    found = series(rows)
    dear = too_dear(found)
    lost = missing(found, int(most))
    about = environment.describe(release)
    said = "".join(f"{key}: {value}\n" for key, value in about.items())
    said += f"\nnanoseconds; kernel {release}; instructions are counted (1 = 1 ns)\n"
    said += "but for walks, which two emulated CPUs make (they vary widely)\n\n"
    said += text(found) + "".join(f"TOO DEAR: {line}\n" for line in dear)
    said += "".join(f"NOT MEASURED: {line}\n" for line in lost)
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keys.txt").write_text(said)
    (folder / "keys.json").write_text(json.dumps(
        {"environment": about, "too_dear": dear, "missing": lost, "series": [
            {"what": what, **dict(parameters), "unit": unit, "values": values}
            for (what, parameters, unit), values in found.items()]},
        indent=1) + "\n")
    print(f"{said}\nall values: {folder}/keys.json")
    return 1 if dear or lost else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
