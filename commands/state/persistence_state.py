"""The state of persistence: loading, snapshots, the append-only file, and their last results.

Plain attributes, set by the server (server/persistence) and read by commands: INFO, LASTSAVE, and
the gates of the dispatcher. Times are Unix ms or seconds as their names say; -1 stands for never.

Source: the persistence section of INFO in Redis 7.2 and 8.
"""

from __future__ import annotations

from dataclasses import field

from protocol.records import entity

NEVER = -1


@entity
class PersistenceState:
    """The state of persistence of one instance; see the module."""

    # loading
    loading: bool = False
    loading_started_ms: int = 0
    loading_total_bytes: int = 0
    loading_loaded_bytes: int = 0
    loaded_keys: int = 0
    expired_keys_on_load: int = 0
    skipped_keys_on_load: int = 0  # of types that are not supported (rdb-skip-unsupported)
    loaded_history: dict[bytes, bytes] = field(default_factory=dict)  # what the snapshot contains
    # (database, key) of each key that was dropped: the replicas of that history hold them.
    dropped_on_load: list[tuple[int, bytes]] = field(default_factory=list)
    # snapshots
    last_save_ms: int = 0  # Unix ms; the start of the server until there was one
    last_save_attempt_ms: int = 0
    save_in_progress: bool = False
    save_started_ms: int = 0
    save_scheduled: bool = False
    save_succeeded: bool = True  # the last one in the background
    save_duration_s: int = NEVER
    saves: int = 0
    save_copied_bytes: int = 0  # memory that the child had to copy (copy on write)
    # the append-only file
    append_only: bool = False  # whether it is written
    rewrite_in_progress: bool = False
    rewrite_started_ms: int = 0
    rewrite_scheduled: bool = False
    rewrite_succeeded: bool = True
    rewrite_duration_s: int = NEVER
    rewrites: int = 0
    rewrite_failures: int = 0  # failures in a row
    rewrite_copied_bytes: int = 0
    write_error: str = ""  # why the file cannot be written at present
    current_bytes: int = 0
    base_bytes: int = 0
    buffer_bytes: int = 0
    pending_syncs: int = 0
    delayed_syncs: int = 0
    # the child that saves or rewrites
    child_keys_processed: int = 0
    child_keys_total: int = 0
    child_copied_bytes: int = 0
    child_copied_peak_bytes: int = 0
    child_copied_at_ms: int = 0

    def reset_counts(self) -> None:
        """CONFIG RESETSTAT."""
        self.saves = self.rewrites = self.rewrite_failures = self.delayed_syncs = 0
