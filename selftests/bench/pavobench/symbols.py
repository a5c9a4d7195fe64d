# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: from an address of a guest to the function it belongs to. Called by
# profiling.py; reads the guest's kallsyms and memory map, runs nm and addr2line.
import bisect
import collections
import functools
import pathlib
import re
import subprocess

USER_END = 1 << 47

# start: where the function begins; place: module, library or program
Function = collections.namedtuple("Function", "start place name")


def _nm(path):
    """Code symbols of a file, (address, name), sorted."""
    done = subprocess.run(["nm", "-C", "--defined-only", path], text=True,
                          capture_output=True, check=False)
    found = []
    for line in done.stdout.splitlines():
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[1] in "tTwW":
            found.append((int(words[0], 16), words[2]))
    return sorted(found)


class Kernel:
    """A kernel and its modules."""

    def __init__(self, kallsyms):
        self.symbols = []
        for line in pathlib.Path(kallsyms).read_text().splitlines():
            words = line.split()
            if words[1] not in "tTwW":
                continue
            place = words[3].strip("[]") if len(words) > 3 else "kernel"
            self.symbols.append((int(words[0], 16), place, words[2]))
        self.symbols.sort()
        self.addresses = [entry[0] for entry in self.symbols]

    @functools.lru_cache(maxsize=None)
    def function(self, address):
        """The function an address lies in; None in front of the first one."""
        at = bisect.bisect_right(self.addresses, address) - 1
        return Function(*self.symbols[at]) if at >= 0 else None

    @functools.lru_cache(maxsize=None)
    def start(self, name):
        """Where a function of the kernel proper begins, or None."""
        return next((address for address, place, other in self.symbols
                     if other == name and place == "kernel"), None)


class Symbols:
    """Kernel, modules and the measuring program with its libraries."""

    def __init__(self, kallsyms, maps):
        self.kernel = Kernel(kallsyms)
        self.files = self._mapped(maps)
        self.tables = {}

    @staticmethod
    def _mapped(maps):
        """(lowest, end, path) of every file in the program's memory."""
        extent = {}
        for line in pathlib.Path(maps).read_text().splitlines():
            words = line.split(maxsplit=5)
            if len(words) < 6 or not words[5].startswith(("/", "[vdso")):
                continue
            low, high = (int(x, 16) for x in words[0].split("-"))
            old = extent.get(words[5], (low, high))
            extent[words[5]] = (min(low, old[0]), max(high, old[1]))
        return [(low, high, path) for path, (low, high) in extent.items()]

    @functools.lru_cache(maxsize=None)
    def function(self, address):
        """The function an address lies in."""
        if address >= USER_END:
            return self.kernel.function(address)
        for low, high, path in self.files:
            if low <= address < high:
                return self._user(path, low, address)
        return Function(0, "other programs", "?")

    def _user(self, path, low, address):
        place = pathlib.Path(path).name
        if path not in self.tables:
            self.tables[path] = _nm(path)
        table = self.tables[path]
        at = bisect.bisect_right(table, (address - low, "\x7f")) - 1
        if at < 0:
            return Function(low, place, "(no symbols)")
        start, name = table[at]
        return Function(low + start, place, re.sub(r"\(.*", "", name))

    def lines(self, module_file, module, addresses):
        """{address: "function at file:line"} with what was inlined."""
        mine = {name: start for start, place, name in self.kernel.symbols
                if place == module}
        pairs = [(mine[name] - at, name) for at, name in _nm(module_file)
                 if name in mine]
        # .text only: the difference most symbols have
        base = collections.Counter(d for d, _ in pairs).most_common(1)[0][0]
        result = {}
        text = "".join(f"{address - base:#x}\n" for address in addresses)
        done = subprocess.run(["addr2line", "-f", "-s", "-e", module_file],
                              input=text, text=True, capture_output=True,
                              check=True).stdout.splitlines()
        for i, address in enumerate(addresses):
            where = re.sub(r" \(discr.*", "", done[2 * i + 1])
            result[address] = f"{done[2 * i]} at {where}"
        return result
