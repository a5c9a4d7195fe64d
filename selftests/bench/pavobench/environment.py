# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what has to be known about the host to understand the figures later.
# Called by ../run and ../windows; asks git, dpkg and QEMU, changes nothing.
import hashlib
import os
import pathlib
import platform
import subprocess
import time

from . import guest


# above this load per CPU, what is timed is the host's scheduler
BUSY = 0.75


def busy_note(mode):
    """What has to be said of a mode that began under load, or nothing."""
    load = mode["host_load_before"]
    if mode["guest_is_icount"] or load <= BUSY * os.cpu_count():
        return ""
    # drivers that take turns in one guest have the same load
    worth = ("trust ratios alone" if mode["mode"] in ("native", "nodes") else
             "these figures say nothing")
    return f"\nTHE HOST WAS BUSY (load {load:.0f} on {os.cpu_count()} CPUs): {worth}"


def _said(*words):
    """The first line a program prints, or an empty string."""
    try:
        done = subprocess.run(words, cwd=guest.TREE, text=True, check=True,
                              capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return (done.stdout.splitlines() or [""])[0]


PACKAGES = ("rdma-core", "libibverbs1", "ibverbs-providers", "qemu-system-x86", "gcc", "iperf3")


def _cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return ""


def module(release):
    """The pavo.ko that was measured."""
    tree = pathlib.Path(os.environ.get("PAVO_TREE", guest.TREE))
    default = tree / "build/kernel" / release / "pavo.ko"
    return pathlib.Path(os.environ.get("PAVO_KO", default))


def sum_of(ko):
    """What tells modules apart, or an empty string."""
    return hashlib.sha256(ko.read_bytes()).hexdigest() if ko and ko.exists() else ""


def about_drivers(facts):
    """In words, one line for each driver: its CRC, and whether it is there at all."""
    lines = []
    for key, value in facts.items():
        name, _, what = key.rpartition("_")
        if what == "crc32":
            lines.append(f"{name}: CRC by {value}")
        elif what == "absent":
            lines.append(f"{name}: {value}")
    return lines


def describe(release):
    """A dict for the JSON file; release is the guest's kernel."""
    ko = module(release)
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _said("git", "rev-parse", "HEAD"),
        "uncommitted_changes": bool(_said("git", "status", "--porcelain")),
        "module_sha256": sum_of(ko),
        "host_kernel": platform.release(),
        "host_cpu": _cpu(),
        "host_cpus": os.cpu_count(),
        "host_load": os.getloadavg(),
        "qemu": _said("qemu-system-x86_64", "--version"),
        "packages": {package: _said("dpkg-query", "-W", "-f=${Version}", package)
                     for package in PACKAGES},
    }
