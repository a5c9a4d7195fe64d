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

    def write(self, out, top):
        """Tables by stage and by function."""
        total = self.stages.total()
        if not total:
            print("    no samples: the row was too short", file=out)
            return
        print(f"    {total} samples", file=out)
        stages.write(out, "ns/message", self.row["total_ns"] / self.row["messages"] / total,
                     self.row["size"], self.stages, self.functions, top)


def read(results, driver, path):
    """[(row, Profile)] of the first round."""
    kernel = Kernel(results.out / f"{driver}.kallsyms")
    profiles = [Profile(row) for row in results.rows(1, driver) if "began_ns" in row]
    for time, address in _samples(path, "linux"):
        for profile in [profile for profile in profiles if profile.has(time)]:
            function = kernel.function(address) if address < GUEST_END else None
            if function:
                profile.stages[stages.stage_of(function, driver)] += 1
                profile.functions[function] += 1
            else:
                profile.stages[HOST if address >= HOST_START else stages.PROGRAMS] += 1
    return [(profile.row, profile) for profile in profiles]
