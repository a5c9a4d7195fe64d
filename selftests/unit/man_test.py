#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The manual pages (docs/man): nothing in them troubles the formatter, they name pages
# that there are, every one is installed, every program has one, an example that is a program is one for the
# compiler, and every function of the library's headers is told of. Prints TAP. Run by
# the group unit through Meson; touches nothing.
# usage: man_test.py 'C COMPILER' 'C++ COMPILER'
# Each in one word, for Meson puts ccache before a compiler where it finds one.
import importlib.machinery
import importlib.util
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "selftests"))

from runner import tests  # noqa: E402  (path set above)

# It has no suffix, as programs.
LOADER = importlib.machinery.SourceFileLoader("man_names", str(TREE / "packaging/man-names"))
SPEC = importlib.util.spec_from_loader("man_names", LOADER)
man_names = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(man_names)

PAGES = sorted((TREE / "docs/man").iterdir())
INCLUDES = [f"-I{TREE}/{folder}" for folder in
            ("userspace/libpavo/include", "userspace/provider/include", "uapi")]
HEADERS = sorted((TREE / "userspace/libpavo/include/pavo").iterdir())
# In pages the line that a program's first one is.
PROGRAM = "#include"


def formatter_is_content():
    """No warnings."""
    if not shutil.which("groff"):
        return "groff is not installed"
    for page in PAGES:
        done = subprocess.run(["groff", "-t", "-man", "-ww", "-Tutf8", str(page)],
                              check=True, text=True, capture_output=True)
        assert not done.stderr, done.stderr
    return None


def own_pages_that_are_named_exist():
    """What begins with our name is ours."""
    names = {page.name for page in PAGES}
    for page in PAGES:
        text = page.read_text().rsplit(".SH SEE ALSO", 1)[-1]
        for name, section in re.findall(r"^\.BR (\S+) \((\d)\)", text, re.M):
            if name.startswith(("pavo", "libpavo")):
                assert f"{name}.{section}" in names, f"{page.name}: {name}({section})"


def all_are_installed():
    """A page that man cannot render is none."""
    text = "".join((TREE / folder / "meson.build").read_text()
                   for folder in (".", "userspace/libpavo", "userspace/provider",
                                  "userspace/tools/pavo", "userspace/tools/pavo-copy",
                                  "packaging/system"))
    for page in PAGES:
        assert f"docs/man/{page.name}'" in text, page.name


def programs_have_one():
    """Each that is installed."""
    seen = 0
    for build in sorted(TREE.glob("userspace/**/meson.build")):
        for name, how in re.findall(
                r"^(?:\w+ = )?executable\('([^']+)',(.*?)\)$",
                build.read_text(), re.M | re.S):
            if "install: true" in how:
                assert (TREE / f"docs/man/{name}.1").is_file(), f"{name}: no page"
                seen += 1
    assert seen >= 2, f"only {seen} programs"


def examples(page):
    """Programs of a page, without the formatter's marks."""
    for block in re.findall(r"^\.EX\n(.*?)^\.EE", page.read_text(), re.M | re.S):
        if block.startswith(PROGRAM):
            yield block.replace("\\e", "\\").replace("\\-", "-")


def examples_compile():
    """As they stand there."""
    c, cpp = sys.argv[1:]
    seen = 0
    for page in PAGES:
        for text in examples(page):
            plain = "pavo/pavo.h" in text
            command = [*shlex.split(c), "-std=c11", "-xc"] if plain else \
                [*shlex.split(cpp), "-std=c++20", "-xc++"]
            done = subprocess.run(
                [*command, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                 *INCLUDES, "-"], input=text, text=True, capture_output=True,
                check=False)
            assert done.returncode == 0, f"{page.name}: {done.stderr}"
            seen += 1
    assert seen >= 5, f"only {seen} examples"


def functions(header):
    """What programs may call by a header: functions, members, macros with arguments."""
    text = header.read_text()
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^#pragma[^\n]*", "", text, flags=re.S | re.M)
    text = re.sub(r"^(\t*)private:\n.*?^\1\};", "", text, flags=re.S | re.M)
    # Bodies, from the innermost outwards: of statements, of functions, what is set.
    inner = re.compile(r"\)[\w\s&]*(?::[^;{}]*)?\{[^{}]*\}|\{[^{};]*\}|return \{[^{}]*\}")
    while inner.search(text):
        text = inner.sub(";", text)
    # Programs call neither destructors nor what co_await calls.
    return set(re.findall(r"(?<![~\w])(?!(?:void|noexcept|requires|explicit)\b|await_)([A-Za-z]\w*)\(", text))


def pages_of(header):
    """Texts of pages that include it; of one that only headers include, theirs."""
    texts = [page.read_text() for page in PAGES]
    own = [text for text in texts if f"#include <pavo/{header.name}>" in text]
    return own or [text for other in HEADERS
                   if f"#include <pavo/{header.name}>" in other.read_text()
                   for text in pages_of(other)]


def functions_are_told_of():
    """
    Each in a page of its header: name(, or with the formatter's marks name (). For
    constructors, which may have another form there, their class will do.
    """
    seen = 0
    for header in HEADERS:
        names = functions(header)
        text = "".join(pages_of(header))
        missing = {name for name in names
                   if not re.search(rf'\b{name}(\(| "?\(\))|pavo::{name}\b', text)}
        assert not missing, f"{header.name}: no page says {sorted(missing)}"
        seen += len(names)
    assert seen >= 100, f"only {seen} functions"


def functions_of_c_have_a_page():
    """By their own names; NAME_call is the type of one that programs write."""
    named = {name for page in PAGES for name in man_names.names_of(page)}
    headers = [header for header in HEADERS if header.suffix == ".h"]
    headers += (TREE / "userspace/provider/include/pavo").glob("*.h")
    names = {name for header in headers for name in functions(header)
             if name.startswith("pavo") and not name.endswith("_call")}
    missing = sorted(names - named)
    assert not missing, f"no page is named {missing}"
    assert len(names) >= 100, f"only {len(names)} functions"


TESTS = (formatter_is_content, own_pages_that_are_named_exist, all_are_installed,
         programs_have_one, examples_compile, functions_are_told_of,
         functions_of_c_have_a_page)

sys.exit(tests.run("manual", TESTS))
