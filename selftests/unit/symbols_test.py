#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The symbols of libpavo: all of the version of its interface, those of the list
# (userspace/libpavo/libpavo.symbols) and no others, none of classes that are no part of the
# interface. Prints TAP. Run by the group unit through Meson.
# usage: symbols_test.py LIBRARY [--update]
#   --update: writes the list of what LIBRARY has
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "selftests"))

from runner import tests  # noqa: E402  (path set above)

LIST = TREE / "userspace/libpavo/libpavo.symbols"
MAP = TREE / "userspace/libpavo/libpavo.map"
HEADERS = TREE / "userspace/libpavo/include/pavo"


def exported():
    """Name -> version of each symbol of the library."""
    text = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    words = (line.split()[1:] for line in text.splitlines())
    # The version itself is an absolute symbol. Weak ones are functions of headers, as far as
    # this compiler did not inline them; programs have their own.
    return dict(name.partition("@")[::2] for kind, name in words if kind not in "AWVu")


def listed():
    """The list, and the comment above it."""
    lines = LIST.read_text().splitlines()
    return [line for line in lines if not line.startswith("#")], \
        [line for line in lines if line.startswith("#")]


def readable(names):
    """As a person writes them."""
    return subprocess.run(["c++filt"], input="\n".join(sorted(names)), check=True,
                          text=True, stdout=subprocess.PIPE).stdout.split("\n")


def none_is_lost():
    """A program that uses it would not start with this libpavo.so.1."""
    lost = set(listed()[0]) - set(exported())
    assert not lost, readable(lost)


def new_ones_are_listed():
    """The next release has to keep them."""
    new = set(exported()) - set(listed()[0])
    assert not new, f"add with --update: {readable(new)}"


def all_have_the_version():
    """That of the library's name."""
    number = pathlib.Path(sys.argv[1]).name.rpartition(".")[2]
    others = {name for name, version in exported().items()
              if version.lstrip("@") != f"PAVO_{number}"}
    assert not others, readable(others)


def classes_are_the_interfaces():
    """The version script names classes that headers define."""
    text = "".join(header.read_text() for header in HEADERS.iterdir())
    for name in re.findall(r"pavo::([A-Z]\w*)::\*", MAP.read_text()):
        assert re.search(rf"^(?:class|struct) (?:\S+ )?{name}\b[^;]*{{", text, re.M), name


TESTS = (none_is_lost, new_ones_are_listed, all_have_the_version, classes_are_the_interfaces)

if sys.argv[2:] == ["--update"]:
    LIST.write_text("\n".join(listed()[1] + sorted(exported())) + "\n")
    sys.exit(0)
sys.exit(tests.run("symbols", TESTS))
