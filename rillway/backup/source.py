"""One server that is backed up: what it is asked, and its files, opened.

A Rillway on this machine with an append-only file names the files of a moment (BACKUP FILES). They
are opened at once: an open file stays readable if a rewrite removes its name. All other servers
send a snapshot (snapshot.py).
"""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rillway.backup.manifest import BackupError
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.urls import public_url

LOCK_NAME = "rillway.lock"
PAUSE_SECONDS, PATIENCE_SECONDS = 0.01, 60.0
BASE = re.compile(r"\.\d+\.base\.(rdb|aof)\Z")
ENCODING = ("utf-8", "surrogateescape")


@dataclass
class OpenFile:
    """A file of the server, by its path in the server's folder; `bytes` of it belong to the
    moment.
    """

    path: str
    source: str  # its path on this machine
    descriptor: int
    bytes: int
    is_base: bool  # never changed in place, by whatever tool

    @property
    def identity(self) -> str:
        """What is the same as long as it is the same file, not changed but at its end."""
        stat = os.fstat(self.descriptor)
        return f"{stat.st_dev}:{stat.st_ino}"


@dataclass
class Moment:
    """The files of a server at one moment, opened."""

    facts: dict[str, Any]
    files: list[OpenFile] = field(default_factory=list)
    kept: list[tuple[int, str, list[str]]] = field(default_factory=list)  # until, manifest, paths

    @property
    def folder(self) -> str:
        """The name of the append-only file's folder."""
        return os.path.basename(_text(self.facts["folder"]))

    def close(self) -> None:
        for file in self.files:
            os.close(file.descriptor)
        self.files.clear()


class Source:
    """A server. Raises ConnectionLost."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._link = Connection(url)
        self.info = self._info()

    def close(self) -> None:
        self._link.close()

    def _info(self) -> dict[str, str]:
        try:
            text = b"".join(self._link.call("INFO", part) for part in ("server", "replication"))
        except ServerError as error:
            raise BackupError(f"{public_url(self.url)}: INFO: {error}") from None
        lines = (line.partition(":") for line in text.decode(errors="replace").splitlines())
        return {name: value for name, colon, value in lines if colon}

    @property
    def version(self) -> str:
        """The program and its version."""
        for name in ("rillway", "valkey"):
            if found := self.info.get(f"{name}_version"):
                return f"{name.capitalize()} {found}"
        return f"Redis {self.info.get('redis_version', '?')}"

    @property
    def role(self) -> str:
        return "replica" if self.info.get("role") == "slave" else "primary"

    def acl_lines(self) -> bytes:
        """The users as an ACL file has them; nothing if the server has none, or does not say."""
        try:
            found = self._link.call("CONFIG", "GET", "aclfile")
            if len(found) < 2 or not found[1]:
                return b""
            return b"".join(line + b"\n" for line in self._link.call("ACL", "LIST"))
        except ServerError:
            return b""

    def open_files(self) -> Moment | None:
        """The files of now; None if they are not to be had: another machine, another server, no
        append-only file. Raises BackupError.
        """
        if "rillway_version" not in self.info:
            return None
        give_up_s = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up_s:
            moment = Moment(self._asked())
            if not moment.facts["folder"] or not self._is_here(_text(moment.facts["folder"])):
                return None
            if not moment.facts["pending-bytes"]:
                try:
                    open_all(moment)
                    return moment
                except FileNotFoundError:  # a rewrite came in between
                    moment.close()
                except OSError as error:
                    moment.close()
                    raise BackupError(f"{error.filename}: {error.strerror}") from None
            time.sleep(PAUSE_SECONDS)
        raise BackupError(f"{public_url(self.url)}: its files do not come to rest")

    def _asked(self) -> dict[str, Any]:
        try:
            words = self._link.call("BACKUP", "FILES")
        except ServerError as error:
            raise BackupError(f"{public_url(self.url)}: BACKUP FILES: {error}") from None
        return {key.decode(): value for key, value in zip(words[::2], words[1::2], strict=True)}

    def _is_here(self, folder: str) -> bool:
        """Whether the folder of that path on this machine is the server's: it has locked it."""
        owner = f"process {self.info.get('process_id')} on {socket.gethostname()},"
        try:
            text = Path(folder).parent.joinpath(LOCK_NAME).read_text(errors="replace")
        except OSError:
            return False
        return text.startswith(owner)


def open_all(moment: Moment) -> None:
    """Open the files of a moment. Raises OSError."""
    facts, name = moment.facts, moment.folder
    folder, kept_folder = _text(facts["folder"]), _text(facts["kept-folder"])
    for part, size in zip(map(_text, facts["files"]), facts["sizes"], strict=True):
        _open(moment, f"{name}/{part}", [os.path.join(folder, part)], size)
    for until_ms, parts, manifest in facts["kept"]:
        paths = [f"{name}/kept/{_text(part)}" for part in parts]
        for part, path in zip(map(_text, parts), paths, strict=True):
            # It is moved in the background, soon after it is replaced.
            places = [os.path.join(each, part) for each in (kept_folder, folder)]
            _open(moment, path, places)
        moment.kept.append((until_ms, _text(manifest), paths))
    if acl_file := _text(facts["acl-file"]):
        with suppress(FileNotFoundError):  # it is made by the first ACL SAVE
            _open(moment, os.path.basename(acl_file), [acl_file])


def _open(moment: Moment, path: str, places: list[str], size: int | None = None) -> None:
    for place in places:
        with suppress(FileNotFoundError):
            descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            size = os.fstat(descriptor).st_size if size is None else size
            is_base = BASE.search(path) is not None
            moment.files.append(OpenFile(path, place, descriptor, size, is_base))
            return
    raise FileNotFoundError(places[0])


def _text(value: bytes) -> str:
    return value.decode(*ENCODING)
