"""The state of persistence: loading, snapshots, the append-only file, and their last results.

Plain attributes, set by the server (server/persistence) and read by commands: INFO, LASTSAVE, and
the gates of the dispatcher. Times are Unix ms or seconds as their names say; -1 stands for never.

Source: the persistence section of INFO in Redis 7.2 and 8.
"""

from __future__ import annotations

NEVER = -1


class PersistenceState:
    """The state of persistence of one instance; see the module."""

    def __init__(self, last_save_ms: int = 0) -> None:
        # loading
        self.loading = False
        self.loading_started_ms = 0
        self.loading_total_bytes = 0
        self.loading_loaded_bytes = 0
        self.loaded_keys = 0
        self.expired_keys_on_load = 0
        self.skipped_keys_on_load = 0  # of types that are not supported (rdb-skip-unsupported)
        self.loaded_history: dict[bytes, bytes] = {}  # what the snapshot contains
        # (database, key) of each key that was dropped: the replicas of that history hold them.
        self.dropped_on_load: list[tuple[int, bytes]] = []
        # snapshots
        self.last_save_ms = last_save_ms  # Unix ms; the start of the server until there was one
        self.last_save_attempt_ms = 0
        self.save_in_progress = False
        self.save_started_ms = 0
        self.save_scheduled = False
        self.save_succeeded = True  # the last one in the background
        self.save_duration_s = NEVER
        self.saves = 0
        self.save_failures = 0  # failures in a row
        self.save_copied_bytes = 0  # memory that the child had to copy (copy on write)
        # the append-only file
        self.rewrite_in_progress = False
        self.rewrite_started_ms = 0
        self.rewrite_scheduled = False
        self.rewrite_succeeded = True
        self.rewrite_duration_s = NEVER
        self.rewrites = 0
        self.rewrite_failures = 0  # failures in a row
        self.rewrite_copied_bytes = 0
        self.write_error = ""  # why the file cannot be written at present
        self.current_bytes = 0
        self.base_bytes = 0
        self.buffer_bytes = 0
        self.pending_syncs = 0
        self.delayed_syncs = 0
        # the child that saves or rewrites
        self.child_keys_processed = 0
        self.child_keys_total = 0
        self.child_copied_bytes = 0
        self.child_copied_peak_bytes = 0
        self.child_copied_at_ms = 0

    def reset_counts(self) -> None:
        """CONFIG RESETSTAT."""
        self.saves = self.save_failures = 0
        self.rewrites = self.rewrite_failures = self.delayed_syncs = 0
