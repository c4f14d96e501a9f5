"""The program of docs/how-to/migrate.md, copy_live.py, between Valkey and Rillway, both ways."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, blocks
from tests.exchange.data_set import FAR_MS, Requests, everything, more
from tests.exchange.running import Run
from tests.exchange.views import View, differences
from tests.support.waiting import until

pytestmark = pytest.mark.compat

PAGE = ROOT / "docs/how-to/migrate.md"
DIRECTIVES = {"rillway": ("--rdb-stream-type", "valkey"), "valkey": ()}
END_SECONDS = 60
TIMES = ("HPEXPIRETIME", "hash:many", "FIELDS", 3, 0, 2, 6)


def in_database_0(requests: Requests) -> Requests:
    return [(db, argv) for db, argv in requests if db == 0]


@pytest.mark.parametrize(("old", "new"), [("valkey", "rillway"), ("rillway", "valkey")])
def test_everything_is_copied_while_it_changes(
    run: Run, tmp_path: Path, old: str, new: str
) -> None:
    first, second = (run(kind, *DIRECTIVES[kind]) for kind in (old, new))
    timed: Requests = [(0, ("HPEXPIREAT", "hash:many", FAR_MS, "FIELDS", 2, 0, 2))]
    first.fill(in_database_0([*everything(), *timed]))
    program, log = tmp_path / "copy_live.py", tmp_path / "copy.log"
    (text,) = (
        each.text for each in blocks(PAGE.read_text()) if each.marks.get("file") == program.name
    )
    program.write_text(text)
    urls = [f"redis://127.0.0.1:{one.server.port}" for one in (first, second)]
    with log.open("w") as output:
        copier = subprocess.Popen([sys.executable, program, *urls], stdout=output, stderr=output)
    try:
        until(lambda: "following" in log.read_text() or copier.poll() is not None)
        first.fill(in_database_0(more()))
        copier.send_signal(signal.SIGINT)
        assert copier.wait(END_SECONDS) == 0, log.read_text()
    finally:
        copier.kill()
        copier.wait()
    assert differences(lasting(first.view()), lasting(second.view())) == []
    assert first.link.ask("SELECT", 0) == second.link.ask("SELECT", 0) == b"OK"
    assert first.link.ask(*TIMES) == second.link.ask(*TIMES) == [FAR_MS, FAR_MS, -1]


def lasting(found: View) -> View:
    """A view without times: what is counted from now is some milliseconds later on the other."""
    for shown in found.values():
        del shown["expires"]
        if isinstance(shown["value"], dict):
            del shown["value"]["full"]
    return found
