"""The progress of groups in a stream: entries-read and lag (Redis 7.4).

A group counts the entries that it reads, as long as its position in the stream is known. If it is
not, because the group was set or entries were deleted, the stream's counters give it in some
places: at the stream's ends, and where nothing was deleted. Source: Redis 7.4.

Guarantees: a group has never read more entries than were added, whatever number it was given and
whatever becomes of the stream's counter, so no lag is negative.
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import MIN_ID, EntryID, EntryIDs
from storage.groups.group import UNKNOWN, Group
from storage.stream import Stream


def advance_group(stream: Stream, group: Group, ids: EntryIDs) -> None:
    """Move `group` past the entries `ids`, which are delivered to it now (Redis 7.4).

    `ids` ascend and are above the group's last ID. They are counted while
    the group's position is known, and from where it becomes known again.
    """
    place: cython.Py_ssize_t
    for place in range(ids.count):
        if (
            group.entries_read != UNKNOWN
            and not stream.begins_after(group.last_delivered_id)
            and not has_tombstone_after(stream, group.last_delivered_id)
        ):
            # From here on the same holds for each ID that follows. ENTRIESREAD may have been too
            # much for where the group was.
            left: cython.longlong = stream.entries_added - group.entries_read
            group.entries_read += min(left, ids.count - place)
            group.last_delivered_id = ids.at(ids.count - 1)
            return
        if stream.entries_added:
            group.entries_read = estimate_entries_read(stream, ids.at(place))
        group.last_delivered_id = ids.at(place)
        if group.entries_read == UNKNOWN:
            # The same holds for each that follows, up to the last one of the stream.
            if stream.entries_added:
                group.entries_read = estimate_entries_read(stream, ids.at(ids.count - 1))
            group.last_delivered_id = ids.at(ids.count - 1)
            return


def set_entries_read(stream: Stream, group: Group, entries_read: int) -> None:
    """Set the number of entries that a group has read, but to no more than were added."""
    group.entries_read = min(entries_read, stream.entries_added)


def set_entries_added(stream: Stream, entries_added: int) -> None:
    """Set the number of entries that were added; no group has read more."""
    stream.entries_added = entries_added
    for group in stream.groups.values():
        set_entries_read(stream, group, group.entries_read)


def has_tombstone_after(stream: Stream, entry_id: EntryID) -> bool:
    """Return True if an entry with this ID or a greater one may have been deleted."""
    return (
        stream.length > 0 and stream.max_deleted_id != MIN_ID and entry_id <= stream.max_deleted_id
    )


def estimate_entries_read(stream: Stream, entry_id: EntryID) -> int:
    """The number of entries ever added up to `entry_id`; UNKNOWN (-1) if it is not known."""
    if not stream.entries_added:
        return 0
    if not stream.length and entry_id <= stream.last_id:
        return stream.entries_added
    if entry_id != MIN_ID and entry_id < stream.max_deleted_id:
        return UNKNOWN
    if entry_id == stream.last_id:
        return stream.entries_added
    if entry_id > stream.last_id:
        return UNKNOWN
    first_id = stream.first_id
    if stream.max_deleted_id == MIN_ID or stream.max_deleted_id < first_id:
        if entry_id < first_id:
            return stream.entries_added - stream.length
        if entry_id == first_id:
            return stream.entries_added - stream.length + 1
    return UNKNOWN


def lag(stream: Stream, group: Group) -> int | None:
    """The number of entries that `group` has not read yet; None if it is not known."""
    if not stream.entries_added or not stream.length:
        return 0
    last_id = group.last_delivered_id
    if last_id < stream.first_id and stream.max_deleted_id < stream.first_id:
        return stream.length
    read = group.entries_read
    if read == UNKNOWN or has_tombstone_after(stream, last_id):
        read = estimate_entries_read(stream, last_id)
    return None if read == UNKNOWN else stream.entries_added - read
