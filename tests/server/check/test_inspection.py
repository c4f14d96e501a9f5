"""server/check/inspection.py: kind, content and damage of files."""

from __future__ import annotations

import errno

import pytest

from server.check import inspection
from server.check.inspection import (
    BOTH,
    EMPTY,
    MANIFEST,
    REQUESTS,
    SNAPSHOT,
    UNKNOWN,
    BigStream,
    DatabaseContents,
    FileReport,
    Inspector,
    Problem,
    Report,
    count_contents,
    cut,
    data_files,
    printable,
)
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer, to_argv
from storage.append_only.requests import encode_requests, timestamp_annotation
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.writer import write_snapshot

LISTED = "data/appendonlydir/appendonly.aof.manifest"
PARTS = (
    "data/appendonlydir/appendonly.aof.1.base.rdb",
    "data/appendonlydir/appendonly.aof.1.incr.aof",
)


def disk(*paths: str) -> MemoryFiles:
    files = MemoryFiles()
    for folder in ("data", "data/appendonlydir", "data/other"):
        files.make_directory(folder)
    for path in paths:
        files.put(path, b"x")
    return files


def test_the_manifest_stands_for_the_files_that_it_names() -> None:
    files = disk(LISTED, *PARTS, "data/dump.rdb", "data/appendonly.aof", "data/rillway.lock")
    assert data_files(files, "data") == [LISTED, "data/dump.rdb"]
    assert data_files(files, "data/appendonlydir")[0] == LISTED


def test_an_append_only_file_may_have_no_manifest() -> None:
    files = disk("data/appendonly.aof", "data/dump.rdb", "data/notes.txt")
    assert data_files(files, "data") == ["data/appendonly.aof", "data/dump.rdb"]


def test_files_that_were_never_finished_are_left_out() -> None:
    assert data_files(disk("data/temp-7.rdb", "data/temp-appendonly.aof.manifest"), "data") == []


@pytest.mark.parametrize("path", [LISTED, "nowhere"])
def test_what_is_no_folder_stands_for_itself(path: str) -> None:
    assert data_files(disk(LISTED), path) == [path]


def test_everything_is_counted_database_by_database() -> None:
    server = InProcessServer(now_ms=1_000_000)
    client = server.connect()
    client.execute("SET", "text", "x", "PX", 1000)
    client.execute("SET", "other", "x", "PX", 9000)
    for n in range(3):
        client.execute("XADD", "s", f"{n}-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XGROUP", "CREATE", "s", "h", "$")
    client.execute("XREADGROUP", "GROUP", "g", "c", "COUNT", 2, "STREAMS", "s", ">")
    client.execute("SELECT", 5)
    client.execute("SET", "text", "x")
    contents = count_contents(server.instance.databases, now_ms=1_005_000)
    assert contents.databases == [
        DatabaseContents(0, 3, 2, 1, expiring=2, expired=1, entries=3, groups=2, consumers=1,
                         pending=2),
        DatabaseContents(5, 1, 1),
    ]  # fmt: skip
    assert contents.biggest_streams == [BigStream(0, "s", 3, 2, 2)]


def test_the_streams_with_the_most_entries_are_named() -> None:
    server = InProcessServer()
    client = server.connect()
    for n in range(1, 8):
        for _ in range(n):
            client.execute("XADD", f"s{n}", "*", "f", "v")
    contents = count_contents(server.instance.databases, server.now_ms)
    assert [stream.key for stream in contents.biggest_streams] == ["s7", "s6", "s5", "s4", "s3"]


def test_a_key_is_shown_without_what_a_terminal_would_act_on() -> None:
    assert printable("größe".encode()) == "größe"
    assert printable(b"\x1b[2J\xff\n") == "\\x1b[2J\\xff\\n"


def test_the_truncated_file_and_the_copy_of_the_rest_are_on_disk() -> None:
    files = MemoryFiles()
    files.put("d/file", b"soundtorn")
    assert cut(files, "d/file", 5) == "d/file.cut-5"
    assert files.crash().snapshot() == {"d/file": b"sound", "d/file.cut-5": b"torn"}


def test_an_earlier_copy_is_never_overwritten() -> None:
    files = MemoryFiles()
    files.put("file", b"soundtorn")
    files.put("file.cut-5", b"earlier")
    assert cut(files, "file", 5) == "file.cut-5-2"
    assert files.snapshot()["file.cut-5"] == b"earlier"


@pytest.mark.parametrize("call", range(1, 7))
def test_a_file_is_cut_only_when_its_copy_is_on_disk(call: int) -> None:
    files = MemoryFiles()
    files.put("file", b"soundtorn")
    files.fail("any", errno.EIO, at=call)
    with pytest.raises(OSError, match="Input/output error"):
        cut(files, "file", 5)
    after = files.crash().snapshot()
    assert after["file"] == b"soundtorn"


NOW_MS = 1_700_000_000_000


def requests(*commands: str) -> bytes:
    return encode_requests([to_argv(tuple(command.split())) for command in commands])


def snapshot(*commands: str, checksum: bool = True) -> bytes:
    server = InProcessServer(NOW_MS)
    for command in commands:
        server.connect().execute(*command.split())
    chunks: list[bytes] = []
    aux = {b"redis-ver": b"7.4.0", b"ctime": b"1600000000"}
    options = SnapshotOptions(compress=True, checksum=checksum, stream_type=None)
    write_snapshot(server.instance.databases, chunks.append, options, now_ms=NOW_MS, aux=aux)
    return b"".join(chunks)


def inspect(data: bytes) -> FileReport:
    files = MemoryFiles()
    files.put("file", data)
    report = inspect_path(files, "file")
    (file,) = report.files
    return file


def inspect_path(files: MemoryFiles, path: str) -> Report:
    return Inspector(files, NOW_MS, lambda *_: None).inspect(path)


WHOLE = requests("SET a 1", "MULTI", "SET b 1", "EXEC")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", EMPTY),
        (WHOLE, REQUESTS),
        (timestamp_annotation(1) + WHOLE, REQUESTS),
        (b"#anything\r\n" + WHOLE, REQUESTS),
        (snapshot("SET a 1"), SNAPSHOT),
        (snapshot("SET a 1") + WHOLE, BOTH),
        (b"file a.1.incr.aof seq 1 type h\n", MANIFEST),
        (b"# comment\nfile a.1.incr.aof seq 1 type h\n", MANIFEST),
        (b"# empty\n", MANIFEST),
        (b"hello", UNKNOWN),
    ],
)
def test_the_kind_of_a_file_follows_from_its_content(data: bytes, kind: str) -> None:
    assert inspect(data).kind == kind


def test_a_snapshot_names_its_writer_and_time() -> None:
    file = inspect(snapshot("SET a 1", "XADD s 1-1 f v"))
    assert file.problem is None
    assert (file.written_by, file.written_at_s, file.checksum) == ("7.4.0", 1600000000, "right")
    assert file.version == 11
    assert inspect(snapshot("SET a 1", checksum=False)).checksum == "none"


@pytest.mark.parametrize(
    ("begin", "why"), [(b"VALKEY999", "newer Valkey"), (b"DRAGON001", "file of another program")]
)
def test_a_snapshot_of_another_maker_is_named_as_such_and_not_called_damaged(
    begin: bytes, why: str
) -> None:
    file = inspect(begin + b"\xff" + bytes(8))
    assert file.kind == SNAPSHOT
    assert file.problem is not None and file.problem.is_foreign
    assert why in file.problem.reason


def test_a_snapshot_of_valkey_names_its_writer() -> None:
    fields = b"\xfa\x0avalkey-ver\x059.1.2\xfa\x05ctime\x0a1600000000"
    file = inspect(b"VALKEY080" + fields + b"\xff" + bytes(8))
    assert (file.problem, file.version) == (None, 80)
    assert (file.written_by, file.written_at_s) == ("Valkey 9.1.2", 1600000000)


def test_requests_are_counted_and_so_are_those_without_effect() -> None:
    data = timestamp_annotation(55) + requests("SET a x", "PING", "GET a", "PING", "SET b 1")
    file = inspect(data)
    assert file.problem is None
    assert (file.requests, file.last_written_s) == (5, 55)
    assert (file.no_effect, file.refused) == ({"ping": 2, "get": 1}, {})


def test_a_write_that_a_start_would_refuse_is_a_fault() -> None:
    files = MemoryFiles()
    files.put("file", requests("SET a x", "INCR a", "INCR a", "SET b 1"))
    report = inspect_path(files, "file")
    assert not report.is_sound
    assert report.files[0].refused == {"incr": 2}
    assert report.files[0].first_refusal == (
        "'incr' at offset 27: ERR value is not an integer or out of range"
    )


def test_an_end_that_was_cut_does_not_mend_a_refused_write() -> None:
    files = MemoryFiles()
    files.put("file", requests("SET a x", "INCR a") + b"*")
    report = inspect_path(files, "file")
    report.files[0].fixed = "cut"
    assert not report.is_sound


def test_the_contents_are_those_after_loading() -> None:
    files = MemoryFiles()
    files.put(
        "file", snapshot("XADD s 1-1 f v", "XGROUP CREATE s g 0") + requests("XADD s 2-1 f v")
    )
    (db,) = inspect_path(files, "file").contents.databases
    assert (db.keys, db.streams, db.entries, db.groups) == (1, 1, 2, 1)


# -- broken requests -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (requests("SET c 1")[:-1], "the last request is not complete"),
        (b"*", "the last request is not complete"),
        (requests("MULTI", "SET c 1"), "the last transaction has no end"),
        (requests("MULTI", "SET c 1") + b"*3\r\n", "the last request is not complete"),
        (bytes(100), "the last request is not complete, but for zero bytes"),
        *[(requests("SET c 1")[:n] + bytes(100), "the last request is not") for n in range(1, 27)],
        (requests("MULTI", "SET c 1") + bytes(100), "the last request is not complete, but for"),
    ],
)
def test_a_torn_end_can_be_cut(tail: bytes, reason: str) -> None:
    problem = inspect(WHOLE + tail).problem
    assert problem is not None
    assert problem.reason.startswith(reason)
    assert problem.is_torn
    assert problem.can_be_cut
    assert (problem.sound_bytes, problem.lost_bytes) == (len(WHOLE), len(tail))


@pytest.mark.parametrize(
    ("damage", "offset", "reason", "lost"),
    [
        (b"hello\r\n", 0, "'*' expected, found b'h'", 4),
        (requests("SET x 1")[:-2] + b"XX", 25, "CR LF expected, found b'XX'", 3),
        (requests("SET x 1").replace(b"$3", b"$2"), 10, "CR LF expected, found b'T\\r'", 4),
    ],
)
def test_damage_in_the_middle_shows_how_much_follows_it(
    damage: bytes, offset: int, reason: str, lost: int
) -> None:
    problem = inspect(WHOLE + damage + WHOLE).problem
    assert problem == Problem(
        offset=len(WHOLE) + offset,
        reason=reason,
        sound_bytes=len(WHOLE),
        is_torn=False,
        can_be_cut=True,
        lost_bytes=len(damage + WHOLE),
        lost_requests=lost,
    )


@pytest.mark.parametrize("foreign", ["NOSUCH x", "SET x"])
def test_a_request_that_only_others_can_take_is_not_cut(foreign: str) -> None:
    problem = inspect(WHOLE + requests(foreign) + WHOLE).problem
    assert problem is not None
    assert problem.is_foreign
    assert not problem.can_be_cut
    assert (problem.offset, problem.lost_requests) == (len(WHOLE), 4)


def test_damage_in_a_transaction_is_cut_before_it() -> None:
    for broken in (b"hello\r\n", requests("NOSUCH x", "EXEC")):
        problem = inspect(WHOLE + requests("MULTI", "SET c 1") + broken + WHOLE).problem
        assert problem is not None
        assert problem.sound_bytes == len(WHOLE)
        assert not problem.is_torn


def test_requests_after_damage_are_searched_a_limited_number_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inspection, "_MAX_RESUMPTIONS", 2)
    problem = inspect(WHOLE + b"x" + b"\r\n*nothing" * 3 + b"\r\n" + WHOLE).problem
    assert problem is not None
    assert problem.lost_requests == 0


# -- broken snapshots ------------------------------------------------------------------------------


def test_a_snapshot_is_damaged_where_it_shows() -> None:
    data = snapshot("XADD s 1-1 field value", "SET a 1")
    flipped = bytearray(data)
    flipped[data.index(b"value")] ^= 1
    file = inspect(bytes(flipped))
    assert file.checksum == "wrong"
    assert file.problem is not None
    assert "(at offset" not in file.problem.reason  # that is said where the file is named
    assert file.problem.offset == len(data) - 8
    assert not file.problem.can_be_cut
    torn = inspect(data[:-10])
    assert torn.problem is not None
    assert torn.checksum == ""
    assert not torn.problem.can_be_cut


def test_what_could_be_read_of_a_damaged_snapshot_is_counted() -> None:
    files = MemoryFiles()
    data = snapshot("SET a 1", "SET b 1", "XADD s 1-1 f v")
    files.put("file", data[:-20])
    report = inspect_path(files, "file")
    assert not report.is_sound
    assert report.contents.databases[0].strings == 2


def test_unsupported_values_are_counted_and_are_no_damage() -> None:
    body = b"REDIS0010\xfe\x00" + b"\x07\x01m\x00\x00" + b"\xff"  # a module's value
    file = inspect(body + bytes(8))
    assert file.problem is None
    assert file.unsupported == {"module type AAAAAAAAA": 1}


# -- manifests -------------------------------------------------------------------------------------

LINES = b"file x.1.base.rdb seq 1 type b\nfile x.1.incr.aof seq 1 type i\n"


def manifest_files(increments: dict[str, bytes], base: bytes | None = None) -> MemoryFiles:
    files = MemoryFiles()
    files.put("data/x.manifest", LINES)
    files.put("data/x.1.base.rdb", snapshot("SET a 1") if base is None else base)
    for name, data in increments.items():
        files.put(f"data/{name}", data)
    return files


def test_a_manifest_is_checked_with_all_its_files() -> None:
    report = inspect_path(manifest_files({"x.1.incr.aof": requests("INCR a")}), "data/x.manifest")
    assert [(f.path, f.kind, f.problem) for f in report.files] == [
        ("data/x.manifest", MANIFEST, None),
        ("data/x.1.base.rdb", SNAPSHOT, None),
        ("data/x.1.incr.aof", REQUESTS, None),
    ]
    assert report.contents.databases[0].keys == 1
    assert report.is_sound


def test_a_manifest_may_name_no_file_that_is_not_there() -> None:
    (file,) = inspect_path(manifest_files({}), "data/x.manifest").files
    assert file.problem == Problem(36, "it names x.1.incr.aof, and there is no such file")


def test_a_broken_line_of_a_manifest_is_found() -> None:
    files = MemoryFiles()
    files.put("x.manifest", LINES + b"file\n")
    (file,) = inspect_path(files, "x.manifest").files
    assert file.problem == Problem(len(LINES), "line 3: Invalid AOF manifest file format")


def test_only_the_last_file_of_a_manifest_may_be_cut() -> None:
    files = manifest_files({"x.1.incr.aof": WHOLE + b"*", "x.2.incr.aof": WHOLE})
    files.put("data/x.manifest", LINES + b"file x.2.incr.aof seq 2 type i\n")
    *_, last = inspect_path(files, "data/x.manifest").files
    assert last.path == "data/x.1.incr.aof"  # what follows it makes no sense without it
    assert last.problem is not None
    assert not last.problem.can_be_cut
    files.put("data/x.2.incr.aof", b"")
    broken = inspect_path(files, "data/x.manifest").files[2]
    assert broken.problem is not None
    assert broken.problem.can_be_cut


def test_an_increment_is_checked_with_the_data_that_it_changes() -> None:
    files = manifest_files({"x.1.incr.aof": requests("INCR a")})
    files.put("data/x.manifest", LINES + b"file x.2.incr.aof seq 2 type i\n")
    files.put("data/x.2.incr.aof", requests("INCR a", "XADD a 1-1 f v"))
    report = inspect_path(files, "data/x.2.incr.aof")
    (file,) = report.files
    assert file.refused == {"xadd": 1}
    assert report.contents.databases[0].strings == 1
    assert not report.is_sound


@pytest.mark.parametrize("base", [None, b"REDIS0011\xfe"])
def test_an_increment_whose_earlier_data_cannot_be_had_is_not_judged(base: bytes | None) -> None:
    files = MemoryFiles()
    files.put("x.1.incr.aof", requests("SET b 1", "XSETID s 1-1"))
    if base is not None:
        files.put("x.manifest", LINES)
        files.put("x.1.base.rdb", base)
    report = inspect_path(files, "x.1.incr.aof")
    assert [file.no_effect for file in report.files] == [{"xsetid": 1}]
    assert report.is_sound
    assert report.contents.databases[0].keys == 1


def test_an_empty_file_with_the_name_of_a_snapshot_is_broken() -> None:
    files = MemoryFiles()
    files.put("dump.rdb", b"")
    (file,) = inspect_path(files, "dump.rdb").files
    assert file.problem == Problem(0, "it is empty, but a snapshot never is")


def test_an_empty_base_that_should_be_a_snapshot_is_broken() -> None:
    *_, base = inspect_path(manifest_files({"x.1.incr.aof": b""}, b""), "data/x.manifest").files
    assert base.problem == Problem(0, "it is empty, but a snapshot never is")


def test_progress_is_reported_for_each_file() -> None:
    told: list[tuple[str, int, int]] = []
    files = manifest_files({"x.1.incr.aof": WHOLE})
    Inspector(files, NOW_MS, lambda *now: told.append(now)).inspect("data/x.manifest")
    assert told[-1] == ("data/x.1.incr.aof", len(WHOLE), len(WHOLE))
    assert told[0][0] == "data/x.1.base.rdb"
