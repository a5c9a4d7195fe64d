# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: which items a change of the tree can affect, and why - by the table of plan.py, by
# the graph that ninja has of programs and includes, and by a scan of includes where ninja
# knows a file not. Called by main.py; reads git, the build folder and the tree.
import os
import pathlib
import re
import subprocess

from . import plan

CODE = (".c", ".cc", ".cpp", ".h", ".hpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
ALWAYS = "anything changed"


class NotKnown(Exception):
    """There is no such revision, or no git; the text says so."""


def _output(command, cwd):
    try:
        done = subprocess.run(command, cwd=cwd, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as problem:
        raise NotKnown(f"{command[0]}: {problem.strerror}") from None
    if done.returncode:
        raise NotKnown(done.stderr.strip() or f"{command[0]}: status {done.returncode}")
    return done.stdout


def changed_files(base, tree):
    """Files that differ from the revision: committed, staged or not, and new ones."""
    revision = _output(["git", "rev-parse", "--verify", "--end-of-options",
                        base + "^{commit}"], tree).strip()
    differ = _output(["git", "diff", "--name-only", "--no-renames", "-z", revision], tree)
    new = _output(["git", "ls-files", "-o", "-z", "--exclude-standard"], tree)
    return sorted(set(filter(None, (differ + new).split("\0"))))


class Graph:
    """What ninja knows: which outputs depend on a file of the tree."""

    def __init__(self, tree, build):
        self.tree, self.build = tree, build
        self.objects = {}
        self.outputs = {}
        if (build / "build.ninja").is_file():
            self._read_includes()

    def _ninja(self, *arguments):
        try:
            return _output(["ninja", "-C", str(self.build), "-t", *arguments], self.tree)
        except NotKnown:
            return ""

    def _read_includes(self):
        target = None
        for line in self._ninja("deps").splitlines():
            if line.startswith("    "):
                path = os.path.relpath(os.path.normpath(self.build / line.strip()),
                                       self.tree)
                self.objects.setdefault(path, set()).add(target)
            elif ": #deps " in line:
                target = line.partition(": #deps ")[0]

    def _query(self, targets):
        """Outputs that need each of the targets directly."""
        unknown = [t for t in targets if t not in self.outputs]
        target = within = None
        for line in self._ninja("query", *unknown).splitlines() if unknown else ():
            if not line.startswith(" "):
                target, within = line.rstrip(":"), False
                self.outputs[target] = set()
            elif line.startswith("  outputs:"):
                within = True
            # other names stand for a set of files, "all" and the like
            elif within and "/" in line:
                self.outputs[target].add(line.strip())
        return {output for t in targets for output in self.outputs.get(t, ())}

    def affected(self, name):
        """All outputs that depend on the file; none if ninja does not know it."""
        found, new = set(), self.objects.get(name, set())
        while new:
            found |= new
            new = self._query(new) - found
        return found

    def ends(self, affected):
        """Those of them that nothing else is made of: programs, mostly."""
        return {output for output in affected if not self._query({output})}


def scan_includes(tree, files):
    """file -> files that include it, taken by the ends of their names."""
    by_name = {}
    for name in files:
        if name.endswith(CODE):
            by_name.setdefault(os.path.basename(name), []).append(name)
    users = {}
    for name in (n for names in by_name.values() for n in names):
        try:
            text = (tree / name).read_text(errors="replace")
        except OSError:
            continue
        for include in INCLUDE.findall(text):
            tail = "/" + re.sub(r"^(\.\./)+", "", include)
            for other in by_name.get(os.path.basename(include), ()):
                if ("/" + other).endswith(tail):
                    users.setdefault(other, set()).add(name)
    return users


def with_users(name, users):
    """The file and all that include it, also by way of others."""
    found, new = {name}, {name}
    while new:
        new = {user for n in new for user in users.get(n, ())} - found
        found |= new
    return found


def _below(name, places):
    """Whether one of the places is the file, or a folder ("/" at the end) with it."""
    return any(name == place or place.endswith("/") and name.startswith(place)
               for place in places)


class Selection:
    """The items that a change can affect. `items` are all, also those that only run when
    asked for, since files of theirs are known files."""

    def __init__(self, items, graph, tree, build, users):
        self.items = items
        self.graph = graph
        self.users = users
        self.places = {item: self._places(item, tree, build) for item in items}

    @staticmethod
    def _places(item, tree, build):
        """(programs, folders) of an item: those of its row, and of its command."""
        programs = list(item.row.programs)
        folders = list(item.row.sources)
        for word in item.program.command:
            path = pathlib.Path(os.path.normpath(
                os.path.join(item.program.cwd, word)))
            if path.is_relative_to(build) and path != build:
                programs.append(str(path.relative_to(build)))
            elif path.is_relative_to(tree) and path != tree:
                folders.append(str(path.parent.relative_to(tree)) + "/")
        return tuple(programs), tuple(folders)

    def _by_folder(self, item, name):
        """For a file that ninja does not know."""
        programs, folders = self.places[item]
        if _below(name, folders):
            return True
        return name.endswith(CODE + ("/meson.build",)) and any(
            os.path.dirname(program) == os.path.dirname(name) for program in programs)

    def _affects(self, item, name, affected):
        if _below(name, item.row.inputs):
            return True
        if affected:
            return any(output.startswith(self.places[item][0]) for output in affected)
        return any(_below(n, item.row.inputs) or self._by_folder(item, n)
                   for n in with_users(name, self.users))

    def _judge(self, name):
        """The items that the file affects, or None: all of them."""
        if _below(name, plan.EVERYTHING):
            return None
        affected = self.graph.affected(name)
        chosen = [item for item in self.items if self._affects(item, name, affected)]
        for output in self.graph.ends(affected):
            if not any(output.startswith(self.places[item][0]) for item in self.items):
                return None
        return chosen or None

    def choose(self, files):
        """item -> why, a file or a sentence."""
        why = {}
        for name in files:
            chosen = self._judge(name)
            reason = name if chosen is not None else f"{name} may change anything"
            for item in self.items if chosen is None else chosen:
                why.setdefault(item, reason)
            for item in self.items:
                if item.row.always:
                    why.setdefault(item, ALWAYS)
        return why


def tell_choice(items, why):
    """Lines for people: one for each group, and one of those left out."""
    lines, left = [], []
    for group in dict.fromkeys(item.group for item in items):
        mine = [item for item in items if item.group == group]
        chosen = [item for item in mine if item in why]
        if not chosen:
            left.append(group)
            continue
        part = f" ({len(chosen)} of {len(mine)})" if len(chosen) < len(mine) else ""
        reasons = list(dict.fromkeys(why[item] for item in chosen))
        more = f" and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        lines.append(f"  {group}{part}: {reasons[0]}{more}")
    if left:
        lines.append(f"  not affected: {', '.join(left)}")
    return lines
