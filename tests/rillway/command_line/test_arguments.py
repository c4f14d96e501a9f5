"""Arguments that several sub-commands take."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from rillway.command_line import arguments
from rillway.command_line.parser import Parser
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, make_id


def read_range(*words: str) -> tuple[int, int]:
    parser = argparse.ArgumentParser()
    arguments.add_range(parser)
    options = parser.parse_args(list(words))
    return options.first, options.last


def test_a_range_without_ends_is_everything() -> None:
    assert read_range() == (MIN_ID, MAX_ID)


def test_ids_are_included_and_a_time_ends_before_itself() -> None:
    assert read_range("--from", "5-1", "--to", "7-2") == (make_id(5, 1), make_id(7, 2))
    day = "2026-01-31T00:00:00Z"
    first, last = read_range("--from", day, "--to", day)
    assert first == make_id(1_769_817_600_000)
    assert last == first - 1


def test_the_url_is_checked_when_it_is_read() -> None:
    parser = argparse.ArgumentParser()
    arguments.add_url(parser)
    assert parser.parse_args(["--url", "redis://host:7000/1"]).url == "redis://host:7000/1"
    with pytest.raises(argparse.ArgumentTypeError, match="expected redis://HOST:PORT, "):
        arguments.server_url("host:1")
    with pytest.raises(argparse.ArgumentTypeError):
        arguments.server_url("redis://host:port")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("localhost:9150", "redis://localhost:9150"),
        ("localhost", "redis://localhost"),
        ("9150", "redis://127.0.0.1:9150"),
        (":9150", "redis://127.0.0.1:9150"),
        ("/run/rillway.sock", "unix:///run/rillway.sock"),
        ("valkeys://host:1", "rediss://host:1"),
        ("user:secret@host:1", "redis://user:***@host:1"),
    ],
)
def test_an_address_that_is_no_url_is_answered_with_the_url(text: str, meant: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as raised:
        arguments.server_url(text)
    assert str(raised.value).endswith(f". Did you mean {meant}?")
    assert "secret" not in str(raised.value)


def test_the_environment_names_the_server_unless_the_option_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RILLWAY_URL", "redis://host:7000")
    parser = Parser("work", "Work.")
    arguments.add_url(parser)
    assert parser.parse_args([]).url == "redis://host:7000"
    assert parser.parse_args(["--url", "redis://other"]).url == "redis://other"


def test_a_wrong_url_of_the_environment_is_refused_by_the_name_of_the_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RILLWAY_URL", "host:7000")
    parser = Parser("work", "Work.")
    arguments.add_url(parser)
    assert parser.parse_args(["--url", "redis://other"]).url == "redis://other"
    with pytest.raises(SystemExit):
        parser.parse_args([])
    assert "the variable RILLWAY_URL takes redis://HOST:PORT, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (arguments.from_one, "0"),
        (arguments.from_one, "x"),
        (arguments.positive, "0"),
        (arguments.positive, "inf"),
        (arguments.positive, "nan"),
        (arguments.from_zero, "-1"),
        (arguments.duration, "soon"),
        (arguments.duration, "60"),
        (arguments.interval, "0s"),
        (arguments.port, "65536"),
        (arguments.size_in_bytes, "much"),
        (arguments.size_in_bytes, "1000000"),
        (arguments.first_id, "yesterday"),
    ],
)
def test_what_makes_no_sense_is_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        read(text)


def test_numbers_durations_and_sizes() -> None:
    assert arguments.from_one("12") == 12
    assert arguments.positive("0.5") == 0.5
    assert arguments.from_zero("0") == 0
    assert arguments.port("65535") == 65_535
    assert arguments.duration("10m") == arguments.interval("10m") == 600
    assert arguments.duration("0") == 0  # in any unit
    assert arguments.size_in_bytes("64mb") == arguments.size_in_bytes("64m") == 64 * 1024**2
