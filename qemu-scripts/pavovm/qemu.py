# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: how QEMU is started for one machine - CPU, kernel arguments, devices. Called
# by guest.py.
import subprocess

# the stall detectors have to bear a busy host: a minute, not twenty seconds
BASE_ARGUMENTS = ("console=ttyS0 loglevel=8 panic=-1 oops=panic mitigations=off "
                  "nokaslr random.trust_cpu=on random.trust_bootloader=on "
                  "net.ifnames=0 printk.time=1 "
                  "rcupdate.rcu_cpu_stall_timeout=60 watchdog_thresh=30")
# a program at the same address again need not be translated again
TCG_ARGUMENTS = "tsc=reliable no_timer_check norandmaps"
NINE = "security_model=none,multidevs=remap"
PROGRAM = "qemu-system-x86_64"
REMEDY = "try: apt-get install qemu-system-x86 (or `make deps`)"


def _cpu(m):
    if m.accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host", "-smp", str(m.smp)]
    if m.icount:
        # one instruction is one nanosecond; nothing random in the CPU
        return ["-accel", "tcg,thread=single", "-smp", "1",
                "-icount", "shift=0,sleep=off",
                "-cpu", "max,la57=off,rdrand=off,rdseed=off"]
    return ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off",
            "-smp", str(m.smp)]


def _kernel_arguments(guest):
    m = guest.machine
    words = [BASE_ARGUMENTS, f"pavovm.node={guest.node}"]
    if m.accel != "kvm":
        words.append(TCG_ARGUMENTS)
    if str(m.kernel.modules) != f"/lib/modules/{m.kernel.release}":
        words.append(f"pavovm.modules={m.kernel.modules}")
    if m.append:
        words.append(m.append)
    return " ".join(words)


def _console(guest):
    if guest.terminal:
        return f"socket,id=con,path={guest.terminal},server=on,wait=off"
    return "null,id=con"


def command(guest):
    """The command line of this machine."""
    m = guest.machine
    return [PROGRAM, "-name", f"pavo-node{guest.node}",
            "-M", "q35,vmport=off", *_cpu(m), "-m", m.mem,
            "-nodefaults", "-no-user-config", "-display", "none",
            "-no-reboot", "-kernel", str(m.kernel.image),
            "-initrd", str(m.initrd), "-append", _kernel_arguments(guest),
            "-chardev", f"{_console(guest)},logfile={guest.console}",
            "-serial", "chardev:con",
            "-fsdev", f"local,id=root,path=/,readonly=on,{NINE}",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=hostroot",
            "-fsdev", f"local,id=share,path={guest.share},{NINE}",
            "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
            *(guest.wire.qemu_arguments() if guest.wire else []), *m.qemu_args]


def start(guest, line):
    """Starts it; QEMU's own output goes to the messages."""
    with open(guest.messages, "wb") as log:
        return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, start_new_session=True)
