#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of compile probes: the answers of probe.sh (kernel/probes) for headers that a test
# writes, its sentences, what it tells make, and the check of lint that the probes and compat.h
# agree (probes.py). Prints TAP. Run by the group unit through Meson; writes into temporary
# folders only.
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import backport  # noqa: E402  (path set above)
import probes  # noqa: E402
from runner import tests  # noqa: E402

SCRIPT = HERE.parents[1] / "kernel/probes/probe.sh"
FORMS = """/*
 * NEW: signal() adds one
 * OLD: signal() is told what to add
 */
#include "signal.h"

void probe(void)
{
#ifdef PAVO_HAS_NEW
	signal();
#else
	signal(1);
#endif
}
"""
FLAG = """/*
 * FLAG: there is a flag
 */
#include "signal.h"

int probe = FLAG;
"""


class Kernel:
    """Headers, here one, and the compiler for them."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder)
        self.compiler = ["cc", f"-I{folder}", "-Wall", "-Werror"]

    def header(self, text):
        """What this kernel declares."""
        (self.path / "signal.h").write_text(text)

    def probe(self, text):
        """(exit status, output without the compiler's, written part of probed.h or None)."""
        source, result = self.path / "signal_probe.c", self.path / "signal_probe.result"
        source.write_text(text)
        for written in result, self.path / "dependencies":
            written.unlink(missing_ok=True)
        done = subprocess.run(
            ["sh", SCRIPT, result, self.path / "dependencies", source, *self.compiler],
            check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
        return (done.returncode, done.stdout.splitlines(),
                result.read_text().splitlines() if result.exists() else None)

    def read_dependencies(self):
        """The names of the files that make then knows of."""
        text = (self.path / "dependencies").read_text()
        return {pathlib.Path(name).name for name in re.split(r"[\s\\]+", text) if name}


def the_first_form_that_compiles_is_the_kernels(kernel):
    """The others are 0; those behind it are not tried"""
    kernel.header("void signal(void);\n")
    assert kernel.probe(FORMS) == (0, ["probe: signal() adds one: yes"], [
        "/* signal() adds one */", "#define PAVO_HAS_NEW 1",
        "/* signal() is told what to add */", "#define PAVO_HAS_OLD 0"])
    kernel.header("void signal(int n);\n")
    assert kernel.probe(FORMS) == (0, [
        "probe: signal() adds one: no", "probe: signal() is told what to add: yes"], [
        "/* signal() adds one */", "#define PAVO_HAS_NEW 0",
        "/* signal() is told what to add */", "#define PAVO_HAS_OLD 1"])


def a_single_name_may_be_absent(kernel):
    """It is 0, which is no failure"""
    kernel.header("enum { FLAG };\n")
    assert kernel.probe(FLAG) == (0, ["probe: there is a flag: yes"], [
        "/* there is a flag */", "#define PAVO_HAS_FLAG 1"])
    kernel.header("enum { OTHER };\n")
    assert kernel.probe(FLAG) == (0, ["probe: there is a flag: no"], [
        "/* there is a flag */", "#define PAVO_HAS_FLAG 0"])


def an_unknown_form_is_a_sentence(kernel):
    """It names what would be known, and has the compiler's first error"""
    kernel.header("void signal(int n, int more);\n")
    status, said, result = kernel.probe(FORMS)
    assert status == 1 and result is None, (status, result)
    assert said[:6] == [
        "probe: signal() adds one: no", "probe: signal() is told what to add: no",
        "pavo: this kernel differs from all that pavo knows. None of these is true of it:",
        "  signal() adds one", "  signal() is told what to add",
        "The compiler said about kernel/probes/signal_probe.c:"], said
    assert len(said) == 7 and re.match("  error: too few arguments", said[6]), said


def what_the_module_needs_is_a_sentence(kernel):
    """It names the use"""
    kernel.header("enum { OTHER };\n")
    status, said, result = kernel.probe(FLAG.replace("there is a flag", "the flag").replace(
        "/*\n", "/*\n * Needed for signals.\n", 1))
    assert status == 1 and result is None, (status, result)
    assert said[:2] == [
        "probe: the flag: no",
        "pavo: this kernel lacks the flag, which pavo needs for signals"], said
    assert len(said) == 3, said


def pointers_to_other_types_are_differences(kernel):
    """Other warnings are none, though the kernel's options make them errors"""
    kernel.header("void take(int (*function)(const char *));\n")
    text = """/*
 * CONST: it is const
 * PLAIN: it is not
 */
#include "signal.h"

static int unused;

#ifdef PAVO_HAS_CONST
static int function(const char *s) { return !s; }
#else
static int function(char *s) { return !s; }
#endif

void probe(void) { int more; take(function); }
"""
    assert kernel.probe(text)[1] == ["probe: it is const: yes"]
    kernel.header("void take(int (*function)(char *));\n")
    assert kernel.probe(text)[1] == ["probe: it is const: no", "probe: it is not: yes"]


def make_knows_what_an_answer_depends_on(kernel):
    """Whether it is yes or no, and also where a header is absent"""
    kernel.header("#include \"other.h\"\n")
    (kernel.path / "other.h").write_text("enum { FLAG };\n")
    kernel.probe(FLAG)
    assert {"signal.h", "other.h", "signal_probe.c"} <= kernel.read_dependencies()
    (kernel.path / "other.h").write_text("")
    kernel.probe(FLAG)
    assert {"signal.h", "other.h", "signal_probe.c"} <= kernel.read_dependencies()
    kernel.header("#include \"absent.h\"\n")
    assert kernel.probe(FLAG)[0] == 0
    assert "signal_probe.c" in kernel.read_dependencies()


def a_compiler_that_fails_is_no_answer(kernel):
    """Its own words are shown"""
    kernel.header("enum { FLAG };\n")
    kernel.compiler = ["/nonexistent/cc"]
    status, said, result = kernel.probe(FLAG)
    assert status == 127 and result is None and "not found" in said[0], (status, said, result)
    assert not any(line.startswith("probe: ") for line in said), said


def probes_and_compat_agree():
    """Names in one of the files alone are found, and versions without a reason"""
    good = {
        "kernel/probes/a.c": "/*\n * A_NEW: it is new\n * A_OLD: it is old\n */\n",
        "kernel/probes/need_b.c": "/*\n * Needed for c.\n * B: there is b\n */\n",
        probes.COMPAT: "#if PAVO_HAS_A_NEW\n#endif\n/* Text. No declaration\n * differs. */\n"
                       "#if LINUX_VERSION_CODE > 1\n#endif\n",
        probes.SHIM: "#define PAVO_HAS_A_NEW 1\n",
        "kernel/main.c": "#define PAVO_HAS_ODP 1\n"}
    assert probes.judge(good) == [], probes.judge(good)

    def find(path, text):
        found = probes.judge({**good, path: text})
        assert len(found) == 1, found
        return found[0]

    assert "no line" in find("kernel/probes/d.c", "/* nothing */\n")
    assert "does not use it" in find("kernel/probes/d.c", "/*\n * D: it is\n */\n")
    assert "has the name B, too" in find("kernel/probes/need_d.c",
                                         "/*\n * Needed for c.\n * B: it is\n */\n")
    assert "no PAVO_HAS_A_NEW" in find(probes.SHIM, "")
    assert "does not use PAVO_HAS_X" in find(probes.SHIM, good[probes.SHIM] +
                                             "#define PAVO_HAS_X 0\n")
    assert "PAVO_HAS_A_OLD belongs" in find("kernel/main.c", "#if PAVO_HAS_A_OLD\n")
    assert "version belongs" in find("kernel/main.c", "#if LINUX_VERSION_CODE > 1\n")
    assert "a version decides" in find(
        probes.COMPAT, good[probes.COMPAT] + "#if LINUX_VERSION_CODE > 2\n")
    found = probes.judge({**good, probes.COMPAT: good[probes.COMPAT] + "#if PAVO_HAS_C\n"})
    assert found == [f"{probes.COMPAT}: no probe has the name C",
                     f"{probes.SHIM}: no PAVO_HAS_C"], found


def a_header_of_another_version_is_made_of_both_kinds():
    """of one that adds a number, and of one that adds one"""
    old = "__u64 eventfd_signal(struct eventfd_ctx *ctx, __u64 n);\n"
    new = "static inline void eventfd_signal(struct eventfd_ctx *ctx)\n{\n}\n"
    assert backport.change(old) == (f"{backport.ONE}\n", True)
    assert backport.change(new) == (
        "static inline void eventfd_signal(struct eventfd_ctx *ctx, __u64 n)\n{\n}\n", False)
    other = backport.OTHER
    assert [backport.ANY.sub(other, text) for text in (old, backport.ONE, new)] == [
        f"__u64 {other};\n", f"void {other};", f"static inline void {other}\n{{\n}}\n"]


TESTS = [tests.give(Kernel, test) for test in (
    the_first_form_that_compiles_is_the_kernels, a_single_name_may_be_absent,
    an_unknown_form_is_a_sentence, what_the_module_needs_is_a_sentence,
    pointers_to_other_types_are_differences, make_knows_what_an_answer_depends_on,
    a_compiler_that_fails_is_no_answer)] + [
    probes_and_compat_agree, a_header_of_another_version_is_made_of_both_kinds]

sys.exit(tests.run("probes", TESTS))
