"""Server-sent events: the figures of a page once a second, and entries as they arrive.

All viewers of a database share one sampler, all viewers of a stream one XREAD. A slow viewer gets
the newest sample, not all of them. For a busy stream the newest 100 entries a second are shown; the
others are counted.

Events: `sample`, `entries`, `gone` (the stream), `notice` (for people: the connection).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import redis

from rillway.console.data.entries import REPLY_BYTES, Entry, parse_entry, size_of
from rillway.console.data.link import CONNECTIONS, UNREACHABLE, Link
from rillway.console.formats import time_of_day
from rillway.console.views import View, entry_row
from rillway.console.watch import Watch
from rillway.sampler.replies import as_map

RETRY_MS = 2000
PING_SECONDS = 15.0
QUEUED_EVENTS = 50
SHOWN_A_SECOND = 100
BLOCK_MS = 2000
# Each tail blocks a connection: some of the link's must remain for requests.
MAX_TAILS = CONNECTIONS * 4 // 5
PAUSE_SECONDS = 0.2
TOO_MANY_TAILS = (
    f"New entries are not shown: pages that are open follow {MAX_TAILS} other streams already."
)


def encode(event: str, data: object, event_id: str | None = None) -> bytes:
    """Return an event as it is sent. JSON has no line breaks."""
    lines = [f"id: {event_id}"] if event_id else []
    lines += [f"event: {event}", f"data: {json.dumps(data, separators=(',', ':'))}"]
    return ("\n".join(lines) + "\n\n").encode()


class Viewer:
    """One open page: holds the newest sample, and other events in order, until they are sent."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._sample: bytes | None = None
        self._events: deque[bytes] = deque(maxlen=QUEUED_EVENTS)
        self._ready = asyncio.Event()

    def show(self, sample: bytes) -> None:
        self._sample = sample
        self._ready.set()

    def send(self, event: bytes) -> None:
        self._events.append(event)
        self._ready.set()

    async def events(self, is_open: Callable[[], bool]) -> AsyncGenerator[bytes]:
        """Yield bytes to send, until the session ends."""
        yield f"retry: {RETRY_MS}\n\n".encode()
        while is_open():
            try:
                await asyncio.wait_for(self._ready.wait(), PING_SECONDS)
            except TimeoutError:
                yield b": ping\n\n"
                continue
            self._ready.clear()
            events = list(self._events)
            self._events.clear()
            if self._sample is not None:
                events.append(self._sample)
                self._sample = None
            yield b"".join(events)


class Audience:
    """The viewers of one watch, and the tails of the streams that they have open."""

    def __init__(self, link: Link, db: int) -> None:
        self.viewers: set[Viewer] = set()
        self.watch = Watch(link, db, self._on_tick)
        self.watch.set_focus(self._focus)
        self._tails: dict[bytes, Tail] = {}
        self._was_lost = False

    async def close(self) -> None:
        await self.watch.close()
        for tail in self._tails.values():
            await tail.close()

    @contextlib.asynccontextmanager
    async def viewer(self, view: View, since: str | None) -> AsyncIterator[Viewer]:
        """Register a viewer. `since`: the newest entry that a page with a tail shows."""
        viewer = Viewer(view)
        self.viewers.add(viewer)
        tail = None
        try:
            await self.watch.ready()
            viewer.show(encode("sample", view.show(self.watch)))
            if view.tailed is not None:
                tail = self._tail(view.tailed)
                if tail is None:
                    viewer.send(encode("notice", {"text": TOO_MANY_TAILS, "lost": False}))
                else:
                    await tail.join(viewer, since)
            yield viewer
        finally:
            self.viewers.discard(viewer)
            if tail is not None and tail.leave(viewer):
                self._tails.pop(tail.key, None)
                await tail.close()

    def _tail(self, key: bytes) -> Tail | None:
        """Return the tail of a stream; None if too many streams are followed already."""
        if key not in self._tails and len(self._tails) >= MAX_TAILS:
            return None
        return self._tails.setdefault(key, Tail(self.watch.link, self.watch.db, key))

    def _focus(self) -> tuple[list[bytes], list[bytes]]:
        views = {viewer.view for viewer in self.viewers}
        visible = [name for view in views for name in view.visible(self.watch)]
        return visible, [view.opened for view in views if view.opened is not None]

    def _on_tick(self, watch: Watch) -> None:
        samples: dict[View, bytes] = {}
        for viewer in self.viewers:
            if viewer.view not in samples:
                samples[viewer.view] = encode("sample", viewer.view.show(watch))
            viewer.show(samples[viewer.view])
        if (watch.lost_since is not None) != self._was_lost:
            self._was_lost = watch.lost_since is not None
            for viewer in self.viewers:
                viewer.send(encode("notice", connection_notice(watch)))


def connection_notice(watch: Watch) -> dict[str, Any]:
    if watch.lost_since is None:
        return {"text": "Connected to the server again.", "lost": False}
    since = time_of_day(watch.lost_since)
    return {"text": f"No connection to the server since {since} UTC.", "lost": True}


class Tail:
    """Reads new entries of a stream, for all its viewers."""

    def __init__(self, link: Link, db: int, key: bytes) -> None:
        self.key = key
        self._link, self._db = link, db
        self._viewers: set[Viewer] = set()
        self._task: asyncio.Task[None] | None = None
        self._last_id, self._added = "0-0", 0
        self._count = SHOWN_A_SECOND
        self._is_busy = False
        self._is_there = True
        self._began = asyncio.Event()

    async def join(self, viewer: Viewer, since: str | None) -> None:
        """Send entries after `since`, and from now on new ones."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        self._viewers.add(viewer)
        # Not before: entries added between this read and the end would be missed.
        await self._began.wait()
        if since is not None:
            with contextlib.suppress(redis.RedisError):
                newest = await self._link.call(
                    self._db, "XREVRANGE", self.key, "+", f"({since}", "COUNT", self._count
                )
                if newest:
                    viewer.send(self._event([parse_entry(one) for one in newest[::-1]], 0))

    def leave(self, viewer: Viewer) -> bool:
        """Return True if no viewer is left."""
        self._viewers.discard(viewer)
        return not self._viewers

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _find_end(self) -> None:
        """Find the last ID, from which to read: older entries were shown.

        Not `$`: entries added between two reads would be missed.
        """
        with contextlib.suppress(redis.ResponseError):
            info = as_map(await self._link.call(self._db, "XINFO", "STREAM", self.key))
            self._last_id = info[b"last-generated-id"].decode()
            self._added = info.get(b"entries-added", 0)

    async def _run(self) -> None:
        has_end = False
        while True:
            try:
                if not has_end:
                    await self._find_end()
                    has_end = True
                    self._began.set()
                await self._step()
                await asyncio.sleep(PAUSE_SECONDS)
            except redis.ResponseError as error:
                self._send(encode("notice", {"text": str(error), "lost": False}))
                await asyncio.sleep(BLOCK_MS / 1000)
            except UNREACHABLE:
                self._began.set()
                await asyncio.sleep(BLOCK_MS / 1000)

    async def _step(self) -> None:
        """Wait for entries; for a busy stream, read the newest ones once a second."""
        if self._is_busy:
            await asyncio.sleep(1)
            entries, skipped = await self._newest()
        else:
            entries, skipped = await self._arrived(), 0
        if not entries:
            self._is_busy = False
            await self._check_there()
            return
        self._is_busy = len(entries) == self._count
        self._is_there = True
        self._last_id = entries[-1].id
        self._adapt(entries)
        self._send(self._event(entries, skipped))

    async def _arrived(self) -> list[Entry]:
        request = ("XREAD", "COUNT", self._count, "BLOCK", BLOCK_MS)
        reply = await self._link.call(self._db, *request, "STREAMS", self.key, self._last_id)
        entries = [parse_entry(one) for one in reply[0][1]] if reply else []
        self._added += len(entries)
        return entries

    async def _newest(self) -> tuple[list[Entry], int]:
        """Return the newest entries, and the number of skipped ones."""
        info, newest = await self._link.call_all(
            self._db,
            [
                ("XINFO", "STREAM", self.key),
                ("XREVRANGE", self.key, "+", f"({self._last_id}", "COUNT", self._count),
            ],
        )
        if isinstance(newest, redis.RedisError):
            raise newest
        if not newest:
            return [], 0  # maybe it was deleted: then XINFO is an error
        if isinstance(info, redis.RedisError):
            raise info
        # Before Redis 7.0 the server does not count.
        added = as_map(info).get(b"entries-added", self._added + len(newest))
        skipped = max(added - self._added - len(newest), 0)
        self._added = added
        return [parse_entry(one) for one in newest[::-1]], skipped

    async def _check_there(self) -> None:
        """Check, after a read without entries, if the stream was deleted."""
        is_there = await self._link.call(self._db, "TYPE", self.key) == b"stream"
        if self._is_there and not is_there:
            self._last_id, self._added = "0-0", 0
            self._send(encode("gone", {"text": "This stream was deleted."}))
        self._is_there = is_there

    def _adapt(self, entries: list[Entry]) -> None:
        """Read fewer entries at once if they are large."""
        average = max(sum(map(size_of, entries)) // len(entries), 1)
        self._count = max(min(REPLY_BYTES // average, SHOWN_A_SECOND), 1)

    def _event(self, entries: list[Entry], skipped: int) -> bytes:
        rows = [entry_row(self._db, self.key, entry) for entry in entries]
        return encode("entries", {"rows": rows, "skipped": skipped}, entries[-1].id)

    def _send(self, event: bytes) -> None:
        for viewer in self._viewers:
            viewer.send(event)
