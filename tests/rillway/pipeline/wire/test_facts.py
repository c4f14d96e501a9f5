"""What a server says about a stream."""

from __future__ import annotations

import pytest

from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import StreamFacts, all_facts, read_facts
from rillway.pipeline.wire.ids import make_id
from tests.rillway.pipeline.scene import add_many

pytestmark = pytest.mark.integration


def test_a_stream_is_described_by_its_numbers(link: Connection) -> None:
    add_many(link, "s", 5)
    link.call("XTRIM", "s", "MAXLEN", 3)
    link.call("XDEL", "s", "4-0")
    facts = read_facts(link, "s")
    assert facts == StreamFacts(
        length=2,
        first_id=make_id(3),
        last_id=make_id(5),
        max_deleted_id=make_id(4),
        entries_added=5,
        groups=0,
    )
    assert facts.trimmed == 3
    assert facts.has_holes
    assert not facts.is_missing


def test_a_trim_makes_no_holes(link: Connection) -> None:
    add_many(link, "s", 5)
    link.call("XTRIM", "s", "MAXLEN", 3)
    assert not read_facts(link, "s").has_holes


def test_a_stream_that_is_not_there_has_zeros(link: Connection) -> None:
    add_many(link, "s", 1)
    facts = all_facts(link, ["missing", "s"])
    assert facts["missing"] == StreamFacts()
    assert facts["missing"].is_missing
    assert facts["s"].length == 1


def test_an_empty_stream_is_not_missing(link: Connection) -> None:
    add_many(link, "s", 1)
    link.call("XTRIM", "s", "MAXLEN", 0)
    facts = read_facts(link, "s")
    assert not facts.is_missing
    assert facts.first_id == 0


def test_a_key_that_is_no_stream_is_an_error_that_names_it(link: Connection) -> None:
    link.call("SET", "text", "v")
    with pytest.raises(ServerError, match=r"WRONGTYPE.*\(text\)"):
        read_facts(link, "text")
