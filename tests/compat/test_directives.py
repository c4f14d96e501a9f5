"""A configuration file of Redis 8.2 or Valkey 9.1 is taken: every directive with the value it has.

Those of Redis 8.4 to 8.10, which cannot be asked here, are listed with their defaults.
"""

from __future__ import annotations

import pytest

from commands.config.configuration import Configuration, is_known, is_known_in_files
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.compat

# Redis 8.4 to 8.10, from redis.conf and the release notes.
NEWER_THAN_8_2 = {
    "aof-load-corrupt-tail-max-size": "0",
    "array-slice-size": "4096",
    "array-sparse-kmax": "10",
    "array-sparse-kmin": "5",
    "backup-sealed-ttl": "0",
    "backupdirname": "backupdir",
    "cluster-slot-migration-handoff-max-lag-bytes": "1048576",
    "cluster-slot-migration-max-archived-tasks": "32",
    "cluster-slot-migration-sync-buffer-drain-timeout": "60000",
    "cluster-slot-migration-write-pause-timeout": "10000",
    "cluster-slot-stats-enabled": "no",
    "hash-max-template-entries": "0",
    "hash-min-template-entries": "0",
    "hash-rdb-load-max-template-entries": "0",
    "hash-rdb-load-min-template-entries": "0",
    "hash-rdb-load-template-disassembly-threshold": "0",
    "key-memory-histograms": "no",
    "lookahead": "16",
    "preload-file": "",
    "slowlog-entry-max-argc": "32",
    "slowlog-entry-max-string-len": "128",
    "stream-idmp-duration": "100",
    "stream-idmp-maxsize": "100",
    "tls-auth-clients-user": "off",
    "tls-expected-peer-name": "",
}


def values(server: RunningServer) -> dict[str, str]:
    with server.connect() as client:
        reply = client.send("CONFIG", "GET", "*").decode("utf-8", "surrogateescape")
    texts = reply.split("\r\n")[2:-1:2]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def check(found: dict[str, str]) -> None:
    """Every directive is known, and takes the value."""
    assert [name for name in found if not is_known(name)] == []
    assert [name for name in found if not is_known_in_files(name)] == []
    config = Configuration()
    for name, value in found.items():
        config.set(name, [value])


def test_every_directive_of_redis_is_taken(redis_server: RunningServer) -> None:
    found = values(redis_server)
    assert len(found) > 200
    check(found)


def test_every_directive_of_valkey_is_taken(valkey_server: RunningServer) -> None:
    found = values(valkey_server)
    assert len(found) > 230
    check(found)


def test_every_directive_that_redis_has_added_since_is_taken_and_has_its_default() -> None:
    check(NEWER_THAN_8_2)
    config = Configuration()
    assert {name: config.get(name) for name in NEWER_THAN_8_2} == NEWER_THAN_8_2
