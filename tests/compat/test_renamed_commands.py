"""Commands under other names, and what is propagated of them, are those of a real Redis 8.2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import running
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
    start_rillway,
)
from tests.support.resp import RespClient

pytestmark = pytest.mark.compat

NAMES = {
    "CONFIG": "cfg", "SET": "store", "DEL": "", "XADD": "add", "XTRIM": "cut", "EXPIRE": "ex",
    "PERSIST": "keep", "MULTI": "m", "EXEC": "e", "PFCOUNT": "guess", "XGROUP": "groups",
    "SPOP": "draw", "AUTH": "login", "SELECT": "db", "GETEX": "peek", "LMOVE": "shift",
    "SETEX": "storex", "GETSET": "swap", "ZADD": "rank", "RESTORE": "put", "PUBLISH": "tell",
}  # fmt: skip
DIRECTIVES = [
    "--appendonly", "yes",
    *(word for pair in NAMES.items() for word in ("--rename-command", *pair)),
]  # fmt: skip
# Times.
VARIABLE = re.compile(rb"\$13\r\n1\d{12}\r\n")

# Never the old name right after the new one: Redis 8.2 takes it for the command it has looked up.
REQUESTS = """
SET k v
CONFIG GET hz
store k v
Store k v EX 1000
store k w KEEPTTL
store k x XX GET
storex k 100 v
swap k u
ex k 100
keep k
ex k 100
peek k PERSIST
peek k
del k
unlink k
cfg nonsense
cfg get
store
COMMAND COUNT extra
COMMAND INFO set
COMMAND GETKEYS store a b
COMMAND GETKEYS set a b
COMMAND DOCS set
add s 1-1 f v
add s 2-* f v
add s MAXLEN ~ 1000 3-* f v
cut s MAXLEN 1
groups CREATE s g 0
groups nonsense
groups CREATE s g 0
sadd members a
draw members
PFADD h a b c
guess h
rank z 1 a
ping
zadd z 1 a
rpush l a b c
shift l l LEFT RIGHT
m
store t 1
incr t
e
m
SET t 1
e
EVAL "return redis.call('store','s1','1')" 0
EVAL "return redis.call('STORE','s1','2')" 0
EVAL "return redis.pcall('SET','s1','1')" 0
EVAL "return redis.call('cfg','get','hz')" 0
tell c m
db 1
store in1 v
db 0
ACL SETUSER u on >p +store
ACL SETUSER u on >p +get +del ~*
ACL SETUSER u on >p -set
ACL DRYRUN u store a b
ACL DRYRUN u set a b
ACL DRYRUN u get a
login u p
store k v
get k
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("renamed")


@pytest.fixture(scope="module")
def ours(folder: Path) -> Iterator[RunningServer]:
    (folder / "ours").mkdir()
    yield from running(lambda: start_rillway(folder / "ours", *DIRECTIVES))


@pytest.fixture(scope="module")
def theirs(folder: Path, redis_server: RunningServer) -> Iterator[RunningServer]:
    (folder / "theirs").mkdir()
    program = compared_redis()
    assert program is not None
    yield from running(
        lambda: start_redis(folder / "theirs", *DIRECTIVES, program=program, line=COMPARED_REDIS)
    )


def answers(client: RespClient) -> list[tuple[str, bytes]]:
    found = []
    for line in REQUESTS.strip().splitlines():
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
        reply = VARIABLE.sub(b"", client.send(*words))
        found.append((line, re.sub(rb"script: \w+", b"script", reply)))
    return found


def propagated(folder: Path) -> list[bytes]:
    """The names in the file; test_append_only_files.py compares what follows them."""
    (file,) = folder.glob("appendonlydir/*.incr.aof")
    return re.findall(rb"\*\d+\r\n\$\d+\r\n(.*)\r\n", file.read_bytes())


def test_replies_and_the_append_only_file_are_the_same(
    folder: Path, ours: RunningServer, theirs: RunningServer
) -> None:
    with ours.connect() as mine, theirs.connect() as other:
        expected = answers(other)
        assert answers(mine) == expected
    assert propagated(folder / "ours") == propagated(folder / "theirs")


def test_statistics_and_the_log_of_refusals_have_the_same_names(
    ours: RunningServer, theirs: RunningServer
) -> None:
    def names(server: RunningServer) -> set[bytes]:
        with server.connect() as client:
            return set(re.findall(rb"cmdstat_[a-z|]+", client.send("INFO", "commandstats")))

    assert names(ours) == names(theirs)
    logs = [re.findall(rb"object\r\n\$\d+\r\n(.*)\r\n", server.connect().send("ACL", "LOG"))
            for server in (ours, theirs)]  # fmt: skip
    assert logs[0] == logs[1] == [b"set"]
