#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Test of the command selftests/run as a whole, in a small tree of its own whose groups are
# shell scripts: parts, kernels, environment, logs, totals, durations. Prints TAP. Run by
# the group unit through Meson; writes into temporary folders only.
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from runner import groups, plan, tests  # noqa: E402  (path set above)
from runner.stand_in import Tree  # noqa: E402

PASSES = "#!/bin/sh\necho 1..1; echo ok 1 fine\n"
FAILS = "#!/bin/sh\necho 1..2; echo ok 1 fine; echo not ok 2 broken; exit 1\n"
# Leaves what it was given in its log.
TELLS = '#!/bin/sh\nenv | grep ^PAVO_ | sed "s/^/# /"; echo 1..1; echo ok 1 fine\n'


def plan_row(tree, name, row):
    """A row of the plan in front of the others of that name."""
    end = "\n}\n\n\ndef on_kernels"
    tree.replace("selftests/runner/plan.py", end, f'\n    "{name}": {row},{end}')


def a_group_has_one_line_whatever_its_parts(tree):
    """run, run-PART and run-PART.sh are items with logs of their own."""
    tree.script("selftests/window/run.sh", PASSES)
    tree.script("selftests/window/run-nodes.sh", FAILS)
    tree.script("selftests/window/run-three", PASSES)
    tree.file("selftests/window/run-no-program.sh", FAILS)
    tree.script("selftests/window/runner", FAILS)
    tree.script("selftests/wire/run", PASSES)
    status, said = tree.run("selftests/run")
    assert status == 1, said
    lines = said.splitlines()
    assert lines[-1] == "4 passed, 1 failed, 0 skipped", said
    assert [line.split(" (")[0].strip() for line in lines[-3:-1]] == [
        "wire: 1 passed, 0 failed, 0 skipped",
        "window: 3 passed, 1 failed, 0 skipped"], said
    assert "  not ok window-nodes: broken" in said, said
    logs = tree.path / "build/test-logs/window"
    assert sorted(p.name for p in logs.iterdir()) == [
        "tap-nodes.log", "tap-three.log", "tap.log"]
    status, said = tree.run("selftests/run", "--only", "window-three")
    assert status == 0 and said.endswith("\n1 passed, 0 failed, 0 skipped\n"), said


def each_kernel_of_the_plan(tree):
    """An item for each of them, with its module and its logs."""
    plan_row(tree, "wire", 'Row(kernels=("default", "native"), '
             'env={"WIRE": lambda: "", "PAVO_MORE": lambda: "yes", "PAVO_X": "1"})')
    tree.kernel("native")
    tree.script("selftests/wire/run", TELLS)
    tree.script("selftests/life/run", PASSES)
    assert tree.run("selftests/run", "--kernels")[1] == "default\nnative\n"
    assert tree.run("selftests/run", "--kernels", "--only", "life")[1] == "default\n"
    status, said = tree.run("selftests/run")
    assert status == 0 and said.endswith("\n3 passed, 0 failed, 0 skipped\n"), said
    for place, kernel, release in (("wire", "", "default"),
                                   ("native/wire", "native", "native")):
        log = (tree.path / f"build/test-logs/{place}/tap.log").read_text()
        for line in (f"PAVO_KERNEL={kernel}\n", f"PAVO_LOGS={tree.path}/build/test-logs/{place}\n",
                     f"PAVO_KO={tree.path}/build/kernel/release-of-{release}/pavo.ko\n",
                     "PAVO_SEATS=1\n", "PAVO_GROUP=wire\n", "PAVO_MORE=yes\n", "PAVO_X=1\n"):
            assert "# " + line in log, (line, log)
    status, said = tree.run("selftests/run", "--kernel", "native")
    assert status == 0 and said.endswith("\n2 passed, 0 failed, 0 skipped\n"), said
    assert (tree.path / "build/test-logs/native/life/tap.log").is_file()


def a_module_that_is_not_built(tree):
    """What needs it fails and is not started; it is told what to do."""
    plan_row(tree, "wire", 'Row(kernels=("default", "native"))')
    plan_row(tree, "vm", 'Row(kernels=("native",), module=False)')
    tree.kernel("native", built=False)
    for group in ("wire", "vm"):
        tree.script(f"selftests/{group}/run", PASSES)
    status, said = tree.run("selftests/run")
    assert status == 1 and said.endswith("\n2 passed, 1 failed, 0 skipped\n"), said
    assert "make modules KERNEL=native" in said, said
    assert not (tree.path / "build/test-logs/native/wire/tap.log").exists()


def a_kernel_that_is_not_there(tree):
    """All of its items fail; what runs on the host does not."""
    plan_row(tree, "wire", 'Row(kernels=("native",))')
    plan_row(tree, "unit", "Row(kernels=HOST, module=False)")
    for group in ("wire", "unit"):
        tree.script(f"selftests/{group}/run", PASSES)
    status, said = tree.run("selftests/run")
    assert status == 1 and said.endswith("\n1 passed, 1 failed, 0 skipped\n"), said
    assert "pavo-vm: no kernel 'native'" in said and "KERNEL=native" in said, said


def checks_of_one_script(tree):
    """Those that the plan names are items, and the rest is one."""
    tree.script("selftests/lint/run",
                "#!/bin/sh\necho 1..1; echo \"ok 1 ($*)\"\n")
    status, said = tree.run("selftests/run", "--only", "lint", "-v")
    assert status == 0 and said.endswith(f"\n{1 + len(plan.LINT.batches)} passed, 0 failed, 0 skipped\n"), said
    names = [name for names in plan.LINT.batches.values() for name in names]
    assert f"pass lint: (--but {','.join(names)})" in said, said
    assert "pass lint-module: (compiler sparse calls parts)" in said, said


def other_rows_for_a_full_run(tree):
    """--plan full has them."""
    tree.replace("selftests/runner/plan.py", "PLANS = {",
                 'FULL = {"wire": Row(kernels=("default", "6.12"))}\nPLANS = {')
    tree.script("selftests/wire/run", PASSES)
    assert tree.run("selftests/run", "--kernels")[1] == "default\n"
    assert tree.run("selftests/run", "--kernels", "--plan", "full")[1] == "default\n6.12\n"


def what_is_only_run_when_asked_for(tree):
    """Not by default; a group that runs once not for another kernel."""
    tree.kernel("6.12")
    for group in ("bench", "vm", "wire"):
        tree.script(f"selftests/{group}/run", PASSES)
    assert tree.run("selftests/run", "--list")[1] == "vm\nwire\n"
    assert tree.run("selftests/run")[1].endswith("\n2 passed, 0 failed, 0 skipped\n")
    assert tree.run("selftests/run", "--kernel", "6.12")[1].endswith("\n1 passed, 0 failed, 0 skipped\n")
    assert tree.run("selftests/run", "--only", "bench")[0] == 0
    status, said = tree.run("selftests/run", "--only", "wire,none")
    assert status == 1 and "no group 'none'" in said, said
    assert said.endswith("\n1 passed, 1 failed, 0 skipped\n"), said
    tree.script("selftests/wire/run", "#!/bin/sh\necho '1..0 # SKIP no tool'\n")
    status, said = tree.run("selftests/run", "--only", "wire")
    assert status == 1 and "asked for, but no test ran" in said, said


def durations_are_kept(tree):
    """In the build folder and in the cache; --forget keeps none."""
    boot = ('echo \'[{"node": 1, "boot_seconds": 4.5}]\' '
            '>"$PAVO_LOGS/result.json"\n')
    tree.script("selftests/wire/run", PASSES + boot)
    tree.file("build/.ninja_log", "# ninja log v5\n0\t9000\t5\ta.o\tAA\n")
    files = [tree.path / "build/test-times.json", tree.cache / "test-times.json"]
    tree.run("selftests/run", "--forget")
    assert not any(file.exists() for file in files)
    status, said = tree.run("selftests/run", "-v")
    assert status == 0, said
    assert "  pass wire: fine [" in said, said
    assert "time by kind: compile 9 s, boots 4 s," in said, said
    for file in files:
        kept = json.loads(file.read_text())
        assert list(kept["items"]) == ["wire@default"], kept
        assert list(kept["tests"]) == ["wire@default: fine"], kept
        assert kept["boots"]["wire@default"][0] == 4.5, kept
        assert kept["compile"]["a.o"][0] == 9 and kept["compiled"] == 5, kept
    account = json.loads((tree.path / "build/test-logs/times.json").read_text())
    assert account["items"][0]["tests"][0]["name"] == "fine", account
    assert account["compile"]["seconds"] == 9, account
    assert account["items"][0]["cpu"] > 0 and "CPU seconds: " in said, account
    files[0].write_text("{")
    status, said = tree.run("selftests/run", "--times", "build/mine.json")
    assert status == 0 and "are ignored" in said, said
    account = json.loads((tree.path / "build/mine.json").read_text())
    assert account["boots"][0]["group"] == "wire", account


def wide_runs_have_durations_of_their_own(tree):
    """They take much longer."""
    tree.script("selftests/wire/run", PASSES)
    tree.run("selftests/run", PAVO_WIDE="1")
    kept = json.loads((tree.path / "build/test-times.json").read_text())
    assert list(kept["items"]) == ["wire@default+wide"], kept


def every_group_has_a_row():
    """Of this tree: a row names a group, and a group that starts guests has one."""
    found = groups.discover(plan.TEST, groups.read_meson_tests(groups.BUILD))
    rows = {name.partition("-")[0] for name in plan.TEST}
    assert set(found) <= rows, set(found) - rows
    for row in plan.PLANS.values():
        for name, value in row.items():
            for place in value.inputs + value.sources:
                path = groups.TREE / place
                assert path.is_dir() if place.endswith("/") else path.is_file(), (name, place)


TESTS = [tests.give(Tree, test) for test in (
    a_group_has_one_line_whatever_its_parts, each_kernel_of_the_plan,
    a_module_that_is_not_built, a_kernel_that_is_not_there, checks_of_one_script,
    other_rows_for_a_full_run, what_is_only_run_when_asked_for, durations_are_kept,
    wide_runs_have_durations_of_their_own)] + [every_group_has_a_row]

sys.exit(tests.run("session", TESTS))
