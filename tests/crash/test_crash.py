"""A short run of `make crash`, and proof that its rounds would notice a loss."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from server.inprocess.memory_files import MemoryFile, MemoryFiles
from server.persistence.append_only.append_only_file import AppendOnlyFile
from server.persistence.append_only.writer import AppendOnlyWriter
from storage.append_only.reader import RequestFile
from storage.append_only.requests import encode_requests
from tests.crash import memory_rounds, process_rounds
from tests.crash.effects import add
from tests.crash.expectation import Expectation, Facts
from tests.crash.jobs import STREAM as JOBS
from tests.crash.memory_rounds import MemoryRound, MemoryTally
from tests.crash.process_rounds import Failed, Folder, Rounds, Traffic
from tests.crash.servers import Link, begin_rillway
from tests.support.examples import examples

KILLS = max(3, examples(6))
DISKS = max(12, examples(50))
SEED = 1
LAST_BYTES = 2000


def test_killed_processes_keep_what_they_promised(tmp_path: Path) -> None:
    rounds = Rounds(begin_rillway, tmp_path / "crash", SEED, modern=True)
    for _ in range(KILLS):
        rounds.play()
    assert sum(rounds.tally.rounds.values()) == KILLS
    assert rounds.tally.acknowledged.total() > 100 * KILLS
    assert rounds.tally.pipelined > 64 * KILLS


def test_failing_disks_keep_what_was_promised() -> None:
    tally = MemoryTally()
    for number in range(DISKS):
        MemoryRound(SEED + number, tally).play()
    assert tally.lost["always"] == 0 < tally.lost["everysec"]
    assert tally.acknowledged["always"] > 50 * DISKS
    # Failures of all kinds have happened.
    assert len(tally.failures) == 4 and min(tally.failures.values()) > DISKS / 20, tally.failures


def test_an_entry_that_is_refused_makes_no_stream() -> None:
    keys = Expectation()
    add(b"s", [b"n", b"1"], 0, None, None, keys, Facts(Exception("ERR"), (0, 0)))
    assert keys.streams == {}
    add(b"s", [b"n", b"1"], 1, None, None, keys, Facts(b"0-1", (0, 0)))
    assert list(keys.streams) == [b"s"]


# -- losses are noticed --------------------------------------------------------------------------


def memory_failure(rounds: int) -> str:
    """How the first round that fails, fails; "" if none does."""
    for number in range(rounds):
        try:
            MemoryRound(SEED + number, MemoryTally()).play()
        except memory_rounds.Failed as failure:
            return str(failure)
    return ""


def test_a_server_that_does_not_sync_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryFile, "sync", lambda file: file._call("sync"))
    assert memory_failure(20) != ""


def test_a_server_that_does_not_sync_its_folder_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MemoryFiles, "sync_directory", lambda files, path: None)
    assert memory_failure(60) != ""


def test_a_server_that_answers_before_it_writes_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flush, late = AppendOnlyFile.flush, random.Random(SEED)

    def sometimes(file: AppendOnlyFile, now_ms: int, *words: bool, **options: bool) -> None:
        if late.random() < 0.5:
            flush(file, now_ms, *words, **options)

    monkeypatch.setattr(AppendOnlyFile, "flush", sometimes)
    assert "acknowledged steps" in memory_failure(20)


@pytest.mark.interpreted  # a method of a C type cannot be replaced
def test_a_server_that_forgets_one_kind_of_request_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append = AppendOnlyWriter.take

    def without_acks(writer: AppendOnlyWriter, wire: bytes, last_db: int) -> None:
        requests = [argv for batch in RequestFile(wire).batches() for argv in batch.requests]
        kept = [argv for argv in requests if argv[0].upper() != b"XACK"]
        append(writer, encode_requests(kept), last_db)

    monkeypatch.setattr(AppendOnlyWriter, "take", without_acks)
    assert re.search("pending|comes again", memory_failure(20))


@pytest.mark.interpreted
def test_a_server_that_forgets_delays_and_deadlines_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append = AppendOnlyWriter.take

    def without_carriers(writer: AppendOnlyWriter, wire: bytes, last_db: int) -> None:
        requests = [argv for batch in RequestFile(wire).batches() for argv in batch.requests]
        kept = [argv for argv in requests if argv[0].upper() != b"ECHO" or JOBS not in argv[1]]
        append(writer, encode_requests(kept), last_db)

    monkeypatch.setattr(AppendOnlyWriter, "take", without_carriers)
    assert re.search(r"ACK-WAIT|Job\(", memory_failure(20))


def without_its_end(data: bytes) -> bytes:
    """The whole requests of the first half."""
    requests = [found.start() for found in re.finditer(rb"\*\d+\r\n", data)]
    return data[: max(start for start in requests if start <= len(data) // 2)]


class PlainRounds(Rounds):
    """On one folder, without rewrites: all that is written stays in one increment."""

    def directives(self, folder: Folder, policy: str) -> tuple[str, ...]:
        return "--appendonly", "yes", "--appendfsync", policy, "--save", ""

    def begin_background_work(self, control: Link, folder: Folder, traffic: Traffic) -> None:
        pass

    def new_folder(self) -> Folder:
        assert self.folder is None
        return super().new_folder()


@pytest.mark.parametrize("policy", ["always", "everysec"])
def test_a_file_that_lost_its_end_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setattr(process_rounds, "FOLDER_ROUNDS", 2**62)
    monkeypatch.setattr(process_rounds, "POLICIES", (policy, policy))
    rounds = PlainRounds(begin_rillway, tmp_path / "crash", SEED, modern=True)
    rounds.folder = rounds.new_folder()
    rounds.play()
    rounds.killed_ms += 10_000  # as if it had been idle for that time before the kill
    (path,) = (rounds.folder.path / "appendonlydir").glob("*.incr.aof")
    path.write_bytes(without_its_end(path.read_bytes()))
    with pytest.raises(Failed, match="acknowledged steps"):
        rounds.play()
