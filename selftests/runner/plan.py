# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the table of what runs where - for each group, or part of one, the kernels of a
# plain run, the seats that it takes, what of the tree it depends on, and what it finds in
# its environment. Read by groups.py and changed.py; does nothing itself.
import dataclasses

# "default": the newest kernel of the distribution that is installed. Other names are
# those that pavo-vm knows.
DEFAULT = ("default",)
NATIVE = ("native",)            # one CPU, at the speed of the host
HOST = ()                       # no guest: the same for every kernel

# Every guest with a pavo adapter depends on these.
GUEST_INPUTS = ("kernel/", "uapi/", "Kbuild", "qemu-scripts/", "userspace/provider/", "userspace/common/",
                "selftests/verbs/lib.sh", "selftests/verbs/host-lib.sh")

APPS_INPUTS = GUEST_INPUTS + ("selftests/common/pattern.h",)

# A change of these may change what any group says.
EVERYTHING = ("Makefile", "meson.build", "selftests/run", "selftests/runner/")


@dataclasses.dataclass(frozen=True)
class Row:
    """How a group or a part of one runs."""
    # On each of these kernels once; none of them means on the host.
    kernels: tuple = DEFAULT
    # Spends its time in system calls and processes: emulated in place of native where
    # a native guest is slow at them (host.py).
    calls: bool = False
    # CPUs that it keeps busy.
    seats: int = 1
    # Files that change what it says. One that ends with "/" is all below.
    inputs: tuple = GUEST_INPUTS
    # The same, but asked only about files that the build's include graph does not know.
    # The folders of scripts that it starts are always among them.
    sources: tuple = ()
    # Programs of the build folder that it starts, by the beginning of their path.
    programs: tuple = ()
    # Runs whenever anything changed.
    always: bool = False
    # Runs once, not again for a kernel that --kernel names.
    once: bool = False
    # Runs only if asked for by name.
    asked: bool = False
    # Needs the module pavo.ko of its kernel.
    module: bool = True
    # Kernels on which PAVO_WIDE=1 (make test-full) makes it longer.
    wide: tuple = DEFAULT + NATIVE
    # Variables of its environment. A value may be a function without arguments, called
    # as the item starts; an empty value leaves the variable unset.
    env: dict = dataclasses.field(default_factory=dict)
    # Its script takes names of checks: those named here are items of their own.
    batches: dict = dataclasses.field(default_factory=dict)


LINT = Row(
    kernels=HOST, once=True, module=False, always=True,
    inputs=("docs/", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", ".clang-format",
            ".gitignore", "selftests/README.md", "selftests/lint/", "selftests/run-full", "selftests/run-parts",
            "selftests/soak"),
    batches={"module": ("compiler", "sparse", "calls", "parts"), "backport": ("backport",),
             "shell": ("shell",),
             "format": ("format_kernel", "format_user"), "checkpatch": ("checkpatch",)})

# Each program is an item: "unit-" and its name with hyphens. Meson knows the sources that it
# compiles, or its script.
UNIT = Row(
    kernels=HOST, once=True, module=False, inputs=("kernel/", "uapi/"),
    sources=("userspace/",))


def add_inputs(row, *inputs):
    """A row like that, with more inputs."""
    return dataclasses.replace(row, inputs=row.inputs + inputs)


WINDOW = Row(kernels=NATIVE,
             inputs=GUEST_INPUTS + ("userspace/libpavo/", "userspace/examples/"),
             programs=("selftests/window/", "userspace/examples/", "userspace/tools/"))

TEST = {
    "lint": LINT,
    "unit": UNIT,
    "unit-KVM-or-emulation": add_inputs(UNIT, "qemu-scripts/"),
    "unit-console": add_inputs(UNIT, "qemu-scripts/"),
    "unit-kernels": add_inputs(UNIT, "qemu-scripts/"),
    "unit-arguments-of-pavo-vm": add_inputs(UNIT, "qemu-scripts/", "Kbuild"),
    "unit-moved-tree": add_inputs(UNIT, "qemu-scripts/start-anew", "Kbuild"),
    "unit-symbols-of-libpavo": add_inputs(UNIT, "userspace/libpavo/", "userspace/common/"),
    "unit-manual-pages": add_inputs(UNIT, "docs/man/", "userspace/"),
    "unit-wireshark-dissector": add_inputs(UNIT, "packaging/"),
    "unit-checks-of-lint": add_inputs(UNIT, "docs/datapath.md", "packaging/", "userspace/"),
    "unit-engine": add_inputs(UNIT, "selftests/wire/scripts/"),
    "unit-soak": add_inputs(UNIT, "selftests/soak"),
    # Two guests with one CPU each, which mostly wait for each other.
    "interop": Row(kernels=NATIVE, programs=("selftests/verbs/pavo-verbs",)),
    "apps": Row(kernels=NATIVE, calls=True, inputs=APPS_INPUTS),
    "apps-storage": Row(seats=2, inputs=APPS_INPUTS),
    # One emulated guest with two CPUs: tests of these groups that a native one lacks.
    "smp": Row(inputs=GUEST_INPUTS + ("userspace/libpavo/",),
               sources=("selftests/verbs/", "selftests/faults/", "selftests/translate/",
                        "selftests/window/", "selftests/life/"),
               programs=("selftests/verbs/", "selftests/faults/", "selftests/translate/",
                         "selftests/window/")),
    # One CPU; time that counts instructions.
    "smp-ticks": Row(wide=(), programs=("selftests/verbs/pavo-verbs",)),
    "vm": Row(kernels=NATIVE + DEFAULT, once=True, module=False,
              inputs=("qemu-scripts/", "selftests/verbs/lib.sh",
                      "selftests/verbs/host-lib.sh")),
    # Long: fresh roots of both distributions.
    "vm-fresh": Row(kernels=HOST, once=True, asked=True, module=False,
                    inputs=("qemu-scripts/",)),
    # Long: packages, in fresh roots of both distributions.
    "packaging": Row(kernels=HOST, once=True, asked=True, module=False,
                     inputs=("kernel/", "uapi/", "userspace/", "packaging/", "docs/",
                             "qemu-scripts/", "Kbuild", "README.md",
                             "selftests/verbs/lib.sh")),
    # Long: the provider is built once for each release.
    "libibverbs": Row(kernels=HOST, once=True, asked=True, module=False,
                      inputs=("uapi/", "userspace/provider/", "userspace/common/",
                              "selftests/provider/", "selftests/verbs/lib.sh")),
    # Programs of each release over an adapter.
    "libibverbs-roots": Row(kernels=NATIVE, once=True, asked=True,
                            inputs=GUEST_INPUTS + ("selftests/pyverbs/",)),
    "life": Row(kernels=NATIVE, calls=True,
                inputs=GUEST_INPUTS + ("userspace/", "packaging/", "selftests/lint/counters.py",
                                       "docs/applications.md"),
                programs=("selftests/verbs/pavo-verbs", "selftests/verbs/pavo-traffic",
                          "selftests/verbs/pavo-stuck",
                          "selftests/verbs/pavo-direct",
                          "userspace/tools/")),
    "verbs": Row(kernels=NATIVE, inputs=GUEST_INPUTS + ("userspace/libpavo/",),
                 programs=("selftests/verbs/pavo-verbs", "userspace/tools/")),
    "kverbs": Row(kernels=NATIVE, programs=("selftests/verbs/pavo-verbs",)),
    "translate": Row(kernels=NATIVE, inputs=GUEST_INPUTS + ("userspace/libpavo/",),
                     programs=("selftests/translate/",)),
    "wire": Row(kernels=NATIVE, programs=("selftests/wire/pavo-wire",)),
    # The corpus, once; with SECONDS_OF_WIREFUZZ new dialogues, too.
    "wirefuzz": Row(kernels=NATIVE, inputs=GUEST_INPUTS + ("userspace/libpavo/",
                                                           "selftests/wire/wire.sh"),
                    programs=("selftests/wirefuzz/pavo-wirefuzz",)),
    "paths": Row(kernels=NATIVE, calls=True, programs=("selftests/verbs/pavo-verbs",)),
    # Bonds, filters and tunnels are the distribution kernel's.
    "paths-distribution": Row(programs=("selftests/verbs/pavo-verbs",)),
    # Controllers of disks are the emulator's.
    "disks": Row(once=True, wide=(), programs=("selftests/disks/",)),
    # More of the same, with a host beside the I/O unit: in `make test-full`.
    "disks-nodes": Row(once=True, asked=True, seats=2, wide=(),
                       inputs=GUEST_INPUTS + ("userspace/examples/", "userspace/libpavo/",
                                              "selftests/window/io-disk"),
                       programs=("userspace/examples/",)),
    "faults": Row(kernels=NATIVE, programs=("selftests/faults/",)),
    # The programs of its corpus; at random in `make test-full` only.
    "callfuzz": Row(kernels=NATIVE, programs=("selftests/callfuzz/",),
                    sources=("selftests/faults/ends.cpp", "selftests/faults/ends.h")),
    # One between three machines stays native: emulated they are so slow that windows give
    # up paths as late.
    "window": WINDOW,
    # In native guests the examples, in emulated ones a few of all (run-nodes.sh).
    "window-nodes": dataclasses.replace(WINDOW, kernels=NATIVE + DEFAULT),
    # One measures, one needs the sanitizer kernel, one the source of rdma-core.
    "bench": Row(asked=True, programs=("selftests/bench/",)),
    "planted": Row(asked=True, module=False),
    "pyverbs": Row(asked=True),
}


def on_kernels(key, *kernels, **changes):
    """The row of a plain run, on other kernels."""
    return dataclasses.replace(TEST[key], kernels=kernels, once=False, calls=False,
                               **changes)


# `make test-full` runs these instead. One CPU and every checker: all that the native
# kernel can run, whose source is that of 6.12. Two CPUs and every checker: groups that need two.
# The distribution's own kernels: groups that meet a peer, or the kernel's own ways. The checker
# for races ("kcsan"): groups that have all of the module at work.
FULL = {
    "wire": on_kernels("wire", "native", "native-sanitizer", "newest"),
    "faults": on_kernels("faults", "native", "native-sanitizer"),
    **{key: on_kernels(key, "native", "native-sanitizer", "kcsan")
       for key in ("translate", "window")},
    "window-three": on_kernels("window", "native", "native-sanitizer"),
    "window-nodes": on_kernels("window-nodes", "default"),
    # It looks for faults of the kernel while dialogues are invented.
    "wirefuzz": on_kernels("wirefuzz", "native-sanitizer", "sanitizer"),
    # On the distribution's kernel interop has nearly all of it, smp what needs two CPUs or time.
    "verbs": on_kernels("verbs", "native", "native-sanitizer", "kcsan"),
    "kverbs": on_kernels("kverbs", "native", "native-sanitizer", "default", "sanitizer",
                         "6.12", "newest"),
    "life": on_kernels("life", "native", "native-sanitizer", "default"),
    "smp": on_kernels("smp", "default", "sanitizer", "6.12", "newest"),
    "interop": on_kernels("interop", "default", "native", "native-sanitizer", wide=()),
    "apps": on_kernels("apps", "default", "native", "native-sanitizer", wide=DEFAULT),
    "apps-storage": on_kernels("apps-storage", "default", "sanitizer"),
    "paths": on_kernels("paths", "default", "native"),
    "vm": on_kernels("vm", "native", "default"),
    "vm-fresh": dataclasses.replace(TEST["vm-fresh"], asked=False),
    "packaging": dataclasses.replace(TEST["packaging"], asked=False),
    "libibverbs": dataclasses.replace(TEST["libibverbs"], asked=False),
    "libibverbs-roots": dataclasses.replace(TEST["libibverbs-roots"], asked=False),
    # On "devices" processes map memory of a controller.
    "disks": on_kernels("disks", "default", "devices", "sanitizer"),
    "disks-nodes": dataclasses.replace(TEST["disks-nodes"], asked=False),
    "planted": Row(kernels=("sanitizer", "native-sanitizer"), module=False),
    # Without KCOV it would be blind.
    "callfuzz": on_kernels("callfuzz", "native-sanitizer", "sanitizer"),
}

PLANS = {"test": TEST, "full": {**TEST, **FULL}}


def find_row(rows, group, key):
    """The row of a part, else of its group; a group without a row is a guest."""
    return rows.get(key) or rows.get(group) or Row()
