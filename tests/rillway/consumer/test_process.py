"""A command as the handler of entries."""

from __future__ import annotations

import json

import pytest

from rillway.consumer.entry import Entry
from rillway.consumer.process import REASON_BYTES, Command, as_json, failure
from rillway.consumer.worker import GiveUp, HandlerFailed

ENTRY = Entry("5-0", ((b"n", b"1"),), 1, "s")


async def ran(script: str) -> None:
    await Command(["sh", "-c", script])(ENTRY)


async def test_what_a_command_writes_to_standard_error_is_passed_on(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    await ran("cat; echo a warning >&2; sleep 0.1; printf '\\377' >&2")
    with pytest.raises(HandlerFailed):  # whose end is waited for
        await ran("exit 1")
    out, err = capfdbinary.readouterr()
    assert json.loads(out)["id"] == "5-0"
    assert err == b"a warning\n\xff"


async def test_the_end_of_standard_error_is_the_reason_of_a_failure() -> None:
    with pytest.raises(HandlerFailed, match=r"^exit status 3: no such customer$"):
        await ran("echo no such customer >&2; exit 3")
    with pytest.raises(HandlerFailed, match=r"^ended by SIGKILL$"):
        await ran("kill -9 $$")
    with pytest.raises(HandlerFailed) as failed:
        await ran("seq 1 1000 >&2; exit 1")
    text = str(failed.value).removeprefix("exit status 1: ")
    assert text.endswith("999\n1000")
    assert REASON_BYTES - 2 <= len(text) <= REASON_BYTES


async def test_a_process_in_the_background_does_not_hold_up_its_entry() -> None:
    await ran("sleep 5 2>&2 & exit 0")
    with pytest.raises(HandlerFailed, match=r"^exit status 1: gone$"):
        await ran("echo gone >&2; sleep 5 & exit 1")


async def test_a_command_that_does_not_exist_ends_the_consumer() -> None:
    with pytest.raises(GiveUp, match="cannot run nowhere: No such file"):
        await Command(["nowhere"])(ENTRY)


def test_a_reason_is_text_whatever_its_bytes_are() -> None:
    assert failure(1, b" \xff\n") == "exit status 1: \N{REPLACEMENT CHARACTER}"
    assert failure(2, b"\n") == "exit status 2"


def test_an_entry_is_one_line_of_json_whatever_its_bytes_are() -> None:
    pairs = ((b"text", "grün\n".encode()), (b"raw", b"\xff\x00"), (b"\xfe", b""))
    line = as_json(Entry("5-0", pairs, 2, "s"))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "stream": "s",
        "id": "5-0",
        "deliveries": 2,
        "fields": {"text": "grün\n", "raw": {"base64": "/wA="}, "\\xfe": ""},
    }
