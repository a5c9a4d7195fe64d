#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the arguments of pavo-vm: wrong ones have status 244 and a sentence that names
# the argument, and no machine is started; kernel arguments are no parameters of a module.
# Prints TAP. Run by the group unit through Meson; touches nothing.
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "selftests"))

from runner import tests  # noqa: E402  (path set above)

VM = TREE / "qemu-scripts/pavo-vm"


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


TESTS = (numbers_are_positive, memory_is_a_size, expressions_are_valid,
         version_is_that_of_all, kernel_arguments_name_no_module)

sys.exit(tests.run("arguments of pavo-vm", TESTS))
