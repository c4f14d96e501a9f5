"""A stream with a group whose policy is tested, and workers that read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from commands.core.propagation import Sink
from protocol.request import words_of_all
from server.inprocess.server import InProcessServer
from storage.groups.group import Group
from storage.stream import Stream
from tests.commands.streams.talk import NOW_MS, Talk

GRACE_MS = 5000
START_MS = NOW_MS + GRACE_MS


class Workers:
    """The stream `jobs` with the group `g`, whose server started long ago."""

    def __init__(self, options: str = "", server: InProcessServer | None = None) -> None:
        self.server = server or InProcessServer(now_ms=NOW_MS)
        self.talk = Talk(self.server)
        self.talk.do("XGROUP CREATE jobs g 0 MKSTREAM")
        if options:
            self.configure(options)
        self.server.advance(START_MS - self.server.now_ms)

    def configure(self, options: str) -> None:
        self.talk.do(f"XGROUP CONFIG jobs g {options}")

    def add(self, *numbers: int) -> None:
        """Add entries with the IDs n-1 and a field n."""
        for number in numbers:
            self.talk.do(f"XADD jobs {number}-1 n {number}")

    def read(self, consumer: str, options: str = "", after: str = ">") -> list[int]:
        """The numbers of the entries that a consumer gets."""
        request = f"XREADGROUP GROUP g {consumer} {options} STREAMS jobs {after}"
        return numbers_of(self.talk.do(request))

    def wait(self, consumer: str, options: str = "") -> Talk:
        """A client that waits for entries."""
        talk = Talk(self.server)
        request = f"XREADGROUP GROUP g {consumer} {options} BLOCK 0 STREAMS jobs >"
        assert talk.raw(request) == b""
        return talk

    def pending(self) -> dict[int, tuple[str, int]]:
        """By number: the owner and the delivery count."""
        rows = self.talk.do("XPENDING jobs g - + 1000")
        return {int(row[0].split(b"-")[0]): (row[1].decode(), row[3]) for row in rows}

    def letters(self, key: str = "dead") -> list[dict[str, str]]:
        """The fields of the dead letters."""
        found = []
        for _, words in self.talk.do(f"XRANGE {key} - +"):
            texts = [word.decode() for word in words]
            found.append(dict(zip(texts[::2], texts[1::2], strict=True)))
        return found

    def info(self) -> dict[str, Any]:
        """XINFO POLICY of the group."""
        return self.talk.fields("XINFO POLICY jobs g")

    def stream(self) -> Stream:
        stream = self.server.instance.databases[0].values[b"jobs"]
        assert isinstance(stream, Stream)
        return stream

    def group(self) -> Group:
        return self.stream().groups[b"g"]


def numbers_of(reply: Any) -> list[int]:
    """The numbers of the entries in a reply of XREADGROUP."""
    return [int(entry[0].split(b"-")[0]) for _, entries in reply or [] for entry in entries]


def sink_of(server: InProcessServer) -> Callable[[], list[str]]:
    """A function that returns the requests that were propagated since its last call."""
    seen: list[str] = []

    def take(wire: bytes, last_db: int) -> None:
        seen.extend(b" ".join(argv).decode() for argv in words_of_all(wire))

    def taken() -> list[str]:
        server.instance.propagation.hand_over()
        requests = seen.copy()
        seen.clear()
        return requests

    server.instance.propagation.add_sink(Sink(lambda db_index: None, take))
    return taken
