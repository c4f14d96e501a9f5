"""An archiver that goes on step by step, without leases and syncs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

from rillway.pipeline.archive import archiver as archiver_module
from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.ranges.loss import DataLost

# What an archiver may end with: another one was faster, or the stream changes all the time.
EXPECTED_ENDS = (ArchiveError, DataLost)


class Stopped(BaseException):
    """An archiver that ends where it is, for ever."""


class NoLeases:
    """Leases keep archivers apart that ask for them; here none does."""

    def __init__(self, url: str, keys: dict[str, str], *words: object) -> None:
        self.held = list(keys)
        self.taken: dict[str, Exception] = {}

    def __enter__(self) -> NoLeases:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def check(self, names: object) -> dict[str, Exception]:
        return {}


class Steps:
    """An archiver in a thread of its own, which does one step at a time on demand."""

    def __init__(self, root: Path, settings: ArchiverSettings, streams: Sequence[str]) -> None:
        self.streams = streams
        self.at = ""
        self.error: BaseException | None = None
        self.failures: dict[str, Exception] = {}
        self.is_done = False
        self._go: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._reached: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._root, self._settings = root, settings
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if self._go.get():
                table = ArchiveTable.open(self._root)
                hooks = Hooks(reached=self._pause)
                archiver = Archiver(table, LocalEngine(), self._settings, hooks)
                self.failures = archiver.round(self.streams).failures
        except Stopped:
            pass
        except BaseException as error:
            self.error = error
        self._reached.put("")

    def _pause(self, name: str) -> None:
        self._reached.put(name)
        if not self._go.get():
            raise Stopped

    def step(self) -> str:
        """Go on to the next point; its name, or nothing at the end."""
        self._go.put(True)
        self.at = self._reached.get()
        self.is_done = not self.at
        return self.at

    def stop(self) -> None:
        if not self.is_done:
            self._go.put(False)
            self._reached.get()
            self.is_done = True
        self._thread.join()


@contextmanager
def without_leases() -> Iterator[None]:
    """And without syncs: nothing loses power here."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(archiver_module, "Leases", NoLeases))
        for module in ("files.store", "files.log_files"):
            stack.enter_context(mock.patch(f"rillway.pipeline.archive.{module}.sync"))
        yield
