# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: which files a checker has found clean, so that it need not look at them again. They
# are known by a hash of all that the finding depends on. Called by run; writes a file for
# each check, of a hash a line, in the build folder and in the cache.
import hashlib
import os
import pathlib
import re

HASH = re.compile(r"[0-9a-f]{64}")
HASHES_MAX = 8000


def hash_of(*parts):
    """One hash of texts and bytes, each with its length."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(b"%d:" % len(data) + data)
    return total.hexdigest()


class Clean:
    """The clean files of one check. `settings` is what findings depend on beside the
    file: tool, version, configuration."""

    def __init__(self, files, *settings):
        self.files = [pathlib.Path(file) for file in files]
        self.settings = settings
        self.known = {}             # as a set, in the order of their last use
        for file in reversed(self.files):
            try:
                text = file.read_text(errors="replace")
            except OSError:
                continue
            self.known.update(dict.fromkeys(HASH.findall(text)))

    def _hash(self, name, content):
        return hash_of(*self.settings, name, *content)

    def unknown(self, contents):
        """The names, of name -> [content...], that are not known to be clean."""
        return [name for name, content in contents.items()
                if self._hash(name, content) not in self.known]

    def keep(self, contents):
        """All of these are clean. The hashes that were used last stay longest."""
        for name, content in contents.items():
            found = self._hash(name, content)
            self.known.pop(found, None)
            self.known[found] = None
        text = "".join(f"{h}\n" for h in list(self.known)[-HASHES_MAX:])
        for file in self.files:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                draft = file.with_name(f"{file.name}.{os.getpid()}")
                draft.write_text(text)
                draft.replace(file)
            except OSError:
                pass                # looked at again next time
