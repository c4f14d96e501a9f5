"""MAXCOUNT and MAXSIZE of XREAD and XREADGROUP."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import Talk, decode

GROUP = "XREADGROUP GROUP g c"
# "*1\r\n" and "*2\r\n$1\r\na\r\n*1\r\n": what goes before the first entry of a stream.
HEADER_BYTES = len("*2\r\n$1\r\na\r\n*1\r\n")
ENTRY_BYTES = len("*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n")
WITH_DELIVERY_BYTES = ENTRY_BYTES + len(":0\r\n:0\r\n")


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """Streams a and b of three entries each, 1-1 to 3-1, both with a group at the beginning."""
    client = Talk(server)
    for key in "ab":
        client.all(*(f"XADD {key} {i}-1 f v" for i in (1, 2, 3)), f"XGROUP CREATE {key} g 0")
    return client


def counts(client: Talk, request: str) -> dict[str, int]:
    """How many entries of which stream a request is given."""
    reply = decode(client.raw(request))
    return {key.decode(): len(entries) for key, entries in reply or []}


def consumers(client: Talk, key: str) -> int:
    return len(client.do(f"XINFO CONSUMERS {key} g"))


# -- MAXCOUNT ----------------------------------------------------------------------------------

READS = ["XREAD {} STREAMS a b 0 0", f"{GROUP} {{}} STREAMS a b > >"]


@pytest.mark.parametrize("form", READS)
@pytest.mark.parametrize(
    ("options", "given"),
    [
        ("MAXCOUNT 1", {"a": 1}),
        ("MAXCOUNT 3", {"a": 3}),
        ("MAXCOUNT 4", {"a": 3, "b": 1}),
        ("MAXCOUNT 9", {"a": 3, "b": 3}),
        ("COUNT 2 MAXCOUNT 3", {"a": 2, "b": 1}),
        ("COUNT 2 MAXCOUNT 2", {"a": 2}),
        ("COUNT 0 MAXCOUNT 2", {"a": 2}),
        ("COUNT 1 MAXCOUNT 9", {"a": 1, "b": 1}),
    ],
)
def test_maxcount_counts_over_all_streams(
    client: Talk, form: str, options: str, given: dict[str, int]
) -> None:
    assert counts(client, form.format(options)) == given


def test_a_stream_without_news_takes_no_room(client: Talk) -> None:
    assert counts(client, "XREAD MAXCOUNT 1 STREAMS a missing b 9 0 0") == {"b": 1}


def test_a_plus_counts_as_one_entry(client: Talk) -> None:
    assert counts(client, "XREAD MAXCOUNT 2 STREAMS a b + 0") == {"a": 1, "b": 1}
    assert client.do("XREAD MAXCOUNT 1 STREAMS a b + 0")[0][1][0][0] == b"3-1"


def test_a_stream_after_a_cap_is_not_read(client: Talk) -> None:
    assert counts(client, f"{GROUP} MAXCOUNT 3 STREAMS a b > >") == {"a": 3}
    assert (consumers(client, "a"), consumers(client, "b")) == (1, 0)
    assert client.do("XINFO GROUPS b")[0][7] == b"0-0"
    assert counts(client, f"{GROUP} MAXCOUNT 3 STREAMS b a > 0") == {"b": 3}


def test_what_a_cap_leaves_out_is_delivered_later(client: Talk) -> None:
    client.do(f"{GROUP} MAXCOUNT 2 STREAMS a b > >")
    assert client.do("XPENDING a g")[:3] == [2, b"1-1", b"2-1"]
    assert counts(client, f"{GROUP} MAXCOUNT 2 STREAMS a b > >") == {"a": 1, "b": 1}


def test_maxcount_holds_for_history(client: Talk, server: InProcessServer) -> None:
    client.do(f"{GROUP} STREAMS a b > >")
    server.now_ms += 5
    assert counts(client, f"{GROUP} MAXCOUNT 2 STREAMS a b 0 0") == {"a": 2}
    assert [row[3] for row in client.do("XPENDING a g - + 9")] == [2, 2, 1]
    assert counts(client, f"{GROUP} COUNT 1 MAXCOUNT 2 STREAMS a b 0 0") == {"a": 1, "b": 1}
    # A history without entries is an empty array: it takes no room.
    assert counts(client, f"{GROUP} MAXCOUNT 1 STREAMS a b 9 0") == {"a": 0, "b": 1}


def test_maxcount_holds_for_claimed_and_new_entries(client: Talk) -> None:
    client.do("XREADGROUP GROUP g d COUNT 2 STREAMS a b > >")
    assert counts(client, f"{GROUP} CLAIM 0 MAXCOUNT 4 STREAMS a b > >") == {"a": 3, "b": 1}
    owners = [row[1] for row in client.do("XPENDING b g - + 9")]
    assert owners == [b"c", b"d"]


@pytest.mark.parametrize("read", ["XREAD", GROUP])
def test_the_caps_hold_for_a_waiter(client: Talk, server: InProcessServer, read: str) -> None:
    client.all("XGROUP SETID a g $", "XGROUP SETID b g $")
    reader, behind = Talk(server), "$" if read == "XREAD" else ">"
    assert reader.raw(f"{read} BLOCK 0 MAXCOUNT 3 STREAMS a b {behind} {behind}") == b""
    client.pipeline(*(f"XADD {key} {i}-1 f v" for key in "ab" for i in (5, 6)))
    reply = reader.received()
    assert [(key, len(entries)) for key, entries in reply] == [(b"a", 2), (b"b", 1)]


# -- MAXSIZE -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", READS)
@pytest.mark.parametrize(
    ("size", "given"),
    [
        (1, {"a": 1}),
        (HEADER_BYTES + ENTRY_BYTES, {"a": 1}),
        (HEADER_BYTES + ENTRY_BYTES + 1, {"a": 2}),
        (HEADER_BYTES + 2 * ENTRY_BYTES, {"a": 2}),
        (HEADER_BYTES + 3 * ENTRY_BYTES, {"a": 3}),
        (2 * HEADER_BYTES + 3 * ENTRY_BYTES, {"a": 3}),
        (2 * HEADER_BYTES + 3 * ENTRY_BYTES + 1, {"a": 3, "b": 1}),
        (100_000, {"a": 3, "b": 3}),
    ],
)
def test_an_entry_is_given_while_the_bytes_before_it_stay_below_maxsize(
    client: Talk, form: str, size: int, given: dict[str, int]
) -> None:
    assert counts(client, form.format(f"MAXSIZE {size}")) == given


def test_the_first_entry_is_given_however_large_it_is(client: Talk) -> None:
    client.do(f"XADD large 1-1 f {'v' * 10_000}")
    assert counts(client, "XREAD MAXSIZE 5 STREAMS a large 9 0") == {"large": 1}
    assert counts(client, "XREAD MAXSIZE 500 STREAMS large a 0 0") == {"large": 1}
    assert counts(client, "XREAD MAXSIZE 500 STREAMS a large 0 0") == {"a": 3, "large": 1}


def test_maxsize_holds_for_history(client: Talk) -> None:
    client.do(f"{GROUP} STREAMS a b > >")
    size = HEADER_BYTES + ENTRY_BYTES + 1
    assert counts(client, f"{GROUP} MAXSIZE {size} STREAMS a b 0 0") == {"a": 2}
    assert [row[3] for row in client.do("XPENDING a g - + 9")] == [2, 2, 1]
    # Streams without entries do not keep the first entry from being given.
    assert counts(client, f"{GROUP} MAXSIZE 1 STREAMS a b 9 0") == {"a": 0, "b": 1}


def test_maxsize_counts_the_details_that_claim_adds_to_an_entry(client: Talk) -> None:
    client.do("XREADGROUP GROUP g d COUNT 1 STREAMS a >")
    size = HEADER_BYTES + 2 * WITH_DELIVERY_BYTES
    assert counts(client, f"{GROUP} CLAIM 0 MAXSIZE {size} STREAMS a b > >") == {"a": 2}
    assert client.do("XINFO GROUPS a")[0][7] == b"2-1"


def test_both_caps_hold_at_once(client: Talk) -> None:
    size = HEADER_BYTES + 2 * ENTRY_BYTES
    assert counts(client, f"XREAD MAXCOUNT 9 MAXSIZE {size} STREAMS a b 0 0") == {"a": 2}
    assert counts(client, f"XREAD MAXCOUNT 1 MAXSIZE {size} STREAMS a b 0 0") == {"a": 1}


def test_within_a_transaction_each_request_has_caps_of_its_own(client: Talk) -> None:
    client.do("MULTI")
    client.all("XRANGE a - +", "XREAD MAXSIZE 60 STREAMS a 0")
    assert len(client.do("EXEC")[1][0][1]) == 2
