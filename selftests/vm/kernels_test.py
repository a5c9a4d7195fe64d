#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the choice of a guest's kernel (qemu-scripts/pavovm/kernels.py) among kernels
# that are empty files. Prints TAP. Run by the group unit through Meson; writes into
# temporary folders only.
import os
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "qemu-scripts")]

from pavovm import common, kernels  # noqa: E402  (path set above)
from runner import tests  # noqa: E402

INSTALLED = "6.1.0-56-amd64"


def put(folder, name, release, image="vmlinuz"):
    """A kernel in the cache."""
    modules = folder / "kernels" / name / "lib/modules" / release
    modules.mkdir(parents=True)
    (modules / "modules.dep").touch()
    (folder / "kernels" / name / image).touch()


class Cache:
    """A cache with kernels that build-kernel made; one kernel is installed."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        os.environ["PAVO_CACHE"] = folder
        put(self.folder, "sanitizer", "6.1.192-pavo-sanitizer")
        put(self.folder, "devices", "6.12.117-pavo-devices")
        put(self.folder, "native", "6.12.117-pavo-native", "linux")
        kernels.installed = lambda: [kernels.Kernel(
            INSTALLED, pathlib.Path("/boot/x"), pathlib.Path("/lib/x"), INSTALLED)]


def names_are_found(cache):
    """Of both kinds, and releases."""
    assert kernels.find("sanitizer").release == "6.1.192-pavo-sanitizer"
    assert kernels.find("6.12.117-pavo-devices").name == "devices"
    assert kernels.find("native").native and not kernels.find("devices").native
    assert kernels.find(INSTALLED).name == INSTALLED
    put(cache.folder, "6.12", "6.12.95+deb12-amd64")
    assert kernels.find("6.12").release == "6.12.95+deb12-amd64"


def a_version_is_the_distribution_s(cache):
    """Kernels that build-kernel made do not stand in for one that was not fetched."""
    assert kernels.find("6.1").name == INSTALLED
    try:
        found = kernels.find("6.12")
    except common.SetupError as problem:
        assert "no kernel '6.12'" in str(problem) and "devices" in str(problem)
    else:
        raise AssertionError(f"found {found.release}")
    put(cache.folder, "6.12.95", "6.12.95+deb12-amd64")
    assert kernels.find("6.12").name == "6.12.95"


def the_newest_of_a_version(cache):
    """By number, not by letters."""
    put(cache.folder, "6.12.9", "6.12.9+deb12-amd64")
    put(cache.folder, "6.12.95", "6.12.95+deb12-amd64")
    assert kernels.find("6.12").name == "6.12.95"
    assert kernels.find("6.12.9").name == "6.12.9"


sys.exit(tests.run("kernels", [tests.give(Cache, test) for test in (
    names_are_found, a_version_is_the_distribution_s, the_newest_of_a_version)]))
