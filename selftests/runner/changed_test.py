#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Test of what a change selects (changed.py), in a small repository of its own with a build
# that ninja knows: each kind of change chooses what it can affect, and what nothing knows
# chooses everything. Prints TAP. Run by the group unit through Meson; writes into
# temporary folders only.
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from runner import changed, groups, plan, tests  # noqa: E402  (path set above)
from runner.program import Program  # noqa: E402

# "Compiles" by taking files together; includes are what the source names.
BUILD_NINJA = """
rule compile
  command = cat $in >$out && { echo "$out: $in \\\\"; sed -n 's,^#include "\\(.*\\)",../\\1 \\\\,p' $in; echo; } >$out.d
  depfile = $out.d
  deps = gcc
rule link
  command = cat $in >$out
build selftests/verbs/a.o: compile ../selftests/verbs/a.cpp
build selftests/verbs/ends.o: compile ../selftests/verbs/ends.cpp
build selftests/verbs/libends.a: link selftests/verbs/ends.o
build selftests/verbs/pavo-verbs: link selftests/verbs/a.o selftests/verbs/libends.a
build selftests/verbs/pavo-traffic: link selftests/verbs/libends.a
build userspace/libpavo/w.o: compile ../userspace/libpavo/window.cpp
build userspace/libpavo/libpavo.so: link userspace/libpavo/w.o
build selftests/window/t.o: compile ../selftests/window/t.cpp
build selftests/window/pavo-window: link selftests/window/t.o | userspace/libpavo/libpavo.so
build selftests/unit/u.o: compile ../selftests/unit/u.cpp
build selftests/unit/unit-window: link selftests/unit/u.o userspace/libpavo/w.o
build selftests/odd/o.o: compile ../selftests/odd/o.cpp
build selftests/odd/pavo-odd: link selftests/odd/o.o
build all: phony selftests/verbs/pavo-verbs selftests/verbs/pavo-traffic $
  selftests/window/pavo-window selftests/unit/unit-window selftests/odd/pavo-odd
default all
"""
FILES = {
    "selftests/verbs/a.cpp": '#include "selftests/verbs/a.h"\n',
    "selftests/verbs/a.h": "", "selftests/common/pattern.h": "",
    "selftests/verbs/ends.cpp": '#include "selftests/common/pattern.h"\n',
    "selftests/verbs/guest.sh": "", "selftests/verbs/lib.sh": "",
    "userspace/libpavo/window.cpp": '#include "userspace/libpavo/window.h"\n',
    "userspace/libpavo/window.h": "",
    "selftests/window/t.cpp": '#include "userspace/libpavo/window.h"\n',
    "selftests/unit/u.cpp": "", "selftests/unit/man_test.py": "",
    "selftests/odd/o.cpp": "", "selftests/window/guest.sh": "",
    "docs/man/pavo.1": "", "docs/protocol.md": "", "README.md": "", "kernel/main.c": "",
    "qemu-scripts/pavo-vm": "", "selftests/vm/run.sh": "", "Makefile": "",
    "selftests/window/meson.build": "", ".gitignore": "/build/\n",
}
GUESTS = {"apps", "window", "verbs", "life"}


class Repository:
    """The made-up tree."""

    def __init__(self, folder, built=True):
        self.tree = pathlib.Path(folder)
        self.build = self.tree / "build"
        for name, text in {**FILES, "build/build.ninja": BUILD_NINJA}.items():
            self.write(name, text)
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "base")
        if built:
            subprocess.run(["ninja", "-C", str(self.build)], check=True,
                           stdout=subprocess.PIPE)

    def git(self, *arguments):
        """Runs git in it."""
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", "-c",
                        "core.hooksPath=/dev/null", *arguments], cwd=self.tree, check=True)

    def write(self, name, text="changed\n"):
        """A file, new or changed."""
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def items(self):
        """Items as discover() and make_items() make them of such a tree."""
        def item(group, part, *command):
            return groups.Item(group, part, "", Program(group, list(command)),
                               plan.find_row(plan.TEST, group,
                                             f"{group}-{part}" if part else group))
        made = [item(group, "", str(self.tree / f"selftests/{group}/run"))
                for group in ("lint", "apps", "vm", "life", "verbs", "window")]
        return made + [
            item("unit", "window", str(self.build / "selftests/unit/unit-window")),
            item("unit", "manual-pages", str(self.tree / "selftests/unit/man_test.py"))]

    def choose(self, base="HEAD"):
        """What runs after a change: keys, and item -> why."""
        files = changed.changed_files(base, self.tree)
        names = [str(p.relative_to(self.tree)) for p in self.tree.rglob("*")
                 if p.is_file() and not p.is_relative_to(self.build)]
        selection = changed.Selection(
            self.items(), changed.Graph(self.tree, self.build), self.tree, self.build,
            changed.scan_includes(self.tree, names))
        why = selection.choose(files)
        return {item.key for item in why} - {"lint"}, why


def after(repository, *names):
    """The keys that these changes choose; they are undone."""
    for name in names:
        repository.write(name)
    chosen, why = repository.choose()
    assert any(item.key == "lint" for item in why), "lint looks at every file"
    repository.git("stash", "-q", "-u")
    return chosen


def every_kind_of_change(repository):
    """Committed, staged, not staged, new, gone, and nothing."""
    assert repository.choose() == (set(), {})
    repository.write("selftests/vm/run.sh")
    repository.git("commit", "-q", "-am", "one")
    repository.write("selftests/unit/man_test.py")
    repository.git("add", ".")
    repository.write("selftests/window/guest.sh")
    repository.write("selftests/verbs/new.sh")
    (repository.tree / "selftests/verbs/guest.sh").unlink()
    assert changed.changed_files("HEAD~1", repository.tree) == [
        "selftests/unit/man_test.py", "selftests/verbs/guest.sh",
        "selftests/verbs/new.sh", "selftests/vm/run.sh", "selftests/window/guest.sh"]
    assert repository.choose("HEAD~1")[0] == {"vm", "unit-manual-pages", "window", "verbs"}


def a_revision_that_is_not_there(repository):
    """It is told."""
    for base in ("none", "", "--all"):
        try:
            changed.changed_files(base, repository.tree)
        except changed.NotKnown:
            continue
        raise AssertionError(base)


def folders_of_the_table(repository):
    """What the plan says of them."""
    all_items = {item.key for item in repository.items()} - {"lint"}
    unit = {"unit-window", "unit-manual-pages"}
    for name, expected in (
            ("kernel/main.c", GUESTS | unit), ("uapi/rdma/new.h", GUESTS | unit),
            ("qemu-scripts/pavo-vm", GUESTS | {"vm"}),
            ("selftests/verbs/lib.sh", GUESTS | {"vm"}),
            ("selftests/verbs/guest.sh", {"verbs"}), ("selftests/vm/run.sh", {"vm"}),
            ("docs/man/pavo.1", {"unit-manual-pages"}), ("docs/protocol.md", set()),
            ("README.md", set()), ("Makefile", all_items), ("new-file", all_items),
            ("selftests/strange/run.sh", all_items)):
        assert after(repository, name) == expected, name


def programs_by_their_sources(repository):
    """Of the group, and of others that start the same program."""
    for name, expected in (
            ("selftests/verbs/a.cpp", {"verbs", "life"}),
            ("selftests/verbs/a.h", {"verbs", "life"}),
            ("selftests/verbs/ends.cpp", {"verbs", "life"}),
            ("selftests/common/pattern.h", {"verbs", "life", "apps"}),
            ("selftests/window/t.cpp", {"window"}),
            ("selftests/unit/u.cpp", {"unit-window"})):
        assert after(repository, name) == expected, name


def a_library_and_its_header(repository):
    """What is linked with it, in any folder."""
    expected = {"window", "unit-window", "unit-manual-pages", "life", "verbs"}
    for name in ("userspace/libpavo/window.cpp", "userspace/libpavo/window.h"):
        assert after(repository, name) == expected, name


def a_program_that_no_group_starts(repository):
    """So the table is not complete: everything."""
    assert len(after(repository, "selftests/odd/o.cpp")) == len(repository.items()) - 1


def files_that_ninja_does_not_know():
    """Without a build, and new ones: by folders, through those that include them."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(folder, built=False)
        assert after(repository, "selftests/window/t.cpp") == {"window"}
        assert after(repository, "selftests/verbs/a.h") == {"verbs", "life"}
        found = after(repository, "userspace/libpavo/window.h")
        assert {"window", "unit-window", "life"} <= found, found
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(folder)
        assert after(repository, "selftests/window/new.cpp") == {"window"}
        assert after(repository, "selftests/window/meson.build") == {"window"}


def reasons_are_told(repository):
    """One line for each group, and one for the rest."""
    repository.write("selftests/window/t.cpp")
    repository.write("docs/man/pavo.1")
    _, why = repository.choose()
    told = changed.tell_choice(repository.items(), {})
    assert told == ["  not affected: lint, apps, vm, life, verbs, window, unit"], told
    by_key = {item.key: reason for item, reason in why.items()}
    items = repository.items()
    told = changed.tell_choice(items, {i: by_key[i.key] for i in items if i.key in by_key})
    assert told == ["  lint: docs/man/pavo.1", "  window: selftests/window/t.cpp",
                    "  unit (1 of 2): docs/man/pavo.1",
                    "  not affected: apps, vm, life, verbs"], told


if os.environ.get("GIT_DIR"):
    del os.environ["GIT_DIR"]

TESTS = [tests.give(Repository, test) for test in (
    every_kind_of_change, a_revision_that_is_not_there, folders_of_the_table,
    programs_by_their_sources, a_library_and_its_header, a_program_that_no_group_starts)] \
    + [files_that_ninja_does_not_know, tests.give(Repository, reasons_are_told)]

sys.exit(tests.run("changed", TESTS))
