"""Dead letters are moved once each, despite other clients and whatever is killed when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from rillway.dead_letter import NAMES
from rillway.pipeline.dead_letters.mover import MoveFailed, Mover, MoveReport, Rules
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError, Word
from rillway.pipeline.wire.ids import format_id, make_id
from tests.rillway.pipeline.group_scene import deliver_again, pending_ids, pending_stream
from tests.rillway.pipeline.scene import add, stream_ids

pytestmark = pytest.mark.integration

RULES = Rules(more_than=3)
ORIGIN = [name.decode() for name in NAMES]


class Meddled(Connection):
    """Something happens right before each transaction is sent, as often as there is something."""

    def __init__(self, url: str, *events: Callable[[], object]) -> None:
        super().__init__(url)
        self.events = list(events)

    def call_all(self, requests: Iterable[Sequence[Word]]) -> list[Any]:
        listed = list(requests)
        if self.events and listed[0] == ("MULTI",):
            self.events.pop(0)()
        return super().call_all(listed)


class Mortal(Connection):
    """The process dies at its n-th sending: before it, or when it was sent and not answered."""

    def __init__(self, url: str, dies_at: int, *, is_sent: bool) -> None:
        self.sendings, self.dies_at, self.is_sent = 0, dies_at, is_sent
        super().__init__(url)

    def send(self, data: bytes | memoryview) -> None:
        self.sendings += 1
        if self.sendings == self.dies_at:
            if self.is_sent:
                super().send(data)
                self.receive_any()  # the server has got all of it
            raise ConnectionLost("killed")
        super().send(data)


def mover(link: Connection, rules: Rules = RULES, to: str = "dead", **options: Any) -> Mover:
    return Mover(link, "s", to, rules, **options)


def move(moving: Mover, group: str = "g") -> MoveReport:
    report = MoveReport("s", group)
    for _ in moving.move(group, report):
        pass
    return report


def dead_letters(link: Connection, key: str = "dead") -> list[dict[str, str]]:
    entries = link.call("XRANGE", key, "-", "+")
    return [as_texts(fields) for _, fields in entries]


def as_texts(flat: list[bytes]) -> dict[str, str]:
    texts = [word.decode() for word in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def dead_ids(link: Connection, key: str = "dead") -> list[str]:
    return [letter["rillway-id"] for letter in dead_letters(link, key)]


@pytest.fixture
def stream(link: Connection) -> Connection:
    """Ten entries are pending; 2, 5 and 9 were delivered five times, the last time a minute ago."""
    pending_stream(link, count=10)
    deliver_again(link, ["2-0", "5-0", "9-0"], 5, idle_ms=60_000)
    return link


# -- what is moved -----------------------------------------------------------------------------


def test_what_was_delivered_too_often_is_moved_and_acknowledged(stream: Connection) -> None:
    assert move(mover(stream)) == MoveReport("s", "g", moved=3)
    assert dead_ids(stream) == ["2-0", "5-0", "9-0"]
    assert pending_ids(stream) == ["1-0", "3-0", "4-0", "6-0", "7-0", "8-0", "10-0"]
    assert len(stream_ids(stream, "s")) == 10
    assert move(mover(stream)) == MoveReport("s", "g")


def test_a_dead_letter_has_its_fields_as_they_were_and_then_its_origin(link: Connection) -> None:
    fields = [b"f", b"1", b"f", b"2", b"\xff\x00", b""]
    link.call("XADD", "s", "1-0", *fields)
    link.call("XGROUP", "CREATE", "s", "g", "0")
    link.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    deliver_again(link, ["1-0"], 4, consumer="d", idle_ms=5000)
    seconds, _ = link.call("TIME")
    move(mover(link))
    [[_, words]] = link.call("XRANGE", "dead", "-", "+")
    origin = as_texts(words[6:])
    assert words[:6] == fields
    assert list(origin) == ORIGIN
    delivered_ms = int(origin.pop("rillway-delivered"))
    assert abs(delivered_ms - (int(seconds) * 1000 - 5000)) < 3000
    assert origin == {
        "rillway-stream": "s",
        "rillway-group": "g",
        "rillway-consumer": "d",
        "rillway-id": "1-0",
        "rillway-deliveries": "4",
        "rillway-cause": "deadline",
        "rillway-error": "delivered 4 times, more than 3",
        "rillway-hops": "1",
    }


@pytest.mark.parametrize(("more_than", "moved"), [(0, 10), (1, 3), (4, 3), (5, 0)])
def test_more_than_means_more(stream: Connection, more_than: int, moved: int) -> None:
    assert move(mover(stream, Rules(more_than))).moved == moved


def test_what_was_delivered_a_moment_ago_is_left_alone(stream: Connection) -> None:
    deliver_again(stream, ["5-0"], 6, idle_ms=0)
    assert move(mover(stream, Rules(3, min_idle_ms=30_000))).moved == 2
    assert dead_ids(stream) == ["2-0", "9-0"]


def test_what_was_given_back_for_good_is_dead_and_idle(rillway_link: Connection) -> None:
    pending_stream(rillway_link, count=3)
    rillway_link.call("XNACK", "s", "g", "FATAL", "IDS", 1, "2-0")
    assert move(mover(rillway_link, Rules(3, min_idle_ms=30_000))).moved == 1
    [letter] = dead_letters(rillway_link)
    assert (letter["rillway-id"], letter["rillway-consumer"], letter["rillway-delivered"]) == (
        "2-0",
        "",
        "",
    )
    assert letter["rillway-deliveries"] == str(2**63 - 1)


def test_each_group_is_by_itself(stream: Connection) -> None:
    stream.call("XGROUP", "CREATE", "s", "other", "0")
    stream.call("XREADGROUP", "GROUP", "other", "c", "COUNT", 10, "STREAMS", "s", ">")
    assert move(mover(stream), "other").moved == 0
    assert move(mover(stream, Rules(0)), "other").moved == 10
    assert len(pending_ids(stream)) == 10


def test_entries_that_are_named_are_moved_if_the_rules_apply_to_them(stream: Connection) -> None:
    report = MoveReport("s", "g")
    mover(stream, chunk_entries=2).move_entries(
        "g", [make_id(number) for number in (1, 2, 5, 9, 77)], report
    )
    assert dead_ids(stream) == ["2-0", "5-0", "9-0"]
    assert report.moved_ids == [make_id(2), make_id(5), make_id(9)]


@pytest.mark.parametrize("chunk_entries", [1, 2, 3, 100])
def test_the_size_of_a_transaction_does_not_matter(link: Connection, chunk_entries: int) -> None:
    pending_stream(link, count=25)
    deliver_again(link, [f"{number}-0" for number in range(1, 26, 2)], 9)
    moving = mover(link, chunk_entries=chunk_entries, page_size=4)
    report = MoveReport("s", "g")
    steps = list(moving.move("g", report))
    assert report.moved == sum(steps) == 13 and max(steps) <= chunk_entries
    assert dead_ids(link) == [f"{number}-0" for number in range(1, 26, 2)]


def test_a_dry_look_changes_nothing(stream: Connection) -> None:
    stream.call("XDEL", "s", "5-0")
    [letters] = mover(stream).find("g")
    assert [format_id(letter.entry.id) for letter in letters] == ["2-0", "5-0", "9-0"]
    assert [letter.fields for letter in letters] == [[b"n", b"2-0"], None, [b"n", b"9-0"]]
    assert len(pending_ids(stream)) == 10 and stream.call("EXISTS", "dead") == 0


# -- removed data ------------------------------------------------------------------------------


def test_a_deleted_entry_is_reported_and_stays_pending(stream: Connection) -> None:
    stream.call("XDEL", "s", "5-0")
    expected = MoveReport("s", "g", moved=2, missing=[make_id(5)])
    assert move(mover(stream)) == expected
    assert "5-0" in pending_ids(stream)
    assert move(mover(stream)) == MoveReport("s", "g", missing=[make_id(5)])


def test_a_deleted_entry_is_acknowledged_if_that_is_wanted(stream: Connection) -> None:
    stream.call("XDEL", "s", "5-0")
    expected = MoveReport("s", "g", moved=2, missing=[make_id(5)], dropped=1)
    assert move(mover(stream, drops_missing=True)) == expected
    assert dead_ids(stream) == ["2-0", "9-0"]
    assert "5-0" not in pending_ids(stream)


# -- who else acts meanwhile -------------------------------------------------------------------


def test_what_a_consumer_acknowledges_at_the_last_moment_is_not_kept(stream: Connection) -> None:
    meddled = Meddled(stream.url, lambda: stream.call("XACK", "s", "g", "5-0"))
    assert move(mover(meddled)) == MoveReport("s", "g", moved=2, taken_back=1)
    assert dead_ids(stream) == ["2-0", "9-0"]


def test_what_a_consumer_claims_at_the_last_moment_is_moved(stream: Connection) -> None:
    claim = ("XCLAIM", "s", "g", "late", 0, "5-0")
    assert move(mover(Meddled(stream.url, lambda: stream.call(*claim)))).moved == 3
    assert dead_ids(stream) == ["2-0", "5-0", "9-0"]
    assert "5-0" not in pending_ids(stream)
    assert stream.call("XACK", "s", "g", "5-0") == 0


def test_what_was_acknowledged_before_the_look_is_not_touched(stream: Connection) -> None:
    moving = mover(stream, chunk_entries=1)
    report = MoveReport("s", "g")
    steps = moving.move("g", report)
    next(steps)
    stream.call("XACK", "s", "g", "5-0")
    deliver_again(stream, ["9-0"], 1)
    assert list(steps) == [0, 0]
    assert report == MoveReport("s", "g", moved=1)
    assert dead_ids(stream) == ["2-0"]


def test_of_two_movers_one_moves_each_entry(stream: Connection) -> None:
    others: list[MoveReport] = []
    meddled = Meddled(stream.url, lambda: others.append(move(mover(stream))))
    assert move(mover(meddled)) == MoveReport("s", "g")
    assert others == [MoveReport("s", "g", moved=3)]
    assert dead_ids(stream) == ["2-0", "5-0", "9-0"]


def test_of_two_movers_to_different_streams_one_keeps_each_entry(stream: Connection) -> None:
    others: list[MoveReport] = []
    meddled = Meddled(stream.url, lambda: others.append(move(mover(stream, to="elsewhere"))))
    assert move(mover(meddled)) == MoveReport("s", "g", taken_back=3)
    assert (others[0].moved, dead_ids(stream), len(dead_ids(stream, "elsewhere"))) == (3, [], 3)


def test_others_may_write_to_the_dead_letters(stream: Connection) -> None:
    def write() -> None:
        stream.call("XADD", "dead", "*", "rillway-id", "other")

    assert move(mover(Meddled(stream.url, write, write, write))).moved == 3
    assert dead_ids(stream) == ["other"] * 3 + ["2-0", "5-0", "9-0"]


def test_a_stream_that_is_written_to_all_the_time_stops_the_mover(stream: Connection) -> None:
    writes = [lambda: stream.call("XADD", "dead", "*", "f", "v")] * 100
    with pytest.raises(MoveFailed, match="dead: gave up, because others kept writing"):
        move(mover(Meddled(stream.url, *writes)))
    assert len(pending_ids(stream)) == 10


@pytest.mark.parametrize("is_late", [False, True])
def test_nothing_is_acknowledged_that_cannot_be_copied(stream: Connection, is_late: bool) -> None:
    def occupy() -> None:
        stream.call("SET", "dead", "v")

    if not is_late:
        occupy()
    with pytest.raises(MoveFailed, match="dead holds a string, not a stream"):
        move(mover(Meddled(stream.url, occupy)))
    assert len(pending_ids(stream)) == 10


def test_dead_letters_without_ids_left_stop_the_mover(stream: Connection) -> None:
    add(stream, "dead", [f"{2**64 - 1}-{2**64 - 1}"])
    with pytest.raises(MoveFailed, match="dead has no IDs left"):
        move(mover(stream))
    assert len(pending_ids(stream)) == 10


def test_what_the_server_refuses_moves_nothing(stream: Connection) -> None:
    with pytest.raises(ServerError, match="NOGROUP"):
        move(mover(stream), "missing")
    stream.call("DEL", "s")
    with pytest.raises(ServerError, match="NOGROUP"):
        move(mover(stream))


# -- a mover that is killed --------------------------------------------------------------------


@pytest.mark.parametrize("is_sent", [False, True])
def test_each_entry_is_moved_once_wherever_a_mover_is_killed(
    stream: Connection, is_sent: bool
) -> None:
    dies_at = 0
    while True:
        dies_at += 1
        stream.call("FLUSHALL")
        pending_stream(stream, count=10)
        deliver_again(stream, ["2-0", "5-0", "9-0"], 5)
        stream.call("XDEL", "s", "9-0")
        with Mortal(stream.url, dies_at, is_sent=is_sent) as mortal:
            try:
                move(mover(mortal, drops_missing=True, chunk_entries=1))
            except ConnectionLost:
                was_killed = True
            else:
                was_killed = False
        move(mover(stream, drops_missing=True))
        assert dead_ids(stream) == ["2-0", "5-0"]
        assert len(pending_ids(stream)) == 7
        if not was_killed:
            break
    assert dies_at > 12
