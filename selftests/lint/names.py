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
BOOL = re.compile(r"\bbool\s+$")
# A comment, and the function below it that returns a bool.
RETURNS = re.compile(r"/\*(?P<comment>(?:[^*]|\*(?!/))*)\*/\n(?:(?:static|__always_inline|inline)\s+)*"
                     r"bool\s+(?P<name>\w+)\(")
FALSE = re.compile(r"\bReturn:.*\bfalse(?: if\b|:)", re.DOTALL)
PREFIXED = re.compile(r'"(?:\\.|[^"\\\n])*?\bpavo: (?:\\.|[^"\\\n])*"')
PR_FMT = re.compile(r"^#\s*define\s+pr_fmt\b", re.MULTILINE)

# Verbs of the module: its functions do these. A new verb is added here; a noun that is a verb as well (state,
# page, number) only if it says what its function does.
VERBS = frozenset("""
    accept ack acknowledge act add admit advance alloc answer append apply arm assign attach
    begin bind bring build cache carry change charge check choose claim clamp cleanup clear
    close compare complete compute continue copy count create dealloc decide defer del deliver dequeue
    destroy detach detect diff disassociate disown dispatch do drain draw drop end enqueue enter
    exchange execute exit expect extend fail fill find finish flush follow forget free gather
    get give grow halve handle has hash hide hold init insert install invalidate join keep kill leave
    lengthen limit list load lock lookup lose make map mark mask measure merge modify move nak note
    notify number open parse pass pause pin place poll pop post prefetch prepare print probe produce
    publish push put query queue raise read reap receive reclaim record reduce refuse reg register
    release remove rename renew renotify repair repeat replace report request resched reserve reset rest
    restart resume retire retry revoke rewind rotate run scatter schedule seek segment send serve set
    settle setup share show shrink shut skip sleep spend split start step stop store sum swap switch take
    tear test tick to transmit trim try unbind uncharge uninit unlock unmap unpin unqueue update
    visit wait wake walk widen write xmit yield
""".split())
# A predicate says one of these of its subject.
PREDICATES = frozenset("""
    accepts admits are attaches brings comes completes concerns defers does ends fills fit fits
    follows has have is leads matches may must needs puts remains repeats reports rests resumes slows
    takes waits wants would
""".split())
# A pure machine's function for an event has the event's name: pavo_recovery_expired().
EVENTS = frozenset("""
    acked answered arrived expired held lost recovered refused released repeated seen sent visited
""".split())
# Functions in tables of the kernel have its names: quantum_show(), blocks_next(), direct_mmap().
OPERATIONS = frozenset("show store start next stop llseek poll fault mmap".split())


def blank_comments(text):
    """The text without comments, with the same lines."""
    return COMMENT.sub(lambda found: "\n" * found.group().count("\n") or " ", text)


def list_static(contents):
    """(name, file, line, returns a bool) of each static function that is defined."""
    return [(found.group(1), path, text.count("\n", 0, found.start(1)) + 1,
             bool(BOOL.search(text[found.start():found.start(1)])))
            for path, whole in sorted(contents.items()) for text in [blank_comments(whole)]
            for found in STATIC.finditer(text)]


def says_action(name, is_bool):
    """Does the name of a function say what it does, or of a predicate what is true? The first word
    does. Behind pavo_ or in a predicate (link_is_up) the object may be in front of it."""
    words = name.strip("_").split("_")
    if len(words) < 2:
        return False
    if words[0] == "pavo":
        return not (VERBS | PREDICATES | EVENTS).isdisjoint(words[1:])
    return words[0] in VERBS | PREDICATES or words[-1] in OPERATIONS or \
        is_bool and not PREDICATES.isdisjoint(words[1:])


def judge_functions(contents):
    """Static functions without a verb or an object, and names that two files have. One file may
    have a name twice: variants under #if, and stubs of a header."""
    bad, files = [], {}
    for name, path, line, is_bool in list_static(contents):
        if not says_action(name, is_bool):
            bad.append(f"kernel/{path}:{line}: {name}: a function is a verb and an object")
        first = files.setdefault(name, path)
        if first != path:
            bad.append(f"kernel/{path}:{line}: {name}: {first} has a function of this name, too")
    return bad


def judge_results(contents):
    """Actions that return a bool of which their comment has to say what false is."""
    return [f"kernel/{path}:{text.count(chr(10), 0, found.start('name')) + 1}: "
            f"{found['name']}: an action returns an errno or an enum value, not false"
            for path, text in sorted(contents.items()) for found in RETURNS.finditer(text)
            if FALSE.search(found["comment"])
            and PREDICATES.isdisjoint(found["name"].strip("_").split("_"))]


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
    return judge_functions(contents) + judge_results(contents) + judge_files(contents) + \
        judge_messages(contents)
