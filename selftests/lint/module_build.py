# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the module build of lint, with W=1 and sparse, and what was said in it. The kernel's
# build compiles what changed; what it said of the rest before is said again. Called by
# run; writes build/lint.
import json
import os
import re
import shutil
import subprocess

# Messages of the compiler and sparse about our sources; and messages about the results:
# of modpost about sections and symbols, of objtool about code.
OF_SOURCE = re.compile(r"(^|/)(kernel|uapi)/[\w/.-]+\.[chS]:\d+")
OF_OBJECT = re.compile(r"^(WARNING|ERROR): modpost:|: (warning|error): objtool:")
# The line that begins what make says of one step: "  CC [M]  /.../main.o"
STEP = re.compile(r"^  ([A-Z]+)(?: +\[M\])? +(\S+)$")
FROM_SOURCE = ("CC", "CHECK", "AS")


def is_finding(line):
    """Whether a line of the build is about the module."""
    return bool(OF_SOURCE.search(line) or OF_OBJECT.search(line))


def step_of(line):
    """The step that a line begins, or None. Compiler and sparse see a file in one step."""
    found = STEP.match(line)
    if not found:
        return None
    kind, path = found.groups()
    if kind in FROM_SOURCE:
        return "source " + os.path.splitext(path)[0]
    return f"{kind} {path}"


def sort_by_step(text):
    """step -> its findings, also none. Findings before any step are under ""."""
    said, step = {}, ""
    for line in text.splitlines():
        begins = step_of(line)
        if begins:
            step = begins
            said.setdefault(step, [])
        elif is_finding(line):
            said.setdefault(step, []).append(line)
    return said


class Record:
    """What the steps of earlier builds said, with the same key: tools, kernel and list of
    files, so that each step belongs to a file that is still there. While a build runs there is none, so that
    one that was interrupted is followed by a build of everything."""

    def __init__(self, folder, key):
        self.folder = folder
        self.path = folder / "said.json"
        self.key = key
        self.said = {}
        try:
            data = json.loads(self.path.read_text())
            if data["key"] == key:
                self.said = dict(data["said"])
        except (OSError, ValueError, LookupError, TypeError):
            pass
        if self.said:
            self.path.unlink()
        else:
            shutil.rmtree(folder, ignore_errors=True)

    def take(self, text):
        """Adds what a build said. Return: all findings, each once."""
        now = sort_by_step(text)
        self.said.update(now)
        # Without a step it is not known when it is out of date: all is built anew then.
        if "" not in now:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"key": self.key, "said": self.said}))
        return list(dict.fromkeys(line for lines in self.said.values() for line in lines))


def make(tree, folder, variables, *arguments):
    """Calls make for the module. `variables`: of a make that calls this one. Return: its result."""
    env = {**os.environ, "MAKEFLAGS": f" -- {variables}" if variables else ""}
    # Lines of one step stay together, whatever runs beside it.
    return subprocess.run(
        ["make", "--no-print-directory", "--output-sync=target", f"BUILD={folder}", "V=0",
         *arguments, "modules"],
        cwd=tree, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, errors="replace", env=env)


def outer_variables():
    """Variables of a make that calls this one, not options like -s, which hide steps."""
    return os.environ.get("MAKEFLAGS", "").partition(" -- ")[2]


def link_without(tree, folder, options):
    """Builds the module anew with options like WINDOWS=n, of which little is compiled (Kbuild).
    Return: what is said of the results, and the end of what make says if it fails."""
    done = make(tree, folder, outer_variables(), *options)
    said = [line for line in done.stdout.splitlines() if is_finding(line)]
    return said or (done.stdout.splitlines()[-5:] if done.returncode else [])


def build(tree, folder, key, jobs):
    """Builds the module. Return: make's status, and what is said of it."""
    variables = outer_variables()
    record = Record(folder, f"{key} {variables} {os.environ.get('KERNEL')} "
                            f"{os.environ.get('KDIR')}")
    done = make(tree, folder, variables, f"JOBS={jobs}", "SPARSE=1")
    said = record.take(done.stdout)
    if done.returncode and not said:
        said = done.stdout.splitlines()[-20:]
    return done.returncode, said
