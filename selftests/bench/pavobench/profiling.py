# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the counter's file turned into tables: instructions per message by
# place, by stage, by function, and for one module by block of code. Called by ../profile
# and direct.py.
import collections

from . import stages
from .symbols import USER_END, Symbols

CALLERS = 5     # shown
JUMP = 4        # instructions of a function that only jumps on


class Counts:
    """What was counted between one pair of marks."""

    def __init__(self):
        self.blocks = []        # (address, instructions, times)
        self.steps = []         # (from address, to address, times)
        self.copies = []        # (address, bytes)
        self.repeats = []       # (address, times)


def sections(path):
    """One Counts for each pair of marks."""
    found = []
    for line in open(path, encoding="ascii"):
        kind, *words = line.split()
        if kind == "section":
            found.append(Counts())
        elif kind == "block":
            found[-1].blocks.append((int(words[0], 16), int(words[1]),
                                     int(words[2])))
        elif kind == "repeat":
            found[-1].repeats.append((int(words[0], 16), int(words[1])))
        elif kind == "copy":
            found[-1].copies.append((int(words[0], 16), int(words[1])))
        else:
            found[-1].steps.append((int(words[0], 16), int(words[1], 16),
                                    int(words[2])))
    return found


class Profile:
    """One measurement's blocks with the names of their functions."""

    def __init__(self, counts, symbols, row, driver):
        self.messages = row["messages"]
        self.size = row["size"]
        self.symbols = symbols
        self.blocks = counts.blocks
        self.places = collections.Counter()
        self.stages = collections.Counter()
        self.functions = collections.Counter()
        self.calls = collections.Counter()
        self.callers = collections.defaultdict(collections.Counter)
        for address, length, times in counts.blocks:
            function = symbols.function(address)
            self.places[function.place] += length * times
            stage = (stages.stage_of(function, driver) if address >= USER_END else
                     stages.PROGRAMS)
            self.stages[stage] += length * times
            self.functions[function] += length * times
        for source, target, times in counts.steps:
            function = symbols.function(target)
            if target != function.start:
                continue
            caller = symbols.function(source)
            # a loop back to the first block is no call
            if caller != function:
                self.calls[function] += times
                self.callers[function][caller] += times
        self.total = sum(self.places.values())

    def _each(self, count):
        return f"{count / self.messages:10.1f}  {100 * count / self.total:5.1f} %"

    def write(self, out, top):
        """Tables by place, by stage and by function."""
        print(f"    all         {self._each(self.total)}", file=out)
        for place, count in self.places.most_common():
            if count * 1000 > self.total:
                print(f"    {place:20} {self._each(count)}", file=out)
        print(f"\n    {'stage':28} {'instr./msg':>10}  {'share':>7}  {'per byte':>8}", file=out)
        for stage, count in self.stages.most_common():
            print(f"    {stage:28} {self._each(count)}  "
                  f"{count / self.messages / self.size:8.3f}", file=out)
        print(f"\n    {'function':44} {'instr./msg':>10}  {'share':>7}"
              f"  {'calls/msg':>9}  from", file=out)
        for function, count in self.functions.most_common(top):
            name = f"{function.name} [{function.place}]"
            print(f"    {name:44} {self._each(count)}  "
                  f"{self.calls[function] / self.messages:9.2f}  "
                  f"{self._from(function)}", file=out)

    def _real_callers(self, function):
        """Past functions that only jump on, as memset() does."""
        while len(self.callers[function]) == 1:
            only = next(iter(self.callers[function]))
            if self.functions[only] > JUMP * self.calls[function]:
                break
            function = only
        return self.callers[function]

    def _from(self, function):
        """The callers that matter."""
        return ", ".join(
            f"{caller.name} {times / self.messages:.3g}" for caller, times
            in self._real_callers(function).most_common(CALLERS)
            if times * 50 > self.calls[function])

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
    return [(row, Profile(part, symbols, row, driver))
            for row, part in zip(rows, sections(counts), strict=True)]
