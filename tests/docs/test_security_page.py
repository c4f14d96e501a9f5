"""The worker of docs/how-to/security.md may use its own keys and nothing else.

Sixty attacks with the rules of the page as they stand: none shows the worker anything of others or
changes it, while the worker's own work goes on.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import redis

from tests.conftest import StartRillway
from tests.docs.snippets import ROOT, blocks
from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient
from tests.support.waiting import until

pytestmark = pytest.mark.integration

# redis-py gives every reply the types of its sync and its asyncio client at once.
Client: TypeAlias = Any

PAGE = ROOT / "docs/how-to/security.md"
ADMIN = ("admin", "a-long-secret")
WORKER = ("worker", "another-secret")
SECRET = "the-plan"
# What the administrator has; none of it may be in an answer to the worker.
HIDDEN = (SECRET, "vault", "treasure", "chief", "a-long-secret")
LIBRARY = """#!lua name=chief
redis.register_function('chief', function(keys) return redis.call('GET', keys[1]) end)"""
SCRIPT_SHA1 = "7745f399b0e4433528e1cbddd890701693caca9f"  # of "return 'chief'"
TROJAN = """#!lua name=chief
redis.register_function('chief', function(keys)
  redis.call('SET', 'jobs:loot', redis.call('GET', 'vault')) return 'ok' end)"""

# Each line is an attack; TROJAN stands for its source.
REFUSED = """
FUNCTION LOAD REPLACE TROJAN
FUNCTION LOAD TROJAN
FUNCTION FLUSH
FUNCTION DELETE chief
FUNCTION RESTORE x FLUSH
FUNCTION DUMP
FUNCTION LIST WITHCODE
FUNCTION STATS
FUNCTION KILL
FCALL chief 1 vault
FCALL_RO chief 0
SCRIPT FLUSH
SCRIPT KILL
SCRIPT LOAD 'return 1'
EVAL 'while true do end' 0
EVAL 'return redis.call("GET", "vault")' 0
EVAL 'cjson.decode_max_depth(1)' 0
EVAL 'cjson.encode_sparse_array(true)' 0
EVAL 'math.randomseed(1)' 0
EVAL_RO 'while true do end' 0
EVALSHA 0000000000000000000000000000000000000000 0
SCAN 0
SCAN 0 MATCH jobs:*
RANDOMKEY
KEYS *
DBSIZE
INFO
CONFIG GET *
CONFIG SET maxmemory 1
CONFIG REWRITE
CONFIG RESETSTAT
DEBUG SLEEP 1000
DEBUG OBJECT vault
ACL LIST
ACL SETUSER worker +@all ~*
ACL WHOAMI
ACL LOG
ACL SAVE
SWAPDB 0 1
SELECT 1
MOVE jobs:own 1
COPY jobs:own jobs:other DB 1
COPY vault jobs:own REPLACE
RENAME vault jobs:own
RENAMENX jobs:own vault
SORT jobs:list BY vault GET vault
SORT_RO jobs:list BY nosort GET vault
OBJECT FREQ vault
OBJECT ENCODING jobs:own
CLIENT KILL TYPE normal
CLIENT LIST
CLIENT PAUSE 100000
CLIENT UNBLOCK 1 ERROR
CLIENT NO-EVICT ON
CLIENT TRACKING ON BCAST
CLIENT TRACKING ON REDIRECT 1
MONITOR
PUBSUB CHANNELS
PUBSUB NUMSUB treasure
SUBSCRIBE treasure
SUBSCRIBE __keyspace@0__:vault
PSUBSCRIBE *
PSUBSCRIBE __key*__:*
SSUBSCRIBE treasure
PUBLISH treasure x
FLUSHALL
FLUSHDB ASYNC
MIGRATE 127.0.0.1 1 jobs:own 0 1000
RESTORE jobs:own 0 x
RESTORE-ASKING jobs:own 0 x
DUMP vault
REPLICAOF 127.0.0.1 1
PSYNC ? -1
SYNC
REPLCONF listening-port 1
FAILOVER
SHUTDOWN NOSAVE
SAVE
BGSAVE
BGREWRITEAOF
LASTSAVE
LATENCY HISTOGRAM
MEMORY USAGE vault
MEMORY STATS
MEMORY DOCTOR
SLOWLOG GET
CLUSTER COUNTKEYSINSLOT 0
CLUSTER GETKEYSINSLOT 0 10
CLUSTER RESET
MODULE LIST
ROLE
LCS jobs:own vault
GET vault
SET vault x GET
MGET jobs:own vault
MSET jobs:own 1 vault 2
MSETEX 2 jobs:own 1 vault 2
GETDEL vault
DEL jobs:own vault
EXISTS vault
EXISTS nothing
TYPE vault
EXPIRE vault 1
WATCH vault
XADD vault * a b
XADD vault NOMKSTREAM MAXLEN 0 * a b
XLEN treasure
XRANGE treasure - +
XTRIM treasure MAXLEN 0
XDEL treasure 1-1
XSETID treasure 9-9
XGROUP CREATE treasure g 0
XGROUP DESTROY treasure g
XGROUP SETID treasure g 0
XINFO STREAM treasure FULL
XINFO GROUPS treasure
XACK treasure g 1-1
XACKDEL treasure g IDS 1 1-1
XCLAIM treasure g c 0 1-1
XAUTOCLAIM treasure g c 0 0
XPENDING treasure g
XREAD STREAMS treasure 0
XREAD STREAMS jobs:mail treasure 0 0
XREAD COUNT 1 BLOCK 1 STREAMS treasure 0
xread streams treasure 0
XREADGROUP GROUP g c STREAMS treasure >
XREADGROUP GROUP STREAMS STREAMS STREAMS treasure >
XREADGROUP GROUP g STREAMS COUNT 1 STREAMS treasure >
XREADGROUP GROUP jobs:mail jobs:mail NOACK STREAMS treasure >
XREADGROUP GROUP g c CLAIM 0 STREAMS treasure >
LMOVE vault jobs:list LEFT LEFT
LMPOP 2 jobs:list vault LEFT
BLMPOP 0 1 vault LEFT
BLPOP jobs:list vault 0
SINTERCARD 2 jobs:set vault
SUNIONSTORE jobs:set vault
SMOVE vault jobs:set x
ZUNIONSTORE jobs:scores 1 vault
ZRANGESTORE jobs:scores vault 0 -1
ZMPOP 1 vault MIN
"""
# No right is asked for, or the command is refused for another reason; the answer says nothing.
HARMLESS = [
    ("AUTH admin x", b"-WRONGPASS "),
    ("AUTH default x", b"-WRONGPASS "),
    ("AUTH nobody x", b"-WRONGPASS "),
    ("HELLO 3 AUTH admin x", b"-WRONGPASS "),
    ("XREAD COUNT STREAMS STREAMS treasure 0", b"-"),
    ("XREAD BLOCK STREAMS treasure 0", b"-"),
    ("XREADGROUP STREAMS treasure >", b"-"),
    ("XREADGROUP GROUP g STREAMS treasure >", b"-"),
    ("XREADGROUP GROUP g c CLAIM STREAMS treasure >", b"-"),
    ("LMPOP -1 vault LEFT", b"-"),
    ("SINTERCARD 18446744073709551617 vault", b"-"),
    ("ZUNION 0 vault", b"-"),
    ("ZUNIONSTORE jobs:scores -1 vault", b"-"),
    ("MSETEX -1 vault x", b"-"),
    ("CLIENT INFO", b"$"),
    ("CLIENT TRACKINGINFO", b"*"),
    ("COMMAND GETKEYS GET vault", b"*1\r\n$5\r\nvault\r\n"),  # its own word
]


@pytest.fixture
def server(run_rillway: StartRillway, tmp_path: Path) -> RunningServer:
    """A server with the page's ACL file."""
    file = tmp_path / "users.acl"
    file.touch()
    server = run_rillway("--aclfile", str(file))
    (rules,) = (
        block.text for block in blocks(PAGE.read_text()) if block.marks.get("file") == "users.acl"
    )
    file.write_text(rules)
    with server.connect() as client:
        assert client.send("ACL", "LOAD") == b"+OK\r\n"
    return server


@pytest.fixture
def admin(server: RunningServer) -> Iterator[Client]:
    """The administrator, who has a secret, a stream, a library and a script."""
    name, password = ADMIN
    with redis.Redis(port=server.port, username=name, password=password) as connected:
        client: Client = connected
        client.set("vault", SECRET)
        client.xadd("treasure", {"secret": SECRET}, id="1-1")
        client.function_load(LIBRARY)
        assert client.script_load("return 'chief'") == SCRIPT_SHA1
        yield client


def words(attack: str) -> list[str]:
    return [TROJAN if word == "TROJAN" else word for word in shlex.split(attack)]


def everything(admin: Client) -> list[object]:
    """What the worker must not change."""
    return [
        admin.get("vault"),
        admin.fcall("chief", 1, "vault"),
        admin.script_exists(SCRIPT_SHA1),
        admin.execute_command("XINFO", "STREAM", "treasure", "FULL"),
        admin.execute_command("FUNCTION", "LIST", "WITHCODE"),
        admin.execute_command("ACL", "LIST"),
        admin.config_get("*"),
        sorted(key for key in admin.scan_iter() if not key.startswith(b"jobs:")),
        admin.info("keyspace").keys(),
        admin.execute_command("ROLE")[0],
        admin.client_id(),
    ]


def check(session: RespClient, attack: str, beginning: bytes) -> None:
    """Play an attack: the answer is as expected, and shows nothing."""
    sent = words(attack)
    reply = session.send(*sent)
    assert reply.startswith(beginning), f"{attack}: {reply[:200]!r}"
    if reply.startswith(b"-"):
        return
    known = " ".join(sent)
    shown = [word for word in HIDDEN if word not in known and word.encode() in reply]
    assert not shown, f"{attack}: {reply[:200]!r}"


def attack_all(server: RunningServer) -> None:
    """Each attack by itself, and the refused ones in a transaction."""
    refused = REFUSED.strip().split("\n")
    assert len(refused) >= 60
    with server.connect() as session:
        assert session.send("AUTH", *WORKER) == b"+OK\r\n"
        for attack in refused:
            check(session, attack, b"-NOPERM ")
        for attack, beginning in HARMLESS:
            check(session, attack, beginning)
        for attack in refused:
            assert session.send("MULTI") == b"+OK\r\n"
            check(session, attack, b"-")
            assert session.send("EXEC").startswith(b"-EXECABORT ")
        assert session.send("RESET") == b"+RESET\r\n"
        check(session, "GET vault", b"-NOAUTH ")


def work(client: Client, number: int) -> None:
    """One round of a queue worker, with the commands that programs send."""
    client.xadd("jobs:mail", {"to": number}, maxlen=1000)
    reply = client.xreadgroup("senders", "w1", {"jobs:mail": ">"}, count=10, block=30_000)
    ((entry, fields),) = reply["jobs:mail"][0]
    assert fields == {"to": str(number)}
    with client.pipeline(transaction=True) as pipe:
        pipe.watch("jobs:own")
        pipe.multi()
        pipe.xack("jobs:mail", "senders", entry)
        pipe.incr("jobs:own")
        pipe.hset("jobs:last", mapping={"entry": entry})
        pipe.expire("jobs:last", 100)
        assert pipe.execute()[:2] == [1, number]
    assert client.xautoclaim("jobs:mail", "senders", "w1", 60_000)[1] == []
    assert client.xpending("jobs:mail", "senders")["pending"] == 0
    assert client.set("jobs:lock", "w1", nx=True, px=60_000)
    assert client.delete("jobs:lock") == 1
    client.lpush("jobs:list", number)
    assert client.brpop("jobs:list", timeout=30) == ["jobs:list", str(number)]
    client.zadd("jobs:later", {str(number): number})
    assert client.zpopmin("jobs:later") == [str(number), number]
    client.publish("jobs:done", number)


def test_the_worker_of_the_page_reaches_its_own_keys_only(
    server: RunningServer, admin: Client
) -> None:
    before = everything(admin)
    rounds, stopped = [0], threading.Event()
    name, password = WORKER

    def go_on_working() -> None:
        with redis.Redis(
            port=server.port, username=name, password=password, protocol=3, client_name="jobs",
            decode_responses=True,
        ) as connected:  # fmt: skip
            client: Client = connected
            client.xgroup_create("jobs:mail", "senders", mkstream=True)
            while not stopped.is_set():
                work(client, rounds[0] + 1)
                rounds[0] += 1

    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
        stack.callback(stopped.set)
        working = pool.submit(go_on_working)
        until(lambda: rounds[0] or working.done())
        attack_all(server)
        begun = rounds[0]
        until(lambda: rounds[0] > begun or working.done())
        stopped.set()
        working.result()
    assert everything(admin) == before
    assert int(admin.get("jobs:own")) == rounds[0]
    assert admin.xlen("jobs:mail") == rounds[0]


def test_the_consumer_runs_with_the_rights_of_the_worker(
    server: RunningServer, admin: Client
) -> None:
    """An entry whose handler fails is claimed, renewed and moved to the dead letters."""
    admin.xadd("jobs:mail", {"to": "ann"})
    argv = [sys.executable, "-m", "rillway", "consume", "--stream", "jobs:mail", "--group", "g"]
    argv += ["--url", "redis://{}:{}@127.0.0.1:{}".format(*WORKER, server.port)]
    argv += ["--consumer", "c", "--claim-idle", "1s", "--block", "1s"]
    argv += ["--max-deliveries", "2", "--dead-letter", "jobs:dead", "--", "false"]
    with subprocess.Popen(argv, cwd=ROOT) as consumer:
        until(lambda: admin.xlen("jobs:dead") == 1 or consumer.poll() is not None)
        consumer.terminate()
        assert consumer.wait(30) == 0
    refused = {entry["object"] for entry in admin.acl_log()}
    assert refused <= {"cluster|slots"}  # which only a cluster needs
