# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The rooms of the module (kernel/rooms.toml): which room includes and calls which, and the
# figure of them, docs/rooms.svg. Called by run. By hand: rooms.py TREE writes the figure.
import pathlib
import re
import sys
import textwrap
import tomllib

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# A line of nm: value or blanks, kind, name.
SYMBOL = re.compile(r"^[0-9a-f ]*([A-Za-z]) (\S+)$")
DEFINED = "TDBRVW"


class Table:
    """What kernel/rooms.toml says. Files are named by their path from kernel/."""

    def __init__(self, text):
        data = tomllib.loads(text)
        self.rooms = {room["name"]: room for room in data["room"]}
        self.everywhere = tuple(f for part in data.get("everywhere", ()) for f in part["files"])
        self.knots = [(knot["from"], knot["to"]) for knot in data.get("knot", ())]

    def room_of(self, path):
        """The room of a file, or None. A longer name in the table goes first."""
        found = [(len(prefix), name) for name, room in self.rooms.items()
                 for prefix in room["files"] if path.startswith(prefix)]
        return max(found)[1] if found else None

    def is_knot(self, path, to):
        """Whether the table excepts this way up."""
        return any(path.startswith(a) and to.startswith(b) for a, b in self.knots)

    def find_way(self, path, to):
        """The way from a file to another as (room, room), or None: it is of no interest."""
        if path in self.everywhere or to in self.everywhere or self.is_knot(path, to):
            return None
        rooms = self.room_of(path), self.room_of(to)
        return None if rooms[0] == rooms[1] or None in rooms else rooms

    def may(self, way):
        """Whether a room may use the other."""
        return way[1] in self.rooms[way[0]]["uses"]

    def levels(self):
        """Room -> how many rooms are below it, on the longest way down."""
        level = {}
        for name, room in self.rooms.items():
            level[name] = 1 + max((level[used] for used in room["uses"]), default=-1)
        return level


def check_table(table, paths):
    """Each file has a room, and rooms use those that stand before them only."""
    bad, before = [], set()
    for name, room in table.rooms.items():
        bad += [f"kernel/rooms.toml: {name} uses {used}, which does not stand before it"
                for used in room["uses"] if used not in before]
        before.add(name)
    return bad + [f"kernel/{path}: no room has it (kernel/rooms.toml)" for path in sorted(paths)
                  if not table.room_of(path) and path not in table.everywhere]


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
    """Includes of rooms that may not be used, and of what is private to another folder."""
    bad = []
    for path, line, to in list_includes(contents):
        way = table.find_way(path, to)
        if way and not table.may(way):
            bad.append(f"kernel/{path}:{line}: {way[0]} may not include {to} of {way[1]}")
        if to.endswith("_private.h") and pathlib.PurePath(to).parent != pathlib.PurePath(path).parent:
            bad.append(f"kernel/{path}:{line}: {to} is private to its folder")
    return bad


def judge_calls(table, contents, objects):
    """Calls of rooms that may not be used, and permissions that no file needs."""
    bad, used = [], set()
    for path, to, name in list_calls(objects):
        way = table.find_way(path, to)
        used.add(way)
        if way and not table.may(way):
            bad.append(f"kernel/{path}: {way[0]} may not call {name} of {way[1]} ({to})")
    used |= {table.find_way(path, to) for path, _, to in list_includes(contents)}
    return bad + [f"kernel/rooms.toml: {name} does not use {other}"
                  for name, room in table.rooms.items() for other in room["uses"]
                  if (name, other) not in used]


def direct_uses(table, name):
    """The rooms that a room uses and does not also reach by another that it uses."""
    below = {}
    for other, room in table.rooms.items():
        below[other] = set(room["uses"]).union(*(below[used] for used in room["uses"]))
    uses = table.rooms[name]["uses"]
    return [used for used in uses if not any(used in below[other] for other in uses)]


WIDE, HIGH, GAP_X, GAP_Y = 200, 84, 24, 44
STYLE = ("text { font: 12px sans-serif; fill: #222 } .name { font-weight: bold; font-size: 14px } "
         "rect { fill: #eef3f8; stroke: #4a6785 } line { stroke: #8aa0b4 }")


def place_rooms(table):
    """Room -> (x, y) of its box; the bottom room is at the bottom."""
    rows = {}
    for name, level in table.levels().items():
        rows.setdefault(level, []).append(name)
    most = max(len(row) for row in rows.values())
    place = {}
    for level, row in rows.items():
        left = (most - len(row)) * (WIDE + GAP_X) // 2
        for number, name in enumerate(row):
            place[name] = (GAP_X + left + number * (WIDE + GAP_X),
                           GAP_Y + (len(rows) - 1 - level) * (HIGH + GAP_Y))
    return place


def draw(table):
    """The figure: a box for each room, a line from it to each room that it uses directly."""
    place = place_rooms(table)
    width = max(x for x, _ in place.values()) + WIDE + GAP_X
    height = max(y for _, y in place.values()) + HIGH + GAP_Y
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->",
             "<!-- Made of kernel/rooms.toml by selftests/lint/rooms.py. -->",
             f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
             "<title>Rooms of the module; each uses those below it that it has a line to</title>",
             f"<style>{STYLE}</style>",
             f'<rect width="{width}" height="{height}" style="fill: white; stroke: none"/>']
    for name, (x, y) in place.items():
        for used in direct_uses(table, name):
            to_x, to_y = place[used]
            lines.append(f'<line x1="{x + WIDE // 2}" y1="{y + HIGH}" '
                         f'x2="{to_x + WIDE // 2}" y2="{to_y}"/>')
    for name, (x, y) in place.items():
        lines.append(f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6"/>')
        lines.append(f'<text class="name" x="{x + 10}" y="{y + 20}">{name}</text>')
        for number, line in enumerate(textwrap.wrap(table.rooms[name]["what"], 30)):
            lines.append(f'<text x="{x + 10}" y="{y + 38 + 15 * number}">{line}</text>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1])
    (tree / "docs/rooms.svg").write_text(
        draw(Table((tree / "kernel/rooms.toml").read_text())))
