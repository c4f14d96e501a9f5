"""DUMP and RESTORE."""

from __future__ import annotations

import pytest

from commands.keys.serialization import SLICE_US
from protocol import replies
from server.inprocess.server import InProcessServer
from storage.append_only.requests import wrap
from storage.redis_format.primitives import crc64, encode_checksum
from storage.snapshot.payload import payload_version
from tests.commands.keys.conversation import (
    NOT_AN_INTEGER,
    NOW_MS,
    OK,
    SYNTAX_ERROR,
    Conversation,
)

BUSY = b"-BUSYKEY Target key name already exists.\r\n"
BAD_PAYLOAD = b"-ERR DUMP payload version or checksum are wrong\r\n"
BAD_FORMAT = b"-ERR Bad data format\r\n"
BAD_TTL = b"-ERR Invalid TTL value, must be >= 0\r\n"
BAD_IDLETIME = b"-ERR Invalid IDLETIME value, must be >= 0\r\n"
BAD_FREQ = b"-ERR Invalid FREQ value, must be >= 0 and <= 255\r\n"

# SET a 1 and DUMP a, Redis 7.0.15.
REDIS_PAYLOAD = bytes.fromhex("00c0010a002678e7b6d10111fc")


def sealed(content: bytes) -> bytes:
    """A payload that is damaged, but not by accident."""
    return content + encode_checksum(crc64(content))


def dump(talk: Conversation, key: str) -> bytes:
    reply = talk.do(f"DUMP {key}")
    assert reply.startswith(b"$")
    return reply.split(b"\r\n", 1)[1][:-2]


def restore(talk: Conversation, key: str, ttl: object, payload: bytes, options: str = "") -> bytes:
    return talk.client.execute("RESTORE", key, str(ttl), payload, *options.split())


# -- DUMP --------------------------------------------------------------------------------------


def test_the_type_of_streams_can_be_fixed() -> None:
    talk = Conversation(**{"rdb-stream-type": "19"})
    talk.all("SET a 1", "XADD s 1-1 f v")
    assert dump(talk, "a") == REDIS_PAYLOAD
    assert dump(talk, "s")[0] == 19


def test_compression_can_be_switched_off(talk: Conversation) -> None:
    talk.all(f"SET a {'x' * 100}")
    compressed = dump(talk, "a")
    talk.all("CONFIG SET rdbcompression no")
    assert len(compressed) < 40 < 100 < len(dump(talk, "a"))


# -- RESTORE -----------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", ["SET a text", "SET a 12345", "XADD a 5-1 f v"])
def test_a_value_is_restored_to_another_key(talk: Conversation, setup: str) -> None:
    talk.all(setup)
    payload = dump(talk, "a")
    assert restore(talk, "b", 0, payload) == OK
    assert talk.do("PTTL b") == b":-1\r\n"
    assert talk.do("TYPE b") == talk.do("TYPE a")
    assert dump(talk, "b") == payload


def test_a_stream_is_restored_with_all_the_state_of_its_groups(talk: Conversation) -> None:
    talk.all(
        "XADD s 1-1 f v",
        "XADD s 2-1 f v",
        "XADD s 3-1 f v",
        "XGROUP CREATE s g 0",
        "XGROUP CREATECONSUMER s g idle",
        "XREADGROUP GROUP g c COUNT 2 STREAMS s >",
        "XNACK s g FAIL IDS 1 2-1",
        "XDEL s 1-1",
        "XADD s IDMP p i * f v",
    )
    assert restore(talk, "t", 0, dump(talk, "s")) == OK
    for question in (
        "XINFO STREAM {} FULL COUNT 0",
        "XPENDING {} g",
        "XPENDING {} g - + 10",
        "XRANGE {} - +",
        "XINFO CONSUMERS {} g",
    ):
        assert talk.do(question.format("t")) == talk.do(question.format("s"))
    assert talk.do("XADD t IDMP p i * f v") == talk.do("XADD s IDMP p i * f v")


def test_policies_are_restored_beside_a_payload_and_propagated_in_carriers(
    talk: Conversation,
) -> None:
    talk.all("XADD s 1-1 f v")
    payload = dump(talk, "s")
    propagated_bytes(talk)
    text = b"1*3\r\n$6\r\nretain\r\n$10\r\nRETAIN-LEN\r\n$1\r\n5\r\n"
    words = ("RESTORE", "t", 0, payload, "REPLACE", "POLICIES", 1, text)
    assert talk.client.execute(*words) == OK
    assert b"retain-len" in talk.do("XINFO POLICY t")
    requests = propagated_bytes(talk)
    assert requests[-2] == wrap([b"XPOLICY", b"t", b"retain", b"RETAIN-LEN", b"5"])
    assert not any(b"POLICIES" in request for request in requests)


@pytest.mark.parametrize(
    ("payload", "count", "text"),
    [
        (b"s", 2, b"1*1\r\n$1\r\nx\r\n"),  # another number of texts
        (b"s", 1, b"1*1\r\n$7\r\nunheard\r\n"),
        (b"s", 1, b"7"),
        (b"a", 1, b"1*1\r\n$6\r\nretain\r\n"),  # no stream
    ],
)
def test_unknown_policies_restore_nothing(
    talk: Conversation, payload: bytes, count: int, text: bytes
) -> None:
    talk.all("XADD s 1-1 f v", "SET a 1")
    words = ("RESTORE", "t", 0, dump(talk, payload.decode()), "POLICIES", count, text)
    assert talk.client.execute(*words).startswith(b"-ERR ")
    assert talk.do("EXISTS t") == replies.ZERO


def test_what_redis_dumped_is_restored(talk: Conversation) -> None:
    assert restore(talk, "a", 0, REDIS_PAYLOAD) == OK
    assert talk.do("GET a") == b"$1\r\n1\r\n"
    assert talk.do("OBJECT ENCODING a") == b"$3\r\nint\r\n"


def test_restore_notifies_a_new_key_and_is_propagated(talk: Conversation) -> None:
    assert restore(talk, "a", 0, REDIS_PAYLOAD) == OK
    assert talk.events() == ["new a", "restore a"]
    (request,) = propagated_bytes(talk)
    assert request == [b"RESTORE", b"a", b"0", REDIS_PAYLOAD]


@pytest.mark.parametrize("form", ["auto", "valkey"])
def test_times_of_fields_are_propagated_as_requests(form: str) -> None:
    talk = Conversation(**{"rdb-stream-type": form})
    at_ms = NOW_MS + 5000
    talk.all(
        "HSET h a 1 b 2 c 3 d 4",
        f"HPEXPIREAT h {at_ms} FIELDS 2 a b",
        f"HPEXPIREAT h {at_ms + 1} FIELDS 1 c",
    )
    payload = dump(talk, "h")
    talk.server.propagated.clear()
    assert restore(talk, "copy", 0, payload) == OK
    multi, restored, *times, end = propagated_bytes(talk)
    assert (multi, end) == ([b"MULTI"], [b"EXEC"])
    assert restored[:3] == [b"RESTORE", b"copy", b"0"]
    assert payload_version(restored[3]) == 10
    assert [b" ".join(words).decode() for words in times] == [
        f"HPEXPIREAT copy {at_ms} FIELDS 2 a b",
        f"HPEXPIREAT copy {at_ms + 1} FIELDS 1 c",
    ]


def propagated_bytes(talk: Conversation) -> list[list[bytes]]:
    requests = [argv for _, unit in talk.server.propagated for argv in unit]
    talk.server.propagated.clear()
    return requests


def test_a_relative_time_to_live_is_propagated_as_an_absolute_one(talk: Conversation) -> None:
    assert restore(talk, "a", 1000, REDIS_PAYLOAD, "IDLETIME 5") == OK
    assert talk.do("PEXPIRETIME a") == replies.integer(NOW_MS + 1000)
    (request,) = propagated_bytes(talk)
    deadline = b"%d" % (NOW_MS + 1000)
    assert request == [b"RESTORE", b"a", deadline, REDIS_PAYLOAD, b"IDLETIME", b"5", b"ABSTTL"]


def test_an_absolute_time_to_live_is_taken_as_it_is(talk: Conversation) -> None:
    assert restore(talk, "a", NOW_MS + 1, REDIS_PAYLOAD, "absttl") == OK
    assert talk.do("PTTL a") == b":1\r\n"
    (request,) = propagated_bytes(talk)
    assert request == [b"RESTORE", b"a", b"%d" % (NOW_MS + 1), REDIS_PAYLOAD, b"absttl"]


@pytest.mark.parametrize("deadline_ms", [1, NOW_MS - 1, NOW_MS])
def test_a_deadline_that_has_come_makes_no_key(talk: Conversation, deadline_ms: int) -> None:
    assert restore(talk, "a", deadline_ms, REDIS_PAYLOAD, "ABSTTL") == OK
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("EXISTS a") == b":0\r\n"


def test_a_replayed_request_makes_a_key_whose_deadline_has_come(talk: Conversation) -> None:
    # What follows in the file was done while it was there.
    talk.client.state.replays = True
    assert restore(talk, "a", 1, REDIS_PAYLOAD, "ABSTTL") == OK
    assert b"a" in talk.server.instance.databases[0]


def test_the_longest_time_to_live_does_not_overflow(talk: Conversation) -> None:
    longest = (1 << 63) - 1
    assert restore(talk, "a", longest, REDIS_PAYLOAD) == OK
    assert talk.do("PEXPIRETIME a") == replies.integer(longest)


def test_a_key_that_has_expired_is_in_nobodys_way(talk: Conversation) -> None:
    talk.all("SET a old PX 10")
    talk.server.now_ms += 11
    assert restore(talk, "a", 0, REDIS_PAYLOAD) == OK
    assert talk.do("TTL a") == b":-1\r\n"


def test_replace_overwrites_and_drops_the_old_deadline(talk: Conversation) -> None:
    talk.all("XADD a 1-1 f v", "PEXPIRE a 1000", "CONFIG SET notify-keyspace-events AEnoc")
    assert restore(talk, "a", 0, REDIS_PAYLOAD, "REPLACE") == OK
    assert talk.events() == ["new a", "restore a", "overwritten a", "type_changed a"]
    assert talk.do("GET a") == b"$1\r\n1\r\n"
    assert talk.do("TTL a") == b":-1\r\n"


def test_the_idle_time_is_restored(talk: Conversation) -> None:
    assert restore(talk, "a", 0, REDIS_PAYLOAD, "IDLETIME 60") == OK
    assert talk.do("OBJECT IDLETIME a") == b":60\r\n"
    assert restore(talk, "b", 0, REDIS_PAYLOAD, f"IDLETIME {(1 << 63) - 1}") == OK
    assert talk.do("OBJECT IDLETIME b") == replies.integer(NOW_MS // 1000)


def test_a_frequency_is_accepted(talk: Conversation) -> None:
    assert restore(talk, "a", 0, REDIS_PAYLOAD, "FREQ 255") == OK


def test_a_restored_stream_wakes_who_waits_for_it(talk: Conversation) -> None:
    talk.all("XADD s 5-1 f v")
    payload = dump(talk, "s")
    reader = talk.other()
    assert reader.do("XREAD BLOCK 0 STREAMS t 0") == b""
    assert restore(talk, "t", 0, payload) == OK
    assert b"5-1" in reader.received()


def test_restore_fails_a_transaction_that_watches_the_key(talk: Conversation) -> None:
    other = talk.other()
    other.do("WATCH a")
    restore(talk, "a", 0, REDIS_PAYLOAD)
    for request in ("MULTI", "PING"):
        other.do(request)
    assert other.do("EXEC") == b"*-1\r\n"


# -- refusals, in the order in which Redis finds them --------------------------------------------

REFUSALS = [
    ("0", REDIS_PAYLOAD, "FOO", SYNTAX_ERROR),
    ("0", REDIS_PAYLOAD, "IDLETIME", SYNTAX_ERROR),
    ("0", REDIS_PAYLOAD, "FREQ", SYNTAX_ERROR),
    ("0", REDIS_PAYLOAD, "IDLETIME 1 FREQ 1", SYNTAX_ERROR),
    ("0", REDIS_PAYLOAD, "FREQ 1 IDLETIME 1", SYNTAX_ERROR),
    ("0", REDIS_PAYLOAD, "IDLETIME x", NOT_AN_INTEGER),
    ("0", REDIS_PAYLOAD, "FREQ x", NOT_AN_INTEGER),
    ("0", REDIS_PAYLOAD, "IDLETIME -1", BAD_IDLETIME),
    ("0", REDIS_PAYLOAD, "FREQ -1", BAD_FREQ),
    ("0", REDIS_PAYLOAD, "FREQ 256", BAD_FREQ),
    ("-1", b"", "IDLETIME -1", BAD_IDLETIME),
    ("x", b"", "", NOT_AN_INTEGER),
    ("1.5", b"", "", NOT_AN_INTEGER),
    ("-1", b"", "", BAD_TTL),
    ("0", b"", "", BAD_PAYLOAD),
    ("0", b"x" * 10, "", BAD_PAYLOAD),
    ("0", REDIS_PAYLOAD[:-1], "", BAD_PAYLOAD),
    ("0", REDIS_PAYLOAD + b"x", "", BAD_PAYLOAD),
    ("0", sealed(b"\x00\xc0\x01\x10\x00"), "", BAD_PAYLOAD),  # a version that is not known
    ("0", sealed(b"\x0a\x00"), "", BAD_FORMAT),
    ("0", sealed(b"\x00\xc3\x03\x04abc\x0a\x00"), "", BAD_FORMAT),
    ("0", sealed(b"\x01\x00\x0a\x00"), "", BAD_FORMAT),  # a list without elements
    ("0", sealed(b"\x07\x00\x00\x0a\x00"), "", BAD_FORMAT),  # a module's value
    ("0", sealed(b"\x00\x01ab\x0a\x00"), "", BAD_FORMAT),  # a byte too many
    ("0", sealed(b"\x15\x81" + b"\xff" * 8 + b"\x0b\x00"), "", BAD_FORMAT),
]


@pytest.mark.parametrize(("ttl", "payload", "options", "reply"), REFUSALS)
def test_bad_input_is_refused_and_changes_nothing(
    talk: Conversation, ttl: str, payload: bytes, options: str, reply: bytes
) -> None:
    assert restore(talk, "a", ttl, payload, options) == reply
    talk.all("SET a old PX 5000")
    assert restore(talk, "a", ttl, payload, f"REPLACE {options}") == reply
    assert talk.do("GET a") == b"$3\r\nold\r\n"
    assert talk.do("PTTL a") == b":5000\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])


def test_a_payload_may_not_become_larger_than_a_request_but_what_is_in_a_file_is_taken() -> None:
    writer = InProcessServer().connect()
    writer.execute("SET", "k", "a" * 2_000_000)
    payload = writer.execute("DUMP", "k").split(b"\r\n", 1)[1][:-2]
    server = InProcessServer(appendonly="yes")
    client = server.connect()
    client.execute("CONFIG", "SET", "proto-max-bulk-len", "1mb")
    assert client.execute("RESTORE", "k", "0", payload) == BAD_FORMAT
    client.execute("CONFIG", "SET", "proto-max-bulk-len", "512mb")
    assert client.execute("RESTORE", "k", "0", payload) == OK
    server = InProcessServer.on_files(server.files, appendonly="yes", proto_max_bulk_len="1mb")
    assert server.connect().execute("STRLEN", "k") == b":2000000\r\n"


# -- a large stream, which is validated in turns ------------------------------------------------


@pytest.fixture
def slow(talk: Conversation) -> Conversation:
    """A server with a stream of ten nodes, where each node takes a turn."""
    talk.all(
        "CONFIG SET stream-node-max-entries 2", *(f"XADD s {n}-1 f v{n}" for n in range(1, 21))
    )
    talk.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g c COUNT 3 STREAMS s >")
    talk.server.clock_step_us = SLICE_US
    return talk


def wait(talk: Conversation) -> bytes:
    """Let time pass until a reply comes; how often others had their turn is what it takes."""
    for _ in range(50):
        talk.server.advance(1)
        if reply := talk.received():
            return reply
    return b""


def test_a_large_stream_is_restored_after_others_had_their_turns(slow: Conversation) -> None:
    payload, other = dump(slow, "s"), slow.other()
    assert restore(slow, "t", 0, payload) == b""
    assert b"blocked_clients:1" in other.do("INFO clients")
    assert other.do("EXISTS t") == b":0\r\n"
    assert wait(slow) == OK
    assert slow.do("XINFO STREAM t FULL") == slow.do("XINFO STREAM s FULL")
    assert slow.events()[-1:] == ["restore t"]
    names = [words[0] for words in propagated_bytes(slow)]
    assert names == [b"MULTI", b"RESTORE", b"ECHO", b"EXEC"]
    assert b"blocked_clients:0" in other.do("INFO clients")


def test_it_is_the_key_of_the_end_that_must_not_be_there(slow: Conversation) -> None:
    payload, other = dump(slow, "s"), slow.other()
    assert restore(slow, "t", 0, payload) == b""
    other.do("SET t x")
    assert wait(slow) == BUSY
    assert other.do("GET t") == b"$1\r\nx\r\n"
    assert restore(slow, "t", 0, payload, "REPLACE") == b""
    other.do("SET t y")
    assert wait(slow) == OK
    assert other.do("TYPE t") == b"+stream\r\n"


def test_damage_at_the_end_of_a_large_stream_changes_nothing(slow: Conversation) -> None:
    content = dump(slow, "s")[:-8]
    damaged = sealed(content.replace(b"\x83v20\x04", b"\x83v20\x05"))
    assert restore(slow, "t", 0, damaged) == b""
    assert wait(slow) == BAD_FORMAT
    assert slow.do("EXISTS t") == b":0\r\n"
    assert slow.propagated() == []


def test_in_transactions_and_scripts_it_is_restored_at_once(slow: Conversation) -> None:
    payload = dump(slow, "s")
    slow.do("MULTI")
    restore(slow, "t", 0, payload)
    assert slow.do("EXEC") == b"*1\r\n" + OK
    slow.server.clock_step_us = 1
    call = "return redis.call('RESTORE', KEYS[1], 0, ARGV[1])"
    assert slow.client.execute("EVAL", call, 1, "u", payload) == OK


def test_a_client_that_leaves_meanwhile_restores_nothing(slow: Conversation) -> None:
    payload, other = dump(slow, "s"), slow.other()
    assert restore(slow, "t", 0, payload) == b""
    slow.client.disconnect()
    for _ in range(50):
        slow.server.advance(1)
    assert other.do("EXISTS t") == b":0\r\n"
