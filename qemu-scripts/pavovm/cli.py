# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the command line of pavo-vm. Turns arguments into a Machine and jobs,
# runs them and returns the exit code. Called by ../pavo-vm only.
import argparse
import fcntl
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

from . import accel, initramfs, kernels, qemu
from .common import EXIT_INTERRUPTED, EXIT_SETUP, SetupError, cache_dir, script_dir
from .guest import Machine, job_text, quote
from .run import Run, overall
from .ui import Ui

RUNS_KEPT = 20
# environment of the caller that test programs in a guest expect to find
PASSED_ON = ("PAVO_KO", "PAVO_TREE", "IBV_DRIVERS")

EPILOG = """\
exit status:
  the command's own status, or
  240  the kernel complained on its console (WARN, BUG, lockdep, KASAN, leak...)
  241  the kernel panicked          242  the time limit ran out
  243  the machine ended silently   244  could not be set up   245  interrupted

In the guest: the host's files are seen read-only at the same paths under a
scratch layer; the working folder is kept; files put in $PAVO_OUT come back.
NODE and NODES are set; eth0 of node I has 192.168.77.I/24 and fd00:77::I/64.
pavo-barrier, pavo-put, pavo-get and pavo-until are there for scripts.
"""


def _positive(text):
    """The type of an argument that is a number of 1 or more."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 1 or more")
    return int(text)


def _seconds(text):
    """The same of a time."""
    if not re.fullmatch(r"\d+(\.\d*)?", text) or not float(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return float(text)


def _memory(text):
    """A size for QEMU and for User-Mode Linux; without a unit it is MiB."""
    if not re.fullmatch(r"[1-9]\d*[KMGkmg]?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size (2G, 700M)")
    return text + "M" if text.isdigit() else text


def _expression(text):
    """A regular expression."""
    try:
        re.compile(text)
    except re.error as problem:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a regular expression: {problem}") from problem
    return text


def _version():
    """That of pavo, in whose tree or folder this is."""
    found = re.search(r"^PAVO_VERSION := (\S+)$",
                      (script_dir().parent / "Kbuild").read_text(), re.M)
    return f"pavo-vm {found[1]}" if found else "pavo-vm"


class _Version(argparse.Action):
    """--version: read only when it is asked for."""

    def __call__(self, parser, namespace, values, option_string=None):
        print(_version())
        parser.exit()


def _machine_options(parser):
    parser.add_argument("--kernel", metavar="V",
                        default=os.environ.get("PAVO_KERNEL"), help="installed version, "
                        "version prefix, or name of a cached kernel such as "
                        "'sanitizer' or 'native' (default: newest installed with headers)")
    parser.add_argument("--kernel-image", metavar="FILE", help="a kernel you "
                        "built (with --modules)")
    parser.add_argument("--modules", metavar="DIR", help="its "
                        "lib/modules/RELEASE folder")
    parser.add_argument("--smp", type=_positive, metavar="N",
                        help="virtual CPUs (2; a native kernel has one)")
    parser.add_argument("--mem", type=_memory, default="2G", metavar="SIZE",
                        help="memory (2G)")
    parser.add_argument("--append", default="", metavar="ARGS",
                        help="more kernel arguments")
    parser.add_argument("--accel", choices=("auto", "kvm", "tcg"),
                        default="auto", help="auto tries KVM once per boot of "
                        "the host and kernel")
    parser.add_argument("--icount", action="store_true", help="repeatable: "
                        "virtual time counts instructions (1 CPU, emulated)")
    parser.add_argument("--timeout", type=_seconds, default=300, metavar="S",
                        help="time limit in seconds, boot included (300)")
    parser.add_argument("--env", action="append", default=[],
                        metavar="NAME[=VALUE]", help="environment variable for "
                        "the command (may be repeated)")
    parser.add_argument("--logs", metavar="DIR", help="keep console, output "
                        "and files there (default: the cache, last "
                        f"{RUNS_KEPT} runs)")
    parser.add_argument("--allow-console", type=_expression, action="append", default=[],
                        metavar="REGEX", help="console lines that are not a "
                        "failure (may be repeated)")
    parser.add_argument("--no-kmemleak", action="store_true", help="skip the "
                        "leak scan on kernels that have it")
    parser.add_argument("--qemu-arg", action="append", default=[],
                        metavar="ARG", help="one more QEMU argument")
    parser.add_argument("-q", "--quiet", action="store_true",
                        help="only the guests' output")


class _Parser(argparse.ArgumentParser):
    """Wrong arguments have a status of their own, because a command may return 2, too."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(EXIT_SETUP, f"{self.prog}: {message}\n")


def _parser():
    parser = _Parser(
        prog="pavo-vm", description="Boot virtual machines from the host's own "
        "files, run something in them, bring back status, logs and files.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action=_Version, nargs=0, help="the version")
    sub = parser.add_subparsers(dest="what", required=True)
    keep = {"epilog": EPILOG,
            "formatter_class": argparse.RawDescriptionHelpFormatter}

    run = sub.add_parser("run", help="run a command in one machine", **keep)
    _machine_options(run)
    run.add_argument("command", nargs=argparse.REMAINDER,
                     help="program and arguments, or one shell line")

    cluster = sub.add_parser("cluster", help="run on N machines joined by a "
                             "wire", usage="pavo-vm cluster N [options] "
                             "command...", **keep)
    cluster.add_argument("--nodes", type=int, default=2, metavar="N",
                         help="the same as the bare N (2)")
    _machine_options(cluster)
    cluster.add_argument("--mtu", type=_positive, default=1500,
                         help="of the wire (1500)")
    cluster.add_argument("--on", nargs=2, action="append", default=[],
                         metavar=("NODE", "LINE"), help="a shell line for one "
                         "node instead of the command (may be repeated)")
    cluster.add_argument("command", nargs=argparse.REMAINDER,
                         help="program and arguments, or one shell line; every "
                         "node runs it with its own NODE")

    shell = sub.add_parser("shell", help="an interactive shell in a machine",
                           **keep)
    _machine_options(shell)
    shell.add_argument("--nodes", type=int, default=1, metavar="N",
                       help="boot N machines on a wire (shell in the first; "
                       "reach the others with `pavo-vm attach`)")
    shell.add_argument("--mtu", type=_positive, default=1500)

    attach = sub.add_parser("attach", help="shell of another node of a running "
                            "`pavo-vm shell --nodes N`")
    attach.add_argument("node", type=int, metavar="NODE")

    listing = sub.add_parser("kernels", help="list the kernels that can be "
                             "booted")
    listing.add_argument("--headers", metavar="V", help="print the headers "
                         "folder of one ('default' for the default)")
    listing.add_argument("--release", metavar="V", help="print the release of "
                         "one")
    return parser


def _environment(words):
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    tree = script_dir().parent
    if (tree / "Kbuild").is_file():
        env.setdefault("PAVO_TREE", str(tree))
    for word in words:
        name, equals, value = word.partition("=")
        if not name.isidentifier():
            raise SetupError(f"--env {word}: not a variable name")
        env[name] = value if equals else os.environ.get(name, "")
    return env


def _kernel(options):
    if options.kernel_image or options.modules:
        if not (options.kernel_image and options.modules):
            raise SetupError("--kernel-image and --modules go together")
        return kernels.from_files(options.kernel_image, options.modules)
    if options.kernel:
        return kernels.find(options.kernel)
    return kernels.default()


def _hold(folder, how):
    """Locks a folder for as long as this process lives. False: another one holds it."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(held, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return False
    return True


def _cached_run_folder():
    """One of the newest RUNS_KEPT; older ones go, but those of runs that have not ended."""
    base = cache_dir("runs")
    old = sorted((p for p in base.iterdir() if p.is_dir()
                  and not p.is_symlink()), key=lambda p: p.name)
    for folder in old[:-RUNS_KEPT]:
        if _hold(folder, fcntl.LOCK_EX):
            shutil.rmtree(folder, ignore_errors=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=base))
    _hold(folder, fcntl.LOCK_SH)
    return folder


def _run_folder(wanted):
    """A fresh folder for this run's logs."""
    if wanted:
        folder = pathlib.Path(wanted).resolve()
        if folder.exists() and not (folder / "share").exists() \
                and any(folder.iterdir()):
            raise SetupError(f"--logs {folder}: not empty and not made by "
                             "pavo-vm")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder
    if os.environ.get("PAVO_LOGS"):
        pathlib.Path(os.environ["PAVO_LOGS"]).mkdir(parents=True, exist_ok=True)
        return pathlib.Path(tempfile.mkdtemp(prefix="guest-",
                                             dir=os.environ["PAVO_LOGS"]))
    return _cached_run_folder()


def _machine(options, ui):
    kernel = _kernel(options)
    if not kernel.native and not shutil.which(qemu.PROGRAM):
        raise SetupError(f"{qemu.PROGRAM} is missing; {qemu.REMEDY}")
    initrd = initramfs.build(kernel)
    chosen = _accel(kernel, initrd, options, ui)
    cpus = 1 if kernel.native or options.icount else options.smp or 2
    machine = Machine(kernel, initrd, chosen, smp=cpus, mem=options.mem,
                      icount=options.icount, append=options.append,
                      timeout=options.timeout, env=_environment(options.env),
                      allow=tuple(options.allow_console),
                      qemu_args=tuple(options.qemu_arg),
                      kmemleak=not options.no_kmemleak, cwd=os.getcwd(),
                      mtu=getattr(options, "mtu", 1500))
    how = "icount" if options.icount else chosen
    ui.tell(f"kernel {kernel.release}, {how}, {cpus} CPU, {machine.mem}")
    return machine


def _accel(kernel, initrd, options, ui):
    if kernel.native:
        if options.icount or options.accel != "auto":
            raise SetupError("a native kernel needs neither --icount nor --accel")
        return "native"
    if options.icount:
        return "tcg"
    return accel.choose(kernel, initrd, options.accel, ui.tell)


def _command(options):
    words = options.command
    if words and words[0] == "--":
        words = words[1:]
    return words


def _jobs(options, nodes):
    words = _command(options)
    lines = {}
    for node, line in getattr(options, "on", []):
        if not node.isdigit() or not 1 <= int(node) <= nodes:
            raise SetupError(f"--on {node}: nodes are 1 to {nodes}")
        lines[int(node)] = line
    jobs = {}
    for node in range(1, nodes + 1):
        if node not in lines and not words:
            raise SetupError(f"nothing to run on node {node}: no command given")
        line = lines[node] if node in lines else quote(words)
        jobs[node] = job_text(line, os.getcwd())
    return jobs


def _run(options):
    nodes = getattr(options, "nodes", 1)
    if not 1 <= nodes <= 64:
        raise SetupError("1 to 64 machines, please")
    ui = Ui(nodes, options.quiet)
    jobs = _jobs(options, nodes)
    machine = _machine(options, ui)
    folder = _run_folder(options.logs)
    verdicts = Run(machine, nodes, folder, ui).execute(jobs)
    ui.verdicts(verdicts, folder)
    return overall(verdicts)


def _describe_kernel(options):
    name = options.headers or options.release
    kernel = kernels.default() if name == "default" else kernels.find(name)
    if options.release:
        print(kernel.release)
        return 0
    if not kernel.headers:
        raise SetupError(f"no headers for kernel {kernel.release}")
    print(kernel.headers)
    return 0


def _list_kernels():
    chosen = kernels.default().release
    for kernel in kernels.installed() + kernels.cached():
        mark = "*" if kernel.release == chosen else " "
        headers = "headers" if kernel.headers else "no headers"
        print(f"{mark} {kernel.name:28} {kernel.release:28} {headers}")
    return 0


def _interrupt(_signal, _frame):
    # Once: another one would end the loop that ends the machines.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(arguments):
    """The program; returns the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if arguments[:1] == ["cluster"] and arguments[1:2] and \
            arguments[1].isdigit():
        # a bare number first; argparse would let the command swallow the rest
        arguments = ["cluster", "--nodes", *arguments[1:]]
    options = _parser().parse_args(arguments)
    try:
        if options.what == "kernels":
            if options.headers or options.release:
                return _describe_kernel(options)
            return _list_kernels()
        if options.what in ("shell", "attach"):
            from . import shell
            if options.what == "attach":
                return shell.attach(options.node)
            ui = Ui(options.nodes, options.quiet)
            return shell.run(_machine(options, ui), options.nodes,
                             _run_folder(options.logs), ui)
        return _run(options)
    except SetupError as problem:
        print(f"pavo-vm: {problem}", file=sys.stderr)
        return EXIT_SETUP
    except KeyboardInterrupt:
        print("pavo-vm: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
