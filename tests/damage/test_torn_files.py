"""The append-only file cut at every byte of its last kilobyte: what a crash leaves of a write.

All whole units before the cut are loaded, nothing else, and the log says how many bytes were cut
off. With `aof-load-truncated no` the start is refused and the file stays as it is.
"""

from __future__ import annotations

import re

import pytest

from server.inprocess.server import InProcessServer
from server.persistence.loading.loader import LoadFailed
from storage.append_only.requests import encode_request
from tests.damage.disks import (
    DIRECTORY,
    LAST_INCREMENT,
    MANIFEST,
    append_only_files,
    check,
    digest,
    disk,
    fill,
    server,
)
from tests.support.examples import examples

LAST_BYTES = 1024
CUT_LINE = re.compile(r"(\d+) bytes were cut off")
TRANSACTION = ("MULTI", "XADD orders 60-1 a b", "SET number 7", "XACK orders billing 9-1", "EXEC")


def filled_with_states() -> tuple[dict[str, bytes], dict[int, bytes]]:
    """Files, and the digest of the data by the size of the last file, after each whole unit."""
    started = server(disk(append_only_files()), appendonly="yes", appendfsync="always")
    states = {len(started.files.snapshot()[LAST_INCREMENT]): digest(started)}
    started.propagated.clear()
    for request in (
        "SELECT 1",
        *(f"XADD orders {i}-1 item lamp{i} price {i}" for i in range(50, 58)),
        "XREADGROUP GROUP billing alice COUNT 2 STREAMS orders >",
        "SELECT 0",
        *(f"SET number {number}" for number in range(8)),
    ):
        fill_one(started, states, request)
    fill_one(started, states, *TRANSACTION)
    fill_one(started, states, "XTRIM orders MAXLEN 12", "XADD orders 70-1 a b")
    return started.files.snapshot(), states


def fill_one(started: InProcessServer, states: dict[int, bytes], *requests: str) -> None:
    """Run what propagates one unit, or more: each time the file grows, note the state."""
    client = started.connect()
    client.execute("SELECT", "1" if started.propagated and started.propagated[-1][0] else "0")
    for request in requests:
        client.execute(*request.split())
        states[len(started.files.snapshot()[LAST_INCREMENT])] = digest(started)
    client.disconnect()


FILES, STATES = filled_with_states()
SIZE = len(FILES[LAST_INCREMENT])
CUTS = range(SIZE - LAST_BYTES, SIZE + 1)


def boundaries() -> set[int]:
    """The offsets at which nothing is torn: after whole units, and after the SELECT before one."""
    text = FILES[LAST_INCREMENT]
    selects = [encode_request([b"SELECT", number]) for number in (b"0", b"1")]
    behind = {s + len(r) for s in STATES for r in selects if text[s:].startswith(r)}
    return STATES.keys() | behind


def state(size: int) -> bytes:
    """What is in the data after the whole units of the first `size` bytes."""
    return STATES[max(kept for kept in STATES if kept <= size)]


def cut_at(size: int) -> dict[str, bytes]:
    return FILES | {LAST_INCREMENT: FILES[LAST_INCREMENT][:size]}


def test_the_last_kilobyte_holds_several_states_that_are_all_different() -> None:
    within = [size for size in STATES if size >= CUTS.start]
    assert len(within) > 8
    assert len({STATES[size] for size in within}) == len(within)


def tried_cuts() -> list[int]:
    """All of CUTS at night; else some of them, and all around boundaries."""
    around = {size + near for size in boundaries() for near in (-1, 0, 1)}
    return sorted({*CUTS[:: 100 // examples(100)], *(around & {*CUTS})})


def test_all_whole_units_before_a_cut_are_loaded_and_nothing_else() -> None:
    for number, size in enumerate(tried_cuts()):
        started = server(disk(cut_at(size)), appendonly="yes")
        assert digest(started) == state(size), f"cut at {size}"
        left = len(started.files.snapshot()[LAST_INCREMENT])
        said = [CUT_LINE.search(line) for _, line in started.log_lines]
        cut_bytes = sum(int(found[1]) for found in said if found is not None)
        assert cut_bytes == size - left
        assert left == max(whole for whole in boundaries() if whole <= size)
        if number % 32 == 0:
            check(started)


def test_requests_written_after_a_truncation_can_be_loaded() -> None:
    for size in CUTS[::23]:
        started = server(disk(cut_at(size)), appendonly="yes", appendfsync="always")
        fill(started, "SET later yes", "XADD orders * a b")
        again = started.restart(started.files.crash())
        assert digest(again) == digest(started)


def test_a_torn_file_that_may_not_be_truncated_is_refused_and_left_unchanged() -> None:
    for size in sorted({*CUTS[::4], *(boundaries() & {*CUTS})}):
        files = disk(cut_at(size))
        if size in boundaries():
            assert digest(server(files, appendonly="yes", aof_load_truncated="no")) == state(size)
            continue
        with pytest.raises(LoadFailed, match=re.escape(LAST_INCREMENT)) as refused:
            server(files, appendonly="yes", aof_load_truncated="no")
        assert "aof-load-truncated" in str(refused.value)
        assert "rillway check" in str(refused.value)
        assert files.snapshot() == cut_at(size)


def test_only_the_last_file_may_be_torn() -> None:
    base = f"{DIRECTORY}/appendonly.aof.2.base.rdb"
    for size in range(0, len(FILES[base]), 13):
        with pytest.raises(LoadFailed, match=re.escape(base)):
            server(disk(FILES | {base: FILES[base][:size]}), appendonly="yes")


def test_an_increment_may_not_be_torn_when_another_one_goes_on() -> None:
    later = LAST_INCREMENT.replace(".2.", ".3.")
    manifest = FILES[MANIFEST] + b"file appendonly.aof.3.incr.aof seq 3 type i\n"
    rest = encode_request([b"SET", b"later", b"yes"])
    files = FILES | {MANIFEST: manifest, later: rest}
    assert b"later" in server(disk(files), appendonly="yes").instance.databases[0].values
    for size in CUTS[::29]:
        if size not in boundaries():
            with pytest.raises(LoadFailed, match=re.escape(LAST_INCREMENT)):
                server(
                    disk(files | {LAST_INCREMENT: FILES[LAST_INCREMENT][:size]}), appendonly="yes"
                )
