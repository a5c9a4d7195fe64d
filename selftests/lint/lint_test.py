#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what lint does not do again (clean.py, module_build.py, run): a fault that was
# planted is found each time until it is gone, also one in a file that another reads in, and
# what is clean is not looked at again. Also citations, words that are not used (words.py), tests
# that a page names (named_tests.py), names of the module (names.py), ways between layers
# (layers.py), files that know of batching (batching.py), and the files of an operation
# (operation_files).
# Tools and make are stand-ins. Prints TAP. Run by the group unit through Meson; writes into
# temporary folders only.
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import batching  # noqa: E402  (path set above)
import clean  # noqa: E402
import counters  # noqa: E402
import layers  # noqa: E402
import module_build  # noqa: E402
import names  # noqa: E402
import words  # noqa: E402
from runner import tests  # noqa: E402

# Finds the word "fault" in files and in those that they read in; notes what it looked at.
SHELLCHECK = """#!/bin/bash
[ "$1" = --version ] && echo "version $(cat "$PLAYED/version" 2>/dev/null)" && exit
status=0
for file; do
	[ -f "$file" ] || continue
	echo "$file" >>"$PLAYED/looked"
	for part in "$file" $(sed -n 's/^# shellcheck source=//p' "$file"); do
		grep -n fault "$part" | sed "s,^,$file:," && status=1
	done
done
[ ! -e "$PLAYED/broken" ] || exit 4
exit $status
"""
FORMAT = """#!/bin/bash
[ "$1" = --version ] && exit
grep -n fault "${@:3}" /dev/null | sed 's/:\\([0-9]*\\):.*/:\\1:1: error: x/' | grep . && exit 1
exit 0
"""
# One step for each file of steps/ that is newer than its object.
MAKE = """#!/bin/bash
for word; do case $word in BUILD=*) build=${word#BUILD=} ;; esac; done
mkdir -p "$build"
for step in steps/*.c; do
	object=$build/$(basename "$step" .c).o
	[ "$object" -nt "$step" ] && continue
	echo "  CC [M]  ${step%.c}.o"
	grep -hE "warning|error" "$step"
	echo "  CHECK   $step"
	grep -h sparse "$step"
	grep -q error "$step" && status=2 && continue
	touch -r "$step" "$object"
	touch -d "$(stat -c %y "$step") + 1 second" "$object"
done
exit ${status:-0}
"""


class Tree:
    """A tree with the real lint; `looked` are the files that a tool was given."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder, "tree")
        self.played = pathlib.Path(folder, "played")
        self.tools = pathlib.Path(folder, "tools")
        self.cache = pathlib.Path(folder, "cache")
        shutil.copytree(HERE, self.path / "selftests/lint",
                        ignore=shutil.ignore_patterns("packet_path"))
        package = self.path / "qemu-scripts/pavovm"
        package.mkdir(parents=True)
        for name in ("__init__.py", "common.py"):
            shutil.copy2(HERE.parents[1] / "qemu-scripts/pavovm" / name, package)
        self.time = 1e9
        self.played.mkdir()
        self.tools.mkdir()
        for name, text in (("shellcheck", SHELLCHECK), ("clang-format", FORMAT),
                           ("make", MAKE), ("sparse", "#!/bin/sh\n")):
            tool = self.tools / name
            tool.write_text(text)
            tool.chmod(0o755)
        self.file("qemu-scripts/pavo-vm", "#!/bin/sh\necho /headers\n").chmod(0o755)
        self.file(".gitignore", "build/\n")

    def file(self, name, text):
        """A file of the tree."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def step(self, name, text):
        """What is said of a file that is built; newer than what was made of it."""
        self.time += 10
        os.utime(self.file(f"steps/{name}.c", text), (self.time, self.time))

    def lint(self, *checks):
        """(findings, files that were looked at)."""
        looked = self.played / "looked"
        looked.unlink(missing_ok=True)
        done = subprocess.run(
            [str(self.path / "selftests/lint/run"), *checks], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}",
                 "PLAYED": str(self.played), "PAVO_CACHE": str(self.cache)})
        lines = done.stdout.splitlines()
        found = [line[2:] for line in lines
                 if line.startswith("# ") and not line.endswith(" s")]
        assert done.returncode == (1 if found else 0), done.stdout
        names = looked.read_text().split() if looked.exists() else []
        return found, sorted(n for n in names if n.endswith(".sh"))


def a_fault_is_found_each_time(tree):
    """Until it is gone; what is clean is looked at once."""
    tree.file("a.sh", "#!/bin/sh\nfault\n")
    tree.file("b.sh", "#!/bin/sh\n")
    assert tree.lint("shell") == (["a.sh:2:fault"], ["a.sh", "b.sh"])
    assert tree.lint("shell") == (["a.sh:2:fault"], ["a.sh"])
    tree.file("a.sh", "#!/bin/sh\n")
    assert tree.lint("shell") == ([], ["a.sh"])
    assert tree.lint("shell") == ([], [])
    tree.file("b.sh", "#!/bin/sh\n# and a fault\n")
    assert tree.lint("shell") == (["b.sh:2:# and a fault"], ["b.sh"])


def one_in_a_file_that_is_read_in(tree):
    """What reads it in is looked at again, also by way of another."""
    tree.file("lib.sh", "# nothing\n")
    tree.file("more.sh", "#!/bin/sh\n# shellcheck source=lib.sh\n. ./lib.sh\n")
    tree.file("top.sh", "#!/bin/sh\n# shellcheck source=more.sh\n")
    tree.file("other.sh", "#!/bin/sh\n")
    assert tree.lint("shell")[1] == ["more.sh", "other.sh", "top.sh"]
    tree.file("lib.sh", "# a fault\n")
    found, looked = tree.lint("shell")
    assert looked == ["more.sh", "top.sh"] and found == ["more.sh:1:# a fault"], found


def another_tool_looks_again(tree):
    """Its version, and lint itself, are part of what is known."""
    tree.file("a.sh", "#!/bin/sh\n")
    tree.lint("shell")
    (tree.played / "version").write_text("2")
    assert tree.lint("shell")[1] == ["a.sh"]
    assert tree.lint("shell")[1] == []
    with open(tree.path / "selftests/lint/run", "a") as file:
        file.write("# other exceptions\n")
    assert tree.lint("shell")[1] == ["a.sh"]


def a_fresh_build_folder_knows_it_too(tree):
    """The cache has it; a damaged file means that all is looked at."""
    tree.file("a.sh", "#!/bin/sh\n")
    tree.lint("shell")
    shutil.rmtree(tree.path / "build")
    assert tree.lint("shell")[1] == []
    for folder in (tree.path / "build", tree.cache):
        (folder / "lint-clean/shell").write_bytes(b"\0damaged\n\xff")
    assert tree.lint("shell") == ([], ["a.sh"])


def a_tool_that_fails_makes_nothing_clean(tree):
    """It is a finding, and all is looked at again."""
    tree.file("a.sh", "#!/bin/sh\n")
    (tree.played / "broken").touch()
    found, _ = tree.lint("shell")
    assert any("status 4" in line for line in found), found
    (tree.played / "broken").unlink()
    assert tree.lint("shell") == ([], ["a.sh"])


def a_layout_is_found_each_time(tree):
    """Another .clang-format looks again."""
    tree.file(".clang-format", "one\n")
    tree.file("userspace/a.c", "fault\n")
    for _ in range(2):
        found, _ = tree.lint("format_user")
        assert found == ["userspace/a.c: 1 places, line 1 (make format)"], found
    tree.file("userspace/a.c", "\n")
    assert tree.lint("format_user")[0] == []
    known = (tree.cache / "lint-clean/format_user").read_text()
    tree.file(".clang-format", "two\n")
    tree.lint("format_user")
    assert (tree.cache / "lint-clean/format_user").read_text() != known


def a_warning_is_found_each_time(tree):
    """Also where nothing was built anew; it goes with its cause."""
    tree.file("Kbuild", "a b\n")
    tree.step("a", "kernel/a.c:7: warning: odd [-Wodd]\n")
    tree.step("b", "kernel/b.c:3:1: sparse says\n")
    for _ in range(2):
        found, _ = tree.lint("compiler", "sparse")
        assert found == ["kernel/a.c:7: warning: odd [-Wodd]",
                         "kernel/b.c:3:1: sparse says"], found
    tree.step("a", "fine\n")
    assert tree.lint("compiler", "sparse")[0] == ["kernel/b.c:3:1: sparse says"]
    tree.step("b", "kernel/b.c:9: error: no\n")
    for _ in range(2):
        assert tree.lint("compiler")[0] == ["kernel/b.c:9: error: no"]
    tree.step("b", "fine\n")
    assert tree.lint("compiler", "sparse")[0] == []


def citations_and_sources_agree(tree):
    """A citation has its anchor, an anchor its citation, and each is there once."""
    cite = "sources.md" + "#"           # this file cites nothing
    tree.file("docs/sources.md", '<a id="doc-1"></a>\n## One\n<a id="doc-1-2"></a>\n')
    tree.file("kernel/a.c", f"/* see ({cite}doc-1). */\n")
    tree.file("docs/b.md", f"[two]({cite}doc-1-2): ../docs/{cite}doc-1-2.\n")
    assert tree.lint("sources")[0] == []
    tree.file("kernel/a.c", f"\n/* see ({cite}doc-3), {cite}doc-1 */\n/* {cite} */\n")
    assert tree.lint("sources")[0] == [
        "kernel/a.c:2: docs/sources.md has no doc-3",
        "kernel/a.c:3: a citation without an anchor"], tree.lint("sources")[0]
    tree.file("kernel/a.c", "/* no citation */\n")
    assert tree.lint("sources")[0] == ["docs/sources.md: no file cites doc-1"]
    tree.file("kernel/a.c", f"/* {cite}doc-1 */\n")
    tree.file("docs/sources.md", f'{cite}doc-4 <a id="doc-1"></a>\n'
              '<a id="doc-1-2"></a>\n<a id="doc-1"></a>\n')
    assert tree.lint("sources")[0] == ["docs/sources.md: doc-1 is there twice"]


def words_that_are_not_used_are_found(tree):
    """By line, with what to write; not elsewhere, and not where a line says why."""
    tree.file("kernel/a.c", "/* one\n * Nobody waits.\n * lint-words: it quotes nobody\n */\n")
    tree.file("docs/glossary.md", "nobody\n")  # lint-words: data
    tree.file("qemu-scripts/kernels/a.config", "# nobody\n")  # lint-words: data
    tree.file("docs/a.md", "The CPU waits. Who comes later\ndoes not.\n")
    found, _ = tree.lint("words")
    assert [finding.split(": ")[:2] for finding in found] == [
        ["docs/a.md:1", "Who"], ["kernel/a.c:2", "Nobody"]], found  # lint-words: data


def tests_that_are_not_there_are_found(tree):
    """In the last cell of a row, in the manner of each group."""
    tree.file("docs/known-faults.md",
              "verbs `no.row`\n| kind | tests |\n|---|---|\n"
              "| verbs `in.first` | unit `A.B` `A.C` (of `A`); wire `a/b` `a/c` |\n"
              "| a | faults `x: y` `x: z` `w: w`; life `one` `two`; kverbs `k` `l`; verbs `v` `u` |\n"
              "| a | callfuzz `c` `d`, wirefuzz `w.txt` |\n")
    tree.file("selftests/unit/a.cpp", "TEST_P(A,\n     B)\n")
    tree.file("selftests/wire/scripts/a/b.wire", "")
    tree.file("selftests/faults/a.cpp", '{"y", f} add("x: " + what); add("w: w");\n')
    tree.file("selftests/life/a.sh", 'life "one" one\n')
    tree.file("selftests/kverbs/a.c", '{k, "k: it is"}\n')
    tree.file("selftests/verbs/a.cpp", 'PV_TEST("v", "it is")\n')
    tree.file("selftests/callfuzz/corpus/c", "")
    tree.file("selftests/wirefuzz/corpus/w.txt", "")
    found, _ = tree.lint("named_tests")
    assert [finding.split(": there")[0] for finding in found] == [
        "docs/known-faults.md:4: unit A.C", "docs/known-faults.md:4: wire a/c",
        "docs/known-faults.md:5: faults x: z", "docs/known-faults.md:5: life two",
        "docs/known-faults.md:5: kverbs l", "docs/known-faults.md:5: verbs u",
        "docs/known-faults.md:6: callfuzz d"], found


def found_words(name, text):
    """The lines and words that are found in a file."""
    return [tuple(finding[len(name) + 1:].split(": ")[:2])
            for finding in words.find(name, text)]


def sentences_without_an_actor_are_found():
    """In prose, by the first word; questions, code, quotations and later words are none."""
    assert found_words(
        "docs/a.md",
        "# What it does\n\n# What is a QP?\n\nIt waits. Who has the\nlock goes. Such\n"
        "memory stays. What does a\npeer see? Those who\nwait: what they get, say \"What\".\n"
        "\n```\nWhat ever\n```\n| Whatever comes | one |\n"
        "He who: whoever. <!-- lint-words: Such is it -->\n") == [
            ("1", "What"), ("5", "Who"), ("6", "Such"), ("8", "Those who"), ("14", "Whatever")]
    assert found_words(
        "docs/man/a.7", ".SS What is left\n.B What\nis there. Whoever\nsleeps\n") == [  # lint-words
            ("1", "What"), ("2", "What"), ("3", "Whoever")]  # lint-words: data
    assert found_words(
        "uapi/a.h",
        '/* Is it new? What\n * came? Such a\n * one. */\nchar *a = "What /* Who goes";\n'
        "int b; // One\n/* One\n * who */\n/**\n * @who: what it is\n"
        " * @b: Whatever comes\n */\n") == [
            ("2", "Such"), ("6", "One who"), ("10", "Whatever")]
    assert found_words(
        "qemu-scripts/a",
        'a="Who goes"  # Who comes\n""" What it is. """\n${#a} What\n') == [  # lint-words: data
            ("1", "Who"), ("2", "What")]
    assert found_words(
        "packaging/a.lua", 'a = "-- What is it" -- What is it.\n') == [("1", "What")]


def sentences_have_their_reach():
    """The product, its pages and its tests, but for lists of words."""
    text = "/* What nobody knows. */\n"  # lint-words: data
    for name in ("selftests/a.c", "userspace/libpavo/a.h"):
        assert found_words(name, text) == [("1", "What"), ("1", "nobody")]  # lint-words: data
    for name in ("userspace/tools/a.cpp", "Makefile", "README.md", "packaging/a.lua"):
        assert words.covers(name)
    for name in ("docs/glossary.md", "qemu-scripts/kernels/a.config"):
        assert not words.covers(name)


def words_of_the_field_are_wanted():
    """In the product and its tests, also in names; words that only contain one are none."""
    text = ("/* A train of late packets, or a Bundle; the payer of loans,\n"  # lint-words: data
            " * no deed by a near_peer. Training, bundled, room. */\n"  # lint-words: data
            "long patience, lent; a->lanes, is_told(holder)\n")
    found = [("1", "Bundle"), ("1", "late packets"),  # lint-words: data
             ("1", "loans"), ("1", "payer"), ("1", "train"),  # lint-words: data
             ("2", "deed"), ("2", "near_peer")]  # lint-words: data
    product = [("3", "holder"), ("3", "lanes"), ("3", "lent"), ("3", "told")]
    assert found_words("docs/a.md", text) == found + product
    assert found_words("kernel/a.c", text) == [
        *found[:-1], ("2", "near"), found[-1], ("2", "room"), *product[:3], ("3", "patience"),
        product[3]]
    for name in ("selftests/a.cpp", "userspace/tools/a.cpp"):
        assert found_words(name, text) == found, name
    assert words.find("kernel/a.c", "/* a train */") == [  # lint-words: data
        "kernel/a.c:1: train: GSO super-packet"]  # lint-words: data


def plain_words_are_no_names():
    """Words that are plain English in prose, in names of the product alone."""
    text = "late = near + ask_again(turn_count, door_count); /* late, near, again, inside */\n"
    found = [("1", word) for word in ("again", "ask", "door", "turn")]
    assert found_words("kernel/a.c", text) == found
    assert found_words("userspace/libpavo/a.cpp", text) == found
    assert found_words("selftests/a.cpp", text) == found_words("docs/a.md", text) == []


def words_of_others_stay():
    """Names of the kernel and words of source documents are no findings."""
    text = ("struct uverbs_attr_bundle *attrs; IB_EVENT_SRQ_LIMIT_REACHED, rx_drop_rdma_again\n"
            "a doorbell, a PVO, an rCxt, the LMT, a TCE, half RDMA\n")
    assert found_words("kernel/a.c", text) == found_words("docs/a.md", text) == []


def functions_have_a_verb_and_an_object():
    """Static ones that are defined, in any layout of their heads."""
    contents = {
        "a.c": "static int run(int a);\nstatic int run(int a)\n{\n\treturn a;\n}\n"
               "/* static void walk(void)\n{ */\n"
               "static inline const struct a *\nfind(struct a *a, int (*f)(int))\n{\n}\n"
               "static void lock(void) __acquires(&a->b(c))\n\t__acquires(d)\n{\n}\n"
               "static int run_one(void)\n{\n\tstatic int last = max(1, 2);\n}\n"
               "static struct ops ops = { .run = call(run) };\n",
        "a.h": "static inline bool pavo_is(void) { return true; }\n"}
    assert names.judge(contents) == [
        f"kernel/a.c:{line}: {name}: a function is a verb and an object"
        for line, name in ((2, "run"), (9, "find"), (12, "lock"))], names.judge(contents)


def an_object_alone_is_no_function():
    """Behind pavo_ and in a predicate the object may be in front; the kernel names operations."""
    good = ("void find_page", "bool is_up", "void pavo_find_page", "u32 pavo_page_get_offset",
            "bool pavo_page_is_free", "void pavo_page_expired", "bool link_is_up", "int page_show")
    bad = ("u32 flags_of", "void page_find", "u32 page_offset", "u32 pavo_page_offset", "bool in_place",
           "void page_expired", "void link_is_up", "u32 pavo_page_next", "bool page_valid")
    contents = {"a.c": "".join(f"static {head}(void)\n{{\n}}\n" for head in good + bad)}
    assert names.judge(contents) == [
        f"kernel/a.c:{3 * line + 1}: {head.split()[1]}: a function is a verb and an object"
        for line, head in enumerate(good + bad) if head in bad], names.judge(contents)


def an_action_returns_an_errno():
    """The comment above it shows that it returns a bool for success; predicates may."""
    heads = (" true: done; false: it has ended", " true if done; false if it has ended", " true: done")
    contents = {"a.h": "".join(f"/*\n * It is done.\n * Return:{head}.\n */\nbool {name}(void);\n"
                               for name in ("pavo_take", "pavo_is_taken") for head in heads)}
    assert names.judge(contents) == [
        f"kernel/a.h:{line}: pavo_take: an action returns an errno or an enum value, not false"
        for line in (5, 10)], names.judge(contents)


def functions_and_files_are_unique():
    """A file may have variants of a function, and a header its stubs."""
    one = "static void run_one(void)\n{\n}\n"
    contents = {"a/x.c": f"#ifdef X\n{one}#else\n{one}#endif\n", "a/x.h": one.replace("run", "walk"),
                "b/y.c": "void go_all(void)\n{\n}\n"}
    assert names.judge(contents) == []
    contents["b/x.c"] = one
    assert names.judge(contents) == [
        "kernel/b/x.c:1: run_one: a/x.c has a function of this name, too",
        "kernel/b/x.c: a/x.c has the same name"]


def messages_have_their_prefix_once():
    """By pr_fmt of one header."""
    contents = {"a.h": '#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt\n',
                "b.c": '/* "pavo: no" */\npr_warn("it says pavo, not "\n\t"pavo: %d\\n", 1);\n'}
    assert names.judge(contents) == [
        "kernel/b.c:3: pr_fmt puts the module's name before a message"]
    contents["c.c"] = contents["a.h"] + "int a;\n"
    assert names.judge(contents)[1:] == ["kernel/c.c: a.h defines pr_fmt, too"]


def an_interrupted_build_is_begun_again():
    """What it said was not kept, so all has to be said again."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place, "lint")
        first = module_build.Record(folder, "key")
        said = "  CC [M]  a.o\nkernel/a.c:1: warning: odd\n"
        assert first.take(said) == ["kernel/a.c:1: warning: odd"]
        (folder / "a.o").touch()
        module_build.Record(folder, "key")          # begun, not ended
        assert (folder / "a.o").exists()
        assert module_build.Record(folder, "key").said == {}
        assert not (folder / "a.o").exists()
        again = module_build.Record(folder, "key")
        again.take(said)
        assert module_build.Record(folder, "other tools").said == {}


def lines_of_make_by_step():
    """What is said of an object, and what belongs to no step."""
    said = module_build.sort_by_step(
        "make[1]: Entering\nWARNING: modpost: early\n  CC [M]  /b/kernel/main.o\n"
        "/b/kernel/main.c:3:4: warning: x\n  CHECK   /b/kernel/main.c\n"
        "/b/kernel/main.c:9:1: warning: symbol\n  LD [M]  /b/pavo.o\n"
        "/b/pavo.o: warning: objtool: y\n  MODPOST /b/Module.symvers\n")
    assert said == {
        "": ["WARNING: modpost: early"],
        "source /b/kernel/main": ["/b/kernel/main.c:3:4: warning: x",
                                  "/b/kernel/main.c:9:1: warning: symbol"],
        "LD /b/pavo.o": ["/b/pavo.o: warning: objtool: y"],
        "MODPOST /b/Module.symvers": []}, said


def a_source_is_known_with_its_headers():
    """Sparse looks at a source again when a header has changed that it includes by others."""
    files = {"kernel/a/a.c": b'#include <linux/x.h>\n#include "b.h"\n',
             "kernel/a/b.h": b'# include "../c.h"\n#include <rdma/abi.h>\n',
             "kernel/c.h": b'#include "a/b.h"\n', "kernel/d.h": b"",
             "uapi/rdma/abi.h": b"abi"}

    def read_all():
        return module_build.read_with_headers(lambda n: files.get(n, b""), "kernel/a/a.c")

    assert read_all()[::2] == ["kernel/a/a.c", "kernel/a/b.h", "kernel/c.h", "uapi/rdma/abi.h"]
    before = read_all()
    files["uapi/rdma/abi.h"] = b"ABI"
    assert read_all() != before


def a_step_with_a_finding_is_not_quiet():
    """Nor is a source that was not built."""
    said = {"source /b/kernel/a/a": [], "source /b/kernel/b": ["kernel/b.c:1: warning: odd"]}
    assert module_build.find_quiet(said, ["kernel/a/a.c", "kernel/b.c", "kernel/c.c"]) == [
        "kernel/a/a.c"]


def hashes_are_bounded():
    """Those that were used last stay."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "clean")
        known = clean.Clean([file])
        known.keep({f"file{n}": [b""] for n in range(clean.HASHES_MAX)})
        known.keep({"file0": [b""], "new": [b""]})
        again = clean.Clean([file])
        assert len(again.known) == clean.HASHES_MAX
        assert again.unknown({n: [b""] for n in ("file0", "file1", "file2", "new")}) == [
            "file1"]


LAYERS = layers.Table("""
[[layer]]
name = "low"
what = "the bottom"
files = ["low/", "high/table."]
uses = []
[[layer]]
name = "high"
what = "the top"
files = ["high/"]
uses = ["low"]
[[everywhere]]
files = ["trace.h"]
why = "it shows all"
[[exception]]
from = "low/odd.c"
to = "high/a."
why = "a test"
""")


def layers_include_what_is_below():
    """A way up is found by line; the table's exceptions are none."""
    contents = {"low/a.c": '#include "a.h"\n\n#include "high/a.h"\n', "low/a.h": "",
                "low/odd.c": '#include "../high/a.h"\n#include "trace.h"\n',
                "high/a.c": '#include "low/a.h"\n#include "high/table.h"\n#include <x.h>\n',
                "high/a.h": "", "high/table.h": "", "trace.h": '#include "high/a.h"\n'}
    assert layers.check_table(LAYERS, contents) == []
    assert layers.judge_includes(LAYERS, contents) == [
        "kernel/low/a.c:3: low may not include high/a.h of high"]
    contents["high/table.h"] = '#include "high/a.h"\n'
    assert "kernel/high/table.h:1: low may not include high/a.h of high" in \
        layers.judge_includes(LAYERS, contents)


def private_headers_stay_in_their_folder():
    """Whatever the table says of the two layers."""
    contents = {"low/low_private.h": "", "low/a.c": '#include "low_private.h"\n',
                "high/a.c": '#include "low/low_private.h"\n'}
    assert layers.judge_includes(LAYERS, contents) == [
        "kernel/high/a.c:1: low/low_private.h is private to its folder"]


def layers_call_what_is_below():
    """A call up is found by its symbol, a permission that no file needs as well."""
    objects = {"low/a.c": "0000 T pavo_low\n                 U pavo_high\n",
               "low/odd.c": "                 U pavo_high\n",
               "high/a.c": "0010 T pavo_high\n                 U pavo_low\n U printk\n"}
    assert layers.judge_calls(LAYERS, {}, objects) == [
        "kernel/low/a.c: low may not call pavo_high of high (high/a.c)"]
    objects["high/a.c"] = "0010 T pavo_high\n"
    assert "kernel/layers.toml: high does not use low" in layers.judge_calls(LAYERS, {}, objects)


def the_table_of_layers_is_in_order():
    """A layer stands above those that it uses, and every file is in one."""
    table = layers.Table('[[layer]]\nname = "a"\nwhat = ""\nfiles = ["a/"]\nuses = ["b"]\n'
                        '[[layer]]\nname = "b"\nwhat = ""\nfiles = ["b/"]\nuses = []\n')
    assert layers.check_table(table, ["a/x.c", "y.c"]) == [
        "kernel/layers.toml: a uses b, which does not stand before it",
        "kernel/y.c: no layer has it (kernel/layers.toml)"]


def parts_are_used_by_their_list_alone():
    """And files of other layers do not have their words."""
    text = """
[[layer]]
name = "part"
what = ""
files = ["part/"]
uses = []
part = "x"
words = ["pavo_job", "direct window"]
[[layer]]
name = "core"
what = ""
files = ["core/"]
uses = ["part"]
[[layer]]
name = "list"
what = ""
files = ["list."]
uses = ["part"]
composes = true
knows_words = true
"""
    table = layers.Table(text)
    assert layers.check_table(table, []) == [
        "kernel/layers.toml: core uses part, which a build can leave out"]
    contents = {"part/a.c": "pavo_job", "list.c": "pavo_job", "core/a.c":
                "pavo_jobless directly\n/* A Direct window */\nx = PAVO_JOB_A;\n"}
    assert layers.judge_words(table, contents) == [
        "kernel/core/a.c:2: Direct window is of a part that may be left out",
        "kernel/core/a.c:3: PAVO_JOB is of a part that may be left out"]


def the_figure_has_a_box_for_each_layer():
    """And a line to each layer that is not reached by another one."""
    figure = layers.draw(LAYERS)
    assert figure.count('class="name"') == 2 and figure.count("<line ") == 1
    top, bottom = (figure.index(f">{name}</text>") for name in ("high", "low"))
    assert figure[:top].rsplit('y="', 1)[1] != figure[:bottom].rsplit('y="', 1)[1]


def text_of_the_figure_stays_in_its_box():
    """The box is as wide as its lines and as high as the tallest text."""
    table = layers.Table('[[layer]]\nname = "a"\nwhat = "' + "mm WWW " * 30 +
                         '"\nfiles = ["a/"]\nuses = []\n')
    figure = layers.draw(table)
    x, y, wide, high = map(int, re.search(
        r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', figure).groups())
    lines = re.findall(r'<text x="(\d+)" y="(\d+)">([^<]*)<', figure)
    assert len(lines) > 5
    for left, base, text in lines:
        assert int(left) + layers.text_width(text) <= x + wide, text
        assert y < int(base) < y + high, text


def few_files_know_of_batching_on_one_machine():
    files = {f"net/{i}.c": "struct pavo_coalesced x;\n" for i in range(batching.MOST)}
    files["requester/a.c"] = '/* pavo_meta */\n// coalesced\npr_info("loopback");\nIFF_LOOPBACK\n'
    assert batching.check(files) == []
    files["qp/b.h"] = "struct pavo_meta meta;\n"
    files["responder/c.c"] = "return PAVO_ST_FRAGMENTS;\n"
    found = batching.check(files)
    assert len(found) == 3, found
    assert "kernel/qp/b.h: knows" in found[0] and "kernel/responder/c.c: knows" in found[1]
    assert found[2].startswith(f"{batching.MOST + 1} files")


def counters_of(port, device):
    """As kernel/stats.h lists them."""
    return "#define PAVO_COUNTERS(X) \\\n" + "".join(f"\tX({n}) \\\n" for n in port) + \
        "\n#define PAVO_DEVICE_COUNTERS(X) \\\n" + "".join(f"\tX({n}) \\\n" for n in device)


def there_is_room_for_more_counters():
    """20 more of average length fit into the message that shows those of the port"""
    # 4 (nest) + 16 (string) + 12 (value) + 2 (alignment)
    assert counters.entry_bytes("rx_packets") == 34
    assert counters.message_bytes(["rx_packets", "tx_rnr_naks"]) == 104 + 34 + 34
    most = (counters.MESSAGE - counters.HEAD) // 34 - 20
    for n in most, most + 1:
        found = counters.find_no_room([f"counter_{i:03}" for i in range(n)])
        assert bool(found) == (n > most), (n, found)


def counters_are_explained_where_they_are():
    """in a section of the port or of the device; names that tools know are with the port"""
    page = "## A\n| `a`, `b` | x |\n## D (device)\n| `d` | y |\n| `gone` | z |\n" + \
        "".join(f"`{n}` " for n in counters.KNOWN_TO_TOOLS if n != "np_cnp_sent")
    found = counters.find(counters_of(["a", "d", "c"], ["b", "out_of_buffer"]), page, "")
    assert [line.split(": ", 1)[1] for line in found] == [
        "c is not explained", "out_of_buffer is not explained", "there is no counter gone",
        "d is in a section of the other kind", "b is in a section of the other kind",
        "tools look for out_of_buffer with the port",
        "tools read np_cnp_sent: say why there is no such counter"], found
    assert counters.find_undrawn(["a", "rx_drop_b"], ["c"], "pavo_a_total pavo_drops_total "
                                 "pavo_c_total pavo_rx_drop_b_total pavo_gone_total") == [
        f"{counters.DASHBOARD}: pavo_{name}_total is no metric" for name in ("gone", "rx_drop_b")]


def operations_stand_where_the_page_says():
    """Each file of two operations is in the page's section on how to add one."""
    page = (HERE.parents[1] / "docs/datapath.md").read_text()
    section = re.search(r"## How to add an operation\n(.*?)(\n## |\Z)", page, re.DOTALL).group(1)
    for operation in ["IMM64"], ["EXT_CMP_SWAP", "EXT_ATOMIC"]:
        printed = subprocess.run([HERE / "operation_files", *operation], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        product, _, _ = printed.partition("tests:")
        files = [pathlib.Path(line.strip()) for line in product.splitlines()
                 if line.startswith("  ")]
        assert pathlib.Path("uapi/rdma/pavo-abi-ops.h") in files, printed
        missing = [str(file) for file in files if file.name not in section
                   and not file.match("kernel/responder/execute_*.c")]
        assert not missing, f"{operation}: {missing}"


TESTS = [tests.give(Tree, test) for test in (
    a_fault_is_found_each_time, one_in_a_file_that_is_read_in, another_tool_looks_again,
    a_fresh_build_folder_knows_it_too, a_tool_that_fails_makes_nothing_clean,
    a_layout_is_found_each_time, a_warning_is_found_each_time,
    citations_and_sources_agree, words_that_are_not_used_are_found,
    tests_that_are_not_there_are_found)] + [
    sentences_without_an_actor_are_found, sentences_have_their_reach, words_of_the_field_are_wanted,
    plain_words_are_no_names, words_of_others_stay,
    functions_have_a_verb_and_an_object, an_object_alone_is_no_function,
    an_action_returns_an_errno, functions_and_files_are_unique,
    messages_have_their_prefix_once,
    an_interrupted_build_is_begun_again, lines_of_make_by_step, hashes_are_bounded,
    layers_include_what_is_below, private_headers_stay_in_their_folder,
    layers_call_what_is_below, the_table_of_layers_is_in_order,
    parts_are_used_by_their_list_alone, few_files_know_of_batching_on_one_machine,
    there_is_room_for_more_counters, counters_are_explained_where_they_are,
    the_figure_has_a_box_for_each_layer, text_of_the_figure_stays_in_its_box,
    operations_stand_where_the_page_says]

sys.exit(tests.run("lint", TESTS))
