# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: how User-Mode Linux is started for one machine. Its kernel is a process of the
# host at native speed, with one CPU; it sees the host's files by hostfs, and a wire by
# a socket that it inherits. Called by guest.py.
import fcntl
import os
import subprocess

from .common import cache_dir

BASE_ARGUMENTS = ("console=tty0", "con=null", "con0=null,fd:1", "loglevel=8",
                  "panic=-1", "oops=panic", "random.trust_cpu=on", "printk.time=1",
                  "rcupdate.rcu_cpu_stall_timeout=60", "watchdog_thresh=30",
                  "rdinit=/init", "pavovm.host=hostfs")
REMEDY = "build it anew: qemu-scripts/build-kernel"


def command(guest):
    """The command line of this machine."""
    m = guest.machine
    words = [str(m.kernel.image), f"mem={m.mem}", f"initrd={m.initrd}",
             *BASE_ARGUMENTS, f"pavovm.node={guest.node}", f"pavovm.share={guest.share}",
             f"pavovm.modules={m.kernel.modules}",
             f"uml_dir={guest.folder}/uml", f"umid=node{guest.node}"]
    if guest.wire:
        words.append(f"vec0:transport=fd,fd={guest.wire.socket.fileno()},"
                     f"mac={guest.wire.mac},mtu={m.mtu},gro=0")
    return words + m.append.split() + list(m.qemu_args)


# Machines on a CPU that the next one can tell apart when it looks for a CPU.
PLACES = 8


class Cpu:
    """A CPU of the host for one machine. A system call of a guest goes from process
    to process and back, which costs several times as much between two CPUs."""

    def __init__(self):
        self.number, self.lock = self._take_free()

    @staticmethod
    def _take_free():
        """The first of the CPUs that the fewest other machines have taken."""
        allowed = sorted(os.sched_getaffinity(0))
        folder = cache_dir("cpu")
        for place in range(PLACES):
            for number in allowed:
                # pylint: disable-next=consider-using-with
                lock = open(folder / f"{number}.{place}", "w")
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return number, lock
                except OSError:
                    lock.close()
        return allowed[os.getpid() % len(allowed)], None

    def start(self, line, **how):
        """Starts a program that stays on this CPU; the lock is held as long as it runs."""
        before = os.sched_getaffinity(0)
        kept = [self.lock.fileno()] if self.lock else []
        os.sched_setaffinity(0, {self.number})
        try:
            return subprocess.Popen(line, pass_fds=[*how.pop("pass_fds"), *kept], **how)
        finally:
            os.sched_setaffinity(0, before)
            if self.lock:
                self.lock.close()


def start(guest, line):
    """Starts it; its console is its standard output."""
    fds = [guest.wire.socket.fileno()] if guest.wire else []
    with open(guest.console, "wb") as console, open(guest.messages, "wb") as log:
        return Cpu().start(line, stdin=subprocess.DEVNULL, stdout=console, stderr=log,
                           start_new_session=True, pass_fds=fds)
