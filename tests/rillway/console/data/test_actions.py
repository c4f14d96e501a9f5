"""Actions, on each server, and other clients that are faster."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from rillway.console.data import actions
from rillway.console.data.actions import ActionResult, Refused
from rillway.console.data.link import Link

pytestmark = pytest.mark.integration
IDS = ["1-0", "2-0", "3-0"]


@pytest.fixture
def stream(real: Any) -> Any:
    """Three entries, all of them pending with anna."""
    for one in IDS:
        real.xadd("s", {"id": one}, id=one)
    real.xgroup_create("s", "g", id="0")
    real.xreadgroup("g", "anna", {"s": ">"})
    return real


def pending(real: Any) -> list[tuple[str, str]]:
    found = real.xpending_range("s", "g", "-", "+", 100)
    return [(one["message_id"].decode(), one["consumer"].decode()) for one in found]


async def test_an_entry_is_added(link: Link, real: Any) -> None:
    entry_id = await actions.add(link, 0, b"\xff", [(b"a", b"\x00"), (b"a", b"2")])
    assert real.xrange(b"\xff")[0][0].decode() == entry_id


async def test_what_a_consumer_has_acknowledged_is_gone(link: Link, stream: Any) -> None:
    stream.xack("s", "g", "2-0")
    assert await actions.acknowledge(link, 0, b"s", b"g", IDS) == ActionResult(2, ["2-0"])
    assert pending(stream) == []


async def test_what_another_consumer_got_just_now_is_gone(link: Link, stream: Any) -> None:
    stream.xclaim("s", "g", "anna", 0, ["1-0", "3-0"], idle=60_000)
    stream.xack("s", "g", "3-0")
    stream.xclaim("s", "g", "bert", 0, ["2-0"])
    found = await actions.claim(link, 0, b"s", b"g", IDS, b"carla", 30_000)
    assert found == ActionResult(1, ["2-0", "3-0"])
    assert pending(stream) == [("1-0", "carla"), ("2-0", "bert")]


async def test_dead_letters_leave_and_come_back(link: Link, stream: Any) -> None:
    stream.xack("s", "g", "1-0")
    stream.xdel("s", "3-0")
    found = await actions.dead_letter(link, 0, b"s", b"g", IDS, b"s:dead")
    assert found == ActionResult(1, ["1-0", "3-0"])
    [(letter_id, letter)] = stream.xrange("s:dead")
    assert letter[b"rillway-id"] == b"2-0" and b"by hand" in letter[b"rillway-error"]
    letter_name = letter_id.decode()
    found = await actions.redrive(link, 0, b"s", b"s:dead", [letter_name, "9-9"])
    assert found == ActionResult(1, ["9-9"])
    assert stream.xlen("s:dead") == 0
    assert stream.xrevrange("s")[0][1] == {b"id": b"2-0", b"rillway-hops": b"1"}
    assert await actions.redrive(link, 0, b"s", b"s:dead", [letter_name]) == ActionResult(
        0, [letter_name]
    )


async def test_what_the_server_refuses_is_refused(link: Link, stream: Any) -> None:
    stream.set("text", "x")
    with pytest.raises(Refused, match="string"):
        await actions.dead_letter(link, 0, b"s", b"g", IDS, b"text")
    with pytest.raises(Refused, match="NOGROUP"):
        await actions.dead_letter(link, 0, b"s", b"h", IDS, b"s:dead")
    with pytest.raises(redis.ResponseError, match="NOGROUP"):
        await actions.claim(link, 0, b"s", b"h", IDS, b"anna")
    assert len(pending(stream)) == 3


async def test_dead_letters_name_their_stream_as_text(link: Link, real: Any) -> None:
    with pytest.raises(Refused, match="UTF-8"):
        await actions.dead_letter(link, 0, b"\xff", b"g", IDS, b"dead")
    with pytest.raises(Refused, match="UTF-8"):
        await actions.redrive(link, 0, b"s", b"\xff", IDS)
