# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the counter's file turned into tables: instructions per message by
# place, by function, and for one module by block of code. Called by ../profile.
import collections

from .symbols import Symbols


def sections(path):
    """The blocks between each pair of marks: [(address, length, times)]."""
    found = []
    for line in open(path, encoding="ascii"):
        if line.startswith("section"):
            found.append([])
            continue
        address, length, times = line.split()
        found[-1].append((int(address, 16), int(length), int(times)))
    return found


class Profile:
    """One measurement's blocks with the names of their functions."""

    def __init__(self, blocks, symbols, messages):
        self.messages = messages
        self.symbols = symbols
        self.blocks = blocks
        self.places = collections.Counter()
        self.functions = collections.Counter()
        self.calls = collections.Counter()
        for address, length, times in blocks:
            function = symbols.function(address)
            key = (function.place, function.name)
            self.places[function.place] += length * times
            self.functions[key] += length * times
            if address == function.start:
                self.calls[key] += times
        self.total = sum(self.places.values())

    def _each(self, count):
        return f"{count / self.messages:10.1f}  {100 * count / self.total:5.1f} %"

    def write(self, out, top):
        """Tables by place and by function."""
        print(f"    all         {self._each(self.total)}", file=out)
        for place, count in self.places.most_common():
            if count * 1000 > self.total:
                print(f"    {place:20} {self._each(count)}", file=out)
        print(f"\n    {'function':48} {'instr./msg':>10}  {'share':>7}"
              f"  {'calls/msg':>9}", file=out)
        for key, count in self.functions.most_common(top):
            name = f"{key[1]} [{key[0]}]"
            print(f"    {name:48} {self._each(count)}  "
                  f"{self.calls[key] / self.messages:9.2f}", file=out)

    def write_blocks(self, out, module_file, module, top):
        """The blocks of one module that cost most, with their lines."""
        cost = collections.Counter()
        times = collections.Counter()
        for address, length, count in self.blocks:
            if self.symbols.function(address).place == module:
                cost[address] += length * count
                times[address] += count
        chosen = [address for address, _ in cost.most_common(top)]
        lines = self.symbols.lines(module_file, module, chosen)
        print(f"\n    {'block of ' + module:60} {'instr./msg':>10}  "
              f"{'share':>7}  {'times/msg':>9}", file=out)
        for address in chosen:
            print(f"    {lines[address]:60} {self._each(cost[address])}  "
                  f"{times[address] / self.messages:9.2f}", file=out)


def read(results, driver, counts):
    """[(row, Profile)] of the first round of a driver."""
    symbols = Symbols(results.out / f"{driver}.kallsyms",
                      results.out / f"{driver}.maps")
    rows = results.rows(1, driver)
    return [(row, Profile(blocks, symbols, row["messages"]))
            for row, blocks in zip(rows, sections(counts), strict=True)]
