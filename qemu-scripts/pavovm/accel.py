# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the choice between KVM and emulation. A machine may offer /dev/kvm and
# yet hang in it (nested hosts do), so the very kernel is booted once for a few
# seconds; the answer is kept until the host reboots. Called by cli.py.
import fcntl
import hashlib
import os
import pathlib
import subprocess
import tempfile

from .common import boot_id, cache_dir

TRIAL_SECONDS = 12
MARK = "Run /init as init process"


def _usable_device():
    return os.access("/dev/kvm", os.R_OK | os.W_OK)


def _trial(kernel, initrd):
    """Boots the kernel under KVM up to its first process."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "console")
        line = ["qemu-system-x86_64", "-M", "q35", "-accel", "kvm",
                "-cpu", "host", "-smp", "2", "-m", "512M", "-nodefaults",
                "-display", "none", "-no-reboot", "-kernel", str(kernel.image),
                "-initrd", str(initrd), "-serial", f"file:{log}",
                "-append", "console=ttyS0 loglevel=8 panic=-1 nokaslr "
                           "mitigations=off"]
        try:
            # guest/init finds no host root here and reboots: that is a pass
            subprocess.run(line, timeout=TRIAL_SECONDS, check=False,
                           stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        except (subprocess.TimeoutExpired, OSError):
            return False
        return log.is_file() and MARK in log.read_text(errors="replace")


def choose(kernel, initrd, wanted, tell):
    """Returns "kvm" or "tcg". wanted is "auto" or one of the two."""
    if wanted != "auto":
        return wanted
    if not _usable_device():
        return "tcg"
    mark = hashlib.sha256(f"{boot_id()} {kernel.stamp()} {os.getuid()}"
                          .encode()).hexdigest()[:16]
    answer = cache_dir("kvm") / mark
    with open(cache_dir("kvm") / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not answer.exists():
            tell(f"trying KVM with {kernel.release} "
                 f"(once, at most {TRIAL_SECONDS} s)")
            works = _trial(kernel, initrd)
            answer.write_text("kvm" if works else "tcg")
            tell("KVM works" if works else
                 "KVM does not boot this kernel here: emulating")
        return answer.read_text()
