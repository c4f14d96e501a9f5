"""The back-ups of a place: finished ones, the newest, those to be removed."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime

from rillway.backup.manifest import BEGUN, CHECKED, MANIFEST, Backup, BackupError, load
from rillway.backup.retention import Term, removable
from rillway.backup.store import Store, content_of

NAME = re.compile(r"\d{8}T\d{6}\.\d{3}Z")
# An unfinished back-up may be under way for this long.
UNFINISHED_MS = 86_400_000


def name_at(ms: int) -> str:
    """The name of a back-up that begins at a time."""
    return _utc(ms).strftime("%Y%m%dT%H%M%S.") + f"{ms % 1000:03}Z"


def as_text(ms: int) -> str:
    """A time for people, which `restore --to` takes."""
    return _utc(ms).strftime("%Y-%m-%dT%H:%M:%SZ")


def _utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def names(store: Store) -> list[str]:
    """All back-ups, also unfinished ones, oldest first."""
    return [name for name in store.names() if NAME.fullmatch(name)]


def read(store: Store, name: str) -> Backup:
    """A finished back-up. Raises BackupError for any other."""
    prefix = f"{name}/" if name else ""
    place = f"{store.place}/{prefix}".rstrip("/")
    if store.has(f"{prefix}{MANIFEST}"):
        backup = load(content_of(store, f"{prefix}{MANIFEST}"), f"{place}/{MANIFEST}")
        backup.name = name or backup.name  # the folder may be a copy with another name
        return backup
    began = ""
    with suppress(OSError, ValueError):
        began = f" was begun at {as_text(_begun_ms(store, name))} and"
    if began or NAME.fullmatch(place.rpartition("/")[2]):
        raise BackupError(f"{place}{began} was not finished: it has no {MANIFEST}")
    raise BackupError(f"{place} is no back-up: it has no {MANIFEST}")


def _begun_ms(store: Store, name: str) -> int:
    """Raises ValueError if it is not to be read."""
    prefix = f"{name}/" if name else ""
    try:
        return int(json.loads(content_of(store, f"{prefix}{BEGUN}"))["began_ms"])
    except (KeyError, TypeError):
        raise ValueError(BEGUN) from None


def newest(store: Store) -> Backup | None:
    """The newest back-up that was finished."""
    for name in reversed(names(store)):
        if store.has(f"{name}/{MANIFEST}"):
            return read(store, name)
    return None


def find(store: Store) -> tuple[str, Backup]:
    """The back-up at a place, or the newest of those in it, with its path there.

    Raises BackupError.
    """
    found = names(store)
    if not found:
        return "", read(store, "")
    if (backup := newest(store)) is None:
        read(store, found[-1])
    assert backup is not None
    return backup.name, backup


def remove_old(store: Store, keep: list[Term], now_ms: int) -> list[str]:
    """Remove what `keep` leaves out, and unfinished ones that are older than a day.

    Returns their names.
    """
    times, checked, removed = {}, None, []
    for name in names(store):
        if store.has(f"{name}/{MANIFEST}"):
            times[name] = _time_of(name)
            if store.has(f"{name}/{CHECKED}") and _was_sound(store, name):
                checked = name
        elif now_ms - _time_of(name) > UNFINISHED_MS:
            removed.append(name)
    removed += removable(times, keep, now_ms, checked)
    for name in removed:
        store.remove(name)
    return removed


def _time_of(name: str) -> int:
    when = datetime.strptime(name[:-1] + "000", "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC)
    return round(when.timestamp() * 1000)


def _was_sound(store: Store, name: str) -> bool:
    try:
        return not json.loads(content_of(store, f"{name}/{CHECKED}"))["findings"]
    except (ValueError, KeyError, TypeError):
        return False
