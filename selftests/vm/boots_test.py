#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the boots of a machine (qemu-scripts/pavovm/guest.py): which ends make it boot
# again, how often, and what its verdict says of that. Processes are played. Prints TAP. Run
# by the group unit through Meson; writes into temporary folders only.
import pathlib
import sys
import tempfile
import types

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "qemu-scripts")]

from pavovm import guest  # noqa: E402  (path set above)
from runner import tests  # noqa: E402


class Played:
    """A process that has ended with @status, or runs (None)."""

    pid = -1

    def __init__(self, status):
        self.returncode = status

    def poll(self):
        return self.returncode


class Machine(guest.Guest):
    """Each of its boots is a name of this file: lost, clock, up."""

    def __init__(self, folder, boots):
        settings = types.SimpleNamespace(accel="tcg", timeout=1000.0, allow=())
        super().__init__(settings, 1, 1, folder, folder / "share", None)
        self.own.mkdir(parents=True)
        self.planned = list(boots)
        self.start()

    def start(self):
        boot = self.planned.pop(0)
        self.started = self.spoke = guest.time.monotonic()
        self.process = Played(-9 if boot == "lost" else None)
        self.console.write_text("Linux version\n" if boot != "clock" else "clock\n")
        if boot == "up":
            (self.own / "booted").write_text("1.0")

    def _kill(self):
        pass


def played(*boots):
    """The verdict of a machine with these boots, and whether it came up."""
    guest.console.wrong_clock = lambda lines: "clock" in lines
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(pathlib.Path(folder), boots)
        while machine.running() and not machine.booted():
            pass
        up = machine.booted()
        if up:
            machine.process = Played(0)
        return machine.verdict(), up


def a_lost_boot_is_repeated():
    """Twice; the third that is lost is final."""
    verdict, up = played("lost", "up")
    assert up and verdict.boots == 2 and verdict.boots_again == ["lost"]
    verdict, up = played("lost", "lost", "lost", "up")
    assert not up and verdict.boots == 3


def a_busy_host_takes_no_attempt_of_a_lost_boot():
    """A clock that was measured wrong is another reason."""
    verdict, up = played("clock", "clock", "lost", "lost", "up")
    assert up and verdict.boots == 5
    assert verdict.boots_again.count("lost") == 2
    verdict, up = played("lost", "clock", "lost", "clock", "lost", "up")
    assert not up and verdict.boots == 5


def a_wrong_clock_is_borne_in_the_end():
    """It is a nuisance, and no reason to run nothing."""
    verdict, up = played(*["clock"] * 4, "up")
    assert up and verdict.boots_again == ["wrong clock"] * 4


sys.exit(tests.run("boots", (a_lost_boot_is_repeated,
                             a_busy_host_takes_no_attempt_of_a_lost_boot,
                             a_wrong_clock_is_borne_in_the_end)))
