# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Names of the module that a backtrace and a log show: static functions, files, the prefix of
# messages. Pure: path from kernel/ -> text. Called by run.
import pathlib
import re

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
PARENTHESES = r"\((?:[^(){};]|\([^(){};]*\))*\)"
# A definition, not a declaration: a brace is behind its parameters and attributes. clang-format
# puts "static" into the first column. A name that a macro makes (UVERBS_HANDLER) is not looked at.
STATIC = re.compile(rf"^static\s[\w*\s]*?(\w+){PARENTHESES}(?:\s*__\w+{PARENTHESES})*\s*\{{",
                    re.MULTILINE)
PREFIXED = re.compile(r'"(?:\\.|[^"\\\n])*?\bpavo: (?:\\.|[^"\\\n])*"')
PR_FMT = re.compile(r"^#\s*define\s+pr_fmt\b", re.MULTILINE)


def blank_comments(text):
    """The text without comments, with the same lines."""
    return COMMENT.sub(lambda found: "\n" * found.group().count("\n") or " ", text)


def list_static(contents):
    """(name, file, line) of each static function that is defined."""
    return [(found.group(1), path, text.count("\n", 0, found.start(1)) + 1)
            for path, whole in sorted(contents.items()) for text in [blank_comments(whole)]
            for found in STATIC.finditer(text)]


def judge_functions(contents):
    """Static functions of one word, and names that two files have. One file may have a name
    twice: variants under #if, and stubs of a header."""
    bad, files = [], {}
    for name, path, line in list_static(contents):
        if "_" not in name.strip("_"):
            bad.append(f"kernel/{path}:{line}: {name}: a function is a verb and an object")
        first = files.setdefault(name, path)
        if first != path:
            bad.append(f"kernel/{path}:{line}: {name}: {first} has a function of this name, too")
    return bad


def judge_files(contents):
    """Files of two folders that have one name: logs and traces show no folder."""
    bad, found = [], {}
    for path in sorted(contents):
        name = pathlib.PurePosixPath(path).name
        first = found.setdefault(name, path)
        if first != path:
            bad.append(f"kernel/{path}: {first} has the same name")
    return bad


def judge_messages(contents):
    """Messages that begin with the module's name by hand, and pr_fmt in more than one file."""
    bad = []
    for path, text in sorted(contents.items()):
        text = blank_comments(text)
        bad += [f"kernel/{path}:{text.count(chr(10), 0, found.start()) + 1}: "
                "pr_fmt puts the module's name before a message"
                for found in PREFIXED.finditer(text)]
    having = sorted(path for path, text in contents.items() if PR_FMT.search(blank_comments(text)))
    return bad + [f"kernel/{path}: {having[0]} defines pr_fmt, too" for path in having[1:]]


def judge(contents):
    """All findings."""
    return judge_functions(contents) + judge_files(contents) + judge_messages(contents)
