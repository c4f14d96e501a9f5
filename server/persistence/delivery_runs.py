"""Runs of XCLAIM and of XACK, taken as a whole: what the traffic of a group leaves in a file.

In a file of Redis's, an XREADGROUP is one XCLAIM for each entry, with the same group, consumer and
time: `XCLAIM key group consumer 0 id TIME ms RETRYCOUNT 1 FORCE JUSTID LASTID id`. For an entry
that exists and is not pending yet, that is a delivery, and a run of them is one delivery of all
(`Group.deliver`). Rillway writes one XCLAIM for all of them, which the handler takes as a whole.
The XACKs of one group that follow one another are one of all their IDs.

Guarantees: a run has the same result as the handlers give request by request, or none at all. It
is taken only if nothing is left to decide: IDs in their only form that follow one another in the
stream, above all that is pending.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice

from commands.client import Client
from commands.registry import Argv
from commands.streams.add_run import parse_ids
from commands.streams.delivery import group_changed, seen_consumer
from commands.streams.ids import parse_all
from protocol.errors import ReplyError
from storage.entry_id import MIN_ID, EntryID
from storage.group import Group
from storage.stream import Stream

# An XCLAIM alone is a run, too: to look at its words is quicker than to read options in any order.
_MIN_ACKS = 2

# Where the words of such an XCLAIM are.
_WORDS = 14
_ID, _TIME, _LAST_ID = 5, 7, 13
_OPTIONS = [b"RETRYCOUNT", b"1", b"FORCE", b"JUSTID", b"LASTID"]

# Digits of a time that is neither negative nor beyond anything that a clock shows.
_TIME_DIGITS = 15


# -- XCLAIM ----------------------------------------------------------------------------------------


def find_claims_end(requests: Sequence[Argv], start: int) -> int:
    """Where the XCLAIMs end that can be a run from index `start` on; `start` if none can."""
    first = requests[start]
    if len(first) != _WORDS or first[4] != b"0" or first[6] != b"TIME" or first[8:13] != _OPTIONS:
        return start
    head, options = first[:_ID], first[_ID + 1 : _LAST_ID]
    end = start
    for argv in islice(requests, start, None):
        if argv[:_ID] != head or argv[_ID + 1 : _LAST_ID] != options or len(argv) != _WORDS:
            break
        end += 1
    return end


def take_claims(client: Client, run: Sequence[Argv]) -> bool:
    """Deliver all entries of a run. False if nothing was done, because it is no plain delivery."""
    _, key, group_name, consumer_name, *_ = run[0]
    time = run[0][_TIME]
    found = _stream_and_group(client, key, group_name)
    if found is None or not time.isdigit() or len(time) > _TIME_DIGITS:
        return False
    stream, group = found
    texts = [argv[_ID] for argv in run]
    ids = parse_ids(texts, group.pending.last_key() or MIN_ID)
    if ids is None or stream.ids(ids[0], ids[-1], len(ids) + 1) != ids:
        return False
    moves = _moves(group, ids, texts, [argv[_LAST_ID] for argv in run])
    if moves is None:
        return False

    consumer = seen_consumer(client, key, group, consumer_name)
    consumer.active_ms = client.instance.now_ms
    group.deliver(consumer, ids, int(time))
    count, last_id = moves
    group.last_delivered_id = last_id
    group_changed(client, key, len(ids) + count)
    return True


def _moves(
    group: Group, ids: list[EntryID], texts: list[bytes], last_texts: list[bytes]
) -> tuple[int, EntryID] | None:
    """How often LASTID moves the group, and where it is then; None if that is not plain to see.

    Redis gives each entry's own ID; where all were given the same, it is that of the last.
    """
    last_id = group.last_delivered_id
    if last_texts == texts:
        count = len(ids) - bisect_right(ids, last_id)
    elif last_texts == texts[-1:] * len(texts):
        count = int(ids[-1] > last_id)
    else:
        return None
    return count, max(last_id, ids[-1])


# -- XACK ------------------------------------------------------------------------------------------


def find_acks_end(requests: Sequence[Argv], start: int) -> int:
    """Where the XACKs of one group end that begin at index `start`; `start` if there is one."""
    head = requests[start][:3]
    end = start
    for argv in islice(requests, start, None):
        if argv[:3] != head or len(argv) < 4:
            break
        end += 1
    return end if end - start >= _MIN_ACKS else start


def take_acks(client: Client, run: Sequence[Argv]) -> bool:
    """Acknowledge all entries of a run. False if nothing was done."""
    key = run[0][1]
    found = _stream_and_group(client, key, run[0][2])
    if found is None or found[0].ack_journal is not None:
        return False
    try:
        ids = parse_all([text for argv in run for text in argv[3:]])
    except ReplyError:
        return False  # some of them are refused, and the others are not
    acknowledged = found[1].acknowledge_all(ids)
    if acknowledged:
        group_changed(client, key, acknowledged)
    return True


def _stream_and_group(client: Client, key: bytes, name: bytes) -> tuple[Stream, Group] | None:
    try:
        stream = client.lookup_stream(key)
    except ReplyError:
        return None
    group = None if stream is None else stream.groups.get(name)
    return None if stream is None or group is None else (stream, group)
