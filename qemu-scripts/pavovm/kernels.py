# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the choice of the kernel that a guest boots - installed ones, ones unpacked or
# built into the cache (fetch-kernel, build-kernel), or one given by its files. Called
# by cli.py; reads /boot, /lib/modules and the cache.
import dataclasses
import pathlib
import re

from .common import SetupError, cache_dir

NATIVE_IMAGE = "linux"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A bootable kernel: its release, image, modules and headers."""
    release: str
    image: pathlib.Path
    modules: pathlib.Path        # .../lib/modules/RELEASE
    name: str                    # the user's name for it

    @property
    def native(self):
        """Whether it is a program of the host (User-Mode Linux), not an image."""
        return self.image.name == NATIVE_IMAGE

    @property
    def built(self):
        """Whether it is one of build-kernel's, named for its use and not its version."""
        return not self.name[:1].isdigit()

    @property
    def headers(self):
        """Where out-of-tree modules are built, or None."""
        own = self.modules / "build"
        return own if own.is_dir() else None

    def stamp(self):
        """Changes whenever the files behind this kernel do."""
        image = self.image.stat()
        dep = (self.modules / "modules.dep").stat()
        return f"{self.release}-{image.st_mtime_ns:x}-{dep.st_mtime_ns:x}"


def version_key(text):
    """Sorts 6.1.0-9 before 6.1.0-56 and 6.12 after both."""
    return [int(part) if part.isdigit() else part
            for part in re.split(r"(\d+)", text)]


def _image_of(release, modules):
    for path in (pathlib.Path("/boot") / f"vmlinuz-{release}",
                 modules / "vmlinuz"):
        if path.is_file():
            return path
    return None


def installed():
    """Kernels of the running system that have an image and modules."""
    found = []
    for modules in pathlib.Path("/lib/modules").glob("*"):
        image = _image_of(modules.name, modules)
        if image and (modules / "modules.dep").is_file():
            found.append(Kernel(modules.name, image, modules, modules.name))
    return sorted(found, key=lambda k: version_key(k.release))


def cached():
    """Kernels in the cache: CACHE/kernels/NAME/{vmlinuz or linux,lib/modules/*}."""
    found = []
    for folder in cache_dir("kernels").glob("*"):
        image = folder / NATIVE_IMAGE
        if not image.is_file():
            image = folder / "vmlinuz"
        for modules in (folder / "lib/modules").glob("*"):
            if image.is_file() and (modules / "modules.dep").is_file():
                found.append(Kernel(modules.name, image, modules, folder.name))
    return sorted(found, key=lambda k: version_key(k.release))


def default():
    """The newest installed distribution kernel that modules can be built for."""
    choice = [k for k in installed() if k.headers] or installed()
    if not choice:
        raise SetupError("no kernel with image and modules is installed; "
                         "try: apt-get install linux-image-amd64 "
                         "linux-headers-amd64 (or `make deps`)")
    stock = [k for k in choice if k.release.endswith("-amd64")]
    return (stock or choice)[-1]


def find(wanted):
    """The kernel named by release, by cache name or by release prefix. A prefix means kernels of
    the distribution: those that build-kernel made go by their names only."""
    everything = installed() + cached()
    for kernel in everything:
        if wanted in (kernel.release, kernel.name):
            return kernel
    starts = [k for k in everything if not k.built
              and k.release.startswith((wanted + ".", wanted + "-"))]
    if starts:
        return starts[-1]
    known = ", ".join(k.name for k in everything) or "none"
    raise SetupError(f"no kernel '{wanted}' (known: {known})")


def from_files(image, modules):
    """A kernel the user built: its bzImage and its lib/modules/RELEASE."""
    image = pathlib.Path(image).resolve()
    modules = pathlib.Path(modules).resolve()
    if not (modules / "modules.dep").is_file():
        inner = [p for p in (modules / "lib/modules").glob("*")
                 if (p / "modules.dep").is_file()]
        if len(inner) != 1:
            raise SetupError(f"{modules}: no modules.dep here; give the "
                             "lib/modules/RELEASE folder made by "
                             "`make modules_install`")
        modules = inner[0]
    if not image.is_file():
        raise SetupError(f"{image}: no such kernel image")
    return Kernel(modules.name, image, modules, modules.name)
