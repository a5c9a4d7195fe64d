#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of qemu-scripts/install-deps, with programs in the places of apt and dpkg:
# what is asked for, what is said of it, and that packages.txt has every group. Prints
# TAP. Run by the group unit through Meson; writes into temporary folders only.
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from runner import groups, plan, tests  # noqa: E402  (path set above)

SCRIPT = TREE / "qemu-scripts/install-deps"
RUNNING = "5.0-planted"
TOLD = "  apt-get install --no-install-recommends "
# The programs that are played: $PLAYED/installed and $PLAYED/known are lists of packages.
PROGRAMS = {
    "uname": f"echo {RUNNING}",
    "id": 'cat "$PLAYED/user"',
    "dpkg-query": 'sed "s/^/installed /" "$PLAYED/installed"; echo "config-files old"',
    "apt-cache": 'grep "^$2" "$PLAYED/known"',
    "apt-get": """
case " $* " in
*" update "*) exit ;;
esac
[ "$1" = -s ] || echo "much chatter"
for word; do grep -qxF -- "$word" "$PLAYED/known" && new="$new $word"; done
for word in library $new; do
	[ "$1" != -s ] || { echo "Inst $word (1.0 Debian [amd64])"; continue; }
	printf 'pmstatus:%s:50:%s %s (amd64)\\n' "$word" Unpacking "$word" \\
		"$word" Installed "$word" >&3
done
[ "$1" = -s ] || exit "$(cat "$PLAYED/status")"
""",
}


class World:
    """A machine with these packages, whose apt knows those."""

    def __init__(self, folder, table=None):
        self.folder = pathlib.Path(folder)
        self.script = SCRIPT
        if table:
            self.script = self.folder / "install-deps"
            shutil.copy(SCRIPT, self.script)
            (self.folder / "packages.txt").write_text(table)
        for name, text in PROGRAMS.items():
            path = self.folder / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        self.set(installed="", known="", user="1000", status="0")

    def set(self, **files):
        """Each is a list of words or a number."""
        for name, text in files.items():
            words = "".join(f"{word}\n" for word in text.split())
            (self.folder / name).write_text(words)

    def call(self, *names):
        """Return: the exit status and what was said."""
        env = {**os.environ, "PLAYED": str(self.folder),
               "PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run([str(self.script), *names], check=False, text=True,
                              env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def told(self, *names):
        """What an ordinary user is told to install."""
        _, said = self.call(*names)
        lines = [line for line in said.splitlines() if line.startswith(TOLD)]
        return lines[0][len(TOLD):].split() if lines else []


def world(table=None):
    """A World in a folder that goes."""
    folder = tempfile.TemporaryDirectory()
    made = World(folder.name, table)
    made.keep = folder
    return made


def every_group_has_a_heading():
    """And what a plain `make test` wants is what its groups want."""
    here = world()
    everything = set(here.told("test"))
    for name in groups.discover(plan.TEST, groups.read_meson_tests(groups.BUILD)):
        wanted = here.told(name)
        assert wanted, f"{name}: nothing is told: {here.call(name)[1]}"
        if not plan.find_row(plan.TEST, name, name).asked:
            assert set(wanted) <= everything, f"{name}: {set(wanted) - everything}"


def unit_lint_and_build_need_no_guest():
    """Neither its kernel nor QEMU."""
    here = world()
    for name in ("build", "unit", "lint"):
        bad = [p for p in here.told(name) if p.startswith(("linux-image", "qemu"))]
        assert not bad, f"{name}: {bad}"


def unknown_names_are_refused():
    """Not taken for one that wants nothing."""
    status, said = world("[unit]\na\n").call("unit", "nonsense")
    assert status == 1 and "nonsense is in no heading" in said, said


def headings_and_comments_are_read():
    """Each package once; none of other headings."""
    here = world("[unit vm]\na  # why\n# b\n\n[wire]\nc\n[vm]\nd\na\n")
    assert here.told("unit") == ["a"]
    assert here.told("unit", "vm") == ["a", "d"]
    assert here.told("wire") == ["c"]
    assert here.told() == ["a", "c", "d"]
    here.set(installed="a d")
    assert here.call("vm") == (0, "")


def the_first_alternative_that_apt_has():
    """The last if it has none; nothing if one is there."""
    here = world("[unit]\na | b | c\n")
    assert here.told("unit") == ["c"]
    here.set(known="b c")
    assert here.told("unit") == ["b"]
    here.set(installed="c")
    assert here.call("unit") == (0, "")


def headers_of_the_running_kernel_come_first():
    """Although others are there; if apt has them not, any others will do."""
    here = world("[build]\nlinux-headers-$(uname -r) | other\n")
    here.set(installed="other", known=f"linux-headers-{RUNNING} other")
    assert here.told("build") == [f"linux-headers-{RUNNING}"]
    here.set(known="other")
    some = list(pathlib.Path("/lib/modules").glob("*/build/Makefile"))
    assert here.told("build") == ([] if some else ["other"])


def image_and_headers_are_of_one_version():
    """Who gets one new gets the other new, but no image that is not here yet."""
    here = world("[a]\nlinux-headers-amd64\n[b]\nlinux-image-amd64\n")
    both = ["linux-headers-amd64", "linux-image-amd64"]
    assert here.told("a") == ["linux-headers-amd64"]
    here.set(installed="linux-image-amd64")
    assert here.told("a") == both
    here.set(installed="linux-headers-amd64")
    assert sorted(here.told("b")) == both


def root_is_told_all_that_comes():
    """Without the chatter."""
    here = world("[unit]\na\nb\n")
    here.set(user="0", known="a b")
    status, said = here.call("unit")
    assert status == 0, said
    assert "Installing: a b\nand 1 that these need: library\n" in said, said
    assert "Installed 3 packages" in said and "chatter" not in said, said


def a_failure_shows_the_chatter():
    """And is one."""
    here = world("[unit]\na\n")
    here.set(user="0", known="a", status="100")
    status, said = here.call("unit")
    assert status == 1 and "much chatter" in said, said


sys.exit(tests.run("packages", (
    every_group_has_a_heading, unit_lint_and_build_need_no_guest,
    unknown_names_are_refused, headings_and_comments_are_read,
    the_first_alternative_that_apt_has, headers_of_the_running_kernel_come_first,
    image_and_headers_are_of_one_version, root_is_told_all_that_comes,
    a_failure_shows_the_chatter)))
