# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what is said of many queue pairs and of a second CPU. Rows of the guests become one
# line for each thing that was measured, with median, least and most, and the ratio to the
# first; then what is out of its bound, or was not measured. Run by ../scale: python3 -m
# pavobench.scale OUT RELEASE MOST-QUEUE-PAIRS GUEST=FILE..., from this folder's parent;
# writes OUT/scale.json and OUT/scale.txt.
import json
import pathlib
import statistics
import sys

from . import environment

# A write among the most queue pairs, in times of one by the only one.
MOST_OF_MANY = 1.1
# Two processes on two CPUs, in times of one.
LEAST_OF_TWO = 1.7
QUEUE_PAIRS = (1, 16, 256, 1024, 16384)
SIZES = (64, 65536)


def crowds(rows):
    """{queue pairs: nanoseconds of a write, one for each repetition}."""
    found = {}
    for row in rows:
        if row["what"] == "write":
            found.setdefault(row["queue pairs"], []).append(row["ns"])
    return found


def _rate(rows):
    """Messages in a second while all of these streams were under way."""
    ends = [row["began_ns"] + row["total_ns"] for row in rows]
    began = min(row["began_ns"] for row in rows)
    return sum(row["messages"] for row in rows) * 1e9 / (max(ends) - began)


def speeds(rows):
    """{size: what two processes did in times of one, one for each round}. One is the mean of
    both, alone, because CPUs of a host may differ."""
    found = {}
    rounds = {}
    for row in rows:
        if row["what"] == "cpus" and "error" not in row:
            rounds.setdefault((row["size"], row["round"]), []).append(row)
    for (size, _), all_of in sorted(rounds.items()):
        alone = [_rate([row]) for row in all_of if row["processes"] == 1]
        both = [row for row in all_of if row["processes"] == 2]
        if alone and len(both) == 2:
            found.setdefault(size, []).append(_rate(both) / statistics.mean(alone))
    return found


def missing(guests, most):
    """Lines for people: what is to be measured and was not."""
    has = crowds(guests.get("icount", []))
    lines = [f"icount: a write among {count:,} queue pairs"
             for count in QUEUE_PAIRS if count <= most and count not in has]
    has = speeds(guests.get("emulated", []))
    return lines + [f"two CPUs, {size} bytes" for size in SIZES if size not in has]


def out_of_bounds(guests):
    """Lines for people: what costs more or brings less than it may."""
    lines = []
    for name, rows in guests.items():
        medians = {count: statistics.median(ns) for count, ns in crowds(rows).items()}
        if medians and medians[max(medians)] > MOST_OF_MANY * medians[min(medians)]:
            lines.append(f"{name}: a write among {max(medians):,} queue pairs is "
                         f"{medians[max(medians)] / medians[min(medians)]:.2f} times one "
                         f"among {min(medians)}, more than {MOST_OF_MANY}")
        lines += [f"{name}: two CPUs do {statistics.median(ratios):.2f} times what one does "
                  f"with {size} bytes, less than {LEAST_OF_TWO}"
                  for size, ratios in speeds(rows).items()
                  if statistics.median(ratios) < LEAST_OF_TWO]
    return lines


def _line(label, values, ratio, form):
    told = "".join(f"{value:>12{form}}" for value in
                   (statistics.median(values), min(values), max(values)))
    return f"{label:44}{told}{len(values):>5}{ratio}\n"


def text(guests):
    """The table."""
    said = f"{'':44}{'median':>12}{'min':>12}{'max':>12}{'n':>5}   ratio\n"
    for name, rows in guests.items():
        first = None
        for count, values in sorted(crowds(rows).items()):
            first = first or statistics.median(values)
            said += _line(f"{name}: ns of a write, {count:,} queue pairs", values,
                          f"{statistics.median(values) / first:8.2f}", ",.0f")
        for size, values in speeds(rows).items():
            said += _line(f"{name}: two CPUs to one, {size} bytes", values, "", ".2f")
    return said


def main(out, release, most, *files):
    """Writes and shows; returns the exit status: 1: out of bounds, or not measured."""
    guests = {}
    for word in files:
        name, _, path = word.partition("=")
        guests[name] = [json.loads(line)
                        for line in pathlib.Path(path).read_text().splitlines()]
    bad, lost = out_of_bounds(guests), missing(guests, int(most))
    about = environment.describe(release)
    said = "".join(f"{key}: {value}\n" for key, value in about.items())
    said += f"\nkernel {release}; icount: 1 ns is an instruction\n\n"
    said += text(guests)
    said += "".join(f"OUT OF BOUNDS: {line}\n" for line in bad)
    said += "".join(f"NOT MEASURED: {line}\n" for line in lost)
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale.txt").write_text(said)
    (folder / "scale.json").write_text(json.dumps(
        {"environment": about, "out_of_bounds": bad, "missing": lost, "guests": guests},
        indent=1) + "\n")
    print(f"{said}\nall values: {folder}/scale.json")
    return 1 if bad or lost else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
