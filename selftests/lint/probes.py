# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Compile probes (kernel/probes): their names stand in compat.h and in the shim of user space, and
# no other file of the module decides by them or by the kernel's version. Pure: path -> text.
# Called by run.
import re

FOLDER = "kernel/probes/"
COMPAT = "kernel/compat.h"
SHIM = "selftests/shim/probed.h"
# A line of a probe's comment, as probe.sh reads it.
NAME = re.compile(r"^ \* ([A-Z0-9_]+): \S", re.MULTILINE)
NEEDED = re.compile(r"^ \* Needed for ", re.MULTILINE)
USE = re.compile(r"\bPAVO_HAS_([A-Z0-9_]+)\b")
DEFINED = re.compile(r"^#define PAVO_HAS_([A-Z0-9_]+) [01]$", re.MULTILINE)
VERSION = re.compile(r"\bLINUX_VERSION_CODE\b")
# Why a version decides: the end of the comment before it.
REASON = re.compile(r"No declaration\W+differs\.\s*\*/\s*#[^\n]*\bLINUX_VERSION_CODE\b")


def is_probe(path):
    """Whether a file is a probe, which is no part of the module."""
    return path.startswith(FOLDER)


def judge_probes(contents):
    """Names that two probes have, and probes without a name. Return: findings, names by path."""
    bad, names, owners = [], {}, {}
    for path, text in sorted(contents.items()):
        if not is_probe(path) or not path.endswith(".c"):
            continue
        names[path] = NAME.findall(text)
        if not names[path]:
            bad.append(f"{path}: no line \"NAME: what the kernel has\" in its comment")
        for name in names[path]:
            first = owners.setdefault(name, path)
            if first != path:
                bad.append(f"{path}: {first} has the name {name}, too")
    return bad, names


def judge(contents):
    """Findings in the files of kernel/ and the shim."""
    bad, names = judge_probes(contents)
    known = {name for several in names.values() for name in several}
    used = set(USE.findall(contents[COMPAT]))
    shim = set(DEFINED.findall(contents[SHIM]))
    bad += [f"{COMPAT}: no probe has the name {name}" for name in sorted(used - known)]
    bad += [f"{path}: {COMPAT} does not use it" for path, several in names.items()
            if several and not NEEDED.search(contents[path]) and not used & set(several)]
    bad += [f"{SHIM}: no PAVO_HAS_{name}" for name in sorted(used - shim)]
    bad += [f"{SHIM}: {COMPAT} does not use PAVO_HAS_{name}" for name in sorted(shim - used)]
    for path, text in sorted(contents.items()):
        if path == SHIM or is_probe(path):
            continue
        if path != COMPAT:
            bad += [f"{path}: PAVO_HAS_{name} belongs to {COMPAT}"
                    for name in sorted(known & set(USE.findall(text)))]
            bad += [f"{path}: the kernel's version belongs to {COMPAT}"] * \
                bool(VERSION.search(text))
        elif len(VERSION.findall(text)) != len(REASON.findall(text)):
            bad.append(f"{path}: a version decides where a probe could, or the comment before it "
                       "does not end with \"No declaration differs.\"")
    return bad
