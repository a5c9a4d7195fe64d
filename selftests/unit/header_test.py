#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The headers that are installed, as programs of others compile them: without a warning of a
# strict compiler, in the languages that they are for; before C++20 the first error is a
# sentence about that. Prints TAP. Run by the group unit through Meson; touches nothing.
# usage: header_test.py 'C COMPILER' 'C++ COMPILER'
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "selftests"))

from runner import tests  # noqa: E402  (path set above)

FOLDERS = [TREE / folder for folder in
           ("userspace/libpavo/include", "userspace/provider/include", "uapi")]
INCLUDES = [f"-I{folder}" for folder in FOLDERS]
# Those that others include; pavo-abi.h has its parts.
HEADERS = sorted(header for folder in FOLDERS for header in folder.glob("*/*.h*")
                 if not re.match(r"pavo-abi-", header.name))
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def say(language, headers, *options):
    """What the compiler says of all of them in one program."""
    compiler = shlex.split(sys.argv[1] if language == "c" else sys.argv[2])
    source = "".join(f"#include <{header.parent.name}/{header.name}>\n" for header in headers)
    return subprocess.run(
        [*compiler, *options, *STRICT, *INCLUDES, "-x", language, "-"], input=source,
        text=True, capture_output=True, check=False).stderr


def they_are_clean_in_cpp():
    """All."""
    said = say("c++", HEADERS, "-std=c++20")
    assert not said, said


def those_for_c_are_clean_in_c():
    """By the first standard that has what they need."""
    said = say("c", [header for header in HEADERS if header.suffix == ".h"], "-std=c11")
    assert not said, said


def an_old_language_is_told():
    """First of all: each header for C++ begins with the one that tells."""
    ours = [header for header in HEADERS if header.suffix == ".hpp"]
    for header in ours:
        first = re.search(r"^#include (.*)$", header.read_text(), re.M)
        assert header.name == "language.hpp" or first[1] == "<pavo/language.hpp>", header
    said = say("c++", ours[:1], "-std=c++17")
    first = next(line for line in said.splitlines() if "error:" in line)
    assert "libpavo needs C++20: compile with -std=c++20" in first, first


TESTS = (they_are_clean_in_cpp, those_for_c_are_clean_in_c, an_old_language_is_told)

sys.exit(tests.run("headers", TESTS))
