# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The layers of the module (kernel/layers.toml): checks which layer includes and calls which, and
# draws docs/layers.svg. Called by run. By hand: layers.py TREE writes the figure.
import pathlib
import re
import sys
import tomllib

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# A line of nm: value or blanks, kind, name.
SYMBOL = re.compile(r"^[0-9a-f ]*([A-Za-z]) (\S+)$")
DEFINED = "TDBRVW"


class Table:
    """What kernel/layers.toml says. Files are named by their path from kernel/."""

    def __init__(self, text):
        data = tomllib.loads(text)
        self.layers = {layer["name"]: layer for layer in data["layer"]}
        self.everywhere = tuple(f for part in data.get("everywhere", ()) for f in part["files"])
        self.exceptions = [(way["from"], way["to"]) for way in data.get("exception", ())]

    def layer_of(self, path):
        """The layer of a file, or None. A longer name in the table goes first."""
        found = [(len(prefix), name) for name, layer in self.layers.items()
                 for prefix in layer["files"] if path.startswith(prefix)]
        return max(found)[1] if found else None

    def is_exception(self, path, to):
        """Whether the table excepts this way up."""
        return any(path.startswith(a) and to.startswith(b) for a, b in self.exceptions)

    def find_way(self, path, to):
        """The way from a file to another as (layer, layer), or None: it is of no interest."""
        if path in self.everywhere or to in self.everywhere or self.is_exception(path, to):
            return None
        layers = self.layer_of(path), self.layer_of(to)
        return None if layers[0] == layers[1] or None in layers else layers

    def may(self, way):
        """Whether a layer may use the other."""
        return way[1] in self.layers[way[0]]["uses"]

    def words_of_parts(self):
        """Words of parts that a build can leave out, as a pattern: whole words, or whole
        between underscores."""
        words = [word for layer in self.layers.values() for word in layer.get("words", ())]
        return re.compile(r"(?<![a-z])(?:%s)(?![a-z])" % "|".join(words or ["(?!)"]), re.IGNORECASE)

    def levels(self):
        """Layer -> how many layers are below it, on the longest way down."""
        level = {}
        for name, layer in self.layers.items():
            level[name] = 1 + max((level[used] for used in layer["uses"]), default=-1)
        return level


def check_table(table, paths):
    """Each file has a layer, and layers use only those that stand before them."""
    bad, before = [], set()
    for name, layer in table.layers.items():
        bad += [f"kernel/layers.toml: {name} uses {used}, which does not stand before it"
                for used in layer["uses"] if used not in before]
        bad += [f"kernel/layers.toml: {name} uses {used}, which a build can leave out"
                for used in layer["uses"] if not layer.get("composes") and
                table.layers[used].get("part") not in (None, layer.get("part"))]
        before.add(name)
    return bad + [f"kernel/{path}: no layer has it (kernel/layers.toml)" for path in sorted(paths)
                  if not table.layer_of(path) and path not in table.everywhere]


def resolve(path, header, paths):
    """The file that an #include means, by the module's search path; None: the kernel's."""
    beside = (pathlib.PurePosixPath(path).parent / header).as_posix()
    parts = []
    for part in beside.split("/"):
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    for candidate in ("/".join(parts), header):
        if candidate in paths:
            return candidate
    return None


def list_includes(contents):
    """(file, line, file that it includes) of all files: path -> text."""
    return [(path, text.count("\n", 0, found.start()) + 1, to)
            for path, text in sorted(contents.items()) for found in INCLUDE.finditer(text)
            for to in [resolve(path, found.group(1), contents)] if to]


def list_calls(objects):
    """(file, file, name): which object refers to which. `objects`: path of the source
    -> what nm says of its object."""
    owner, needs = {}, []
    for path, text in sorted(objects.items()):
        for line in text.splitlines():
            found = SYMBOL.match(line)
            if found and found.group(1) in DEFINED:
                owner[found.group(2)] = path
            elif found and found.group(1) == "U":
                needs.append((path, found.group(2)))
    return [(path, owner[name], name) for path, name in needs
            if owner.get(name, path) != path]


def judge_includes(table, contents):
    """Includes of layers that may not be used, and of what is private to another folder."""
    bad = []
    for path, line, to in list_includes(contents):
        way = table.find_way(path, to)
        if way and not table.may(way):
            bad.append(f"kernel/{path}:{line}: {way[0]} may not include {to} of {way[1]}")
        if to.endswith("_private.h") and pathlib.PurePath(to).parent != pathlib.PurePath(path).parent:
            bad.append(f"kernel/{path}:{line}: {to} is private to its folder")
    return bad


def judge_words(table, contents):
    """Words of a part that a build can leave out, in files that have to work without it."""
    bad, pattern = [], table.words_of_parts()
    for path, text in sorted(contents.items()):
        layer = table.layers.get(table.layer_of(path), {"knows_words": True})
        if layer.get("part") or layer.get("knows_words"):
            continue
        bad += [f"kernel/{path}:{number}: {found.group()} is of a part that may be left out"
                for number, line in enumerate(text.splitlines(), 1)
                for found in [pattern.search(line)] if found]
    return bad


def judge_calls(table, contents, objects):
    """Calls of layers that may not be used, and permissions that no file needs."""
    bad, used = [], set()
    for path, to, name in list_calls(objects):
        way = table.find_way(path, to)
        used.add(way)
        if way and not table.may(way):
            bad.append(f"kernel/{path}: {way[0]} may not call {name} of {way[1]} ({to})")
    used |= {table.find_way(path, to) for path, _, to in list_includes(contents)}
    return bad + [f"kernel/layers.toml: {name} does not use {other}"
                  for name, layer in table.layers.items() for other in layer["uses"]
                  if (name, other) not in used]


def direct_uses(table, name):
    """The layers that a layer uses and does not also reach by another that it uses."""
    below = {}
    for other, layer in table.layers.items():
        below[other] = set(layer["uses"]).union(*(below[used] for used in layer["uses"]))
    uses = table.layers[name]["uses"]
    return [used for used in uses if not any(used in below[other] for other in uses)]


WIDE, GAP_X, GAP_Y, MARGIN = 236, 24, 44, 10
TEXT, LINE, ABOVE_TEXT = 12, 15, 38
STYLE = (f"text {{ font: {TEXT}px sans-serif; fill: #222 }} "
         ".name { font-weight: bold; font-size: 14px } "
         "rect { fill: #eef3f8; stroke: #4a6785 } line { stroke: #8aa0b4 }")
NARROW, BROAD = " !',./:;-()[]fijlrtIJ|", "mwMW%@&#+<>=^~"


def text_width(text, size=TEXT):
    """The width of a text in pixels, at most: as in DejaVu Sans, a broad font."""
    return size * sum(0.42 if c in NARROW else 1.0 if c in BROAD else
                      0.8 if c.isupper() else 0.64 for c in text)


def wrap_text(text):
    """The lines of a text in a box."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer) <= WIDE - 2 * MARGIN:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def place_layers(table, high):
    """Layer -> (x, y) of its box, which is `high`; the bottom layer is at the bottom."""
    rows = {}
    for name, level in table.levels().items():
        rows.setdefault(level, []).append(name)
    most = max(len(row) for row in rows.values())
    place = {}
    for level, row in rows.items():
        left = (most - len(row)) * (WIDE + GAP_X) // 2
        for number, name in enumerate(row):
            place[name] = (GAP_X + left + number * (WIDE + GAP_X),
                           GAP_Y + (len(rows) - 1 - level) * (high + GAP_Y))
    return place


def draw(table):
    """The figure: a box for each layer, a line from it to each layer that it uses directly."""
    texts = {name: wrap_text(layer["what"]) for name, layer in table.layers.items()}
    high = ABOVE_TEXT + LINE * max(map(len, texts.values())) - TEXT // 2
    place = place_layers(table, high)
    width = max(x for x, _ in place.values()) + WIDE + GAP_X
    height = max(y for _, y in place.values()) + high + GAP_Y
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->",
             "<!-- Made of kernel/layers.toml by selftests/lint/layers.py. -->",
             f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
             "<title>Layers of the module; each uses the layers below it that a line leads to</title>",
             f"<style>{STYLE}</style>",
             f'<rect width="{width}" height="{height}" style="fill: white; stroke: none"/>']
    for name, (x, y) in place.items():
        for used in direct_uses(table, name):
            to_x, to_y = place[used]
            lines.append(f'<line x1="{x + WIDE // 2}" y1="{y + high}" '
                         f'x2="{to_x + WIDE // 2}" y2="{to_y}"/>')
    for name, (x, y) in place.items():
        lines.append(f'<rect x="{x}" y="{y}" width="{WIDE}" height="{high}" rx="6"/>')
        lines.append(f'<text class="name" x="{x + MARGIN}" y="{y + 20}">{name}</text>')
        lines += [f'<text x="{x + MARGIN}" y="{y + ABOVE_TEXT + LINE * number}">{line}</text>'
                  for number, line in enumerate(texts[name])]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1])
    (tree / "docs/layers.svg").write_text(
        draw(Table((tree / "kernel/layers.toml").read_text())))
