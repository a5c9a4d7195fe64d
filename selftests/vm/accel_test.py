#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the choice between KVM and emulation (qemu-scripts/pavovm/accel.py), with
# a program in QEMU's place whose trial boot succeeds, fails or hangs. Prints TAP. Run by
# the group unit through Meson; writes into temporary folders only.
import contextlib
import os
import pathlib
import sys
import tempfile
import types

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "qemu-scripts")]

from pavovm import accel  # noqa: E402  (path set above)
from runner import tests  # noqa: E402

# Keeps its arguments, and does to the console what the test says.
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" >"$PLAYED/arguments"
echo tried >>"$PLAYED/trials"
console=$(sed -n 's/^file://p' "$PLAYED/arguments")
echo $$ >"$PLAYED/pid"
{behaviour}
"""
BOOTS = f'echo "[    1.0] {accel.MARK}" >"$console"'
PANICS = 'echo "[    1.0] Kernel panic" >"$console"; exit 1'
SILENT = "exit 0"
# It got there, and ends never: neither does what a guest would do next.
HANGS = f"{BOOTS}; exec sleep 1000"


def kernel(stamp="image of today"):
    """As kernels.py has them."""
    return types.SimpleNamespace(release="6.1.0-test", image="/boot/test",
                                 stamp=lambda: stamp)


class World:
    """A cache and a QEMU of its own, a usable /dev/kvm or none."""

    def __init__(self, folder, patience):
        self.folder = folder
        self.patience = patience
        self.told = []
        self.usable = True
        self.boot = "this boot"
        os.environ.update(PAVO_CACHE=str(folder / "cache"), PLAYED=str(folder),
                          PATH=f"{folder}:{os.environ['PATH']}")
        accel.TRIAL_SECONDS = patience
        accel._usable_device = lambda: self.usable
        accel.boot_id = lambda: self.boot

    def plays(self, behaviour):
        """From here on QEMU does that."""
        program = self.folder / "qemu-system-x86_64"
        program.write_text(STAND_IN.format(behaviour=behaviour))
        program.chmod(0o755)

    def choose(self, wanted="auto", chosen=None):
        """What is chosen."""
        return accel.choose(chosen or kernel(), "/initrd", wanted, self.told.append)

    def trials(self):
        """How often QEMU was started."""
        file = self.folder / "trials"
        return len(file.read_text().splitlines()) if file.exists() else 0


@contextlib.contextmanager
def world(patience=60):
    """Patience in seconds: what is to succeed has much, what hangs little."""
    kept = dict(os.environ), accel.TRIAL_SECONDS, accel._usable_device, accel.boot_id
    with tempfile.TemporaryDirectory() as folder:
        yield World(pathlib.Path(folder), patience)
    os.environ.clear()
    os.environ.update(kept[0])
    accel.TRIAL_SECONDS, accel._usable_device, accel.boot_id = kept[1:]


def what_is_wanted_is_not_tried():
    """Nor is KVM where there is no device."""
    with world() as here:
        here.plays(BOOTS)
        assert here.choose("kvm") == "kvm" and here.choose("tcg") == "tcg"
        here.usable = False
        assert here.choose() == "tcg"
        assert here.trials() == 0 and not here.told


def a_boot_that_succeeds_is_kvm():
    """By KVM, of that kernel; who waits is told."""
    with world() as here:
        here.plays(BOOTS)
        assert here.choose() == "kvm"
        words = (here.folder / "arguments").read_text().splitlines()
        assert words[words.index("-accel") + 1] == "kvm"
        assert words[words.index("-kernel") + 1] == "/boot/test"
        assert words[words.index("-initrd") + 1] == "/initrd"
        assert "6.1.0-test" in here.told[0] and here.told[1] == "KVM works"


def a_boot_that_fails_is_emulation():
    """Whatever its status: what counts is how far the kernel came."""
    for behaviour in (PANICS, SILENT):
        with world() as here:
            here.plays(behaviour)
            assert here.choose() == "tcg"
            assert here.trials() == 1 and "emulating" in here.told[1]


def a_boot_that_hangs_is_emulation():
    """It is ended, though it came far."""
    with world(patience=3) as here:
        here.plays(HANGS)
        assert here.choose() == "tcg" and here.trials() == 1
        pid = (here.folder / "pid").read_text().strip()
        assert not pathlib.Path("/proc", pid).exists(), "it still runs"


def without_qemu_it_is_emulation():
    """Others say what is missing."""
    with world() as here:
        os.environ["PATH"] = str(here.folder)
        assert here.choose() == "tcg"


def the_answer_is_kept():
    """For that kernel and that boot of the host, right or wrong."""
    for behaviour, other, answer in ((BOOTS, PANICS, "kvm"), (PANICS, BOOTS, "tcg")):
        with world() as here:
            here.plays(behaviour)
            here.choose()
            here.plays(other)
            assert here.choose() == answer and here.trials() == 1
            other_answer = "tcg" if answer == "kvm" else "kvm"
            assert here.choose(chosen=kernel("image of tomorrow")) == other_answer
            here.boot = "the next boot"
            assert here.choose() == other_answer and here.trials() == 3


TESTS = (what_is_wanted_is_not_tried, a_boot_that_succeeds_is_kvm,
         a_boot_that_fails_is_emulation, a_boot_that_hangs_is_emulation,
         without_qemu_it_is_emulation, the_answer_is_kept)

sys.exit(tests.run("KVM or emulation", TESTS))
