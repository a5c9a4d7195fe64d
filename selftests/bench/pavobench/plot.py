#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the picture of the mode at native speed: for each test a bar for pavo's ratio to
# each other driver, with least and most. Run by people; reads bench.json.
# usage: plot.py BENCH.JSON PICTURE.SVG
import html
import json
import pathlib
import sys

if __package__:
    from . import table
else:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from pavobench import table

COLOURS = {"rxe": "#4477aa", "siw": "#ccbb44", "tcp": "#aa3377",
           "tcp-zerocopy": "#66ccee", "before": "#999999"}
BAR, GAP, LEFT, TOP, WIDE = 12, 10, 170, 64, 560
LIMIT = 12      # longer bars end there
# Below this many bytes the streams of TCP are a measure of the guest's system calls; siw is the
# kernel's TCP without them.
STREAMS_FROM = 1 << 20
NAMES = {**table.NAMES, "siw": "siw (kernel TCP)"}


def _text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{html.escape(words)}</text>'


def _bar(y, name, ratio, scale):
    """The bar of one ratio, its range, and its number."""
    ends = {key: LEFT + scale * min(ratio[key], LIMIT) for key in ("median", "min", "max")}
    colour = COLOURS.get(name, "#666666")
    middle = y + BAR / 2
    return [f'<rect class="{name}" x="{LEFT}" y="{y}" width="{ends["median"] - LEFT:.1f}" '
            f'height="{BAR - 2}" fill="{colour}"/>',
            f'<line x1="{ends["min"]:.1f}" x2="{ends["max"]:.1f}" y1="{middle - 1:.1f}" '
            f'y2="{middle - 1:.1f}" stroke="black"/>',
            _text(max(ends.values()) + 4, y + BAR - 3, f'{ratio["median"]:.2f}')]


def shown(line):
    """The ratios of a line that are drawn."""
    return {name: ratio for name, ratio in line["ratios"].items()
            if name not in table.STREAMS or line["size"] >= STREAMS_FROM}


def draw(lines, title):
    """The picture, as text."""
    lines = [{**line, "ratios": shown(line)} for line in lines]
    names = list({name: None for line in lines for name in line["ratios"]})
    most = min(LIMIT, max([value["max"] for line in lines
                           for value in line["ratios"].values()], default=1))
    scale = WIDE / max(most, 1)
    out, y = [], TOP
    for line in lines:
        out.append(_text(8, y + BAR - 2, f"{line['op']} {line['test']} "
                         f"{table.size_text(line['size'])}"))
        for name, ratio in line["ratios"].items():
            out += _bar(y, name, ratio, scale)
            y += BAR
        y += GAP
    one = LEFT + scale
    out.append(f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 6}" y2="{y}" '
               'stroke="black" stroke-dasharray="4 3"/>')
    legend, x = [], 8
    for name in names:
        words = f"pavo / {NAMES.get(name, name)}"
        legend.append(_text(x, 40, words, f' fill="{COLOURS.get(name, "#666666")}" '
                            'font-weight="bold"'))
        x += 8 * len(words)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 60}" '
            f'height="{y + 10}" font-family="sans-serif" font-size="11">\n'
            '<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->\n'
            '<rect width="100%" height="100%" fill="white"/>\n' +
            "\n".join([_text(8, 18, title), *legend, *out]) + "\n</svg>\n")


def main():
    """The program; returns the exit code."""
    if len(sys.argv) != 3:
        print("usage: plot.py BENCH.JSON PICTURE.SVG", file=sys.stderr)
        return 2
    found = json.loads(pathlib.Path(sys.argv[1]).read_text())
    mode = next((mode for mode in found["modes"] if mode["mode"] == "native"), None)
    if not mode:
        print("plot.py: there was no mode native", file=sys.stderr)
        return 1
    title = (f"pavo beside others at native speed, one CPU; {len(mode['rounds'])} rounds, "
             f"{found['environment']['host_cpu']}; above 1 pavo is better")
    pathlib.Path(sys.argv[2]).write_text(draw(mode["comparison"], title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
