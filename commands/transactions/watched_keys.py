"""The keys that clients watch (WATCH), and whether they have changed."""

from __future__ import annotations

from typing import Any

from commands.core.client import Client, Clients
from commands.core.instance import Instance
from storage.keyspace.database import Database

# Measured memory of a key, without its bytes: for each client, and in the table of all clients.
_CLIENT_KEY_BYTES = 200
_KEY_BYTES = 250


class WatchedKeys:
    """The keys that a client watches."""

    __slots__ = ("expired", "has_changed", "memory_bytes")

    def __init__(self) -> None:
        # (database index, key) -> whether it had expired when it was watched
        self.expired: dict[tuple[int, bytes], bool] = {}
        self.has_changed = False  # a watched key: the next transaction fails
        self.memory_bytes = 0


class Watchers:
    """The watched keys of one server, each with what its clients keep."""

    def __init__(self, instance: Instance) -> None:
        self.by_key: dict[tuple[int, bytes], dict[WatchedKeys, None]] = {}
        self.clients = 0  # that watch keys
        self._observe = instance.observe_keys
        instance.feature(Clients).on_close.append(self.unwatch)

    def watch(self, client: Client, keys: WatchedKeys, key: bytes) -> None:
        """Watch one more key of the client's database."""
        db, watched = client.db, (client.db.index, key)
        if watched not in keys.expired:
            if not keys.expired:
                self.clients += 1
            keys.expired[watched] = db.is_expired(key, client.instance.now_ms)
            self.by_key.setdefault(watched, {})[keys] = None
            keys.memory_bytes += _CLIENT_KEY_BYTES + len(key)
            self._observe(self._key_changed, is_on=True)

    def unwatch(self, client: Client) -> None:
        """Watch no key any more: UNWATCH, EXEC, DISCARD, RESET, disconnect."""
        watched = client.feature_if_used(WatchedKeys)
        if watched is None:
            return
        client.end_feature(WatchedKeys)
        if watched.expired:
            self.clients -= 1
        for key in watched.expired:
            others = self.by_key[key]
            del others[watched]
            if not others:
                del self.by_key[key]
        if not self.by_key:
            self._observe(self._key_changed, is_on=False)

    def memory_bytes(self) -> int:
        """The memory of the table, beside that of each client's own keys."""
        return _KEY_BYTES * len(self.by_key)

    def _key_changed(self, db: Database, key: bytes, by: Any) -> None:
        watched = (db.index, key)
        for keys in self.by_key.get(watched, ()):
            if keys.expired[watched] and key not in db:
                keys.expired[watched] = False  # had expired before WATCH, is removed now
            else:
                keys.has_changed = True

    def fail_all(self) -> None:
        """Fail every transaction that watches a key: all data were replaced."""
        for watchers in self.by_key.values():
            for keys in watchers:
                keys.has_changed = True
