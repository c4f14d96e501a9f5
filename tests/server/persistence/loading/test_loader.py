"""server/persistence/loading/loader.py: which files a start loads, and what stops it."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer, to_argv
from server.persistence.loading import loader as loading
from server.persistence.loading.loader import Loader, LoadFailed
from storage.append_only.requests import encode_request, encode_requests
from storage.digest import dataset_digest
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.writer import write_snapshot

NOW_MS = 1_700_000_000_000
BASE, INCREMENT = "appendonlydir/a.1.base.aof", "appendonlydir/a.1.incr.aof"
MANIFEST = "appendonlydir/appendonly.aof.manifest"
LINES = b"file a.1.base.aof seq 1 type b\nfile a.1.incr.aof seq 1 type i\n"


def requests(*commands: str) -> bytes:
    return encode_requests([to_argv(tuple(command.split())) for command in commands])


def snapshot(*commands: str, now_ms: int = NOW_MS) -> bytes:
    """The RDB file of what commands make."""
    server = InProcessServer(now_ms)
    for command in commands:
        server.connect().execute(*command.split())
    chunks: list[bytes] = []
    options = SnapshotOptions(compress=True, checksum=True, stream_type=None)
    write_snapshot(
        server.instance.databases, chunks.append, options, now_ms=now_ms, aux={b"redis-ver": b"7"}
    )
    return b"".join(chunks)


def append_only(base: bytes = b"", increment: bytes = b"") -> MemoryFiles:
    files = MemoryFiles()
    files.put(MANIFEST, LINES)
    files.put(BASE, base)
    files.put(INCREMENT, increment)
    return files


def load(files: MemoryFiles, now_ms: int = NOW_MS, **directives: str) -> InProcessServer:
    """A server that is empty, then loads."""
    server = InProcessServer(now_ms, 0, **directives)
    server.log_lines.clear()
    Loader(server.instance, files).run()
    return server


def load_append_only(
    files: MemoryFiles, now_ms: int = NOW_MS, **directives: str
) -> InProcessServer:
    server = InProcessServer(now_ms, 0, **directives)
    server.log_lines.clear()
    server.instance.config.appendonly = True
    for _ in Loader(server.instance, files).steps():
        pass
    return server


def get(server: InProcessServer, key: str) -> bytes:
    return server.connect().execute("GET", key)


def log(server: InProcessServer) -> str:
    return "\n".join(text for _, text in server.log_lines)


# -- which files -----------------------------------------------------------------------------------


def test_without_files_the_start_is_with_no_data() -> None:
    for server in (load(MemoryFiles()), load_append_only(MemoryFiles())):
        assert server.connect().execute("DBSIZE") == b":0\r\n"


def test_the_base_comes_first_and_the_increments_follow() -> None:
    server = load_append_only(append_only(requests("SET a 1"), requests("INCR a", "SET b 5")))
    assert (get(server, "a"), get(server, "b")) == (b"$1\r\n2\r\n", b"$1\r\n5\r\n")


def test_a_base_may_be_a_snapshot() -> None:
    files = append_only(snapshot("SET a 1", "XADD s 1-1 f v"), requests("INCR a", "XADD s 2-1 f v"))
    server = load_append_only(files)
    assert get(server, "a") == b"$1\r\n2\r\n"
    assert server.connect().execute("XLEN", "s") == b":2\r\n"


def test_requests_may_follow_a_snapshot() -> None:
    files = MemoryFiles()
    files.put("appendonly.aof", snapshot("SET a 1") + requests("INCR a"))
    assert get(load_append_only(files), "a") == b"$1\r\n2\r\n"


def test_a_single_file_is_loaded_where_no_manifest_names_others() -> None:
    files = MemoryFiles()
    files.put("appendonly.aof", requests("SET a old"))
    assert get(load_append_only(files), "a") == b"$3\r\nold\r\n"
    files.put(MANIFEST, b"file appendonly.aof seq 1 type b\n")  # the move was interrupted
    assert get(load_append_only(files), "a") == b"$3\r\nold\r\n"
    files.put("appendonlydir/appendonly.aof", requests("SET a moved"))
    assert get(load_append_only(files), "a") == b"$5\r\nmoved\r\n"


def test_where_there_is_no_append_only_file_yet_the_snapshot_is_loaded() -> None:
    files = MemoryFiles()
    files.put("dump.rdb", snapshot("SET a 1"))
    server = load_append_only(files)
    assert get(server, "a") == b"$1\r\n1\r\n"
    assert "it begins with the data of dump.rdb" in log(server)


def test_beside_an_append_only_file_the_snapshot_is_not_loaded() -> None:
    files = append_only(b"", requests("SET b 1"))
    files.put("dump.rdb", snapshot("SET a 1"))
    server = load_append_only(files)
    assert (get(server, "a"), get(server, "b")) == (b"$-1\r\n", b"$1\r\n1\r\n")
    assert "dump.rdb" not in log(server)


def test_a_server_without_append_only_file_loads_the_snapshot_that_is_configured() -> None:
    files = append_only(requests("SET a 1"))
    files.put("other.rdb", snapshot("SET a 2"))
    server = load(files, dbfilename="other.rdb")
    assert get(server, "a") == b"$1\r\n2\r\n"
    assert "keys loaded: 1, keys expired: 0." in log(server)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (b"garbage\n", "Invalid AOF manifest file format, line 1: b'garbage'"),
        (b"", "Found an empty AOF manifest"),
        (
            b"file x.rdb seq 1 type b\n",
            "AOF file x.rdb length. stat: No such file or directory. The manifest names",
        ),
    ],
)
def test_a_manifest_that_cannot_be_used_stops_the_start(manifest: bytes, message: str) -> None:
    files = append_only()
    files.put(MANIFEST, manifest)
    with pytest.raises(LoadFailed, match=message):
        load_append_only(files)


def test_an_empty_base_that_should_be_a_snapshot_stops_the_start() -> None:
    files = append_only(b"", requests("SET a 1"))
    files.put("appendonlydir/a.1.base.rdb", b"")
    files.put(MANIFEST, LINES.replace(b"base.aof", b"base.rdb"))
    with pytest.raises(LoadFailed, match=r"a\.1\.base\.rdb is empty"):
        load_append_only(files)


def test_increments_without_a_manifest_stop_the_start_unless_they_are_empty() -> None:
    files = MemoryFiles()
    files.put("appendonlydir/appendonly.aof.1.incr.aof", b"")
    files.put("appendonlydir/other.aof.1.incr.aof", requests("SET a 1"))
    assert get(load_append_only(files), "a") == b"$-1\r\n"
    files.put("appendonlydir/appendonly.aof.2.incr.aof", requests("SET a 1"))
    with pytest.raises(LoadFailed, match=r"no appendonlydir.*manifest, but .*aof\.2\.incr"):
        load_append_only(files)


# -- snapshots -------------------------------------------------------------------------------------


def test_expired_keys_of_a_snapshot_are_left_out_but_not_of_a_base() -> None:
    data = snapshot("SET a 1 PXAT 1700000000000", "SET b 1", now_ms=1_600_000_000_000)
    files = append_only(data, requests("PERSIST a"))
    files.put("dump.rdb", data)
    server = load(files, now_ms=1_700_000_000_001)
    assert get(server, "a") == b"$-1\r\n"
    assert server.instance.persistence.expired_keys_on_load == 1
    assert server.instance.persistence.loaded_keys == 1
    base = load_append_only(files, now_ms=1_700_000_000_001)
    assert get(base, "a") == b"$1\r\n1\r\n"


WRONG_CHECKSUM = r"Wrong RDB checksum.*dump.rdb cannot be loaded: .*`rillway check dump.rdb`"


def test_a_snapshot_that_breaks_off_stops_the_start() -> None:
    files = MemoryFiles()
    files.put("dump.rdb", snapshot("SET a 1", "XADD s 1-1 field value")[:-12])
    with pytest.raises(LoadFailed, match=r"Short read or OOM loading DB: dump.rdb cannot be"):
        load(files)


def test_the_log_names_each_file_of_the_append_only_file_that_holds_data() -> None:
    files = append_only(snapshot("SET a 1"), requests("INCR a"))
    files.put(MANIFEST, LINES + b"file a.2.incr.aof seq 2 type i\n")
    files.put("appendonlydir/a.2.incr.aof", b"")
    lines = [line for line in log(load_append_only(files)).splitlines() if "AOF" in line]
    assert lines == ["Reading RDB base file on AOF loading..."]
    lines = [line for line in log(load_append_only(files)).splitlines() if "loaded from" in line]
    assert [line.partition(":")[0] for line in lines] == [
        "DB loaded from base file a.1.base.aof",
        "DB loaded from incr file a.1.incr.aof",
        "DB loaded from append only file",
    ]


def test_a_damaged_snapshot_stops_the_start() -> None:
    files = MemoryFiles()
    data = bytearray(snapshot("SET a 1", "XADD s 1-1 field value"))
    data[-12] ^= 1
    files.put("dump.rdb", bytes(data))
    with pytest.raises(LoadFailed, match=WRONG_CHECKSUM):
        load(files)


@pytest.mark.parametrize(
    ("begin", "why"), [(b"VALKEY999", "a newer Valkey"), (b"DRAGON001", "of another program")]
)
def test_a_snapshot_of_another_maker_stops_the_start_and_is_not_called_damaged(
    begin: bytes, why: str
) -> None:
    files = MemoryFiles()
    files.put("dump.rdb", begin + b"\xff" + bytes(8))
    with pytest.raises(LoadFailed, match=f"{why}.*load it with the server that wrote it") as caught:
        load(files)
    assert "damaged" not in str(caught.value)
    base = append_only(begin + b"\xff" + bytes(8), requests("SET a 1"))
    with pytest.raises(LoadFailed, match=f"a.1.base.aof cannot be loaded: .*{why}"):
        load_append_only(base)


def test_a_snapshot_of_valkey_is_loaded_and_its_writer_logged() -> None:
    files = MemoryFiles()
    records = b"\xfa\x0avalkey-ver\x059.1.2\xfe\x00\x00\x01a\x011"
    files.put("dump.rdb", b"VALKEY080" + records + b"\xff" + bytes(8))
    server = load(files)
    assert get(server, "a") == b"$1\r\n1\r\n"
    assert "Loading RDB produced by Valkey version 9.1.2" in log(server)


def foreign_snapshot() -> bytes:
    """A module's value without content and a string, as Redis 7 writes them."""
    module_value = b"\x07\x01m\x00\x00"
    body = b"REDIS0010\xfe\x00" + module_value + b"\x00\x01a\x011\xff"
    return body + bytes(8)


def test_an_unsupported_value_stops_the_start_with_its_name() -> None:
    files = MemoryFiles()
    files.put("dump.rdb", foreign_snapshot())
    message = r"module type A+ of key b'm'.*\(at offset 11\).*rdb-skip-uns"
    with pytest.raises(LoadFailed, match=message):
        load(files)


def test_unsupported_values_are_left_out_on_demand_and_counted() -> None:
    files = MemoryFiles()
    files.put("dump.rdb", foreign_snapshot())
    server = load(files, rdb_skip_unsupported="yes")
    assert get(server, "a") == b"$1\r\n1\r\n"
    assert server.instance.persistence.skipped_keys_on_load == 1
    assert "left out, not supported: 1 of type module type AAAAAAAAA" in log(server)


def test_a_database_that_there_is_not_stops_the_start() -> None:
    files = MemoryFiles()
    files.put("dump.rdb", b"REDIS0010\xfe\x10\x00\x01a\x011\xff" + bytes(8))
    with pytest.raises(
        LoadFailed, match=r"database 16, but .* --databases 17 or more \(at offset 11\)"
    ):
        load(files)
    assert load(files, databases="17").instance.databases[16].get(b"a") is not None


def test_a_key_that_comes_twice_stops_the_start() -> None:
    files = MemoryFiles()
    twice = b"\x00\x01a\x011" * 2
    files.put("dump.rdb", b"REDIS0010\xfe\x00" + twice + b"\xff" + bytes(8))
    with pytest.raises(LoadFailed, match=r"key b'a' of database 0 comes twice \(at offset 16\)"):
        load(files)


# -- torn and damaged requests ---------------------------------------------------------------------

WHOLE = requests("SET a 1", "MULTI", "SET b 1", "EXEC")


@pytest.mark.parametrize("length", range(1, len(requests("SET c 1"))))
def test_a_torn_last_request_is_cut_off_on_disk(length: int) -> None:
    files = append_only(b"", WHOLE + requests("SET c 1")[:length])
    server = load_append_only(files)
    assert files.snapshot()[INCREMENT] == WHOLE
    assert files.crash().snapshot()[INCREMENT] == WHOLE  # it was synced
    assert server.connect().execute("MGET", "b", "c") == b"*2\r\n$1\r\n1\r\n$-1\r\n"
    assert "!!! Warning: short read while loading the AOF file a.1.incr.aof!!!" in log(server)
    assert f"!!! Truncating the AOF a.1.incr.aof at offset {len(WHOLE)} !!!" in log(server)
    assert (
        "AOF a.1.incr.aof loaded anyway because aof-load-truncated is enabled;"
        f" {length} bytes were cut off" in log(server)
    )


@pytest.mark.parametrize("tail", [b"", b"*3\r\n$3\r\nSE"])
def test_a_transaction_without_its_end_is_cut_off_as_a_whole(tail: bytes) -> None:
    files = append_only(b"", WHOLE + requests("MULTI", "SET c 1") + tail)
    server = load_append_only(files)
    assert files.snapshot()[INCREMENT] == WHOLE
    assert get(server, "c") == b"$-1\r\n"
    assert "Revert incomplete MULTI/EXEC transaction in AOF file a.1.incr.aof" in log(server)


UNEXPECTED_END = (
    r"Unexpected end of file reading the append only file .*a.1.incr.aof: it breaks off.*`rillway"
    r" check --fix .*a.1.incr.aof` cuts.*--aof-load-truncated yes"
)


def test_a_torn_file_stops_the_start_if_it_may_not_be_cut() -> None:
    files = append_only(b"", WHOLE + b"*3\r\n")
    with pytest.raises(LoadFailed, match=UNEXPECTED_END):
        load_append_only(files, aof_load_truncated="no")
    assert files.snapshot()[INCREMENT] == WHOLE + b"*3\r\n"


def test_a_torn_file_that_others_follow_stops_the_start_and_is_left_unchanged() -> None:
    files = append_only(WHOLE + b"*3\r\n", WHOLE)
    with pytest.raises(LoadFailed, match="the truncated file is not the last file"):
        load_append_only(files)
    assert files.snapshot()[BASE] == WHOLE + b"*3\r\n"


def test_a_torn_file_that_only_empty_ones_follow_is_truncated() -> None:
    files = append_only(WHOLE + b"*3\r\n")
    load_append_only(files)
    assert files.snapshot()[BASE] == WHOLE


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b"hello\r\n", rf"'\*' expected at offset {len(WHOLE)}, found b'h'"),
        (requests("SET x 1")[:-2] + b"XX", rf"CR LF expected at offset {len(WHOLE) + 25}, found"),
    ],
)
def test_damage_stops_the_start_and_the_file_is_left_unchanged(damage: bytes, message: str) -> None:
    files = append_only(b"", WHOLE + damage + WHOLE)
    with pytest.raises(LoadFailed, match=message) as failed:
        load_append_only(files)
    assert "Up to there: 2 keys, 0 entries of streams." in str(failed.value)
    assert f"`rillway check {INCREMENT}`" in str(failed.value)
    lost = len(damage + WHOLE)
    assert str(failed.value).endswith(f"with --aof-load-corrupt-tail-max-size {lost}.")
    assert files.snapshot()[INCREMENT] == WHOLE + damage + WHOLE


NUL_BYTES = bytes(100)  # what a power failure leaves where a write was under way
LAST = requests("SET c 1")
# The transaction is cut off as a whole.
OPEN_UNIT = requests("MULTI", "SET c 1", "SET d 1")


@pytest.mark.parametrize(
    "tail",
    [
        NUL_BYTES,
        *(LAST[:length] + NUL_BYTES for length in range(1, len(LAST))),
        OPEN_UNIT + NUL_BYTES,
        OPEN_UNIT[:-3] + NUL_BYTES,
        b"#TS:17" + bytes(2000),
        b"hello\r\n" + WHOLE,
    ],
)
def test_a_damaged_end_is_cut_off_on_disk_up_to_the_size_that_may_be_lost(tail: bytes) -> None:
    files = append_only(b"", WHOLE + tail)
    lost = len(tail)
    with pytest.raises(LoadFailed, match="Bad file format"):
        load_append_only(files, aof_load_corrupt_tail_max_size=str(lost - 1))
    assert files.snapshot()[INCREMENT] == WHOLE + tail
    server = load_append_only(files, aof_load_corrupt_tail_max_size=str(lost))
    assert files.snapshot()[INCREMENT] == WHOLE
    assert files.crash().snapshot()[INCREMENT] == WHOLE  # it was synced
    assert server.connect().execute("MGET", "a", "b", "c") == b"*3\r\n$1\r\n1\r\n$1\r\n1\r\n$-1\r\n"
    assert f"the last {lost} bytes were cut off at offset {len(WHOLE)}" in log(server)


def test_nothing_but_nul_bytes_is_cut_off_as_a_whole() -> None:
    files = append_only(WHOLE, NUL_BYTES)
    server = load_append_only(files, aof_load_corrupt_tail_max_size="1kb")
    assert files.snapshot()[INCREMENT] == b""
    assert get(server, "a") == b"$1\r\n1\r\n"


def test_a_damaged_file_that_others_follow_stops_the_start_whatever_may_be_lost() -> None:
    files = append_only(WHOLE + NUL_BYTES, WHOLE)
    with pytest.raises(LoadFailed, match="Bad file format") as failed:
        load_append_only(files, aof_load_corrupt_tail_max_size="1gb")
    assert "aof-load-corrupt-tail-max-size" not in str(failed.value)
    assert files.snapshot()[BASE] == WHOLE + NUL_BYTES
    files.put(INCREMENT, b"")
    load_append_only(files, aof_load_corrupt_tail_max_size="1gb")
    assert files.snapshot()[BASE] == WHOLE


def test_a_damaged_end_after_refused_writes_is_left_unchanged() -> None:
    refused = requests("SET k v", "XADD k 1-1 f v")
    files = append_only(b"", refused + NUL_BYTES)
    with pytest.raises(LoadFailed, match="writes were refused"):
        load_append_only(files, aof_load_corrupt_tail_max_size="1kb")
    assert files.snapshot()[INCREMENT] == refused + NUL_BYTES


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        (
            "NOSUCH x",
            f"Unknown command 'NOSUCH' reading the append only file {INCREMENT}, at offset",
        ),
        ("SET x", f"for 'SET x' reading the append only file {INCREMENT}, at offset {len(WHOLE)}"),
    ],
)
def test_a_request_that_only_others_can_take_stops_the_start_and_nothing_is_to_be_cut(
    foreign: str, message: str
) -> None:
    files = append_only(b"", WHOLE + requests(foreign) + WHOLE)
    with pytest.raises(LoadFailed, match=message) as failed:
        load_append_only(files)
    assert "Up to there: 2 keys, 0 entries of streams." in str(failed.value)
    assert "--fix" not in str(failed.value)
    assert files.snapshot()[INCREMENT] == WHOLE + requests(foreign) + WHOLE


REFUSED = requests("SET a x", "INCR a", "INCR a", "XADD a 1-1 f v", "SET b 1")


def test_refused_writes_stop_the_start_and_the_files_stay_as_they_are() -> None:
    files = append_only(b"", REFUSED + b"*3\r\n")
    with pytest.raises(LoadFailed) as failed:
        load_append_only(files)
    assert (
        f"{INCREMENT}: writes were refused: 2 x 'incr', 1 x 'xadd'; the first: 'incr' at offset 27:"
        " ERR value is not an integer or out of range." in str(failed.value)
    )
    assert "--aof-skip-refused-writes yes" in str(failed.value)
    assert files.snapshot()[INCREMENT] == REFUSED + b"*3\r\n"  # what is torn as well


def test_refused_writes_are_left_out_on_demand() -> None:
    server = load_append_only(append_only(b"", REFUSED), aof_skip_refused_writes="yes")
    assert get(server, "b") == b"$1\r\n1\r\n"
    assert "writes were refused: 2 x 'incr', 1 x 'xadd'" in log(server)
    assert "They are left out (aof-skip-refused-writes is yes)." in log(server)


@pytest.mark.parametrize("behavior", ["ignore", "panic", "panic-on-replicas"])
def test_a_refused_write_ends_the_start_where_an_error_is_to_end_it(behavior: str) -> None:
    directives: Any = {"aof_skip_refused_writes": "yes", "propagation_error_behavior": behavior}
    files = append_only(b"", REFUSED)
    if behavior != "panic":
        assert "They are left out" in log(load_append_only(files, **directives))
        return
    with pytest.raises(LoadFailed, match="This server panicked sending an error to its AOF-load"):
        load_append_only(files, **directives)


@pytest.mark.parametrize("operation", ["buffer", "size", "append", "truncate", "sync"])
def test_what_the_system_refuses_stops_the_start(operation: str) -> None:
    files = append_only(b"", WHOLE + b"*3\r\n")
    files.fail(operation, errno.EIO)
    with pytest.raises(LoadFailed, match="Input/output error"):
        load_append_only(files)


# -- slices ----------------------------------------------------------------------------------------


def test_loading_runs_in_slices_while_clients_are_answered_loading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("storage.append_only.reader.BATCH_BYTES", 200)
    monkeypatch.setattr(loading, "SLICE_US", 0)
    monkeypatch.setattr(loading, "PROGRESS_US", 2_000_000)
    data = requests(*[f"SET k{n} v" for n in range(100)])
    server = InProcessServer()
    client = server.connect()
    steps = Loader(server.instance, append_only(b"", data)).append_only_steps()
    next(steps)
    assert client.execute("GET", "k1").startswith(b"-LOADING ")
    state = server.instance.persistence
    assert (state.loading_total_bytes, state.loading_loaded_bytes) == (len(data), 196)
    count = 1
    for _ in steps:
        server.environment.pass_time(1000)
        count += 1
    assert count > 5
    assert client.execute("GET", "k99") == b"$1\r\nv\r\n"
    assert not state.loading
    assert state.loading_loaded_bytes == len(data)
    assert "Loading: 3" in log(server)
    assert "seconds left" in log(server)


def test_a_clock_that_is_set_back_does_not_hold_the_loop_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("storage.append_only.reader.BATCH_BYTES", 200)
    data = requests(*[f"SET k{n} v" for n in range(100)])
    server = InProcessServer()
    monkeypatch.setattr(server, "clock_us", iter(range(10**9, 0, -(10**6))).__next__)
    monkeypatch.setattr(server, "monotonic_us", iter(range(0, 10**9, 10**6)).__next__)
    loader = Loader(server.instance, append_only(b"", data))
    assert len(list(loader.append_only_steps())) > 5


def test_a_load_that_is_called_off_leaves_the_files_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SLICE_US", 0)
    files = append_only(b"", WHOLE + b"*3\r\n")
    server = InProcessServer()
    steps = Loader(server.instance, files).append_only_steps()
    next(steps)
    steps.close()
    assert not server.instance.persistence.loading
    assert files.snapshot()[INCREMENT] == WHOLE + b"*3\r\n"


def test_an_append_only_server_comes_back_with_what_it_had() -> None:
    server = InProcessServer(appendonly="yes", appendfsync="always")
    client = server.connect()
    client.execute("XADD", "s", "*", "f", "v")
    client.execute("MULTI")
    client.execute("SET", "a", 1)
    client.execute("SELECT", 2)
    client.execute("SET", "b", 1)
    client.execute("EXEC")
    before = dataset_digest(server.instance.databases, server.now_ms)
    again = server.restart(server.files.crash())
    assert dataset_digest(again.instance.databases, again.now_ms) == before
    assert encode_request([b"EXEC"]) in b"".join(server.files.snapshot().values())


def test_a_delay_for_each_key_makes_loading_longer_and_lets_clients_have_their_turn() -> None:
    data = requests(*[f"SET k{n} v" for n in range(100)])
    server = InProcessServer(key_load_delay="10000")
    before_ms = server.now_ms
    steps = list(Loader(server.instance, append_only(b"", data)).append_only_steps())
    assert server.now_ms - before_ms == 1000
    assert len(steps) >= 20
    server = InProcessServer(key_load_delay="-50")  # 1 us for each 50 keys
    list(Loader(server.instance, append_only(b"", data)).append_only_steps())
    assert server.now_ms - before_ms <= 1


def test_clients_have_their_turn_after_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.append_only.reader.BATCH_BYTES", 200)
    data = requests(*[f"SET k{n:04d} v" for n in range(200)])
    server = InProcessServer(loading_process_events_interval_bytes="1024")
    steps = list(Loader(server.instance, append_only(b"", data)).append_only_steps())
    assert len(data) // 1400 <= len(steps) <= len(data) // 1024
