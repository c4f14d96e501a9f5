"""The comparison detects every difference, except in parts that cannot be equal."""

from __future__ import annotations

import pytest

from storage.snapshot.format import SnapshotOptions
from storage.snapshot.payload import dump
from storage.stream import Stream
from tests.compat import differences
from tests.compat.commands.sequences import resolved, with_short_block
from tests.compat.commands.strategies import Draft, Rising
from tests.compat.comparison import Exchange, Expected, expected, first_mismatch
from tests.compat.edges.streams import commands_of
from tests.support.resp import Reply, encode_command, parse


def unchanged(exchange: Exchange, wanted: Expected) -> Expected:
    return wanted


def agree(argv: list[bytes], ours: bytes, theirs: bytes) -> bool:
    return first_mismatch([argv], [parse(ours)], [parse(theirs)], unchanged) is None


def array(*items: bytes) -> bytes:
    return b"*%d\r\n%b" % (len(items), b"".join(items))


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


ENTRY = array(bulk(b"1-1"), array(bulk(b"f"), bulk(b"v")))
XRANGE = [b"XRANGE", b"s", b"-", b"+"]


@pytest.mark.parametrize(
    "other",
    [
        array(ENTRY, ENTRY),
        array(),
        b"*-1\r\n",
        array(array(bulk(b"1-2"), array(bulk(b"f"), bulk(b"v")))),
        array(array(bulk(b"1-1"), array(bulk(b"f"), bulk(b"V")))),
        array(array(bulk(b"1-1"), array(bulk(b"f")))),
        array(array(b"+1-1\r\n", array(bulk(b"f"), bulk(b"v")))),
        b"-ERR syntax error\r\n",
    ],
)
def test_any_other_reply_is_a_mismatch(other: bytes) -> None:
    assert agree(XRANGE, array(ENTRY), array(ENTRY))
    assert not agree(XRANGE, other, array(ENTRY))


@pytest.mark.parametrize(("ours", "theirs"), [(b"_\r\n", b"$-1\r\n"), (b"*-1\r\n", b"$-1\r\n")])
def test_nulls_are_distinguished(ours: bytes, theirs: bytes) -> None:
    assert not agree([b"GET", b"k"], ours, theirs)


def test_an_idle_time_may_be_a_little_off_but_nothing_else() -> None:
    argv = [b"XPENDING", b"s", b"g", b"-", b"+", b"9"]

    def pending(idle: int, deliveries: int) -> bytes:
        return array(array(bulk(b"1-1"), bulk(b"a"), b":%d\r\n" % idle, b":%d\r\n" % deliveries))

    assert agree(argv, pending(200_050, 1), pending(200_000, 1))
    assert not agree(argv, pending(50_000, 1), pending(200_000, 1))
    assert not agree(argv, pending(-1, 1), pending(0, 1))
    assert not agree(argv, pending(200_000, 2), pending(200_000, 1))


def test_a_negative_time_to_live_is_exact() -> None:
    assert agree([b"PTTL", b"k"], b":99990\r\n", b":100000\r\n")
    assert not agree([b"PTTL", b"k"], b":-2\r\n", b":-1\r\n")
    assert not agree([b"PTTL", b"k"], b":0\r\n", b":-1\r\n")


def test_no_key_of_a_sequence_is_idle() -> None:
    argv = [b"OBJECT", b"IDLETIME", b"s"]
    assert agree(argv, b":0\r\n", b":5\r\n")
    assert not agree(argv, b":1795211945\r\n", b":0\r\n")
    assert not agree(argv, b"$-1\r\n", b":0\r\n")


def test_a_generated_id_may_have_another_time_and_sequence() -> None:
    argv = [b"XADD", b"s", b"*", b"f", b"v"]
    assert agree(argv, bulk(b"1795211126256-1"), bulk(b"1795211126250-0"))
    assert not agree(argv, bulk(b"1-1"), bulk(b"1795211126250-0"))
    assert not agree(argv, bulk(b"1795211926250-0"), bulk(b"1795211126250-0"))


def test_keys_are_compared_as_a_set() -> None:
    assert agree([b"KEYS", b"*"], array(bulk(b"a"), bulk(b"b")), array(bulk(b"b"), bulk(b"a")))
    assert not agree([b"KEYS", b"*"], array(bulk(b"a")), array(bulk(b"b")))
    assert not agree(
        [b"MGET", b"a", b"b"], array(b":1\r\n", b":2\r\n"), array(b":2\r\n", b":1\r\n")
    )


def test_a_transactions_replies_are_compared_as_its_commands_replies() -> None:
    commands = [[b"MULTI"], [b"PTTL", b"k"], [b"GET", b"k"], [b"EXEC"]]

    def replies(ttl_ms: int, text: bytes) -> list[Reply]:
        queued = b"+QUEUED\r\n"
        done = array(b":%d\r\n" % ttl_ms, bulk(text))
        return [parse(reply) for reply in (b"+OK\r\n", queued, queued, done)]

    assert first_mismatch(commands, replies(9, b"x"), replies(8, b"x"), unchanged) is None
    found = first_mismatch(commands, replies(9, b"y"), replies(9, b"x"), unchanged)
    assert found is not None
    assert found.exchange.argv == [b"GET", b"k"]
    assert found.exchange.position == 3


def test_an_aborted_transaction_is_compared_whole() -> None:
    commands = [[b"MULTI"], [b"GET", b"k"], [b"EXEC"], [b"GET", b"k"]]
    start = [parse(b"+OK\r\n"), parse(b"+QUEUED\r\n")]
    nil = [*start, parse(b"*-1\r\n"), parse(b"$-1\r\n")]
    ran = [*start, parse(array(bulk(b"x"))), parse(b"$-1\r\n")]
    assert first_mismatch(commands, nil, nil, unchanged) is None
    found = first_mismatch(commands, ran, nil, unchanged)
    assert found is not None
    assert found.exchange.argv == [b"EXEC"]


def test_a_field_that_redis_82_lacks_must_be_there() -> None:
    argv = [b"XINFO", b"STREAM", b"s", b"FULL"]

    def stream(*field: bytes) -> Reply:
        group = array(bulk(b"pel-count"), b":0\r\n", *field)
        return parse(array(bulk(b"groups"), array(group)))

    older, newer = stream(), stream(bulk(b"nacked-count"), b":0\r\n")
    assert first_mismatch([argv], [newer], [older], differences.adjust) is None
    assert first_mismatch([argv], [older], [older], differences.adjust) is not None


def test_the_times_of_a_consumer_may_be_a_little_off_but_nothing_else() -> None:
    argv = [b"XINFO", b"CONSUMERS", b"s", b"g"]

    def consumers(idle: int, inactive: int) -> bytes:
        times = (bulk(b"idle"), b":%d\r\n" % idle, bulk(b"inactive"), b":%d\r\n" % inactive)
        return array(array(*times))

    assert agree(argv, consumers(5, 9), consumers(1, 7))
    assert not agree(argv, consumers(5, -1), consumers(5, 7))
    assert not agree(argv, consumers(5, 7), consumers(5, 700_000))


def test_a_mismatch_says_where_it_is() -> None:
    found = first_mismatch(
        [XRANGE], [parse(array(b":1\r\n"))], [parse(array(b":2\r\n"))], unchanged
    )
    assert found is not None
    assert found.place() == r"reply[0]: wanted b':2\r\n', got b':1\r\n'"


def test_every_reply_that_redis_sends_matches_itself() -> None:
    argv = [b"XINFO", b"STREAM", b"s", b"FULL"]
    consumer = array(bulk(b"name"), bulk(b"a"), bulk(b"seen-time"), b":1795211126250\r\n")
    group = array(bulk(b"name"), bulk(b"g"), bulk(b"consumers"), array(consumer))
    reply = parse(array(bulk(b"groups"), array(group)))
    assert expected(argv, reply).matches(reply)


def test_ids_are_filled_in_in_ascending_order() -> None:
    drafts: list[Draft] = [
        [b"XADD", b"s", Rising(b"%d-*"), b"f", b"v"],
        [b"XLEN", b"s"],
        [b"XADD", b"s", Rising(b"%d-1"), b"f", b"v"],
    ]
    assert [argv[2] for argv in resolved(drafts) if argv[0] == b"XADD"] == [b"1-*", b"2-1"]


def test_no_command_of_a_sequence_waits_long() -> None:
    reading = [b"xread", b"BLOCK", b"0", b"STREAMS", b"s", b"$"]
    assert with_short_block(reading, may_wait=True)[2] == b"2"
    assert with_short_block(reading, may_wait=False) == reading
    endless = [b"XREAD", b"BLOCK", b"9223372036854775807", b"STREAMS", b"s", b"$"]
    assert with_short_block(endless, may_wait=False)[2] == b"2"
    assert with_short_block([b"XREAD", b"BLOCK", b"x"], may_wait=True)[2] == b"x"


def test_the_script_of_an_edge_is_expanded() -> None:
    script = """
        XADD s {1..3}-0 f 1 ; XLEN s
        {A | B
            | ""} x {1 | 2}
        C
            ; D
    """
    assert commands_of(script) == [
        *("XADD s 1-0 f 1", "XLEN s", "XADD s 2-0 f 1", "XLEN s", "XADD s 3-0 f 1", "XLEN s"),
        *("A x 1", "A x 2", "B x 1", "B x 2", '"" x 1', '"" x 2', "C", "D"),
    ]


def test_a_reply_that_was_encoded_is_parsed_whole() -> None:
    assert [item.text for item in parse(encode_command(["A", ""])).items] == [b"A", b""]


# --- Payloads ---


def is_dump_of(ours: bytes, theirs: bytes) -> bool:
    """Whether DUMP's answers agree, with the known differences."""
    mismatch = first_mismatch([[b"DUMP", b"s"]], [parse(ours)], [parse(theirs)], differences.adjust)
    return mismatch is None


def dumped(*fields: bytes, entry_id: int = 1 << 64, stream_type: int = 21) -> bytes:
    stream = Stream()
    stream.append(entry_id, list(fields), 100, 4096)
    return bulk(dump(stream, SnapshotOptions(stream_type=stream_type), 0))


def test_payloads_of_the_same_stream_agree_in_whatever_type_they_are() -> None:
    assert is_dump_of(dumped(b"f", b"v"), dumped(b"f", b"v", stream_type=19))


def test_payloads_of_different_streams_differ() -> None:
    assert not is_dump_of(dumped(b"f", b"v"), dumped(b"f", b"w", stream_type=19))
    assert not is_dump_of(dumped(b"f", b"v"), dumped(b"f", b"v", entry_id=2 << 64))
    assert not is_dump_of(b"$-1\r\n", dumped(b"f", b"v"))
    assert not is_dump_of(dumped(b"f", b"v"), b"$-1\r\n")
    assert not is_dump_of(bulk(b"damaged"), dumped(b"f", b"v"))


def test_payloads_may_have_ids_that_differ_as_the_clock_does() -> None:
    early, late = 1_700_000_000_000 << 64, 1_700_000_000_007 << 64
    assert is_dump_of(dumped(b"f", b"v", entry_id=early), dumped(b"f", b"v", entry_id=late))
