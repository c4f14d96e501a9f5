"""Commands that are newer than Redis 7.0, with a redis-server of 7.0 as the replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from redis.exceptions import ResponseError

from tests.support.programs.servers import RunningServer, start_redis, start_rillway
from tests.support.replicas import (
    client_of,
    contents,
    follow,
    wait_for_link,
    wait_for_offset,
)
from tests.support.waiting import until

Start: TypeAlias = Callable[..., RunningServer]
Servers: TypeAlias = tuple[RunningServer, RunningServer, RunningServer]

pytestmark = pytest.mark.integration

DEBUG = ("--enable-debug-command", "yes")
AT_ONCE = ("--repl-diskless-sync-delay", "0", *DEBUG)

# Ten entries; one group has read all of them, another one eight.
SETUP = [
    *[f"XADD s {number}-1 f {number}" for number in range(1, 11)],
    "XGROUP CREATE s g 0",
    "XGROUP CREATE s h 0",
    "XREADGROUP GROUP g c STREAMS s >",
    "XREADGROUP GROUP h d COUNT 8 STREAMS s >",
    "XACK s g 1-1 3-1 4-1",
    "XACK s h 1-1 3-1 5-1",
    "RPUSH l 1 2 3 4",
    "RPUSH own 1 2 3 4",
    "PEXPIRE own 100000000",
    "RPUSH m x",
    "MSET a 1 b abc c abd",
    "SET timed 1 PX 100000000",
    "HSET hash f 1 g 2",
    "ZADD z 1 a 2 b",
    "ZADD y 3 b 4 c",
]
# Commands and options since Redis 7.2 that change data; each must reach the replica.
NEWER = [
    "XDELEX s IDS 2 1-1 20-1",
    "XDELEX s DELREF IDS 2 2-1 3-1",
    "XDELEX s ACKED IDS 2 3-1 4-1",
    "XACKDEL s g IDS 2 2-1 5-1",
    "XACKDEL s g DELREF IDS 2 2-1 6-1",
    "XACKDEL s g ACKED IDS 2 5-1 2-1",
    "XADD s KEEPREF MAXLEN 5 * f v",
    "XADD s MAXLEN ~ 5 DELREF 11-* f v",
    "XADD s DELREF MAXLEN = 5 11-* f v",
    "XADD s ACKED MAXLEN = 8 11-* f v",
    "XADD s IDMP p 1 * f v",
    "XADD s IDMPAUTO p MAXLEN = 3 * f v",
    "XTRIM s MAXLEN 5 KEEPREF",
    "XTRIM s MAXLEN 5 DELREF",
    "XTRIM s MINID 5-1 DELREF",
    "XTRIM s MAXLEN 6 ACKED",
    "XADD s DELAY 100000 * f v",
    "XADD s DELAY 100000 IDMP p 7 * f v",
    "XADD other DELAY 100000 * f v",
    "XDELRANGE s - 6",
    "XDELRANGE s - +",
    "XDELRANGE s 2 6",
    "XDELRANGE s - + COUNT 3 DELREF",
    "XDELRANGE s 4 + DELREF",
    "XDELRANGE s - + ACKED COUNT 3",
    "XGROUP DELCONSUMER s g c KEEPPENDING",
    "XGROUP DELCONSUMER s g c TRANSFER e",
    "XCFGSET s IDMP-DURATION 5",
    "XIDMPRECORD s p 7 3-1",
    "XNACK s g FAIL IDS 2 2-1 5-1",
    "XNACK s g FATAL IDS 1 2-1",
    "XNACK s g SILENT IDS 2 6-1 1-1 FORCE",
    "XNACK s g FAIL IDS 2 2-1 5-1 DELAY 100000 REASON why",
    "XGROUP CONFIG s g ACK-WAIT 100000 BACKOFF 5 6 MAX-DELIVERIES 3 DEAD-LETTER dead MAX-PENDING 9",
    "XREADGROUP GROUP g e COUNT 3 CLAIM 0 STREAMS s >",
    "LMOVEM l m LEFT RIGHT COUNT 3 OBO",
    "LMOVEM l m RIGHT LEFT EXACTLY 4 BULK",
    "LMOVEM l m LEFT LEFT COUNT 2 BULK",
    "LMOVEM own own LEFT RIGHT COUNT 4 OBO",
    "LMOVEM own own LEFT LEFT COUNT 9 OBO",
    "LMOVEM own own RIGHT RIGHT COUNT 2 OBO",
    "BLMOVEM l m LEFT RIGHT 0 COUNT 2 OBO",
    "SET a 2 IFEQ 1",
    "SET a 2 IFNE 2 PX 100000000",
    "DELEX a IFEQ 1",
    "MSETEX 2 a 5 new 6",
    "MSETEX 2 a 5 timed 6 KEEPTTL",
    "MSETEX 2 a 5 timed 6 XX PXAT 99999999999999",
    "INCREX a BYINT 5",
    "BITOP DIFF k b c",
    "BITOP DIFF1 k b c",
    "BITOP ANDOR k b c",
    "BITOP ONE timed b c",
    "BITOP ONE timed none none",
    "ZUNIONSTORE z 2 z y AGGREGATE COUNT",
    "ZINTERSTORE z 2 z y WEIGHTS 2 0.1 AGGREGATE COUNT",
    "ZINTERSTORE z 2 z none AGGREGATE COUNT",
    "HSETEX hash FXX FIELDS 1 f 5",
    "HSETEX hash KEEPTTL FIELDS 2 f 5 new 6",
    "HSETEX hash PXAT 1 FIELDS 1 f 5",
    "HGETDEL hash FIELDS 2 f none",
    "HGETEX hash PXAT 1 FIELDS 1 f",
    "HEXPIRE hash 0 FIELDS 1 f",
]


FIELD_TIMES = [
    "HEXPIRE hash 100 FIELDS 1 f",
    "HPEXPIREAT hash 9999999999999 FIELDS 1 f",
    "HGETEX hash EX 100 FIELDS 1 f",
    "HSETEX hash EX 100 FIELDS 1 f v",
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A primary, and a Redis 7.0 and a Rillway that follow it."""
    primary = start_rillway(tmp_path_factory.mktemp("end"), *AT_ONCE)
    old = start_redis(tmp_path_factory.mktemp("end"))
    new = start_rillway(tmp_path_factory.mktemp("end"), *DEBUG)
    for replica in (old, new):
        follow(replica, primary)
    yield primary, old, new
    for server in (primary, old, new):
        server.stop()


@pytest.mark.parametrize("text", NEWER)
def test_a_newer_command_reaches_replicas_of_both_kinds(servers: Servers, text: str) -> None:
    primary, old, new = servers
    with client_of(primary) as client:
        with primary.connect() as raw:
            for line in ("FLUSHALL", *SETUP, "MULTI", text, "SET same transaction"):
                assert not raw.send(*line.split()).startswith(b"-"), line
            assert b"-ERR" not in raw.send("EXEC")
        for replica in (old, new):
            wait_for_offset(replica, primary)
        assert client.info("stats")["sync_full"] == 2
    # A 7.0 has an owner for released entries, and a greater max-deleted-id after a trim that leaves
    # entries out: those are compared by their parts.
    is_released = text.startswith("XNACK") or text.endswith("KEEPPENDING")
    if not is_released and "ACKED MAXLEN" not in text and text[-5:] != "ACKED":
        assert contents(old) == contents(primary)
    with client_of(old) as there, client_of(new) as here, client_of(primary) as client:
        assert here.execute_command("DEBUG", "DIGEST") == client.execute_command("DEBUG", "DIGEST")
        assert there.xrange("s") == client.xrange("s")
        for group in ("g", "h"):
            rows = [
                [
                    (row["message_id"], row["consumer"], row["times_delivered"])
                    for row in one.xpending_range("s", group, "-", "+", 100)
                ]
                for one in (there, here, client)
            ]
            assert rows[0] == rows[1] == rows[2]
        assert there.info("stats")["unexpected_error_replies"] == 0


def test_a_newer_payload_reaches_replicas_of_both_kinds(servers: Servers) -> None:
    primary, old, new = servers
    with client_of(primary) as client, client_of(new) as here, client_of(old) as there:
        client.flushall()
        client.sadd("set", "a", "b")  # a listpack since 7.2
        client.execute_command("XADD", "s", "IDMP", "p", "1", "*", "f", "v")
        for key in ("set", "s"):
            client.restore(f"copy of {key}", 0, client.dump(key))
        for replica in (old, new):
            wait_for_offset(replica, primary)
        assert contents(old) == contents(primary)
        assert here.execute_command("DEBUG", "DIGEST") == client.execute_command("DEBUG", "DIGEST")
        assert there.info("stats")["unexpected_error_replies"] == 0


@pytest.mark.parametrize("text", FIELD_TIMES)
def test_times_of_fields_are_refused_while_an_older_replica_follows(
    servers: Servers, text: str
) -> None:
    primary = servers[0]
    with client_of(primary) as client:
        client.flushall()
        client.hset("hash", "f", "v")
        before = client.info("replication")["repl_newer_commands_refused"]
        with pytest.raises(ResponseError, match="is newer than a replica"):
            client.execute_command(*text.split())
        info = client.info("replication")
        assert info["repl_newer_commands_refused"] == before + 1
        assert info["repl_last_newer_command"] == text.split()[0].lower()
        assert client.execute_command("HPTTL", "hash", "FIELDS", "1", "f") == [-1]


def test_an_older_replica_is_refused_while_fields_have_times(
    run_rillway: Start, run_redis: Start
) -> None:
    primary, old, new = run_rillway(*AT_ONCE), run_redis(), run_rillway()
    with client_of(primary) as client, client_of(old) as there:
        client.hset("hash", "f", "v")
        client.execute_command("HEXPIRE", "hash", "100", "FIELDS", "1", "f")
        follow(new, primary)
        there.replicaof("127.0.0.1", str(primary.port))
        until(lambda: client.info("replication")["repl_older_replicas_refused"] > 0, "refused")
        assert there.info("replication")["master_link_status"] == "down"
        assert client.info("replication")["connected_slaves"] == 1
        client.execute_command("HPERSIST", "hash", "FIELDS", "1", "f")
        wait_for_link(old)
        wait_for_offset(old, primary)
        assert contents(old) == contents(primary)
