"""A server whose data goes to another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tests.crash.servers import Link, Server
from tests.exchange.data_set import Requests
from tests.exchange.views import View, view

SNAPSHOT = "dump.rdb"
APPEND_ONLY_DIRECTORY = "appendonlydir"
FILES_AFTER_A_REWRITE = 3  # a base, an increment, the manifest

Run: TypeAlias = Callable[..., "Running"]


class Running:
    """A server on a folder of its own."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.link = Link(server.port)

    def fill(self, requests: Requests) -> None:
        """Run requests, none of which fails."""
        for db, argv in requests:
            assert self.link.ask("SELECT", db) in (b"OK", b"QUEUED")
            reply = self.link.ask(*argv)
            assert not isinstance(reply, Exception), (argv, reply)

    def view(self, **how: bool) -> View:
        return view(self.link.ask, **how)

    def digest(self) -> bytes:
        digest = self.link.ask("DEBUG", "DIGEST")
        assert isinstance(digest, bytes) and len(digest) == 40
        return digest

    def save(self) -> Path:
        assert self.link.ask("SAVE") == b"OK"
        return self.folder / SNAPSHOT

    def rewrite(self) -> None:
        """BGREWRITEAOF, and wait until it is done."""
        assert not isinstance(self.link.ask("BGREWRITEAOF"), Exception)
        while b"aof_rewrite_in_progress:1" in (info := self.info()) or (
            b"aof_rewrite_scheduled:1" in info
        ):
            pass
        assert b"aof_last_bgrewrite_status:ok" in info
        # What the rewrite made superfluous is removed beside the loop: who copies the folder now
        # would come upon files that go.
        while len(list((self.folder / APPEND_ONLY_DIRECTORY).iterdir())) > FILES_AFTER_A_REWRITE:
            pass

    def append_only_files(self) -> Path:
        """The folder, once all is in it: under `everysec` a write may wait for a long sync."""
        while b"aof_buffer_length:0\r" not in self.info():
            pass
        return self.folder / APPEND_ONLY_DIRECTORY

    def info(self) -> bytes:
        text = self.link.ask("INFO", "persistence")
        assert isinstance(text, bytes)
        return text

    def stop(self) -> None:
        self.link.close()
        self.server.stop()
