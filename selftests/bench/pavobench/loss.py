#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the picture of paths that lose packets: goodput over loss for each driver, and the share of
# packets that pavo sent in vain. Run by people; reads the folder that a run with --tests paths leaves.
# usage: loss.py FOLDER PICTURE.SVG
import html
import json
import pathlib
import re
import statistics
import sys

if __package__:
    from . import table
else:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from pavobench import table

COLOURS = {table.SUBJECT: "#228833", "rxe": "#4477aa", "siw": "#ccbb44", "before": "#999999",
           "tcp": "#ee6677", "tcp-bbr": "#aa3377", "tcp-offloads": "#66ccee"}
NAMES = {"siw": "siw (kernel TCP)"}
PATH = re.compile(r"path-1ms-([\d.]+)%$")
WIDE, HIGH, LEFT, TOP, APART = 220, 150, 60, 64, 70


def curves(lines, op):
    """Driver -> [(loss in %, MiB/s)] of an operation at 1 ms, from the lines of bench.json."""
    found = {}
    for line in lines:
        path = PATH.match(line["test"])
        if path and line["op"] == op:
            for name, figures in line["figures"].items():
                found.setdefault(name, []).append((float(path[1]), figures["mib_per_s"]))
    return {name: sorted(points) for name, points in found.items()}


def read_counters(file):
    """Counters of both ends, ("bench0", name) -> value."""
    found = {}
    for line in file.read_text().splitlines():
        end, name, value = line.split()
        found[end, name] = int(value)
    return found


def needless(folder, name, op):
    """[(loss in %, share in % of packets that came once more than was needed)] at 1 ms, of writes or
    sends: requests that the responder had executed or held."""
    shares = {}
    for file in sorted(folder.glob(f"*-{name}.path-*.{op}.counters")):
        path = PATH.match(file.name.split(".", 1)[1].removesuffix(f".{op}.counters"))
        if not path:
            continue
        old, new = read_counters(file.with_name(file.name + ".before")), read_counters(file)

        def grown(end, counter, old=old, new=new):
            return new.get((end, counter), 0) - old.get((end, counter), 0)

        vain = grown("bench1", "duplicate_request") + grown("bench1", "rx_drop_out_of_sequence")
        shares.setdefault(float(path[1]), []).append(
            100 * vain / max(grown("bench0", "tx_packets"), 1))
    return sorted((loss, statistics.median(values)) for loss, values in shares.items())


def _text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{html.escape(words)}</text>'


def _chart(left, title, series, unit):
    """A chart with one step of the x axis for each loss; series: name -> [(loss, value)]."""
    losses = sorted({loss for points in series.values() for loss, _ in points})
    most = max([value for points in series.values() for _, value in points], default=1) or 1
    step = WIDE / max(len(losses) - 1, 1)
    out = [_text(left, TOP - 10, title, ' font-weight="bold"'),
           f'<rect x="{left}" y="{TOP}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#888"/>',
           _text(left - 8, TOP + 10, f"{most:.0f}" if most >= 10 else f"{most:.2f}",
                 ' text-anchor="end"'),
           _text(left - 8, TOP + 24, unit, ' text-anchor="end"'),
           _text(left - 8, TOP + HIGH, "0", ' text-anchor="end"')]
    out += [_text(left + i * step, TOP + HIGH + 16, f"{loss:g} %", ' text-anchor="middle"')
            for i, loss in enumerate(losses)]
    for name, points in series.items():
        at = [(left + losses.index(loss) * step, TOP + HIGH - HIGH * value / most)
              for loss, value in points]
        colour = COLOURS.get(name, "#666666")
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        out.append(f'<polyline class="{name}" points="{line}" fill="none" stroke="{colour}" '
                   'stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at]
    return out


def draw(lines, shares, title):
    """The picture, as text."""
    charts = [(f"{op}, 64 KiB", curves(lines, op), "MiB/s") for op in ("write", "read", "send")]
    charts.append(("writes sent in vain", {table.SUBJECT: shares}, "%"))
    charts = [chart for chart in charts if any(chart[1].values())]
    out, x = [_text(8, 18, title)], 8
    for name in dict.fromkeys(name for _, series, _ in charts for name in series):
        words = NAMES.get(name, name)
        out.append(_text(x, 36, words, f' fill="{COLOURS.get(name, "#666666")}" '
                         'font-weight="bold"'))
        x += 9 * len(words)
    for number, (name, series, unit) in enumerate(charts):
        out += _chart(LEFT + number * (WIDE + APART), name, series, unit)
    wide = LEFT + len(charts) * (WIDE + APART)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{TOP + HIGH + 30}" '
            'font-family="sans-serif" font-size="11">\n'
            '<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->\n'
            '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(out) + "\n</svg>\n")


def main():
    """The program; returns the exit code."""
    if len(sys.argv) != 3:
        print("usage: loss.py FOLDER PICTURE.SVG", file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    found = json.loads((folder / "bench.json").read_text())
    mode = next((mode for mode in found["modes"] if mode["mode"] == "native"), None)
    if not mode or not any(PATH.match(line["test"]) for line in mode["comparison"]):
        print("loss.py: no path of 1 ms was measured: run --mode native --tests paths",
              file=sys.stderr)
        return 1
    title = (f"A path with a round trip of 1 ms, over the packets lost in each direction; "
             f"{len(mode['rounds'])} rounds, {found['environment']['host_cpu']}")
    shares = needless(folder / "native.logs/share/node1/out", table.SUBJECT, "write")
    pathlib.Path(sys.argv[2]).write_text(draw(mode["comparison"], shares, title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
