"""What WATCH keeps for one client; `Instance.watchers` finds it by the key."""

from __future__ import annotations


class WatchedKeys:
    """The keys that a client watches."""

    __slots__ = ("expired", "has_changed")

    def __init__(self) -> None:
        # (database index, key) -> whether it had expired when it was watched
        self.expired: dict[tuple[int, bytes], bool] = {}
        self.has_changed = False  # one of them: the next transaction fails
