"""commands/sorted_sets/pairs.py: members and scores as replies."""

from __future__ import annotations

from commands.core.long_reply import LongReply
from commands.sorted_sets.pairs import MANY_MEMBERS, members_reply, score_or_nil
from storage.types.records import make_record

RECORDS = [make_record(1.0, b"a"), make_record(2.5, b"b")]


def test_shapes() -> None:
    assert members_reply(RECORDS, 3) == members_reply(RECORDS, 2) == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
    assert members_reply(RECORDS, 2, with_scores=True) == (
        b"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$3\r\n2.5\r\n"
    )
    assert members_reply(RECORDS, 3, with_scores=True) == (
        b"*2\r\n*2\r\n$1\r\na\r\n,1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n"
    )
    assert members_reply([], 3, with_scores=True) == b"*0\r\n"
    assert score_or_nil(None, 2) == b"$-1\r\n"
    assert score_or_nil(RECORDS[0], 3) == b",1\r\n"


def test_many_members_come_in_pieces() -> None:
    count = MANY_MEMBERS + 1
    records = [make_record(float(number), b"m") for number in range(count)]
    for resp, items in ((2, 2 * count), (3, count)):
        reply = members_reply(records.copy(), resp, with_scores=True)
        assert isinstance(reply, LongReply)
        joined = reply.join()
        assert joined.startswith(b"*%d\r\n" % items)
        assert joined.count(b"$1\r\nm\r\n") == count
