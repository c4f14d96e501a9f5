"""XINFO POLICY."""

from __future__ import annotations

from tests.commands.streams.talk import Talk


def test_a_stream_without_policies_has_an_empty_map(client: Talk, resp3: Talk) -> None:
    client.all("XADD s 1-1 f v", "XGROUP CREATE s g 0")
    assert client.do("XINFO POLICY s") == []
    assert resp3.do("XINFO POLICY s") == {}
    assert client.do("XINFO POLICY s g") == []


def test_errors_are_those_of_xinfo(client: Talk) -> None:
    assert client.error("XINFO POLICY s") == "ERR no such key"
    client.all("XADD s 1-1 f v", "SET t v")
    assert client.error("XINFO POLICY s g").startswith("NOGROUP No such consumer group 'g'")
    assert client.error("XINFO POLICY s g c").startswith("ERR unknown subcommand or wrong number")
    assert client.error("XINFO POLICY t").startswith("WRONGTYPE")


def test_the_journal_of_acknowledgements_is_listed(client: Talk) -> None:
    client.all("XADD s 1-1 f v", "XCFGSET s ACK-JOURNAL j")
    assert client.fields("XINFO POLICY s") == {
        "ack-journal": b"j",
        "ack-journal-maxlen": 1_000_000,
        "ack-journal-skipped": 0,
    }


def test_groups_with_a_policy_are_counted(client: Talk) -> None:
    client.all("XADD s 1-1 f v", "XGROUP CREATE s g 0", "XGROUP CREATE s h 0")
    client.do("XGROUP CONFIG s h ACK-WAIT 1000")
    assert client.fields("XINFO POLICY s") == {"groups-with-policy": 1}
    client.do("XGROUP CONFIG s h ACK-WAIT 0")
    assert client.do("XINFO POLICY s") == []
