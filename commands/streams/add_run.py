"""Runs of `XADD key <* | id> field value ...` that one client sent together, taken as a whole.

Producers send pipelines of the same request again and again. What such requests share is done once
(finding the stream, choosing the first ID, telling those who wait). Where all but the last value is
the same, the reader has found that already (protocol/request_runs.py), and the last values are in
the form in which they are kept; otherwise the words of the requests are turned on their side, into
columns that are checked and encoded one by one.

Guarantees: the same entries, IDs, replies and propagated requests as from one `xadd` after the
other; only that the trims of a run with MAXLEN are propagated as one, behind its last entry. Leaves
out whatever is not plain: a stream that is not there yet, names that differ, other options than
MAXLEN, somebody who is told of every single change. These are for `xadd`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from itertools import accumulate, islice

from commands.client import Client
from commands.instance import Instance
from commands.registry import Argv
from commands.streams.add import MAX_ENTRY_BYTES, AddOptions, automatic_id, parse_options
from commands.streams.add_each import XADD, add_each, is_plain
from commands.streams.trim import Trim
from protocol.errors import ReplyError
from protocol.replies import bulk
from protocol.request_runs import MIN_REQUESTS, RequestRun, TailRun
from storage.additions import Additions, Bulks, is_uniform
from storage.entry import (
    Shape,
    encode_additions,
    encode_alike,
    encode_entry,
    encode_ids,
    encode_tails,
)
from storage.entry_id import MAX_ID, MAX_SEQ, SEQ_BITS, EntryID, format_id
from storage.references import References
from storage.stream import Stream

# IDs in the only form in which they are propagated, small enough for 64 bits, a line for each.
_PLAIN_IDS = re.compile(rb"(?:(?:0|[1-9][0-9]{0,18})-(?:0|[1-9][0-9]{0,18})\n)+")


# `XADD key * field value ...`
_PLAIN = AddOptions(2, None, None, no_mkstream=False, trim=None, idempotency=None)


def find_run_end(requests: Sequence[Argv], start: int) -> int:
    """Where XADDs end that begin at index `start` and that may be taken as a whole.

    They have as many words each, or are all plain; it is `start` if they are too few.
    """
    end = find_alike_end(requests, start)
    if end > start:
        return end
    for argv in islice(requests, start, None):
        if not is_plain(argv):
            break
        end += 1
    return end if end - start >= MIN_REQUESTS else start


def find_alike_end(requests: Sequence[Argv], start: int) -> int:
    """Where XADDs of as many words end that begin at index `start`; `start` if they are no run."""
    words = len(requests[start])
    if words < 5 or not words & 1:
        return start
    end = start
    for argv in islice(requests, start, None):
        if argv[0] not in XADD or len(argv) != words:
            break
        end += 1
    return end if end - start >= MIN_REQUESTS else start


def parse_ids(texts: Sequence[bytes], last_id: EntryID) -> list[EntryID] | None:
    """The IDs, if all are whole, in their shortest form and each above the one before."""
    lines = b"\n".join(texts) + b"\n"
    # A text that holds a line end would be two IDs to the pattern.
    if not _PLAIN_IDS.fullmatch(lines) or lines.count(b"\n") != len(texts):
        return None
    halves = lines.replace(b"-", b"\n").split()
    # Many IDs are of the same millisecond.
    starts = {ms: int(ms) << SEQ_BITS for ms in set(halves[::2])}
    ids = [starts[ms] | int(seq) for ms, seq in zip(halves[::2], halves[1::2], strict=True)]
    if ids[0] <= last_id or not all(map(operator.lt, ids, islice(ids, 1, None))):
        return None
    return ids


# -- what a client sent --------------------------------------------------------------------------


def count_shared(words: list[bytes]) -> int:
    """How many words of an XADD are likely to come again: those before its fields. 0 if none."""
    if words[0] not in XADD or b"*" not in words[2:]:
        return 0
    return words.index(b"*", 2) + 1


def xadd_run(client: Client, requests: RequestRun | TailRun | list[Argv]) -> bytes | None:
    """The replies to what find_run_end() has found, or the reader; None if nothing was done."""
    if not _is_unobserved(client.instance):
        return None
    if not isinstance(requests, list):
        return _add_run(client, requests)
    first, last = requests[0], requests[-1]
    if first[1] == last[1] and len(first) == len(last):
        added = _add_columns(client, requests)
        if added is not None:
            return added
    return add_each(client, requests) if {argv[2] for argv in requests} == {b"*"} else None


def cut_replies(replies: bytes, counts: list[int]) -> list[bytes]:
    """The replies of xadd_run(), so many of them at a time."""
    texts = replies.split(b"$")[1:]  # each is an ID as a bulk string: there is no other `$` in it
    if len(texts) == len(counts):
        return [b"$" + text for text in texts]
    ends = list(accumulate(counts))
    starts = [0, *ends[:-1]]
    parts = [texts[start:end] for start, end in zip(starts, ends, strict=True)]
    return [b"$" + b"$".join(part) for part in parts]


def _is_unobserved(instance: Instance) -> bool:
    """Whether nobody is told of each change by itself, but for sinks."""
    return not (
        instance.watchers or instance.tracking.active or instance.config.notify_keyspace_events
    )


def _add_run(client: Client, run: RequestRun | TailRun) -> bytes | None:
    # Words of a run are short, so no entry can be too large.
    words, count = run.words, len(run)
    if len(words) < 3 or words[0] not in XADD:
        return None
    options = _shared_options(client, run)
    stream = _find_stream(client, words[1])
    if options is None or stream is None:
        return None
    ids = _next_ids(stream, count, client.instance.now_ms)
    if ids is None:
        return None
    more, replies = _encode(ids, words[options.id_position + 1 :], run)
    _append(client, words[1], stream, more)
    if options.trim is not None:
        _trim(options.trim, stream, count)
    if client.instance.sinks:
        id_bulks = encode_ids(ids[0], count)
        plain = count if options.trim is None else count - 1
        _propagate(client, words[1], id_bulks[:plain], more.entries[:plain])
        if options.trim is not None:
            _propagate_last(client, options, options.trim, run, stream)
    return replies


def _encode(ids: range, shared: list[bytes], run: RequestRun | TailRun) -> tuple[Additions, bytes]:
    """The entries of a run, and their IDs as replies. `shared`: fields that all of them have."""
    if isinstance(run, RequestRun):
        entries, replies = encode_alike(ids[0], shared, run.bulks)
        return Additions(ids, entries, [*shared, Bulks(run.bulks)], shared[::2]), replies
    columns = list(zip(*run.rows))  # noqa: B905  (as many words in each)
    entries, replies = encode_tails(ids[0], len(columns), run.tails)
    return Additions.of_columns(ids, entries, columns), replies


def _shared_options(client: Client, run: RequestRun | TailRun) -> AddOptions | None:
    """What the requests ask for beside the entry; None if each has to be looked at by itself."""
    words = run.words
    if words[2] == b"*":
        return _PLAIN if run.width & 1 else None
    try:
        options = parse_options(client, run[0])
    except ReplyError:
        return None
    if isinstance(run, TailRun) and options.id_position != len(words) - 1:
        return None
    trim = options.trim
    if options.ms is not None or options.idempotency is not None:
        return None
    if trim is not None and not (
        trim.by_length
        and trim.threshold > len(run)  # none of them is removed again
        and trim.references is References.KEEP
        and not client.instance.blocked.waiters  # whom a trim may take something from
    ):
        return None
    return options


def _trim(trim: Trim, stream: Stream, count: int) -> None:
    """What trimming after each of `count` entries comes to: each time has a limit of its own."""
    for _ in range(count):
        if not trim.apply(stream):
            return


def _propagate_last(
    client: Client, options: AddOptions, trim: Trim, run: RequestRun | TailRun, stream: Stream
) -> None:
    """The last request of the run, with what the trims of all of them came to."""
    request = run[-1]
    request[options.id_position] = format_id(stream.last_id)
    client.instance.emit(client.db.index, [trim.exact_form(request, stream)])
    client.note_write()


def _add_columns(client: Client, requests: Sequence[Argv]) -> bytes | None:
    """The replies to requests of as many words for one stream."""
    if len(set(map(len, requests))) > 1:
        return None
    _, keys, id_words, *columns = zip(*requests, strict=True)
    if not is_uniform(keys):
        return None
    if sum(sum(map(len, column)) for column in columns) > MAX_ENTRY_BYTES:
        return None  # one of them alone may be too large
    stream = _find_stream(client, keys[0])
    if stream is None:
        return None
    ids: Sequence[EntryID] | None
    if id_words[0] != b"*":
        ids = parse_ids(id_words, stream.last_id)
        id_bulks = list(map(bulk, id_words))
    elif is_uniform(id_words):
        ids = _next_ids(stream, len(keys), client.instance.now_ms)
        id_bulks = encode_ids(ids[0], len(ids)) if ids is not None else []
    else:
        return None
    if ids is None:
        return None
    if all(map(is_uniform, columns[::2])):
        names = [column[0] for column in columns[::2]]
        entries = Shape(names).encode_columns(id_bulks, columns[1::2])
    else:
        entries = [encode_entry(i, argv[3:]) for i, argv in zip(id_bulks, requests, strict=True)]
    _append(client, keys[0], stream, Additions.of_columns(ids, entries, columns))
    if client.instance.sinks:
        _propagate(client, keys[0], id_bulks, entries)
    return b"".join(id_bulks)


def _find_stream(client: Client, key: bytes) -> Stream | None:
    stream = client.lookup_for_write(key)
    return stream if type(stream) is Stream else None


def _next_ids(stream: Stream, count: int, now_ms: int) -> range | None:
    """As `automatic_id` for each of `count` entries, if they are all of one millisecond."""
    if stream.last_id == MAX_ID:
        return None  # each is refused
    first_id = automatic_id(stream, now_ms)
    if (first_id & MAX_SEQ) + count > MAX_SEQ:
        return None
    return range(first_id, first_id + count)


def _append(client: Client, key: bytes, stream: Stream, more: Additions) -> None:
    config = client.instance.config
    stream.extend(more, config.stream_node_max_entries, config.stream_node_max_bytes)
    client.modified(key, len(more.entries))
    client.signal_key_as_ready(key)


def _propagate(client: Client, key: bytes, id_bulks: list[bytes], entries: list[bytes]) -> None:
    """Each request is a unit of its own, as it would be alone."""
    wire = encode_additions(key, id_bulks, entries)
    client.instance.emit_encoded(client.db.index, wire, len(entries))
    client.note_write()
