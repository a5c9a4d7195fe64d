# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: headers of a kernel with one header changed, as a distribution changes it, and what the
# build of the module makes of them. Called by run; writes a folder below build/lint.
import os
import pathlib
import re
import shutil
import subprocess

HEADER = "include/linux/eventfd.h"
# Its function adds one in newer kernels, and a number in older ones.
ADDS_ONE = re.compile(r"\beventfd_signal\(struct eventfd_ctx \*ctx\)")
ADDS_N = re.compile(r"\b__u64 eventfd_signal\(struct eventfd_ctx \*ctx, __u64 n\);")
ONE = "void eventfd_signal(struct eventfd_ctx *ctx);"
N = "eventfd_signal(struct eventfd_ctx *ctx, __u64 n)"
ANY = re.compile(r"\beventfd_signal\(struct eventfd_ctx \*ctx(, __u64 n)?\)")
OTHER = "eventfd_signal(struct eventfd_ctx *ctx, __u64 n, int more)"
# A file of the module that calls it.
OBJECT = "kernel/window/event.o"
INCLUDED = re.compile(r"^include (/\S+)/Makefile$", re.MULTILINE)
NAMES_FOLDERS = ("Makefile", ".kernelvariables")


def write(path, text):
    """A file in place of a link."""
    path.unlink(missing_ok=True)
    path.write_text(text)


def link_headers(headers, folder):
    """Links to all files of the headers below a folder; Debian has them in two. Return: the folder
    for make and the one that has HEADER."""
    parts = [pathlib.Path(headers).resolve()]
    parts += [pathlib.Path(name) for name in INCLUDED.findall((parts[0] / "Makefile").read_text())]
    for part in parts:
        subprocess.run(["cp", "-rs", f"{part}/", folder / part.name], check=True)
    for part in parts:
        for name in NAMES_FOLDERS:
            if not (part / name).is_file():
                continue
            text = (part / name).read_text()
            for other in parts:
                text = re.sub(rf"{re.escape(str(other))}(?=[/\s]|$)", str(folder / other.name), text)
            write(folder / part.name / name, text)
    return folder / parts[0].name, folder / parts[-1].name


def change(text):
    """The header as the other kernels have it, and whether it then adds one always."""
    if ADDS_N.search(text):
        return ADDS_N.sub(ONE, text), True
    return ADDS_ONE.sub(N, text), False


def make(tree, build, headers, *arguments):
    """Calls the tree's make, or with `arguments` the kernel's own. Return: status and output."""
    env = {**os.environ, "MAKEFLAGS": ""}
    command = ["make", "--no-print-directory", *(arguments or (
        f"BUILD={build}", f"KDIR={headers}", "links"))]
    done = subprocess.run(command, cwd=tree, env=env, check=False, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def judge(tree, folder, headers, jobs):
    """Builds an object of the module for changed headers. Return: findings."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "headers").mkdir(parents=True)
    headers, place = link_headers(headers, folder / "headers")
    original = (place / HEADER).read_text()
    changed, adds_one = change(original)
    if changed == original:
        return [f"{HEADER}: this kernel's is not known here"]
    write(place / HEADER, changed)
    status, said = make(tree, folder / "build", headers)
    if status:
        return said.splitlines()[-5:]
    module = next((folder / "build/kernel").iterdir())
    build = ("-C", str(headers), f"M={module}", f"-j{jobs}", OBJECT)

    bad = []
    status, said = make(tree, "", "", *build)
    answer = "yes" if adds_one else "no"
    if status:
        bad += ["the module does not build for a changed header", *said.splitlines()[-5:]]
    if f"probe: eventfd_signal() always adds one: {answer}" not in said.splitlines():
        bad.append("the changed header is not found by its probe")
    if f"#define PAVO_HAS_EVENTFD_ADDS_ONE {int(adds_one)}\n" not in \
            (module / "kernel/probed.h").read_text():
        bad.append("probed.h does not have the changed header")

    # Again, which asks only the probes that read this header.
    write(place / HEADER, ANY.sub(OTHER, changed))
    status, said = make(tree, "", "", *build)
    lines = said.splitlines()
    if not status:
        bad.append("the module builds for a function of another kind")
    if "  eventfd_signal() always adds one" not in lines or any("CC [M]" in line for line in lines):
        bad += ["no sentence about a function of another kind", *lines[-5:]]
    if any(line.startswith("probe: CRC-32") for line in lines):
        bad.append("a probe runs again that does not read the changed header")
    return bad
