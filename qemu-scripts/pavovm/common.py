# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: exit codes, the cache folder and the one exception that means "could
# not even start". Used by every other file of the package; touches only the
# cache folder.
import os
import pathlib

# The guest command's own status is passed through; these are pavo-vm's.
EXIT_CONSOLE = 240      # the kernel complained on the console
EXIT_PANIC = 241        # the kernel panicked
EXIT_TIMEOUT = 242      # the time limit ran out
EXIT_DIED = 243         # the machine ended without leaving a status
EXIT_SETUP = 244        # nothing was started: kernel, QEMU, arguments
EXIT_INTERRUPTED = 245  # Ctrl-C or SIGTERM

EXIT_NAMES = {
    EXIT_CONSOLE: "kernel complained on the console",
    EXIT_PANIC: "kernel panic",
    EXIT_TIMEOUT: "time limit",
    EXIT_DIED: "machine ended without a status",
    EXIT_SETUP: "could not be set up",
    EXIT_INTERRUPTED: "interrupted",
}


class SetupError(Exception):
    """pavo-vm could start no machine; the text gives advice."""


def cache_dir(*parts):
    """The folder for things worth keeping between runs (made if missing)."""
    base = os.environ.get("PAVO_CACHE")
    if not base:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(
            os.path.expanduser("~"), ".cache")
        base = os.path.join(base, "pavo")
    path = pathlib.Path(base, *parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def script_dir():
    """The folder this tool was installed in (it holds guest/)."""
    return pathlib.Path(__file__).resolve().parent.parent


def boot_id():
    """A name for this boot of the host; caches about its CPU hang on it."""
    try:
        return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"
