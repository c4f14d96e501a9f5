"""Compares the observed content of a connection's keys with the expected one."""

from __future__ import annotations

from dataclasses import dataclass

from tests.crash.expectation import Expectation, ExpectedStream
from tests.crash.observation import (
    ObservedGroup,
    ObservedKeys,
    ObservedStream,
    Window,
    format_id,
)

CLOCK_MS = 2  # how far the server's clock, read once per batch, may lag


@dataclass(frozen=True)
class Comparison:
    """How strictly to compare.

    requests_only: the file was rewritten as requests (aof-use-rdb-preamble no), a form in which
    Redis keeps no pending entry whose entry is deleted, and no message whose entry is.
    modern: the server keeps what Redis 8 keeps. Redis 7.0 does not write down how many entries a
    group has read, nor every consumer that has nothing pending.
    """

    requests_only: bool = False
    modern: bool = True


def differences(expected: Expectation, found: ObservedKeys, how: Comparison) -> list[str]:
    """In words; empty where the keys hold what they must."""
    texts = []
    for key in sorted(expected.streams.keys() | found.streams.keys()):
        wanted, seen = expected.streams.get(key), found.streams.get(key)
        if wanted is None or seen is None:
            texts.append(f"stream {key!r} is {'there' if seen else 'missing'}")
        else:
            texts += [f"{key!r}: {text}" for text in stream_differences(wanted, seen, how)]
    texts += string_differences(expected, found)
    for key, lifetime in expected.expires.items():
        at = found.expires.get(key)
        is_there = key in found.streams or key in found.strings
        if is_there and (at is None or not is_within(at, lifetime)):
            texts.append(f"{key!r} expires at {at}, expected {lifetime}")
    texts += [f"{key!r} expires" for key in found.expires.keys() - expected.expires.keys()]
    if expected.shared.added != found.shared_added:
        lost = sorted(set(expected.shared.added) ^ set(found.shared_added))
        texts.append(f"entries in the shared stream differ: {list(map(format_id, lost))}")
    if expected.shared.pending != found.shared_pending:
        lost = sorted(expected.shared.pending ^ found.shared_pending)
        texts.append(f"pending in the shared stream differs: {list(map(format_id, lost))}")
    return texts


def string_differences(expected: Expectation, found: ObservedKeys) -> list[str]:
    texts = []
    for key in sorted(expected.strings.keys() | found.strings.keys()):
        wanted, text = expected.strings.get(key), found.strings.get(key)
        if wanted is not None and text is None:
            lifetime = expected.expires.get(key)
            if lifetime is None or lifetime[0] - CLOCK_MS > found.read_ms[1]:
                texts.append(f"{key!r} is missing")
        elif wanted is None or wanted.text != text:
            texts.append(f"{key!r} is {text!r}, expected {wanted}")
    return texts


def is_within(moment: int, window: Window) -> bool:
    return window[0] - CLOCK_MS <= moment <= window[1] + CLOCK_MS


def stream_differences(
    expected: ExpectedStream, found: ObservedStream, how: Comparison
) -> list[str]:
    model = expected.model
    entries = {entry.entry_id: entry.fields for entry in model.entries()}
    texts = []
    if entries != found.entries:
        changed = [i for i in entries.keys() | found.entries.keys()
                   if entries.get(i) != found.entries.get(i)]  # fmt: skip
        named = [format_id(i) for i in sorted(changed)]
        texts.append(
            f"{len(found.entries)} entries, expected {len(entries)}; they differ in {named[:10]}"
        )
    for what, wanted, seen in (
        ("last ID", model.last_id, found.last_id),
        ("max deleted ID", model.max_deleted_id, found.max_deleted_id),
        ("entries added", model.entries_added, found.entries_added),
        ("groups", sorted(model.groups), sorted(found.groups)),
    ):
        if wanted != seen:
            texts.append(f"{what} {seen}, expected {wanted}")
    for name in model.groups:
        if name in found.groups:
            said = group_differences(expected, name, found.groups[name], how)
            texts += [f"group {name!r}: {text}" for text in said]
    texts += message_differences(expected, found, how)
    return texts


def group_differences(
    stream: ExpectedStream, name: bytes, found: ObservedGroup, how: Comparison
) -> list[str]:
    texts = []
    group = stream.model.groups[name]
    read = None if group.entries_read == -1 else group.entries_read
    lag = stream.model.lag(group)
    for what, wanted, seen in (
        ("last delivered ID", group.last_delivered_id, found.last_id),
        ("entries read", read, found.entries_read),
        ("lag", lag, found.lag),
        ("consumers", sorted(group.consumers), sorted(found.consumers)),
    ):
        if wanted != seen and (how.modern or what == "last delivered ID"):
            texts.append(f"{what} {seen}, expected {wanted}")
    for entry_id in sorted(group.pending.keys() | found.pending.keys()):
        pending, seen_pending = group.pending.get(entry_id), found.pending.get(entry_id)
        if pending is not None and seen_pending is None:
            if not how.requests_only or stream.is_alive(entry_id):
                texts.append(f"{format_id(entry_id)!r} is not pending any more")
            continue
        if pending is None or seen_pending is None:
            texts.append(f"{format_id(entry_id)!r} is pending again")
            continue
        count = pending.delivery_count
        least = count - stream.unwritten.get((name, entry_id), 0)
        window = stream.windows[name, entry_id]
        if (
            (pending.consumer or b"") != seen_pending.consumer
            or not least <= seen_pending.delivery_count <= count
            or not is_within(seen_pending.delivery_ms, window)
        ):
            texts.append(f"{format_id(entry_id)!r} is {seen_pending}, expected {pending}, {window}")
    return texts


def message_differences(
    expected: ExpectedStream, found: ObservedStream, how: Comparison
) -> list[str]:
    """IDMP. Only the numbers are shown; that the names are right, later requests find out."""
    if how.requests_only or b"iids-added" not in found.info:
        return []
    known = expected.messages.known
    wanted = {
        b"iids-tracked": len(known),
        b"pids-tracked": len({pid for pid, _, _ in known}),
        b"iids-added": expected.messages_added,
        b"iids-duplicates": expected.duplicates,
    }
    return [f"{name.decode()} {found.info[name]}, expected {number}"
            for name, number in wanted.items() if found.info[name] != number]  # fmt: skip


def adopt(expected: Expectation, found: ObservedKeys) -> None:
    """What a crash may blur is known exactly again: take it over from a state that fits."""
    for key in [k for k in expected.strings if k not in found.strings]:
        expected.forget(key)
    expected.expires = {key: (at, at) for key, at in found.expires.items()}
    for key, stream in expected.streams.items():
        seen = found.streams[key]
        stream.unwritten.clear()
        for name, group in stream.model.groups.items():
            read = seen.groups[name].entries_read
            group.entries_read = -1 if read is None else read
            group.consumers = set(seen.groups[name].consumers)
            for entry_id in list(group.pending):
                pending = seen.groups[name].pending.get(entry_id)
                if pending is None:
                    group.drop(entry_id)
                    continue
                group.pending[entry_id].delivery_count = pending.delivery_count
                stream.windows[name, entry_id] = pending.delivery_ms, pending.delivery_ms
        stream.messages_added = seen.info.get(b"iids-added", 0)
        stream.duplicates = seen.info.get(b"iids-duplicates", 0)
