"""A manifest that is damaged: refused with the line, or the files that it names are loaded."""

from __future__ import annotations

import random

import pytest

from server.persistence.loading.loader import LoadFailed
from storage.append_only.manifest import ManifestError
from tests.damage.disks import MANIFEST, append_only_files, check, digest, disk, server

FILES = append_only_files()
DATA = FILES[MANIFEST]
# Without the history files, whose lines do not matter.
LINES = [line for line in DATA.splitlines(keepends=True) if not line.endswith(b"type h\n")]
WHOLE = digest(server(disk(FILES), appendonly="yes"))


def load(manifest: bytes) -> str:
    """ "" if it loaded something whole, "other" if that is not what was there, or the refusal."""
    try:
        started = server(disk(FILES | {MANIFEST: manifest}), appendonly="yes")
    except (LoadFailed, ManifestError) as failure:
        return str(failure)
    check(started)
    return "" if digest(started) == WHOLE else "other"


def test_the_lines_of_history_do_not_matter() -> None:
    assert load(b"".join(LINES)) == ""


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"\n",
        b"nonsense\n",
        b"file\n",
        LINES[0].replace(b"type b", b"type x") + LINES[1],
        LINES[0].replace(b"seq 2", b"seq two") + LINES[1],
        LINES[0].replace(b"seq 2", b"seq 0") + LINES[1],
        LINES[0].replace(b"file ", b"fiel ") + LINES[1],
        LINES[0].replace(b"file appendonly", b"file ../appendonly") + LINES[1],
        LINES[0] * 2 + LINES[1],
        LINES[0] + LINES[1] * 2,
        LINES[0].replace(b".2.base", b".9.base") + LINES[1],
        LINES[0] + LINES[1].replace(b".2.incr", b".9.incr"),
        LINES[0] + LINES[1][:-8],
        b"\x00" * len(DATA),
    ],
)
def test_nonsense_is_refused(manifest: bytes) -> None:
    assert load(manifest) not in ("", "other")


def test_a_manifest_cut_anywhere_is_refused_or_still_names_whole_lines() -> None:
    for size in range(len(DATA)):
        said = load(DATA[:size])
        complete = DATA[:size].endswith(b"\n") or DATA[size : size + 1] == b"\n"
        assert complete or said not in ("", "other"), DATA[:size]


def test_flips_in_a_manifest_are_refused_or_give_something_whole() -> None:
    chance = random.Random(1)
    data = b"".join(LINES)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        refused += load(bytes(damaged)) not in ("", "other")
    assert refused > 250


def test_a_file_that_the_manifest_names_and_that_is_missing_is_named() -> None:
    for path in (f"appendonlydir/appendonly.aof.2.{kind}" for kind in ("base.rdb", "incr.aof")):
        files = {name: data for name, data in FILES.items() if name != path}
        with pytest.raises(LoadFailed, match=path):
            server(disk(files), appendonly="yes")


def test_files_with_requests_that_no_manifest_names_are_not_overwritten() -> None:
    files = {path: data for path, data in FILES.items() if path != MANIFEST}
    left = disk(files)
    with pytest.raises((LoadFailed, ManifestError), match="appendonlydir"):
        server(left, appendonly="yes")
    assert left.snapshot() == files
