# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: a small tree with the real runner and stand-ins for what it starts, for the unit
# tests of the runner and its kin. Called by *_test.py; writes the folder that it is given.
import os
import pathlib
import shutil
import subprocess

TREE = pathlib.Path(__file__).resolve().parents[2]
# It knows the kernels that are files of kernels/, each with its release in it.
VM = """#!/bin/sh
[ "$1 $2" = "kernels --release" ] && cat "$(dirname "$0")/kernels/$3" 2>/dev/null && exit
echo "pavo-vm: no kernel '$3'" >&2
exit 244
"""


class Tree:
    """A tree of its own below `folder`, with a cache and a kernel "default"."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder, "tree")
        self.cache = pathlib.Path(folder, "cache")
        selftests = self.path / "selftests"
        shutil.copytree(TREE / "selftests/runner", selftests / "runner",
                        ignore=shutil.ignore_patterns("__pycache__"))
        # A plan with one kernel: what the real one has is not what is tested.
        self.replace("selftests/runner/plan.py", "kernels=NATIVE + DEFAULT",
                     "kernels=DEFAULT")
        self.replace("selftests/runner/plan.py", 'NATIVE = ("native",)',
                     "NATIVE = DEFAULT")
        for name in ("run", "soak"):
            shutil.copy2(TREE / "selftests" / name, selftests)
        (self.path / "qemu-scripts/pavovm").mkdir(parents=True)
        for name in ("__init__.py", "common.py"):
            shutil.copy2(TREE / "qemu-scripts/pavovm" / name,
                         self.path / "qemu-scripts/pavovm")
        self.script("qemu-scripts/pavo-vm", VM)
        (self.path / "build").mkdir()
        self.kernel("default")

    def script(self, name, text):
        """A program at this place."""
        path = self.file(name, text)
        path.chmod(0o755)
        return path

    def file(self, name, text=""):
        """A file at this place."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def kernel(self, name, built=True):
        """A kernel of that name, with a module or without."""
        self.file(f"qemu-scripts/kernels/{name}", f"release-of-{name}\n")
        if built:
            self.file(f"build/kernel/release-of-{name}/pavo.ko")

    def run(self, program, *arguments, **env):
        """Runs a program of the tree. Return: status, output."""
        clear = {name: value for name, value in os.environ.items()
                 if not name.startswith(("PAVO_", "XDG_", "MAKE", "GIT_"))}
        done = subprocess.run(
            [str(self.path / program), *arguments], cwd=self.path, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**clear, "PAVO_CACHE": str(self.cache), **env})
        return done.returncode, done.stdout

    def replace(self, name, old, new):
        """Changes a text of a file."""
        path = self.path / name
        text = path.read_text()
        assert old in text, f"{name}: no {old!r}"
        path.write_text(text.replace(old, new))
