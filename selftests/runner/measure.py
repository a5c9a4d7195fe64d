# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: reading what others measured - ninja's log of compile times, pavo-vm's verdicts of
# machines. Called by session.py; writes nothing.
import dataclasses
import json
import os
import pathlib


@dataclasses.dataclass
class Compiled:
    """One command of the build."""
    name: str
    seconds: float
    when: int           # nanoseconds, the time of the file that it made


def read_ninja_log(path):
    """The last time of each command, one for each, whatever number of files it made."""
    last = {}
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        fields = line.split("\t")
        if len(fields) != 5:
            continue
        begin, end, when, name, command = fields
        try:
            last[name] = (int(begin), int(end), command, int(when))
        except ValueError:
            continue
    commands = {}
    for name, (begin, end, command, when) in last.items():
        commands.setdefault((begin, end, command),
                            Compiled(name, (end - begin) / 1000, when))
    return list(commands.values())


@dataclasses.dataclass
class Boots:
    """The machines of one call of pavo-vm."""
    folder: str
    seconds: float      # until the last of them was there; they boot side by side
    nodes: list         # of dictionaries: node, seconds, boot_seconds, boots


def _number(value):
    return float(value) if isinstance(value, (int, float)) else 0.0


def read_boots(folder):
    """All calls of pavo-vm that logged below the folder."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {"share"})
        if "result.json" not in files:
            continue
        try:
            verdicts = json.loads(pathlib.Path(place, "result.json").read_text())
            nodes = [{key: verdict.get(key) for key in
                      ("node", "seconds", "boot_seconds", "boots")}
                     for verdict in verdicts]
        except (OSError, ValueError, AttributeError, TypeError):
            continue
        longest = max((_number(node["boot_seconds"]) for node in nodes), default=0.0)
        found.append(Boots(os.path.relpath(place, folder), longest, nodes))
    return found
