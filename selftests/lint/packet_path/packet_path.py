#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Counts the files that a packet walks through in the module.

Builds the module with hooks at entry and exit of each function (calls.c), sends messages between
two adapters in a guest at native speed (guest.sh), and follows the recorded calls. Two walks:

send     from the call of the process that kicks to the function that hands the packet to the
         network stack, or to the loopback queue
receive  from the network stack's call to the return of the function that handles the packet for
         its side of the queue pair; the response to it is a send of its own

A file is a .c file with a function that was called on the walk; inline functions of headers are
part of their callers. A return is a function of one file that returns into a function of another
one. Each record has a hundred sends. The walk that is most frequent counts, or one that is half as
frequent and longer: the packets of a long message are not alike.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[2]

# First functions of a walk, and those that end it: by their entry, or by their return.
SEND = ("pavo_requester_drain",)
HANDED_OVER = ("send_addressed",)
RECEIVE = ("pavo_demux_receive", "pavo_demux_local")
HANDLED = ("handle_request", "pavo_requester_handle")


def run(command, **more):
    """Runs a command; ends the program if it fails, with what it said."""
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-3000:]}")
    return done.stdout


def build_module(folder, tree):
    """Builds the module of a tree with the hooks. Return: the object files."""
    for path in [*tree.glob("kernel/**/*"), *tree.glob("uapi/**/*")]:
        if path.suffix in (".c", ".h", ".S", ".sh"):
            link = folder / path.relative_to(tree)
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink() and not link.exists():
                link.symlink_to(path)
    for path in folder.glob("**/*.[chS]"):
        if not path.exists():
            path.unlink()
    main = folder / "kernel/main.c"
    text = (tree / "kernel/main.c").read_text()
    text = text.replace("pavo_debugfs_init();", "pavo_debugfs_init();\n\tpavo_calls_init();")
    text = text.replace("pavo_debugfs_exit();", "pavo_debugfs_exit();\n\tpavo_calls_exit();")
    text = text.replace("static int __init pavo_init",
                        "void pavo_calls_init(void);\nvoid pavo_calls_exit(void);\n\n"
                        "static int __init pavo_init")
    main.unlink()
    main.write_text(text)
    hooks = folder / "calls.c"
    hooks.unlink(missing_ok=True)
    hooks.symlink_to(HERE / "calls.c")
    (folder / "Kbuild").write_text(
        (tree / "Kbuild").read_text() +
        "\nccflags-y += -finstrument-functions\npavo-y += calls.o\n"
        "CFLAGS_REMOVE_calls.o := -finstrument-functions\n")
    headers = run([tree / "qemu-scripts/find-headers", "native"]).split()[0]
    run(["make", "-C", headers, f"M={folder}", f"-j{os.cpu_count()}", "modules"])
    return [path for path in folder.glob("kernel/**/*.o") if path.with_suffix(".c").exists()]


def find_files(folder, objects):
    """function -> its file, from the symbols of the objects"""
    files = {}
    for path in objects:
        name = str(path.relative_to(folder / "kernel").with_suffix(".c"))
        for line in run(["nm", path]).splitlines():
            kind, symbol = line.split()[-2:]
            if kind in "tT":
                files[symbol.split(".")[0]] = name
    return files


def read_calls(path):
    """The calls of a record: +1 or -1, and the function"""
    for line in path.read_text().splitlines():
        name = re.sub(r"[ .].*", "", line[1:])
        yield (1 if line[0] == "+" else -1), name


def find_walks(calls, first, ends, at_return):
    """Walks of a record: lists of calls. One begins with the entry of a function of `first`, and
    ends with one of `ends`; without that it is none. Calls of another walk inside one, as of a
    packet that arrives meanwhile, are left out."""
    walks, open_walks = [], []
    for step, name in calls:
        if step > 0 and name in RECEIVE + SEND:
            open_walks.append((name, []))
        if not open_walks:
            continue
        begun, walk = open_walks[-1]
        if walk is not None:
            walk.append((step, name))
        if walk is not None and name in ends and begun in first and step == (
                -1 if at_return else 1):
            walks.append(walk)
            open_walks[-1] = (begun, None)
        if step < 0 and name == begun:
            open_walks.pop()
    return walks


def measure(walk, files):
    """Files of a walk in their order, and the number of returns into another file"""
    seen, stack, returns = [], [], 0
    for step, name in walk:
        if step > 0:
            stack.append(files.get(name, name))
            if stack[-1] not in seen:
                seen.append(stack[-1])
        elif stack:
            left = stack.pop()
            returns += bool(stack) and stack[-1] != left
    return seen, returns


def print_walk(walk, files, out):
    """Prints the calls of a walk as a tree"""
    depth = 0
    for step, name in walk:
        if step < 0:
            depth -= 1
        else:
            print(f"    {'  ' * depth}{name}  {files.get(name, '?')}", file=out)
            depth += 1


def choose_walk(walks):
    """The longest of those that are at least half as frequent as any. Return: it, how often"""
    counted = collections.Counter(walks)
    most = max(counted.values())
    return max(((walk, times) for walk, times in counted.items() if 2 * times >= most),
               key=lambda one: len(one[0]))


def follow(folder, files, show):
    """Follows the records of a folder. Return: (record, kind) -> files, returns"""
    result = {}
    for record in sorted(folder.glob("logs/**/*.calls")):
        calls = list(read_calls(record))
        for kind, first, ends, at_return in (("send", SEND, HANDED_OVER, False),
                                             ("receive", RECEIVE, HANDLED, True)):
            walks = [tuple(w) for w in find_walks(calls, first, ends, at_return)]
            for handler in ends if at_return else (None,):
                some = [w for w in walks if handler is None or w[-1][1] == handler]
                if not some:
                    continue
                walk, times = choose_walk(some)
                seen, returns = measure(walk, files)
                name = {"handle_request": "receive of a request",
                        "pavo_requester_handle": "receive of an ACK"}.get(handler, kind)
                result[record.stem, name] = len(seen), returns
                print(f"{record.stem}: {name}: {len(seen)} files, {returns} returns"
                      f" ({times} of {len(some)})")
                if show:
                    print("   ", " ".join(seen))
                if show > 1:
                    print_walk(walk, files, sys.stdout)
    return result


def main():
    """The program"""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, default=TREE, help="the sources")
    parser.add_argument("--folder", type=pathlib.Path, default=TREE / "build/packet-path",
                        help="where module and records go")
    parser.add_argument("--again", action="store_true", help="follow the records of the last run")
    parser.add_argument("-v", dest="show", action="count", default=0,
                        help="print the files of each walk; twice: the calls, too")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not options.again:
        build_module(folder, options.tree.resolve())
        shutil.rmtree(folder / "logs", ignore_errors=True)
        run([options.tree / "qemu-scripts/pavo-vm", "run", "-q", "--timeout", "240",
             "--logs", folder / "logs", "--", "bash", HERE / "guest.sh"],
            env={**os.environ, "PAVO_KERNEL": "native", "PAVO_KO": str(folder / "pavo.ko"),
                 "PAVO_TREE": str(TREE), "PAVO_BUILD": str(TREE / "build"),
                 "IBV_DRIVERS": str(TREE / "build/userspace/provider/libpavo")})
    objects = [p for p in folder.glob("kernel/**/*.o") if p.with_suffix(".c").exists()]
    follow(folder, find_files(folder, objects), options.show)


if __name__ == "__main__":
    main()
