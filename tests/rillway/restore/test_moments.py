"""Back to a moment: what a server had at the end of a second, by what a back-up kept."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from rillway.backup.manifest import BackupError
from rillway.backup.store import FolderStore
from rillway.restore.moments import restore_moment
from server.inprocess.server import InProcessServer
from tests.rillway.backup.copies import NAME, backed_up, started

BEGIN_S = 1_700_000_000


def keeping(preamble: str = "yes") -> InProcessServer:
    return InProcessServer(
        BEGIN_S * 1000,
        appendonly="yes",
        aof_timestamp_enabled="yes",
        aof_keep_increments="1h",
        aof_use_rdb_preamble=preamble,
    )


def rewrite(server: InProcessServer, until_done: bool = True) -> None:
    server.connect().execute("BGREWRITEAOF")
    for _ in range(3 if until_done else 0):
        server.tick()


class History:
    """A server, and what it had at the end of each second."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        preamble = self.chance.choice(("yes", "yes", "no"))
        self.server = keeping(preamble)
        self.had: list[bytes] = []

    @property
    def data(self) -> bytes:
        return dump(self.server)

    def pass_seconds(self, seconds: int) -> None:
        client, chance = self.server.connect(), self.chance
        for _ in range(seconds):
            for _ in range(chance.randrange(4)):
                self.server.advance(chance.randrange(250))
                key = f"k{chance.randrange(4)}"
                kind = chance.random()
                if kind < 0.1:
                    client.execute("FLUSHALL")
                elif kind < 0.3:
                    client.execute("DEL", key)
                elif kind < 0.4:
                    rewrite(self.server, until_done=chance.random() < 0.7)
                else:
                    client.execute("XADD", key, "*", "n", chance.randrange(100))
            self.had.append(self.data)
            self.server.advance(1000 - self.server.now_ms % 1000)
            self.server.tick()


def dump(server: InProcessServer) -> bytes:
    client = server.connect()
    return b"".join(client.execute("XRANGE", f"k{number}", "-", "+") for number in range(4))


def check_moments(folder: Path, seed: int, moments: int) -> None:
    history, store = History(seed), FolderStore(folder / "to")
    history.pass_seconds(40)
    node = backed_up(history.server, store, folder)
    chance = history.chance
    for number in range(moments):
        second, place = chance.randrange(len(history.had)), folder / f"new-{number}"
        place.mkdir()
        restore_moment(store, f"{NAME}/", node, place, (BEGIN_S + second) * 1000 + 500)
        assert dump(started(place)) == history.had[second], (seed, second)


@pytest.mark.parametrize("seed", range(2))
def test_random_moments_of_random_histories(tmp_path: Path, seed: int) -> None:
    check_moments(tmp_path, seed, 3)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(100, 150))
def test_a_thousand_moments(tmp_path: Path, seed: int) -> None:
    check_moments(tmp_path, seed, 20)


def test_the_whole_second_stays_and_a_rewrite_in_it_changes_nothing(tmp_path: Path) -> None:
    server, store = keeping(), FolderStore(tmp_path / "to")
    client = server.connect()
    client.execute("XADD", "k0", "1-1", "n", "1")
    rewrite(server)
    client.execute("XADD", "k0", "2-1", "n", "2")
    expected = dump(server)
    server.advance(1000)
    client.execute("FLUSHALL")
    rewrite(server)
    node = backed_up(server, store, tmp_path)
    assert len(node.kept) == 2
    place = tmp_path / "new"
    place.mkdir()
    restore_moment(store, f"{NAME}/", node, place, BEGIN_S * 1000)
    assert dump(started(place)) == expected
    assert not list(place.rglob("*.cut-*"))


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(-1, "no moment before"), (100, "the back-up ends at 2023-11-14T22:13:20Z")],
)
def test_a_moment_outside_of_the_back_up_is_refused(
    tmp_path: Path, seconds: int, reason: str
) -> None:
    server, store = keeping(), FolderStore(tmp_path / "to")
    server.connect().execute("XADD", "k0", "1-1", "n", "1")
    node = backed_up(server, store, tmp_path)
    place = tmp_path / "new"
    place.mkdir()
    with pytest.raises(BackupError, match=reason):
        restore_moment(store, f"{NAME}/", node, place, (BEGIN_S + seconds) * 1000)
