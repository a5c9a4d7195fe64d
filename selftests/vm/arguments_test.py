#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the arguments of pavo-vm: wrong ones have status 244 and a sentence that names
# the argument, and no machine is started; kernel arguments are no parameters of a module.
# Folders of runs are kept as long as they are needed. Prints TAP. Run by the group unit through Meson.
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "selftests"), str(TREE / "qemu-scripts")]

from pavovm import cli  # noqa: E402  (path set above)
from runner import tests  # noqa: E402

VM = TREE / "qemu-scripts/pavo-vm"
# A process that takes a folder for a run, says which, and ends with its input
TAKE_FOLDER = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from pavovm import cli
print(cli._cached_run_folder(), flush=True)
sys.stdin.read()
"""


def refuses(argument, value, reason):
    """A run with that argument says so, and has the status of wrong use."""
    done = subprocess.run([VM, "run", f"{argument}={value}", "true"], text=True,
                          capture_output=True, check=False, timeout=60)
    assert done.returncode == 244, f"{argument} {value}: status {done.returncode}"
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"pavo-vm run: argument {argument}: '{value}' is not "), last
    assert reason in last and "Traceback" not in done.stderr, done.stderr


def numbers_are_positive():
    """Processors and seconds."""
    for value in ("-1", "0", "many", "1.5", ""):
        refuses("--smp", value, "a number of 1 or more")
    for value in ("-5", "0", "nan", "inf", "five"):
        refuses("--timeout", value, "a number of seconds above 0")


def memory_is_a_size():
    """With a unit or without."""
    for value in ("banana", "0", "2T", "1.5G", "G"):
        refuses("--mem", value, "a size (2G, 700M)")


def expressions_are_valid():
    """A line of a console is compared much later."""
    refuses("--allow-console", "(", "a regular expression: ")


def version_is_that_of_all():
    """One place for the number."""
    said = subprocess.run([VM, "--version"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    wanted = re.search(r"^PAVO_VERSION := (.*)$", (TREE / "Kbuild").read_text(), re.M)[1]
    assert said == f"pavo-vm {wanted}\n", said


def kernel_arguments_name_no_module():
    """modprobe pavo would take pavo.node=1 for a parameter of the module."""
    for source in (TREE / "qemu-scripts").rglob("*"):
        if source.is_file() and source.suffix != ".pyc":
            text = source.read_bytes().decode(errors="replace")
            assert not re.search(r"\bpavo\.(node|share|modules|host)=", text), source


def folders_of_runs_under_way_stay():
    """Of older runs only the newest are kept, but one that has not ended keeps its own."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PAVO_CACHE"] = cache
        under_way = subprocess.Popen([sys.executable, "-c", TAKE_FOLDER, TREE / "qemu-scripts"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = pathlib.Path(under_way.stdout.readline().strip())
        ended = first.with_name("00000000-ended")
        ended.mkdir()
        for number in range(2 * cli.RUNS_KEPT):
            first.with_name(f"99999999-{number:06}").mkdir()
        cli._cached_run_folder()
        assert first.is_dir() and not ended.exists()
        under_way.communicate("end\n")
        cli._cached_run_folder()
        assert not first.exists()
        assert len(list(first.parent.glob("9*"))) == cli.RUNS_KEPT


TESTS = (folders_of_runs_under_way_stay, numbers_are_positive, memory_is_a_size, expressions_are_valid,
         version_is_that_of_all, kernel_arguments_name_no_module)

sys.exit(tests.run("arguments of pavo-vm", TESTS))
