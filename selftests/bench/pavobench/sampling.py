# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: samples of a guest at native speed turned into tables: time of a message by stage and by
# function. Called by ../profile; runs perf on the host, which sees a kernel in User-Mode Linux as
# a process like any other.
import collections
import contextlib
import shutil
import subprocess

from . import stages
from .symbols import Kernel

FREQUENCY = 2999        # samples a second; each stops the guest for a moment
HOST_START = 1 << 63    # the host's kernel lies above
GUEST_END = 1 << 40     # the guest's kernel and its modules lie below

HOST = "host: ptrace, signals, sleep"


class Missing(Exception):
    """The host has no perf, or does not allow it."""


@contextlib.contextmanager
def recording(path):
    """Samples all of the host's CPUs meanwhile."""
    if not shutil.which("perf"):
        raise Missing("perf is not installed (linux-perf)")
    line = ["perf", "record", "--quiet", "--all-cpus", "--output", str(path),
            "--freq", str(FREQUENCY), "--event", "cpu-clock",
            "--clockid", "CLOCK_REALTIME", "--", "sleep", "infinity"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as perf:
        try:
            yield
        finally:
            perf.terminate()
            said = perf.communicate()[1]
    if not path.exists():
        raise Missing(f"perf recorded nothing: {said.strip()}")


def _samples(path, name):
    """(time in ns, address) of all samples of the processes with a name."""
    line = ["perf", "script", "--input", str(path), "--comms", name, "--ns",
            "--fields", "time,ip"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as perf:
        for text in perf.stdout:
            words = text.replace(":", " ").split()
            if len(words) >= 2:
                seconds, fraction = words[0].split(".")
                yield (int(seconds) * 10**9 + int(fraction.ljust(9, "0")),
                       int(words[1], 16))
    if perf.returncode:
        raise Missing("perf cannot read its own file")


class Profile:
    """One row's samples by stage and by function."""

    def __init__(self, row):
        self.row = row
        self.stages = collections.Counter()
        self.functions = collections.Counter()

    def has(self, time):
        """Was the row measured then?"""
        return 0 <= time - self.row["began_ns"] <= self.row["total_ns"]

    def count(self, stage, function=None):
        """One more sample."""
        self.stages[stage] += 1
        if function:
            self.functions[function] += 1

    def write(self, out, top):
        """Tables by stage and by function."""
        total = sum(self.stages.values())
        if not total:
            print("    no samples: the row was too short", file=out)
            return
        row = self.row
        each = row["total_ns"] / row["messages"]
        print(f"    {'stage':28} {'ns/message':>10} {'ps/byte':>9} {'share':>7}"
              f"   ({total} samples)", file=out)
        for stage, count in self.stages.most_common():
            part = each * count / total
            print(f"    {stage:28} {part:10.1f} {1000 * part / row['size']:9.1f}"
                  f" {100 * count / total:5.1f} %", file=out)
        print(f"\n    {'function':48} {'ns/message':>10} {'share':>7}", file=out)
        for function, count in self.functions.most_common(top):
            name = f"{function.name} [{function.place}]"
            print(f"    {name:48} {each * count / total:10.1f}"
                  f" {100 * count / total:5.1f} %", file=out)


def read(results, driver, path):
    """A Profile for each row of the first round."""
    kernel = Kernel(results.out / f"{driver}.kallsyms")
    profiles = [Profile(row) for row in results.rows(1, driver) if "began_ns" in row]
    for time, address in _samples(path, "linux"):
        for profile in profiles:
            if not profile.has(time):
                continue
            function = kernel.function(address) if address < GUEST_END else None
            if function:
                profile.count(stages.stage_of(function, driver), function)
            else:
                profile.count(HOST if address >= HOST_START else stages.PROGRAMS)
    return profiles
