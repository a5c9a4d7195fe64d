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
# Words that this project once had for things that have a name in the field. Pairs of a pattern
# and the field's word.
#
# These are no plain English in this tree: in all files of FIELD_PLACES, also as a part of a name.
FIELD_PLACES = ("kernel/", "uapi/", "userspace/", "docs/", "packaging/", "selftests/", "README",
                "CONTRIBUTING")
FIELD_WORDS = (
    ("trains?", "GSO super-packet"),
    ("bundles?", "coalesced packet"),
    ("late[ _]packets?", "packet with a deferred ICRC"),
    ("near[ _]peers?", "same-host peer"),
    ("loans?", "zero-copy reference"),
    ("payers?", "account, accounting"),
    ("tally|tallies", "stats"),
    ("deeds?", "action"),
    ("parked", "deferred"),
    ("seal(?:s|ed)?", "finish the ICRC"),
)
# These are plain English elsewhere: in the files of PRODUCT_PLACES alone.
PRODUCT_PLACES = ("kernel/", "uapi/", "userspace/libpavo/", "userspace/provider/", "docs/",
                  "packaging/", "README", "CONTRIBUTING")
PRODUCT_WORDS = (
    ("holders?", "the QP's key state"),
    ("rooms", "layers, folders or files"),
    ("lanes?", "path"),
    ("lends?|lent|lending", "take contexts for a peer"),
    ("tells?|told|telling", "notify, report, send"),
)
# These are plain English in prose: as a part of a name (is_near, late_count) in the product.
NAME_WORDS = (
    ("late", "deferred"),
    ("near", "same_host"),
    ("inside", "loopback"),
    ("park", "defer"),
    ("again", "retransmit, retry"),
    ("ask|asked", "ack_req, request"),
    ("turns?", "round"),
    ("reached", "kcov"),
    ("rooms?", "space"),
    ("doors?|houses?", "file, header, layer"),
)
# In the module alone. Programs of selftests have an option --patience.
KERNEL_WORDS = (("patience", "response timeout"), ("rooms?", "space, length, MTU"))
# Names of the kernel and of rdma core, counters that users know, words of source documents
# (docs/sources.md) and of CPUs: no word in them is looked at.
ALLOWED = re.compile(
    r"uverbs_attr_bundle|F_\w*SEAL\w*|\w+_REACHED|(?:rx_drop|PAVO_CNT_rx_drop)\w*_again|by lane|L\d+_lanes|"
    r"half RDMA|doorbell|PVO|rCxt|LMT|TCE", re.IGNORECASE)


def compiled(rows, before="(?<![A-Za-z])", behind="(?![A-Za-z])"):
    """Words, also those that underscores join to others: a pattern of all, and each with advice."""
    words = "|".join(word for word, _ in rows)
    return (re.compile(f"{before}(?:{words}){behind}", re.IGNORECASE),
            [(re.compile(word, re.IGNORECASE), advice) for word, advice in rows])


FIELD = compiled(FIELD_WORDS)
PRODUCT = compiled(PRODUCT_WORDS)
# Those that an underscore joins to others, in front or behind.
NAMES = tuple(compiled(NAME_WORDS, *ends) for ends in (
    ("(?<=_)", "(?![A-Za-z])"), ("(?<![A-Za-z_])", "(?=_)")))
KERNEL = compiled(KERNEL_WORDS)
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
# The text of a licence is its own.
LEFT_ALONE = ("docs/glossary.md", "qemu-scripts/kernels/", "selftests/lint/words.py",
              "packaging/debian/copyright")

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
    """The groups of words that a file does not use, as compiled() returns them."""
    product = name.startswith(PRODUCT_PLACES)
    return ([FIELD] if name.startswith(FIELD_PLACES) else []) + \
        ([PRODUCT] if product else []) + \
        (list(NAMES) if product and not name.startswith("docs/") else []) + \
        ([KERNEL] if name.startswith("kernel/") else [])


def find_words(name, text):
    """Words that the file does not use: triples of line number, word and advice."""
    for pattern, advice in WORDS:
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match.group(), advice
    found = [(match, rows) for every, rows in words_of(name) for match in every.finditer(text)]
    # Most files have none, and a search for what is allowed takes longer than the other.
    allowed = {at for one in ALLOWED.finditer(text) for at in range(*one.span())} if found else ()
    for match, rows in found:
        if match.start() not in allowed:
            advice = next(advice for word, advice in rows if word.fullmatch(match.group()))
            yield text.count("\n", 0, match.start()) + 1, match.group(), advice


def find(name, text):
    """The findings in a file: FILE:LINE: word: advice."""
    lines = text.split("\n")
    found = list(find_words(name, text))
    found += [(number, word, SUBJECT_ADVICE) for number, word in find_subjects(name, text)]
    return [f"{name}:{number}: {word}: {advice}" for number, word, advice in sorted(found)
            if MARK not in lines[number - 1]]
