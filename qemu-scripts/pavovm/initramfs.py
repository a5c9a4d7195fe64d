# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the first file system of a guest - busybox, the modules needed to reach
# the host's files over 9p, and guest/init. Built in Python (newc cpio) and
# cached per kernel. Called by cli.py before the machines start.
import hashlib
import lzma
import os
import pathlib
import subprocess

from .common import SetupError, cache_dir, script_dir

WANTED = ("virtio_pci", "virtio_mmio", "9pnet_virtio", "9p", "overlay",
          "virtio_net", "virtio_rng")
OPTIONAL = ("virtio_mmio", "virtio_rng")


def _module_name(path):
    name = pathlib.PurePath(path).name
    for suffix in (".xz", ".zst", ".gz", ".ko"):
        name = name.removesuffix(suffix)
    return name.replace("-", "_")


def _read_module(path):
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        import gzip
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], check=True,
                              stdout=subprocess.PIPE).stdout
    return data


def load_order(modules, wanted):
    """Module files to load for those wanted, dependencies first."""
    needs = {}
    where = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, deps = line.partition(":")
        where[_module_name(path)] = path
        needs[_module_name(path)] = [_module_name(d) for d in deps.split()]
    try:
        builtin = {_module_name(line) for line in
                   (modules / "modules.builtin").read_text().split()}
    except OSError:
        builtin = set()
    order = []

    def visit(name):
        if name in builtin or where.get(name) in order:
            return
        if name not in where:
            if name in OPTIONAL:
                return
            raise SetupError(f"kernel {modules.name} has no module '{name}', "
                             "neither built in nor loadable")
        for dep in needs[name]:
            visit(dep)
        order.append(where[name])

    for name in wanted:
        visit(name)
    return [modules / path for path in order]


class _Cpio:
    """Writes a newc archive."""

    def __init__(self, out):
        self.out = out
        self.inode = 0

    def add(self, name, mode, data=b"", rdev=(0, 0)):
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0,
                  rdev[0], rdev[1], len(encoded), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields)
        self._padded(head + encoded)
        self._padded(data)

    def _padded(self, data):
        self.out.write(data + b"\0" * (-len(data) % 4))

    def end(self):
        self.add("TRAILER!!!", 0)


def _busybox():
    for path in ("/bin/busybox", "/usr/bin/busybox"):
        if os.access(path, os.R_OK):
            data = pathlib.Path(path).read_bytes()
            if b"/lib64/ld-linux" not in data[:4096]:
                return data
    raise SetupError("no static busybox; try: apt-get install busybox-static")


def _write(path, kernel, init):
    temporary = path.with_suffix(f".{os.getpid()}")
    with open(temporary, "wb") as out:
        cpio = _Cpio(out)
        for folder in ("bin", "dev", "proc", "sys", "mods", "host", "upper",
                       "sysroot"):
            cpio.add(folder, 0o040755)
        cpio.add("dev/console", 0o020600, rdev=(5, 1))
        cpio.add("bin/busybox", 0o100755, _busybox())
        cpio.add("bin/sh", 0o120777, b"busybox")
        names = []
        for module in load_order(kernel.modules,
                                 ("overlay",) if kernel.native else WANTED):
            name = _module_name(module.name) + ".ko"
            cpio.add(f"mods/{name}", 0o100644, _read_module(module))
            names.append(name)
        cpio.add("mods/order", 0o100644, "".join(n + "\n" for n in names).encode())
        cpio.add("init", 0o100755, init)
        cpio.end()
    os.replace(temporary, path)


def build(kernel):
    """Returns the initramfs of this kernel, building it when needed."""
    init = (script_dir() / "guest/init").read_bytes()
    code = pathlib.Path(__file__).read_bytes()
    mark = hashlib.sha256(init + code).hexdigest()[:12]
    path = cache_dir("initramfs") / f"{kernel.stamp()}-{mark}.cpio"
    if not path.is_file():
        for old in path.parent.glob(f"{kernel.release}-*.cpio"):
            if old.stat().st_mtime < path.parent.stat().st_mtime - 86400:
                old.unlink(missing_ok=True)
        _write(path, kernel, init)
    return path
