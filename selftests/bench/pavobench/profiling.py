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


# Kind of a line: its list, and the bases of its numbers.
KINDS = {"block": ("blocks", 16, 10, 10), "step": ("steps", 16, 16, 10),
         "copy": ("copies", 16, 10), "repeat": ("repeats", 16, 10)}


def sections(path):
    """One Counts for each pair of marks."""
    found = []
    with open(path, encoding="ascii") as file:
        for kind, *words in map(str.split, file):
            if kind == "section":
                found.append(Counts())
            else:
                name, *bases = KINDS[kind]
                getattr(found[-1], name).append(tuple(map(int, words, bases)))
    return found


class Profile:
    """One measurement's blocks with the names of their functions."""

    def __init__(self, counts, symbols, row, driver):
        self.messages, self.size = row["messages"], row["size"]
        self.symbols, self.blocks = symbols, counts.blocks
        self.places, self.stages, self.functions, self.calls = (
            collections.Counter() for _ in range(4))
        self.callers = collections.defaultdict(collections.Counter)
        for address, length, times in counts.blocks:
            function = symbols.function(address)
            self.places[function.place] += length * times
            stage = (stages.stage_of(function, driver) if address >= USER_END else
                     stages.PROGRAMS)
            self.stages[stage] += length * times
            self.functions[function] += length * times
        for source, target, times in counts.steps:
            function, caller = symbols.function(target), symbols.function(source)
            # a loop back to the first block is no call
            if target == function.start and caller != function:
                self.calls[function] += times
                self.callers[function][caller] += times
        self.total = sum(self.places.values())

    def write(self, out, top):
        """Tables by place, by stage and by function."""
        print(f"    all         {self.total / self.messages:10.1f}", file=out)
        for place, count in self.places.most_common():
            if count * 1000 > self.total:
                print(f"    {place:20} {count / self.messages:10.1f}  "
                      f"{100 * count / self.total:5.1f} %", file=out)
        stages.write(out, "instr./msg", 1 / self.messages, self.size, self.stages,
                     self.functions, top, lambda function: (
                         f"{self.calls[function] / self.messages:9.2f} calls/msg from "
                         f"{self._from(function)}"))

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
        cost, times = collections.Counter(), collections.Counter()
        for address, length, count in self.blocks:
            if self.symbols.function(address).place == module:
                cost[address] += length * count
                times[address] += count
        chosen = [address for address, _ in cost.most_common(top)]
        lines = self.symbols.lines(module_file, module, chosen)
        print(f"\n    {'block of ' + module:60} {'instr./msg':>10}  {'times/msg':>9}", file=out)
        for address in chosen:
            print(f"    {lines[address]:60} {cost[address] / self.messages:10.1f}  "
                  f"{times[address] / self.messages:9.2f}", file=out)


def read(results, driver, counts):
    """[(row, Profile)] of the first round of a driver."""
    symbols = Symbols(results.out / f"{driver}.kallsyms",
                      results.out / f"{driver}.maps")
    rows = results.rows(1, driver)
    return [(row, Profile(part, symbols, row, driver))
            for row, part in zip(rows, sections(counts), strict=True)]
