"""Files that a rewrite has replaced and `aof-keep-increments` keeps: the way back to a moment.

They are in the folder `kept` of the append-only file's directory, with a list of Rillway's own,
which no Redis reads:

    # Rillway: what aof-keep-increments keeps; until: Unix ms
    until 1764342180123
    file appendonly.aof.1.base.rdb seq 1 type b
    file appendonly.aof.1.incr.aof seq 1 type i

A generation is a base and its increments. It has all data until the moment at which the base that
replaced it was begun: from there on the next generation has it, the last of which is in force. So
the first generation that ends after a moment goes back to it.

The list is on disk before the manifest without the files is. A generation of which the manifest
still has files is dropped when the list is read: the server was killed in between.
"""

from __future__ import annotations

import contextlib

from protocol.records import frozen_record
from server.persistence.files import Files, replace_file
from storage.append_only import manifest as manifests
from storage.append_only.manifest import Manifest, ManifestError, Part

FOLDER = "kept"
_LIST = "generations"
_HEAD = b"# Rillway: what aof-keep-increments keeps; until: Unix ms\n"
_UNTIL = b"until "


@frozen_record
class Generation:
    """A base with its increments, and the end of what it has, in Unix ms."""

    until_ms: int
    manifest: Manifest

    @property
    def names(self) -> list[str]:
        """The names of its files, in the order in which they are loaded."""
        return [part.name for part in self.manifest.loaded]

    def format(self) -> bytes:
        """Its lines in the list."""
        return _UNTIL + b"%d\n" % self.until_ms + self.manifest.format()


class KeptFiles:
    """The generations of one append-only file that are kept, oldest first."""

    def __init__(self, files: Files, directory: str) -> None:
        self.generations: list[Generation] = []
        self._files = files
        self._directory = directory
        self._is_read = False  # whether the list says what all files in the folder are
        self.path = f"{directory}/{FOLDER}"

    def read(self, in_force: tuple[Part, ...]) -> None:
        """Read the list, without what the manifest in force has. An invalid one has nothing.

        Raises OSError.
        """
        path = f"{self.path}/{_LIST}"
        content = bytes(self._files.buffer(path)) if self._files.exists(path) else b""
        found = _parse(content)
        self._is_read = content.startswith(_HEAD) and content.count(b"\n" + _UNTIL) == len(found)
        self.generations = [each for each in found if not _shares(each, in_force)]

    def strays(self) -> list[str]:
        """The paths of files that an interrupted removal has left. Raises OSError.

        None of them if the list is missing or was not understood as a whole.
        """
        named = {_LIST, *(name for each in self.generations for name in each.names)}
        names = self._files.names(self.path) if self._is_read else []
        return [f"{self.path}/{name}" for name in names if name not in named]

    def keep(self, manifest: Manifest, until_ms: int) -> None:
        """Add a generation, which is about to be replaced. Raises OSError; then it is not there.

        It takes the place of an older one with files of the same names, of an earlier directory.
        """
        older = [each for each in self.generations if not _shares(each, manifest.loaded)]
        if not self._files.exists(self.path):
            self._files.make_directory(self.path)
            self._files.sync_directory(self._directory)
        self._write([*older, Generation(until_ms, manifest)])

    def drop_in_force(self, in_force: tuple[Part, ...]) -> None:
        """Drop what was not replaced after all."""
        self.generations = [each for each in self.generations if not _shares(each, in_force)]

    def place_of(self, name: str) -> str:
        """The path to which a replaced file is moved; "" if it is not kept."""
        is_kept = any(name in each.names for each in self.generations)
        return f"{self.path}/{name}" if is_kept else ""

    def expire(self, before_ms: int) -> list[str]:
        """Drop generations that end before a moment. Returns the paths of their files.

        Raises OSError; then nothing has changed.
        """
        expired = [each for each in self.generations if each.until_ms < before_ms]
        if expired:
            self._write([each for each in self.generations if each not in expired])
        return [f"{self.path}/{name}" for each in expired for name in each.names]

    def _write(self, generations: list[Generation]) -> None:
        content = _HEAD + b"".join(each.format() for each in generations)
        replace_file(self._files, self.path, _LIST, content)
        self.generations = generations


def _parse(content: bytes) -> list[Generation]:
    found = []
    for lines in content.split(b"\n" + _UNTIL)[1:]:
        until_ms, _, files = lines.partition(b"\n")
        with contextlib.suppress(ManifestError, ValueError):
            files = files if files.endswith(b"\n") else files + b"\n"
            found.append(Generation(int(until_ms), manifests.parse(files)))
    return found


def _shares(generation: Generation, in_force: tuple[Part, ...]) -> bool:
    return not {part.name for part in in_force}.isdisjoint(generation.names)
