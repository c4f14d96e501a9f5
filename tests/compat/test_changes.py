"""rdb_changes_since_last_save grows by as much as on a real Redis, command by command.

Not compared, because Redis counts what it does not propagate: a consumer that XREADGROUP makes for
no entry.
"""

from __future__ import annotations

import pytest

from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.compat

COMMANDS = """
SET a 1
SET a 1 NX
SETBIT bb 7 1
SETBIT bb 7 1
BITFIELD bb SET u8 0 1
BITFIELD bb SET u8 0 1
BITFIELD bb SET u8 0 2
BITFIELD bb INCRBY u8 0 0
BITFIELD bb SET u8 0 3 SET u8 8 4
BITFIELD bb OVERFLOW FAIL INCRBY u2 0 9
BITFIELD nf OVERFLOW FAIL INCRBY u2 0 9
BITFIELD nf OVERFLOW FAIL INCRBY u2 80 9
BITFIELD nn SET u8 0 0
BITFIELD nm SET u8 100 0
BITFIELD nm SET u8 100 0
RPUSH l a b c d e f g h
LMOVE l m LEFT RIGHT
BLMOVE l m LEFT RIGHT 1
BLMOVE l l LEFT RIGHT 1
BRPOPLPUSH l m 1
RPOPLPUSH l m
BLPOP l 1
BRPOP l 1
BLMPOP 1 1 l LEFT COUNT 2
LMPOP 1 l LEFT COUNT 1
LREM m 0 zz
LREM m 0 a
LSET m 0 q
LTRIM m 0 -1
LTRIM m 0 0
LINSERT m BEFORE q x
LINSERT m BEFORE nope x
SADD s 1 2 3
SADD s 1
SREM s 1 9
SMOVE s t 2
SMOVE s t 2
SPOP s 5
SINTERSTORE u s t
SUNIONSTORE u t
SUNIONSTORE u none
ZADD z 1 a 2 b
ZADD z 1 a
ZADD z 3 a 4 c
ZADD z XX 9 zz
ZINCRBY z 0 a
ZINCRBY z 1 a
ZREM z a q
ZPOPMIN z
BZPOPMIN z 1
ZADD z 1 a 2 b 3 c
ZREMRANGEBYRANK z 0 0
ZREMRANGEBYSCORE z 2 3
ZUNIONSTORE zz 1 t
ZRANGESTORE y zz 0 -1
HSET h a 1 b 2
HSET h a 1
HSETNX h a 2
HDEL h a q
HINCRBY h n 0
HINCRBYFLOAT h n 1
EXPIRE h 100
EXPIRE h 100 NX
PERSIST h
PERSIST h
EXPIRE h -1
APPEND a ''
APPEND a x
SETRANGE a 0 ''
SETRANGE a 0 q
GETEX a EX 100
GETEX a PERSIST
GETEX a PERSIST
GETDEL a
GETSET a 1
INCR a
INCRBY a 0
MSET a 1 b 2
MSETNX a 1 c 2
MSETNX d 1 e 2
RENAME d d2
RENAMENX d2 a
COPY a a2
MOVE a2 1
PFADD pe
PFADD pe
PFADD pe a b c
PFADD pe a d
PFADD pn a b
PFMERGE p pe
PFMERGE q p pe
PFCOUNT p pe
XADD x 1-1 f v
XADD x 2-1 f v
XADD x 3-1 f v
XDEL x 9-9
XDEL x 1-1
XTRIM x MAXLEN 5
XTRIM x MAXLEN 1
XADD x MAXLEN 1 4-1 f v
XGROUP CREATE x g 0
XGROUP CREATECONSUMER x g c
XGROUP CREATECONSUMER x g c
XREADGROUP GROUP g c STREAMS x >
XREADGROUP GROUP g c STREAMS x >
XCLAIM x g c 0 4-1
XCLAIM x g c 0 9-9
XAUTOCLAIM x g c 0 0
XACK x g 4-1 9-9
XACK x g 4-1
XSETID x 5-1
XGROUP SETID x g 0
XGROUP DELCONSUMER x g c
XGROUP DELCONSUMER x g c
XGROUP DESTROY x g
XGROUP DESTROY x g
GEOADD geo 1 1 a
GEOADD geo 1 1 a
GEOSEARCHSTORE g2 geo FROMMEMBER a BYRADIUS 1 km
GEOSEARCHSTORE g2 geo FROMLONLAT 50 50 BYRADIUS 1 km
SORT l STORE so
SORT none STORE so
BITOP NOT bo bb
BITOP NOT bo none
DEL nonex
DEL a bb
UNLINK b zzz
FLUSHDB
FLUSHDB
SETEX e 100 1
PSETEX e 100000 1
SET e 1 KEEPTTL
SET e 1 GET
DECRBY e 0
INCRBYFLOAT e 0
LPUSHX nol a
LPOP nol
LPUSH li a
LPOP li 0
LPOP li 5
"""


def changes_of_each(server: RunningServer) -> list[tuple[str, int]]:
    """The commands and by how much each raised the number."""
    client = server.connect()
    client.send("FLUSHALL")
    found = []
    before = changes(server)
    for line in COMMANDS.strip().splitlines():
        client.send(*(word.replace("''", "").encode() for word in line.split(" ")))
        after = changes(server)
        found.append((line, after - before))
        before = after
    client.close()
    return found


def changes(server: RunningServer) -> int:
    client = server.connect()
    info = client.send(b"INFO", b"persistence")
    client.close()
    return int(info.split(b"rdb_changes_since_last_save:")[1].split()[0])


def test_each_command_counts_as_many_changes(
    redis_server: RunningServer, rillway_server: RunningServer
) -> None:
    theirs = changes_of_each(redis_server)
    assert any(count for _, count in theirs)
    assert changes_of_each(rillway_server) == theirs
