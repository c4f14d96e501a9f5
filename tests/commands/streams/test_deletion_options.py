"""KEEPREF, DELREF, ACKED and IDS: the options of XDELEX and XACKDEL, which share a parser."""

from __future__ import annotations

import pytest

from commands.streams.delete import parse_deletion
from protocol.errors import ReplyError
from protocol.request import Request
from storage.groups.group import References

SYNTAX = b"ERR syntax error"
NOT_POSITIVE = b"ERR Number of IDs must be a positive integer"
MISMATCH = b"ERR The `numids` parameter must match the number of arguments"
REQUIRED = b"ERR IDS option is required"
INVALID_ID = b"ERR Invalid stream ID specified as stream command argument"


@pytest.mark.parametrize(
    ("options", "references"),
    [
        ("IDS 2 0-1 0-2", References.KEEP),
        ("keepref ids 2 0-1 0-2", References.KEEP),
        ("DELREF IDS 2 0-1 0-2", References.DELETE),
        ("IDS 2 0-1 0-2 ACKED", References.ACKED),
        ("IDS 1 bad KEEPREF IDS 2 0-1 0-2", References.KEEP),
    ],
)
def test_the_policy_may_precede_or_follow_the_ids(options: str, references: References) -> None:
    assert parse_deletion(Request(options.encode().split()), 0) == (references, [1, 2])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("KEEPREF", REQUIRED),
        ("IDS 0 1-1", NOT_POSITIVE),
        ("IDS -1 1-1", NOT_POSITIVE),
        ("IDS x 1-1", NOT_POSITIVE),
        ("IDS 9223372036854775808 1-1", NOT_POSITIVE),
        ("IDS 2 1-1", MISMATCH),
        ("ACKED IDS 2 1-1", MISMATCH),
        ("IDS 1 1-1 1-2", SYNTAX),
        ("IDS 1 1-1 FOO", SYNTAX),
        ("FOO IDS 1 1-1", SYNTAX),
        ("ACKED KEEPREF IDS 1 1-1", SYNTAX),
        ("ACKED IDS 1 1-1 ACKED", SYNTAX),
        ("IDS 1 1-1 IDS", SYNTAX),
        ("IDS 2 1-1 IDS 1 1-1", SYNTAX),
        ("KEEPREF IDS", SYNTAX),
        ("IDS 2 1-1 bad", INVALID_ID),
        ("IDS 2 1-1 ACKED", INVALID_ID),
        ("IDS 1 +", INVALID_ID),
    ],
)
def test_options_that_do_not_fit_are_refused(options: str, text: bytes) -> None:
    with pytest.raises(ReplyError) as refused:
        parse_deletion(Request(options.encode().split()), 0)
    assert refused.value.text == text
