"""Files with values that Rillway does not hold, as a real redis-server writes them."""

from __future__ import annotations

import pytest

from storage.redis_format.primitives import CorruptSnapshot
from storage.snapshot.reader import SnapshotReader
from storage.stream import Stream
from storage.types.value import StringValue
from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient

pytestmark = pytest.mark.compat

NOW_MS = 1_700_000_000_000
LATER_MS = 32_503_680_000_000  # the year 3000
LIBRARY = "#!lua name=lib\nredis.register_function('f', function() return 1 end)"


def _fill(redis: RespClient) -> None:
    """Each type in each encoding that Redis 7.0 has for it, with and without a deadline."""
    many = [f"member {number}" for number in range(600)]
    redis.send("FUNCTION", "LOAD", LIBRARY)
    for key, members in {"small": many[:3], "large": many}.items():
        pairs = [word for member in members for word in (member, "value")]
        scores = [word for n, member in enumerate(members) for word in (str(n / 3), member)]
        redis.send("RPUSH", f"list:{key}", *members)
        redis.send("SADD", f"set:{key}", *members)
        redis.send("SADD", f"intset:{key}", *map(str, range(len(members) * 100)))
        redis.send("HSET", f"hash:{key}", *pairs)
        redis.send("ZADD", f"zset:{key}", *scores, "inf", "top", "-inf", "bottom")
        redis.send("PEXPIREAT", f"list:{key}", str(LATER_MS))
    redis.send("RPUSH", "list:plain", "a" * 20_000, "b", "".join(map(str, range(5000))))
    redis.send("PFADD", "string:hll", *many)
    redis.send("SET", "string:number", "12345", "PXAT", str(LATER_MS))
    redis.send("SET", "string:long", "text " * 1000)
    redis.send("SELECT", "3")
    redis.send("XADD", "stream", "5-1", "f", "v")
    redis.send("GEOADD", "geo", "13.4", "52.5", "Berlin")
    redis.send("SET", "\xff binary \x00", "in database 3")


@pytest.fixture(scope="module")
def file(redis_server: RunningServer) -> bytes:
    with redis_server.connect() as redis:
        redis.send("FLUSHALL")
        _fill(redis)
        assert redis.send("SAVE") == b"+OK\r\n"
        redis.send("FLUSHALL")
        redis.send("FUNCTION", "FLUSH")
    return (redis_server.log.parent / "dump.rdb").read_bytes()


def test_all_of_a_file_of_redis_is_read(file: bytes) -> None:
    reader = SnapshotReader(file, skip_unsupported=True, now_ms=NOW_MS)
    items = {(item.db_index, item.key): item for item in reader.items()}
    held = {b"list", b"set", b"intset", b"zset", b"hash", b"string"}
    assert {key.partition(b":")[0] for db_index, key in items if db_index == 0} == held
    number, stream = items[0, b"string:number"], items[3, b"stream"]
    assert isinstance(number.value, StringValue) and number.value.data == b"12345"
    assert number.expires_ms == LATER_MS
    assert isinstance(stream.value, Stream) and stream.value.length == 1
    assert len(items) == 17
    assert reader.skipped == {}
    assert reader.libraries == [LIBRARY.encode()]
    assert reader.end == len(file)
    assert reader.aux[b"redis-bits"] == b"64"


def test_a_file_that_breaks_off_says_so_wherever_it_does(file: bytes) -> None:
    for length in range(0, len(file), len(file) // 40):
        with pytest.raises(CorruptSnapshot):
            list(SnapshotReader(file[:length], skip_unsupported=True, now_ms=NOW_MS).items())
