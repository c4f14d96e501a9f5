"""The request that XREAD and XREADGROUP share."""

from __future__ import annotations

import pytest

from commands.core.arguments import INT64_MAX
from commands.streams.read import (
    ALL,
    ReadRequest,
    key_positions,
    parse_read_request,
)
from protocol.errors import ReplyError

NOW_MS = 1_700_000_000_000
SYNTAX = b"ERR syntax error"
NOT_AN_INTEGER = b"ERR value is not an integer or out of range"


def parse(request: str) -> ReadRequest:
    argv = request.encode().split()
    return parse_read_request(argv, NOW_MS, with_group=argv[0] == b"XREADGROUP")


def refusal(request: str) -> bytes:
    with pytest.raises(ReplyError) as refused:
        parse(request)
    return refused.value.text


def test_the_second_half_of_the_streams_are_ids() -> None:
    request = parse("XREAD STREAMS a b c 1 2 3")
    assert request.keys == [b"a", b"b", b"c"]
    assert request.ids == [b"1", b"2", b"3"]
    assert request.count == ALL
    assert request.block_ms is None


def test_options_come_in_any_order_and_case_and_the_last_of_a_kind_counts() -> None:
    expected = ReadRequest([b"s"], [b">"], 5, 100, b"g", b"c", True)
    assert parse("XREADGROUP GROUP g c COUNT 5 BLOCK 100 NOACK STREAMS s >") == expected
    assert parse("XREADGROUP noack block 100 count 5 group g c streams s >") == expected
    twice = "GROUP x y GROUP g c COUNT 1 COUNT 5 BLOCK 1 BLOCK 100 NOACK NOACK"
    assert parse(f"XREADGROUP {twice} STREAMS s >") == expected


def test_words_after_streams_are_keys_whatever_they_are() -> None:
    request = parse("XREAD STREAMS COUNT STREAMS 1 2")
    assert request.keys == [b"COUNT", b"STREAMS"]


def test_a_group_may_have_the_name_of_an_option() -> None:
    request = parse("XREADGROUP GROUP STREAMS COUNT STREAMS s >")
    assert (request.group, request.consumer) == (b"STREAMS", b"COUNT")


@pytest.mark.parametrize("count", ["0", "-1", "-9223372036854775808"])
def test_a_count_that_is_not_positive_is_no_limit(count: str) -> None:
    assert parse(f"XREAD COUNT {count} STREAMS s 0").count == ALL


def test_block_zero_is_for_ever() -> None:
    assert parse("XREAD BLOCK 0 STREAMS s 0").block_ms == 0


def test_the_deadline_must_be_a_64_bit_number() -> None:
    longest = INT64_MAX - NOW_MS
    assert parse(f"XREAD BLOCK {longest} STREAMS s 0").block_ms == longest
    assert refusal(f"XREAD BLOCK {longest + 1} STREAMS s 0") == b"ERR timeout is out of range"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("BLOCK x STREAMS s 0", b"ERR timeout is not an integer or out of range"),
        ("BLOCK 1.5 STREAMS s 0", b"ERR timeout is not an integer or out of range"),
        ("BLOCK 9223372036854775808 STREAMS s 0", b"ERR timeout is not an integer or out of range"),
        ("BLOCK -1 STREAMS s 0", b"ERR timeout is negative"),
        ("COUNT x STREAMS s 0", NOT_AN_INTEGER),
        ("COUNT 1 2 STREAMS s 0", SYNTAX),
        ("FOO STREAMS s 0", SYNTAX),
        ("COUNT 5 BLOCK 5", SYNTAX),
        ("COUNT 5 STREAMS", SYNTAX),
        ("COUNT 5 COUNT", SYNTAX),
        ("MAXCOUNT", SYNTAX),
        ("MAXSIZE STREAMS s 0", b"ERR MAXSIZE must be a positive integer"),
        ("MAXCOUNT 0 STREAMS s 0", b"ERR MAXCOUNT must be a positive integer"),
        ("MAXCOUNT -1 STREAMS s 0", b"ERR MAXCOUNT must be a positive integer"),
        ("MAXCOUNT x STREAMS s 0", b"ERR MAXCOUNT must be a positive integer"),
        ("MAXSIZE 0 STREAMS s 0", b"ERR MAXSIZE must be a positive integer"),
        ("MAXSIZE -1 STREAMS s 0", b"ERR MAXSIZE must be a positive integer"),
        (
            "COUNT 3 MAXCOUNT 2 STREAMS s 0",
            b"ERR MAXCOUNT must be greater than or equal to COUNT",
        ),
        (
            "MAXCOUNT 2 COUNT 3 STREAMS s 0",
            b"ERR MAXCOUNT must be greater than or equal to COUNT",
        ),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused_by_both(options: str, text: bytes) -> None:
    assert refusal(f"XREAD {options}") == text
    assert refusal(f"XREADGROUP GROUP g c {options}") == text


def test_streams_and_ids_come_in_equal_numbers() -> None:
    assert refusal("XREAD STREAMS s t 0") == (
        b"ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must"
        b" be specified."
    )
    assert refusal("XREADGROUP GROUP g c STREAMS s") == (
        b"ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must"
        b" be specified."
    )


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            "XREAD GROUP g c STREAMS s >",
            b"ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
        ),
        (
            "XREAD NOACK STREAMS s >",
            b"ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.",
        ),
        ("XREADGROUP COUNT 5 STREAMS s >", b"ERR Missing GROUP option for XREADGROUP"),
        ("XREADGROUP GROUP g", SYNTAX),
        (
            "XREAD CLAIM 5 STREAMS s >",
            b"ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.",
        ),
        (
            "XREADGROUP GROUP g c CLAIM x STREAMS s >",
            b"ERR min-idle-time is not an integer or out of range",
        ),
        (
            "XREADGROUP GROUP g c CLAIM 9223372036854775808 STREAMS s >",
            b"ERR min-idle-time is not an integer or out of range",
        ),
        (
            "XREADGROUP GROUP g c CLAIM -1 STREAMS s >",
            b"ERR min-idle-time must be a positive integer",
        ),
        ("XREADGROUP GROUP g c CLAIM", SYNTAX),
    ],
)
def test_options_of_the_other_command_are_refused(request_: str, text: bytes) -> None:
    assert refusal(request_) == text


def test_an_unbalanced_list_is_noticed_before_a_missing_group() -> None:
    assert refusal("XREADGROUP STREAMS s").startswith(b"ERR Unbalanced 'xreadgroup'")


def test_claim_and_the_caps_are_parsed() -> None:
    request = parse("XREADGROUP GROUP g c CLAIM 0 COUNT 2 MAXCOUNT 2 MAXSIZE 1 STREAMS s >")
    assert (request.min_idle_ms, request.max_count, request.max_size) == (0, 2, 1)
    assert request.is_capped
    assert not parse("XREADGROUP GROUP g c STREAMS s >").is_capped


@pytest.mark.parametrize("count", ["0", "-5"])
def test_a_count_without_limit_goes_with_every_maxcount(count: str) -> None:
    assert parse(f"XREAD COUNT {count} MAXCOUNT 1 STREAMS s 0").max_count == 1


@pytest.mark.parametrize(
    ("request_", "positions"),
    [
        ("XREAD STREAMS a b 0 0", [2, 3]),
        ("XREADGROUP GROUP STREAMS STREAMS STREAMS STREAMS >", [5]),
        ("XREAD STREAMS a", []),
        ("XREAD STREAMS", []),
        ("XREAD COUNT", []),
        ("XREAD FOO STREAMS a 0", []),
    ],
)
def test_keys_follow_the_streams_that_is_not_an_argument(
    request_: str, positions: list[int]
) -> None:
    assert key_positions(request_.encode().split()) == positions
