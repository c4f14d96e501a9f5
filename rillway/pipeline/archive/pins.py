"""Pins: groups that keep a stream from being trimmed while a query reads archive and stream.

A pin is a consumer group that has read nothing after some ID, so trimmers keep what follows. Its
name contains its expiry by the server's clock, `__pin:<Unix ms>:<uuid>`: if the owner dies, the
next trimmer destroys it.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterable

from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import ConnectionLost, ServerError
from rillway.pipeline.wire.ids import format_id

PREFIX = "__pin:"
LIFETIME_MS = 10 * 60_000


class PinLost(Exception):
    """Another client removed a pin: entries read under it may have been trimmed."""


def expired_pins(names: Iterable[str], now_ms: int) -> list[str]:
    """Return the names of groups that are expired pins."""
    return [name for name in names if name.startswith(PREFIX) and expires_ms(name) < now_ms]


def expires_ms(name: str) -> int:
    """Return the Unix time in ms at which a pin expires, from its name; 2**64 if it never does."""
    text = name.removeprefix(PREFIX).partition(":")[0]
    return int(text) if text.isdecimal() else (1 << 64)


class Pin:
    """Keeps all entries after an ID from its creation until it is released.

    A thread with its own connection renews it. A missing stream gets no pin and needs none.
    """

    def __init__(self, url: str, stream: str, after: int, lifetime_ms: int = LIFETIME_MS) -> None:
        self._stream, self._after, self._lifetime_ms = stream, after, lifetime_ms
        self._connection = connect(url)
        self._name: str | None = None
        self._lost = False
        self._released = threading.Event()
        try:
            self._name = self._create()
        except BaseException:
            self._connection.close()
            raise
        self._renewer = threading.Thread(target=self._renew, name="pin", daemon=True)
        self._renewer.start()

    def _create(self) -> str | None:
        seconds, microseconds = self._connection.call("TIME")
        now_ms = int(seconds) * 1000 + int(microseconds) // 1000
        name = f"{PREFIX}{now_ms + self._lifetime_ms}:{uuid.uuid4()}"
        try:
            self._connection.call("XGROUP", "CREATE", self._stream, name, format_id(self._after))
        except ServerError as error:
            if "requires the key to exist" in str(error):
                return None
            raise
        return name

    def _renew(self) -> None:
        """Create a new pin before destroying the old one, so that there is always one."""
        while not self._released.wait(self._lifetime_ms / 3000):
            try:
                old, self._name = self._name, self._create()
                if old is not None:
                    self._lost |= not self._connection.call("XGROUP", "DESTROY", self._stream, old)
            except (ServerError, ConnectionLost):
                self._lost = True
                return

    def release(self) -> None:
        """Let the stream be trimmed again. Raises PinLost if it was unprotected at some time."""
        self._released.set()
        self._renewer.join()
        try:
            if self._name is not None and not self._lost:
                destroyed = self._connection.call("XGROUP", "DESTROY", self._stream, self._name)
                self._lost = not destroyed
        except ServerError:
            self._lost = True
        except ConnectionLost:
            self._lost = True
        finally:
            self._connection.close()
        if self._lost:
            raise PinLost(
                f"{self._stream}: another client removed the group that held the stream while "
                "it was read, so entries may be missing: ask again"
            )

    def drop(self) -> None:
        """Release the pin, but do not raise PinLost: something else has failed already."""
        with contextlib.suppress(PinLost):
            self.release()
