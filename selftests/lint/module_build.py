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
import tempfile

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


def read_log(folder):
    """All that make said of the last build of the module: its own output has the findings only
    (qemu-scripts/build-step)."""
    logs = sorted(folder.glob("logs/module-*.log"), key=lambda log: log.stat().st_mtime)
    return logs[-1].read_text(errors="replace") if logs else ""


INCLUDE = re.compile(rb'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def read_with_headers(read, source):
    """What findings about a source of the module depend on: [path, bytes, ...] of it and of all
    headers of the module that it includes. `read` returns nothing for a file that is not there."""
    found, left = {}, [source]
    while left:
        path = left.pop()
        if path in found or not read(path):
            continue
        found[path] = read(path)
        for name in INCLUDE.findall(found[path]):
            left += [os.path.normpath(os.path.join(folder, name.decode()))
                     for folder in (os.path.dirname(path), "kernel", "uapi")]
    return [part for path in sorted(found) for part in (path, found[path])]


def find_quiet(said, sources):
    """Those of the sources of which the steps of a build said nothing."""
    quiet = {step for step, findings in said.items() if not findings}
    return [source for source in sources
            if any(step.endswith("/" + os.path.splitext(source)[0]) for step in quiet)]


def build(tree, folder, key, jobs, known=()):
    """Builds the module; sparse leaves out the sources that are `known` to be clean. Return:
    make's status, what is said of it, and findings by step."""
    variables = outer_variables()
    record = Record(folder, f"{key} {variables} {os.environ.get('KERNEL')} "
                            f"{os.environ.get('KDIR')}")
    with tempfile.NamedTemporaryFile("w", prefix="pavo-clean") as names:
        names.write("".join(f"{source}\n" for source in known))
        names.flush()
        done = make(tree, folder, f"{variables} PAVO_CLEAN={names.name}", f"JOBS={jobs}",
                    f"SPARSE={tree}/selftests/lint/check-source")
    said = record.take(read_log(folder) or done.stdout)
    if done.returncode and not said:
        said = done.stdout.splitlines()[-20:]
    return done.returncode, said, record.said
