#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of qemu-scripts/build-step: what of a build the user sees, and what the log
# has. Small shell scripts stand in for ninja, Meson and the kernel's make. Prints TAP. Run
# by the group unit through Meson; writes into temporary folders only.
import os
import pathlib
import pty
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "selftests"))

from runner import tests  # noqa: E402  (path set above)

STEP = TREE / "qemu-scripts/build-step"
WARNING = "a.cpp:3:1: warning: unused [-Wunused]"
MESON = ["The Meson build system", "Version: 1.0.1", "Dependency fmt found: YES"]


def says(lines, status=0):
    """A script that says these lines and ends."""
    words = " ".join(shlex.quote(line) for line in lines)
    return f"printf '%s\\n' {words}; exit {status}"


def play(script, *options, out=subprocess.PIPE):
    """Runs it as a step. Return: exit status, what was shown, what is in the log."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "logs/step.log")
        done = subprocess.run([STEP, *options, "step", log, "sh", "-c", script],
                              stdout=out, stderr=subprocess.STDOUT, check=False)
        shown = (done.stdout or b"").decode().splitlines()
        return done.returncode, shown, log.read_text().splitlines()


def a_quiet_build_is_one_line():
    """However many steps there are, of ninja and of the kernel's make."""
    lines = [f"[{n}/300] Compiling C++ object x{n}.o" for n in range(1, 301)]
    status, shown, log = play(says(lines))
    assert (status, log) == (0, lines), status
    assert len(shown) == 1 and shown[0].startswith("step: 300 of 300, "), shown
    lines = ["make[1]: Entering directory '/x'", "  CC [M]  /x/a.o", "  CC [M]  /x/b.o",
             "  LD [M]  /x/pavo.o", "  MODPOST /x/Module.symvers",
             "  CC [M]  /x/pavo.mod.o",
             "make[1]: Leaving directory '/x'"]
    status, shown, log = play(says(lines), "--of", "9")
    assert (status, log, len(shown)) == (0, lines, 1), shown
    assert shown[0].startswith("step: 2 of 9, "), shown


def a_long_build_says_now_and_then_how_far_it_is():
    """At every step here, since so much time has passed."""
    _, shown, _ = play(says(["[1/3] a", "[2/3] b", "[3/3] c"]), "--every", "0")
    assert [line.rsplit(", ", 1)[0] for line in shown] == [
        "step: 1 of 3", "step: 2 of 3", "step: 3 of 3", "step: 3 of 3"], shown


def nothing_to_do_is_told():
    """Not as a number of steps."""
    _, shown, _ = play(says(["ninja: Entering directory `b'", "ninja: no work to do."]))
    assert shown == ["step: done"], shown


def warnings_are_shown():
    """With the lines around them, also when all is well."""
    around = ["a.cpp: In function f():", WARNING, "    3 | int x;", "      |     ^"]
    status, shown, log = play(says(["[1/2] Compiling a.o", *around, "[2/2] Linking a"]))
    assert status == 0 and shown[:-1] == around, shown
    assert len(log) == 6, log
    text = "WARNING: modpost: missing MODULE_LICENSE()"
    _, shown, _ = play(says(["  CC [M]  /x/a.o", text]))
    assert shown[0] == text, shown


def a_failure_is_shown():
    """Status, reason and where the rest is."""
    text = ["FAILED: a.o", "c++ -c a.cpp", "a.cpp:1: error: no"]
    status, shown, _ = play(says(["[1/9] Compiling b.o", *text], status=3))
    assert status == 3 and shown[:3] == text, shown
    assert "failed" in shown[3] and "logs/step.log" in shown[3], shown
    assert play("kill -TERM $$")[0] == 143


def talk_is_shown_when_it_fails():
    """The last of it, with what was found and what was not."""
    status, shown, _ = play(says([*MESON, "meson.build:3:0: ERROR: no such thing"], 1))
    assert status == 1 and shown[0].endswith("ERROR: no such thing"), shown
    assert f"| {MESON[2]}" in shown, shown


def of_meson_what_matters():
    """By itself, and when ninja starts it anew; then ninja's lines count again."""
    _, shown, log = play(says([*MESON, "WARNING: deprecated"]))
    assert shown == ["WARNING: deprecated", "step: done"], shown
    assert log[:3] == MESON, log
    _, shown, _ = play(says(["[0/1] Regenerating build files.", *MESON,
                             "[1/1] Compiling a.o", WARNING]))
    assert shown[0] == WARNING and len(shown) == 2, shown


def on_a_terminal_the_line_is_live():
    """Each step in its turn on the same line; the log has no colours."""
    ours, theirs = pty.openpty()
    red = "\033[31mred\033[m"
    _, _, log = play(says(["[1/2] Compiling a.o", red, "[2/2] Linking a"]), out=theirs)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    for part in ("\r\033[Kstep: 1 of 2  Compiling a.o", f"\r\033[K{red}\r\n",
                 "\r\033[Kstep: 2 of 2  Linking a"):
        assert part in shown, repr(shown)
    assert log[1] == "red", log


TESTS = (a_quiet_build_is_one_line, a_long_build_says_now_and_then_how_far_it_is,
         nothing_to_do_is_told, warnings_are_shown,
         a_failure_is_shown, talk_is_shown_when_it_fails, of_meson_what_matters,
         on_a_terminal_the_line_is_live)

sys.exit(tests.run("build-step", TESTS))
