# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests that docs/known-faults.md names: are they there? Pure, but for the function that reads
# the files. Called by run.
import re

PAGE = "docs/known-faults.md"
# "verbs `a.b` `c.d`; wire `e/f` (why)": the last cell of a row.
GROUP = re.compile(r"\b(verbs|faults|life|kverbs|unit|wire|wirefuzz|callfuzz) ((?:`[^`]+`[ ,]*)+)")
NAME = re.compile(r"`([^`]+)`")
# Group: the folder, and what of its files is read. None: a name is a file.
SOURCES = {
    "verbs": ("selftests/verbs/", ".cpp"), "faults": ("selftests/faults/", ".cpp"),
    "life": ("selftests/life/", ".sh"), "kverbs": ("selftests/kverbs/", ".c"),
    "unit": ("selftests/unit/", ".cpp"), "wire": ("selftests/wire/scripts/{}.wire", None),
    "wirefuzz": ("selftests/wirefuzz/corpus/{}", None),
    "callfuzz": ("selftests/callfuzz/corpus/{}", None),
}


def find(text):
    """The tests that a page names: triples of line number, group and name."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("| "):
            continue
        for match in GROUP.finditer(line.rstrip(" |").rpartition(" | ")[2]):
            for name in NAME.findall(match.group(2)):
                yield number, match.group(1), name


def is_there(group, name, text):
    """Do the sources of a group, as one text, have that test?"""
    if group == "unit":
        suite, _, test = name.partition(".")
        return re.search(rf"TEST(?:_[FP])?\({suite},\s*{test}\)", text) is not None
    if group == "life":
        return f'life "{name}"' in text
    if group == "kverbs":
        return f'"{name}: ' in text
    if f'"{name}"' in text:
        return True
    # A list of cases behind a common beginning
    begin, _, rest = name.partition(": ")
    return group == "faults" and f'"{begin}: "' in text and f'"{rest}"' in text


def check(files, read):
    """Findings: FILE:LINE: group name: is not there."""
    files = set(files)
    texts = {group: "\n".join(read(f) for f in sorted(files) if f.startswith(place) and f.endswith(end))
             for group, (place, end) in SOURCES.items() if end}
    return [f"{PAGE}:{number}: {group} {name}: there is no such test"
            for number, group, name in find(read(PAGE))
            if not (is_there(group, name, texts[group]) if group in texts
                    else SOURCES[group][0].format(name) in files)]
