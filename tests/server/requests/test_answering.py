"""server/requests/command_clock.py: who gets a reply, and what a refusal changes."""

from __future__ import annotations

from server.inprocess.server import InProcessClient


def test_a_refused_request_spoils_the_transaction(client: InProcessClient) -> None:
    reply = client.pipeline(("MULTI",), ("NOPE",), ("SET", "k", "v"), ("EXEC",), ("GET", "k"))
    assert reply.startswith(b"+OK\r\n-ERR unknown command")
    assert reply.endswith(
        b"+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n$-1\r\n"
    )


def test_a_client_without_replies_gets_none_and_one_that_skips_gets_the_next(
    client: InProcessClient,
) -> None:
    skipping = client.pipeline(("CLIENT", "REPLY", "SKIP"), ("ECHO", "a"), ("ECHO", "b"))
    assert skipping == b"$1\r\nb\r\n"
    silent = [("CLIENT", "REPLY", "OFF"), ("ECHO", "a"), ("NOPE",), ("CLIENT", "REPLY", "ON")]
    assert client.pipeline(*silent) == b"+OK\r\n"


def test_a_reply_comes_before_the_messages_that_its_command_causes(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    client.execute("SUBSCRIBE", "c")
    received = client.execute("PUBLISH", "c", "m")
    assert received == b":1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n"
