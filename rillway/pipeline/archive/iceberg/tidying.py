"""Old snapshots of a mirror, and what nothing names any more of the files that it is made of.

A table's metadata has all its snapshots and is written again with each commit, so they cannot grow
forever; and pyiceberg deletes none of the lists and manifests of those that it forgets.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pyarrow.fs import FileSelector
from pyiceberg.table import Table

from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.iceberg.catalogue import FOLDER
from rillway.pipeline.archive.table import ORPHAN_HOURS

# They are expired down to the first number when there are more than the second.
KEPT_SNAPSHOTS, MAX_SNAPSHOTS = 10, 30
METADATA = f"{FOLDER}/metadata"


def tidy(table: Table, store: Store) -> None:
    """Each MAX_SNAPSHOTS - KEPT_SNAPSHOTS commits. Raises what pyiceberg does, and OSError."""
    snapshots = sorted(table.snapshots(), key=lambda snapshot: snapshot.sequence_number or 0)
    if len(snapshots) <= MAX_SNAPSHOTS:
        return
    old = [snapshot.snapshot_id for snapshot in snapshots[:-KEPT_SNAPSHOTS]]
    table.maintenance.expire_snapshots().by_ids(old).commit()
    table.refresh()
    named = {location.rpartition("/")[2] for location in _named(table)}
    # A commit that is being made names its files later.
    until = datetime.now(UTC) - timedelta(hours=ORPHAN_HOURS)
    for file in store.filesystem.get_file_info(FileSelector(METADATA)):
        if file.base_name not in named and file.mtime < until:
            store.filesystem.delete_file(file.path)


def _named(table: Table) -> Iterator[str]:
    yield table.metadata_location
    for entry in table.metadata.metadata_log:
        yield entry.metadata_file
    for snapshot in table.snapshots():
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            yield manifest.manifest_path
