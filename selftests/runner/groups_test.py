#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what `make test ONLY=GROUP` builds (selftests/meson.build): every group has
# a target, with each program that the group's scripts name. Prints TAP. Run by the group
# unit through Meson; touches nothing.
# usage: groups_test.py BUILD-FOLDER
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "selftests"))

from runner import groups, plan, tests  # noqa: E402  (path set above)

# Their drivers are not groups of selftests/run; each has a target of its own.
DRIVERS = {"bench": ("run", "profile", "pavobench/guest.py", "guest.sh", "native-guest.sh"),
           "bench-windows": ("windows", "windows-guest.sh", "nodes-guest.sh"),
           "bench-keys": ("many",),
           "bench-scale": ("many", "many-guest.sh"),
           "bench-ranges": ("many",),
           "bench-direct": ("direct", "direct-guest.sh")}


def introspect(what):
    """What Meson knows of the build folder."""
    return json.loads(subprocess.run(
        ["meson", "introspect", f"--{what}", sys.argv[1]], check=True,
        stdout=subprocess.PIPE).stdout)


def programs():
    """All programs: name -> path within the build folder."""
    build = pathlib.Path(sys.argv[1]).resolve()
    return {target["name"]: str(pathlib.Path(target["filename"][0]).relative_to(build))
            for target in introspect("targets") if target["type"] == "executable"}


def inputs(group):
    """The programs and libraries that are built for a group."""
    text = subprocess.run(
        ["ninja", "-C", sys.argv[1], "-t", "query", f"tests-{group}"], check=True,
        text=True, stdout=subprocess.PIPE).stdout
    return set(re.findall(r"^    \| (\S+)$", text, re.M))


def scripts(group):
    """The text of a group's scripts, without comments."""
    if group in DRIVERS:
        files = [TREE / "selftests/bench" / name for name in DRIVERS[group]]
    else:
        files = [file for file in (TREE / "selftests" / group).iterdir()
                 if file.is_file() and (file.suffix == ".sh" or not file.suffix)]
    return re.sub(r"^\s*#.*$", "", "".join(file.read_text() for file in files),
                  flags=re.M)


def all_groups():
    """What selftests/run knows, and what has to be asked for."""
    found = groups.discover(plan.TEST, groups.read_meson_tests(groups.BUILD))
    return {*found, *DRIVERS}


def every_group_has_a_target():
    """Those without a program, too."""
    names = {target["name"] for target in introspect("targets")}
    missing = {name for name in all_groups() if f"tests-{name}" not in names}
    assert not missing, f"no target for {sorted(missing)}"


def every_program_that_scripts_name_is_built():
    """For their group; that of unit's tests is another matter."""
    known, seen = programs(), 0
    for group in sorted(all_groups() - {"unit"}):
        built = inputs(group)
        for name in re.findall(r"[\w-]+", scripts(group)):
            if name in known:
                assert known[name] in built, f"{group}: {name}"
                seen += 1
    assert seen >= 20, f"only {seen} programs"


def every_unit_test_finds_its_program():
    """What Meson starts, or gives to what it starts."""
    built, known = inputs("unit"), set(programs().values())
    for test in introspect("tests"):
        for word in test["cmd"]:
            part = word.removeprefix(str(pathlib.Path(sys.argv[1]).resolve()) + "/")
            assert part not in known or part in built, f"{test['name']}: {part}"


def a_group_has_nothing_of_another():
    """The runner waits for nothing that is not started."""
    built = inputs("lint")
    assert not [name for name in built if name.startswith("selftests/")], built
    assert not [name for name in inputs("wire") if "pavo-verbs" in name]


TESTS = (every_group_has_a_target, every_program_that_scripts_name_is_built,
         every_unit_test_finds_its_program, a_group_has_nothing_of_another)

sys.exit(tests.run("groups", TESTS))
