"""The rights that requests need."""

from __future__ import annotations

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.acl.needs import channels_of, keys_of, names_patterns
from commands.acl.patterns import ALL_RIGHTS, READ, WRITE
from commands.core.registry import COMMANDS, find

LETTERS = {0: "?", READ: "R", WRITE: "W", ALL_RIGHTS: "RW"}


@pytest.mark.parametrize(
    ("request_text", "needed"),
    [
        ("GET k", "1R"),
        ("EXISTS k l", "1? 2?"),
        ("SET k v", "1W"),
        ("SET k v GET", "1RW"),
        ("SET k v IFEQ w", "1RW"),
        ("DEL k", "1W"),
        ("DELEX k IFEQ v", "1RW"),
        ("GETDEL k", "1RW"),
        ("BITFIELD k GET u8 0", "1R"),
        ("BITFIELD k INCRBY u8 0 1", "1RW"),
        ("RENAME k l", "1RW 2W"),
        ("COPY k l", "1R 2W"),
        ("LMOVE k l LEFT LEFT", "1RW 2W"),
        ("ZUNIONSTORE d 2 k l", "1W 3R 4R"),
        ("SORT k STORE a STORE b", "1R 5W"),
        ("GEORADIUS k 1 1 1 m STORE a STORE b", "1R 9W"),
        ("GEORADIUS k 1 1 1 m STORE a STOREDIST b", "1R 7W 9W"),
        ("MSETEX 2 k v l w EX 9", "2W 4W"),
        ("EVAL s 1 k x", "3RW"),
        ("XREAD STREAMS k l 0 0", "2R 3R"),
        ("XREADGROUP GROUP streams c STREAMS k >", "5R"),
        ("XREADGROUP NOACK GROUP g STREAMS STREAMS k >", "6R"),
        ("XREADGROUP COUNT 1 CLAIM 9 MAXCOUNT 5 GROUP g STREAMS STREAMS k >", "11R"),
        ("XREAD MAXSIZE 5 BLOCK 0 STREAMS k $", "6R"),
        ("XCFGSET k ACK-JOURNAL j", "1W 3W"),
        ("XCFGSET k IDMP-MAXSIZE 5 ack-journal j", "1W 5W"),
        ("SPUBLISH c m", ""),
        ("CONFIG GET x", ""),
    ],
)
def test_key_rights_follow_from_the_declaration(request_text: str, needed: str) -> None:
    words = request_text.encode().split()
    command = find(words, COMMANDS)
    assert command is not None
    found = [f"{position}{LETTERS[rights]}" for position, rights in keys_of(command, words)]
    assert " ".join(found) == needed


@pytest.mark.parametrize(
    ("request_text", "positions"),
    [("PUBLISH c m", [1]), ("SUBSCRIBE a b", [1, 2]), ("UNSUBSCRIBE a", []), ("GET a", [])],
)
def test_channels_are_those_published_or_subscribed_to(
    request_text: str, positions: list[int]
) -> None:
    words = request_text.encode().split()
    command = find(words, COMMANDS)
    assert command is not None
    assert list(channels_of(command, words)) == positions
    assert not names_patterns(command)
