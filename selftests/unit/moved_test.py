#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of make in a tree that was moved or copied with its build folder: it builds the
# files of the place where it is. The tree has the Makefile, its scripts and one source;
# headers and Meson's files are made up, and make names compilers without a call of one.
# Prints TAP. Run by the group unit through Meson; writes into temporary folders only.
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "selftests"))

from runner import tests  # noqa: E402  (path set above)

RELEASE = "6.0-made-up"


def make(tree, *words):
    """Runs make there, with a stand-in for what compiles. Return: what it printed."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "--no-print-directory", "STEP=echo STEP", "CCACHE_LINKS=/nowhere",
         f"KDIR={tree.parent}/headers", *words], cwd=tree, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def configure(tree):
    """What Meson leaves in the build folder."""
    info = tree / "build/meson-info"
    info.mkdir(parents=True)
    (info / "meson-info.json").write_text(json.dumps(
        {"directories": {"source": str(tree), "build": str(tree / "build")}}))
    (tree / "build/build.ninja").write_text("")


def a_tree(folder):
    """A tree that was built in its place."""
    tree = folder / "first"
    (tree / "kernel").mkdir(parents=True)
    (tree / "uapi").mkdir()
    (tree / "kernel/a.c").write_text("int a;\n")
    for name in ("Makefile", "Kbuild"):
        shutil.copy(TREE / name, tree)
    (tree / "qemu-scripts").mkdir()
    for name in ("start-anew", "find-headers"):
        if (TREE / "qemu-scripts" / name).exists():
            shutil.copy(TREE / "qemu-scripts" / name, tree / "qemu-scripts")
    header = folder / "headers/include/generated/utsrelease.h"
    header.parent.mkdir(parents=True)
    header.write_text(f'#define UTS_RELEASE "{RELEASE}"\n')
    make(tree, "links")
    configure(tree)
    return tree


def source_of(tree):
    """The file that the kernel's make would compile."""
    return os.readlink(tree / f"build/kernel/{RELEASE}/kernel/a.c")


def tried_in(action):
    """A tree in a folder of its own, and the second place, after `action`."""
    def test():
        with tempfile.TemporaryDirectory() as name:
            first = a_tree(pathlib.Path(name).resolve())
            action(first, first.parent / "second")
    test.__name__, test.__doc__ = action.__name__, action.__doc__
    return test


@tried_in
def a_copied_tree_builds_its_own_module(first, second):
    """No link leads to the first place, where the source is another."""
    shutil.copytree(first, second, symlinks=True)
    said = make(second, "links")
    assert source_of(second) == str(second / "kernel/a.c"), source_of(second)
    assert f"has been built from {first}: starting anew" in said, said
    assert source_of(first) == str(first / "kernel/a.c")


@tried_in
def a_copied_tree_configures_user_space_anew(first, second):
    """By Meson, before ninja; with modules that were never built, too."""
    shutil.copytree(first, second, symlinks=True)
    shutil.rmtree(second / "build/kernel")
    said = make(second, "userspace")
    assert "meson setup" in said, said
    assert said.index("meson setup") < said.index("ninja -C"), said


@tried_in
def a_moved_tree_starts_anew(first, second):
    """The links lead nowhere."""
    first.rename(second)
    make(second, "links")
    assert source_of(second) == str(second / "kernel/a.c"), source_of(second)
    assert not (second / "build/build.ninja").exists()


@tried_in
def a_tree_in_its_place_keeps_what_it_has(first, _second):
    """make says nothing of it, also by way of another name of the folder."""
    kept = first / "build/kept"
    kept.write_text("")
    name = first.parent / "name"
    name.symlink_to(first)
    for tree in (first, name):
        said = make(tree, "links", "userspace")
        assert kept.exists() and "anew" not in said, said
        assert "meson setup" not in said, said


TESTS = (a_copied_tree_builds_its_own_module, a_copied_tree_configures_user_space_anew,
         a_moved_tree_starts_anew, a_tree_in_its_place_keeps_what_it_has)

sys.exit(tests.run("moved tree", TESTS))
