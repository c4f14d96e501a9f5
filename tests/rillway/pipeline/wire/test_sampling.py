"""Groups of one moment."""

from __future__ import annotations

import pytest

from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.sampling import find_queues, group_sampler, sample_groups
from rillway.queues.finder import Finder
from tests.rillway.pipeline.group_scene import pending_stream
from tests.rillway.pipeline.scene import add, add_many

pytestmark = pytest.mark.integration


def test_a_sample_has_what_the_server_knows_of_a_group(link: Connection) -> None:
    pending_stream(link, count=6)
    link.call("XACK", "s", "g", "1-0")
    add_many(link, "s", 3, first=7)
    [sample] = sample_groups(link, group_sampler(["s"]))
    assert (sample.stream, sample.group) == ("s", "g")
    assert (sample.lag, sample.pending, sample.entries_read) == (3, 5, 6)
    assert (sample.last_delivered_id, sample.stream_last_id) == ("6-0", "9-0")
    assert (sample.stream_length, sample.stream_entries_added) == (9, 9)
    [consumer] = sample.consumers
    assert (consumer.name, consumer.pending) == (b"c", 5)
    assert 0 <= consumer.idle_ms < 60_000


def test_a_lag_that_is_not_known_is_none(link: Connection) -> None:
    add_many(link, "s", 5)
    link.call("XDEL", "s", "4-0")
    link.call("XGROUP", "CREATE", "s", "g", "2-0")
    [sample] = sample_groups(link, group_sampler(["s"]))
    assert (sample.lag, sample.entries_read) == (None, None)
    assert sample.consumers == ()


def test_when_a_consumer_last_got_something_is_known_where_the_server_says_so(
    rillway_link: Connection,
) -> None:
    pending_stream(rillway_link, count=1)
    rillway_link.call("XGROUP", "CREATECONSUMER", "s", "g", "idle")
    [sample] = sample_groups(rillway_link, group_sampler(["s"]))
    busy, idle = sample.consumers
    assert busy.inactive_ms is not None and idle.inactive_ms is None


def test_all_groups_of_all_streams_are_there(link: Connection) -> None:
    for stream, groups in {"s": ["a", "b"], "t": ["a"], "without": []}.items():
        add(link, stream, ["1-0"])
        for group in groups:
            link.call("XGROUP", "CREATE", stream, group, "0")
    samples = sample_groups(link, group_sampler(["s", "missing", "without", "t"]))
    assert [(one.stream, one.group) for one in samples] == [("s", "a"), ("s", "b"), ("t", "a")]
    assert len({one.time_ms for one in samples}) == 1


def test_a_key_of_another_type_is_an_error_that_names_it(link: Connection) -> None:
    link.call("SET", "text", "v")
    with pytest.raises(ServerError, match=r"WRONGTYPE .* \(text\)"):
        sample_groups(link, group_sampler(["text"]))


def test_looking_for_queues_ends_when_a_signal_came(link: Connection) -> None:
    finder = Finder(share=0.001)
    finder.begin_round()
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return True

    assert not find_queues(link, finder, wait)
    assert len(waits) == 1
