# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the durations that are kept between runs, in files of the build folder and of the
# cache, with typical.json as the first guess. Called by session.py; writes those files.
import json
import os
import pathlib
import time

VERSION = 1
SECTIONS = ("items", "tests", "boots", "compile")
# Of each section; what was seen longest ago goes first. `make test` has 6,000 tests,
# `make test-full` about 20,000 on its kernels.
ENTRIES_MAX = 50000
NAME_MAX = 300
TYPICAL = pathlib.Path(__file__).with_name("typical.json")
UNKNOWN_HOST, UNKNOWN_GUEST = 10.0, 120.0


def _is_entry(value):
    """[seconds, when it was seen last]"""
    return (isinstance(value, list) and len(value) == 2
            and all(isinstance(n, (int, float)) and not isinstance(n, bool) and n >= 0
                    for n in value))


def _read(path, tell):
    """A file's sections. One that is damaged is told, and is as good as empty."""
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        tell(f"{path}: durations cannot be read and are ignored ({problem})")
        return {}
    sound = (isinstance(data, dict) and data.get("version") == VERSION
             and all(isinstance(data.get(s, {}), dict)
                     and all(_is_entry(v) for v in data.get(s, {}).values())
                     for s in SECTIONS)
             and isinstance(data.get("compiled", 0), int))
    if not sound:
        tell(f"{path}: durations are damaged and are ignored")
        return {}
    return data


class Durations:
    """Seconds by section and name; the newest of several files counts."""

    def __init__(self, files, tell=print, typical=TYPICAL, now=time.time):
        self.files = [pathlib.Path(f) for f in files]
        self.tell = tell
        self.now = now
        self.kept = {section: {} for section in SECTIONS}
        # When the newest program was built of those that a run has counted, by the
        # first file, which is the one of this build folder.
        self.compiled = 0
        for file in reversed(self.files):
            data = _read(file, tell)
            for section in SECTIONS:
                self._merge(section, data.get(section, {}))
            self.compiled = data.get("compiled", 0)
        try:
            self.typical = json.loads(typical.read_text())["items"]
        except (OSError, ValueError, LookupError):
            tell(f"{typical}: typical durations cannot be read and are ignored")
            self.typical = {}

    def _merge(self, section, more):
        mine = self.kept[section]
        for name, entry in more.items():
            if name not in mine or mine[name][1] <= entry[1]:
                mine[name] = entry

    def note(self, section, name, seconds):
        """Takes a duration; half of the next guess is what was known before."""
        name = name[:NAME_MAX]
        known = self.kept[section].get(name)
        if known:
            seconds = (known[0] + seconds) / 2
        self.kept[section][name] = [round(seconds, 3), round(self.now(), 3)]

    def expected(self, name, kernel, like=""):
        """Seconds that the item will take. `like` is a name with which it may be
        compared while nothing is known of its own."""
        for wanted in (name, like):
            if wanted in self.kept["items"]:
                return self.kept["items"][wanted][0]
            if wanted in self.typical:
                return float(self.typical[wanted])
        return UNKNOWN_GUEST if kernel else UNKNOWN_HOST

    def write_typical(self, path=TYPICAL):
        """Makes what is known of items the first guess of the repository."""
        known = {name: max(1, round(entry[0]))
                 for name, entry in sorted(self.kept["items"].items())}
        path.write_text(json.dumps({"items": {**self.typical, **known}}, indent=1,
                                   sort_keys=True) + "\n")

    def save(self):
        """Writes each file, whole or not at all. Times that another run wrote meanwhile stay
        where they are newer."""
        for file in self.files:
            data = _read(file, lambda _text: None)
            for section in SECTIONS:
                self._merge(section, data.get(section, {}))
        out = {"version": VERSION, "compiled": self.compiled}
        for section in SECTIONS:
            newest = sorted(self.kept[section].items(),
                            key=lambda entry: -entry[1][1])[:ENTRIES_MAX]
            out[section] = dict(sorted(newest))
        for file in self.files:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                draft = file.with_name(f"{file.name}.{os.getpid()}")
                draft.write_text(json.dumps(out, indent=0) + "\n")
                draft.replace(file)
            except OSError as problem:
                self.tell(f"{file}: durations are not kept ({problem.strerror})")
