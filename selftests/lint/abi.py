# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what abidiff finds between the libraries of this tree and those of the commit whose interface
# libpavo.so.1 has. Both are built here by the same compiler, so a difference is the interface's.
# Called by run; writes build/lint-abi, and descriptions of the commit's libraries in the cache.
import pathlib
import re
import shutil
import subprocess
import tempfile

# A line of this file is the commit.
BASELINE = "userspace/libpavo/libpavo.baseline"
COMMIT = re.compile(r"^([0-9a-f]{40})$", re.MULTILINE)
# A library, below userspace/, and the folders whose headers its users include
LIBRARIES = (("libpavo/libpavo.so.1", ("userspace/libpavo/include", "uapi")),
             ("provider/libpavo-rdmav*.so", ("userspace/provider/include", "uapi")))
# Bits of abidiff's status; a new function alone sets none (--no-added-syms).
ERRORS, CHANGED = 3, 4
REMEDY = (f"A program that was linked with libpavo.so.1 would not run: raise the number of the library"
          f" and of PAVO_1, or, before a release, put the commit that may differ into {BASELINE}.")


class Unknown(Exception):
    """The check cannot be made; the text says why."""


def read_commit(text):
    """The commit of BASELINE."""
    found = COMMIT.search(text)
    if not found:
        raise ValueError(f"{BASELINE} names no commit")
    return found[1]


def call(*command, **more):
    """Runs a command. Raises with what it printed if it fails."""
    done = subprocess.run(command, check=False, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode:
        raise RuntimeError("\n".join((" ".join(map(str, command)), *done.stdout.splitlines()[-20:])))
    return done.stdout


def extract(tree, commit, folder):
    """The files of a commit."""
    known = subprocess.run(["git", "-C", tree, "cat-file", "-e", f"{commit}^{{commit}}"], check=False,
                           stderr=subprocess.DEVNULL)
    if known.returncode:
        raise Unknown(f"the history of this clone lacks {commit[:12]}; git fetch --unshallow")
    with subprocess.Popen(["git", "-C", tree, "archive", commit], stdout=subprocess.PIPE) as archive:
        call("tar", "-x", "-C", folder, stdin=archive.stdout)


def describe(tree, build, result):
    """Builds both libraries of a tree and writes a description of each to the folder `result`."""
    if not (build / "build.ninja").exists():
        call("meson", "setup", build, tree)
    targets = [str(pathlib.Path("userspace", name)) for name, _ in LIBRARIES]
    built = call("ninja", "-C", build, "-t", "targets", "all")
    call("ninja", "-C", build, *(line.split(":")[0] for line in built.splitlines()
                                 if any(pathlib.PurePath(line.split(":")[0]).match(target)
                                        for target in targets)))
    result.mkdir(parents=True)
    for name, headers in LIBRARIES:
        for library in (build / "userspace").glob(name):
            call("abidw", "--no-corpus-path", "--no-comp-dir-path", "--drop-private-types",
                 *(word for folder in headers for word in ("--headers-dir", tree / folder)),
                 "--out-file", result / f"{library.name}.abi", library)


def describe_commit(tree, commit, cache):
    """The folder with descriptions of the commit's libraries."""
    result = cache / commit
    if result.is_dir():
        return result
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        work = pathlib.Path(work)
        (work / "tree").mkdir()
        extract(tree, commit, work / "tree")
        describe(work / "tree", work / "build", work / "result")
        try:
            (work / "result").rename(result)
        except OSError:         # another run was faster
            pass
    return result


def compare(before, after):
    """Findings of abidiff about two descriptions."""
    done = subprocess.run(["abidiff", "--no-added-syms", before, after], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode & (ERRORS | CHANGED):
        return done.stdout.splitlines()
    return []


def judge(tree, commit, build, cache):
    """Where the interface differs from the commit's; `build` is that of user space, if there is one.
    Return: findings."""
    work = build / "lint-abi"
    after = work / "now"
    shutil.rmtree(after, ignore_errors=True)
    try:
        before = describe_commit(tree, commit, cache)
        describe(tree, build if (build / "build.ninja").exists() else work / "build", after)
    except RuntimeError as failed:
        return str(failed).splitlines()
    bad = []
    for file in sorted(before.iterdir()):
        if not (after / file.name).exists():
            # The provider's name has the number of this machine's libibverbs.
            if file.name.startswith("libpavo.so"):
                bad.append(f"{file.stem} is not built any more")
            continue
        bad += [f"{file.stem}: {line}" for line in compare(file, after / file.name)]
    return bad + ([REMEDY] if bad else [])
