# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Words that comments and pages of this tree do not use, and beginnings of sentences that hide
# the actor, with advice (CONTRIBUTING.md). Pure. Called by run.
import re

# A line with this word is left alone; say in the line why.
MARK = "lint-words"
ACTOR = "name the actor: process, peer, adapter, owner, walker, CPU"
# In all lines of a file.
WORDS = (
    (re.compile(r"\b(?:nobody|somebody|whoever)\b", re.IGNORECASE), ACTOR),  # lint-words: the rule
    (re.compile(r"\bcongestion window\b", re.IGNORECASE), "cwnd"),
    (re.compile(r"\b(?:requester|responder|asking|answering) hal(?:f|ves)\b", re.IGNORECASE),
     "the parts of a queue pair are sides"),
)
# Words that this project once had for things that have a name in the field; in all lines of the
# files where they are told apart from plain English.
FIELD_PLACES = ("kernel/", "uapi/", "docs/", "README", "CONTRIBUTING")
FIELD_WORDS = tuple((re.compile(rf"\b(?:{word})\b", re.IGNORECASE), advice) for word, advice in (
    ("trains?", "GSO super-packet"),
    ("bundles?", "coalesced packet"),
    ("late packets?", "packet with a deferred ICRC"),
    ("near peers?", "same-host peer"),
    ("loans?", "zero-copy reference"),
    ("payers?", "account, accounting"),
    ("tally|tallies", "stats"),
    ("holders?", "the QP's key state"),
    ("deeds?", "action"),
    ("parked", "deferred"),
    ("rooms", "layers, folders or files"),
))
# In the module alone: the library has an option of this name.
KERNEL_WORDS = ((re.compile(r"\bpatience\b", re.IGNORECASE), "response timeout"),)
# In prose, a sentence with one of these as its first word. A capital letter tells the first
# word, so a fragment (@member: what ...) is not one. Quoted words are not ours.
SUBJECT = re.compile(
    r"(?<![\w\"'`“-])(?:Who|What|Whatever|Such|(?:One|Those)[\s*#/]+who)(?=[\s,]|$)")
SUBJECT_ADVICE = "say which process, peer, packet or memory it is"
# The end of a sentence, or of the heading, cell or comment that it is alone in.
SENTENCE_END = re.compile(r"[.!?](?=[\s*\"')|]|$)|\n\s*[*#]*\s*\n|\n#|\*/|\|")

PLACES = ("kernel/", "uapi/", "userspace/", "docs/", "packaging/", "qemu-scripts/", "selftests/",
          "README", "CONTRIBUTING", "Makefile", "Kbuild", "meson.build")
# The glossary lists the words. A changed fragment of kernels/ builds all guest kernels anew.
LEFT_ALONE = ("docs/glossary.md", "qemu-scripts/kernels/")

C_PARTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?P<prose>/\*.*?\*/|//[^\n]*)',
                     re.DOTALL)
LUA_PARTS = re.compile(r'"(?:\\.|[^"\\\n])*"|(?P<prose>--[^\n]*)')
SHELL_PARTS = re.compile(r'(?P<prose>"""(?!\\).*?"""|(?:(?<=\s)|^)#[^\n]*)',
                         re.DOTALL | re.MULTILINE)
# Blocks of code, which may be quotations.
PAGE_PARTS = re.compile(r"^```.*?^```[^\n]*$|(?P<prose>.+?)(?=^```|\Z)", re.DOTALL | re.MULTILINE)


def parts_of(name):
    """The pattern for the parts of a file: prose, and other things that hold no prose."""
    if name.endswith((".c", ".h", ".cpp", ".hpp")):
        return C_PARTS
    if name.endswith(".lua"):
        return LUA_PARTS
    if name.endswith(".md") or name.startswith("docs/man/"):
        return PAGE_PARTS
    return SHELL_PARTS


def is_question(text, start):
    """Does the sentence from start on end in a question mark?"""
    end = SENTENCE_END.search(text, start)
    return bool(end) and end.group() == "?"


def find_subjects(name, text):
    """Sentences that begin with SUBJECT: pairs of line number and word."""
    for part in parts_of(name).finditer(text):
        if part.group("prose") is None:
            continue
        for match in SUBJECT.finditer(text, part.start(), part.end()):
            if not is_question(text, match.start()):
                yield (text.count("\n", 0, match.start()) + 1,
                       " ".join(re.findall(r"\w+", match.group())))


def covers(name):
    """Does the lint look at that file?"""
    return name.startswith(PLACES) and not name.startswith(LEFT_ALONE)


def words_of(name):
    """The words that a file does not use, with advice."""
    return (WORDS + (FIELD_WORDS if name.startswith(FIELD_PLACES) else ()) +
            (KERNEL_WORDS if name.startswith("kernel/") else ()))


def find(name, text):
    """The findings in a file: FILE:LINE: word: advice."""
    lines = text.split("\n")
    found = [(text.count("\n", 0, match.start()) + 1, match.group(), advice)
             for pattern, advice in words_of(name) for match in pattern.finditer(text)]
    found += [(number, word, SUBJECT_ADVICE) for number, word in find_subjects(name, text)]
    return [f"{name}:{number}: {word}: {advice}" for number, word, advice in sorted(found)
            if MARK not in lines[number - 1]]
