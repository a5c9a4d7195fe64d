# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what groups and items there are. A group is selftests/NAME with run, run-PART (each
# also with .sh), and the Meson tests of suite NAME; an item is one program of a group on
# one kernel. Called by main.py and session.py; reads the tree and the build folder.
import dataclasses
import json
import os
import pathlib
import re
import subprocess

from . import plan
from .program import Program

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "build"
VM = TREE / "qemu-scripts/pavo-vm"
SCRIPT = re.compile(r"run(?:-(?P<part>.+?))?(?:\.sh)?")


@dataclasses.dataclass(eq=False)
class Item:
    """One program of a group on one kernel ("": on the host)."""
    group: str
    part: str
    kernel: str
    program: Program
    row: plan.Row

    @property
    def key(self):
        """How plan.py and --only name it."""
        return f"{self.group}-{self.part}" if self.part else self.group

    @property
    def name(self):
        """How people and the kept durations name it."""
        return f"{self.key}@{self.kernel}" if self.kernel else self.key

    @property
    def seats(self):
        """CPUs that it keeps busy."""
        return self.row.seats

    @property
    def log_name(self):
        """The file in the folder of its logs that has its output."""
        return f"tap-{self.part}.log" if self.part else "tap.log"


def read_meson_tests(build):
    """Meson's registered tests."""
    if not (build / "build.ninja").is_file():
        return []
    return json.loads(subprocess.run(
        ["meson", "introspect", "--tests", str(build)],
        check=True, stdout=subprocess.PIPE).stdout)


def _meson_programs(tests, build):
    """(suite, part, program) of each; a test may be in several suites."""
    for test in tests:
        program = Program(test["name"], test["cmd"],
                          "tap" if test["protocol"] == "tap" else "exit",
                          test.get("workdir") or str(build),
                          test.get("env", {}), max(test["timeout"], 0) * 4.0)
        for suite in test["suite"]:
            suite = suite.split(":")[-1]
            if suite not in ("pavo", ""):
                yield suite, re.sub(r"[^\w.+]+", "-", test["name"]), program


def _scripts(folder):
    """(part, path) of a group's own programs."""
    for script in sorted(folder.iterdir()):
        found = SCRIPT.fullmatch(script.name)
        if found and script.is_file() and os.access(script, os.X_OK):
            yield found["part"] or "", script


def _script_programs(group, part, script, batches):
    """(part, program) of a script; with batches it is several."""
    command = [str(script)]
    if part or not batches:
        yield part, Program(f"{group}-{part}" if part else group, command, cwd=str(TREE))
        return
    named = [name for names in batches.values() for name in names]
    yield "", Program(group, command + ["--but", ",".join(named)], cwd=str(TREE))
    for batch, names in batches.items():
        yield batch, Program(f"{group}-{batch}", command + list(names), cwd=str(TREE))


def discover(rows, tests, tree=TREE, build=BUILD):
    """All groups: name -> [(part, program)]. `tests` are Meson's."""
    found = {}
    for folder in sorted((tree / "selftests").iterdir()):
        if not folder.is_dir():
            continue
        batches = plan.find_row(rows, folder.name, folder.name).batches
        for part, script in _scripts(folder):
            found.setdefault(folder.name, []).extend(
                _script_programs(folder.name, part, script, batches))
    for suite, part, program in _meson_programs(tests, build):
        found.setdefault(suite, []).append((part, program))
    known = [name for name in rows if name in found]
    return {name: found[name] for name in known + sorted(set(found) - set(known))}


def _kernels_of(row, kernel, slow_calls):
    """The kernels that an item runs on, "" for the host."""
    if not row.kernels:
        return ("",)
    if kernel:
        return (kernel,)
    if slow_calls and row.calls:
        return tuple(dict.fromkeys("default" if name == "native" else name
                                   for name in row.kernels))
    return row.kernels


def make_items(rows, found, only=(), kernel="", slow_calls=False):
    """The items of a run: all that is not to be asked for, or what `only` names (groups,
    or parts of them); on the kernels of the plan, or on `kernel`. Native guests have
    `slow_calls` on this host."""
    items = []
    for group, programs in found.items():
        for part, program in programs:
            row = plan.find_row(rows, group, f"{group}-{part}" if part else group)
            item = Item(group, part, "", program, row)
            if only and not {group, item.key} & set(only):
                continue
            if not only and (row.asked or (kernel and row.once)):
                continue
            items += [dataclasses.replace(item, kernel=name)
                      for name in _kernels_of(row, kernel, slow_calls)]
    return items


def logs_folder(kernel, build=BUILD):
    """Where the groups of a kernel log."""
    folder = build / "test-logs"
    return folder if kernel in ("", "default") else folder / kernel


def environment(item, release, wanted=""):
    """What a test program may rely on. `release` is that of its kernel; `wanted` is the
    kernel that the user named, for what runs on the host."""
    kernel = item.kernel or wanted
    env = dict(os.environ)
    env.update(PAVO_TREE=str(TREE), PAVO_BUILD=str(BUILD), PAVO_VM=str(VM),
               PAVO_GROUP=item.group, PAVO_SEATS=str(item.seats),
               PAVO_LOGS=str(logs_folder(kernel) / item.group),
               PAVO_KERNEL="" if kernel == "default" else kernel,
               PAVO_KO=str(BUILD / f"kernel/{release}/pavo.ko"),
               IBV_DRIVERS=str(BUILD / "userspace/provider/libpavo"))
    if item.kernel and item.kernel not in item.row.wide:
        env.pop("PAVO_WIDE", None)
    for name, value in item.row.env.items():
        value = value() if callable(value) else value
        if value:
            env[name] = value
    return env
