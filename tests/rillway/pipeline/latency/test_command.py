"""`rillway latency`, from acknowledgements to the report."""

from __future__ import annotations

import csv
import threading
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main as archive_main
from rillway.pipeline.latency.command import main
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.group_scene import pending_stream
from tests.rillway.pipeline.scene import add
from tests.support.waiting import interrupted_once, until

pytestmark = pytest.mark.integration

Capture = pytest.CaptureFixture[str]


def run(link: Connection, *arguments: str) -> int:
    return main(["--url", link.url, "--stream", "s", *arguments])


@pytest.fixture
def journal(rillway_link: Connection) -> Connection:
    """Twenty entries were acknowledged by two groups, and written down in j."""
    for group in ("g", "h"):
        if group == "g":
            pending_stream(rillway_link, count=20)
        else:
            rillway_link.call("XGROUP", "CREATE", "s", "h", "0")
            rillway_link.call("XREADGROUP", "GROUP", "h", "c", "COUNT", 20, "STREAMS", "s", ">")
    rillway_link.call("XCFGSET", "s", "ACK-JOURNAL", "j")
    for number in range(1, 21):
        rillway_link.call("XACK", "s", "g", f"{number}-0")
    rillway_link.call("XACK", "s", "h", "1-0")
    return rillway_link


def test_it_reports_what_the_journal_says(journal: Connection, capsys: Capture) -> None:
    assert run(journal) == 0
    shown = capsys.readouterr().out
    rows = [line.split()[:3] for line in shown.splitlines() if "(all)" in line]
    assert rows == [["g", "(all)", "20"], ["h", "(all)", "1"]] * 2
    assert "s/g, total time\nProcessed in 60000 ms or more -> 100.00%" in shown


def test_groups_and_times_can_be_chosen(journal: Connection, capsys: Capture) -> None:
    assert run(journal, "--group", "h") == 0
    assert "\ng " not in capsys.readouterr().out
    assert run(journal, "--to", "2020-01-01") == 0
    assert capsys.readouterr().out == "s: no acknowledgements\n"


def test_a_journal_of_a_stream_that_is_gone_can_be_named(
    journal: Connection, capsys: Capture
) -> None:
    journal.call("DEL", "s")
    assert run(journal) == 1
    assert "there is no stream s at" in capsys.readouterr().err
    assert run(journal, "--journal", "j") == 0
    assert "(all)" in capsys.readouterr().out


def test_a_stream_without_a_journal_is_told_how_to_get_one(
    link: Connection, capsys: Capture
) -> None:
    add(link, "s", ["1-0"])
    assert run(link) == 1
    error = capsys.readouterr().err
    assert error.startswith("rillway latency: s has no journal") and error.count("\n") == 1


def test_a_journal_that_nothing_was_written_to_is_empty(
    rillway_link: Connection, capsys: Capture
) -> None:
    add(rillway_link, "s", ["1-0"])
    rillway_link.call("XCFGSET", "s", "ACK-JOURNAL", "j")
    assert run(rillway_link) == 0
    assert capsys.readouterr().out == "s: no acknowledgements\n"


def test_the_report_goes_into_files_too(
    journal: Connection, tmp_path: Path, capsys: Capture
) -> None:
    table, plot = tmp_path / "table.csv", tmp_path / "plot.png"
    assert run(journal, "--csv", str(table), "--plot", str(plot)) == 0
    with table.open(newline="") as file:
        assert [row["count"] for row in csv.DictReader(file)] == ["20", "20", "1", "1"]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_what_was_archived_is_counted_with_what_was_not(
    journal: Connection, tmp_path: Path, capsys: Capture
) -> None:
    folder = str(tmp_path / "archive")
    arguments = ["--url", journal.url, "--stream", "j", "--to", folder, "--once", "--keep", "0s"]
    assert archive_main([*arguments, "--engine", "local"]) == 0
    assert journal.call("XLEN", "j") == 1
    journal.call("XACK", "s", "h", "2-0")
    capsys.readouterr()
    assert run(journal, "--archive", folder) == 0
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines() if "(all)" in line]
    assert rows[:2] == [["g", "(all)", "20"], ["h", "(all)", "2"]]


def is_followed(url: str) -> bool:
    """Whether a client waits for entries of the journal."""
    with Connection(url) as other:
        return b"blocked_clients:0" not in other.call("INFO", "clients")


def test_following_shows_what_comes_in_and_all_of_it_at_the_end(journal: Connection) -> None:
    def acknowledge() -> None:
        until(lambda: is_followed(journal.url))
        with Connection(journal.url) as other:
            other.call("XACK", "s", "h", "3-0", "4-0")

    thread = threading.Thread(target=acknowledge)
    thread.start()
    with interrupted_once(lambda shown: "s/h: 2 acknowledged" in shown) as shown:
        assert run(journal, "--follow", "--every", "100ms") == 0
    thread.join()
    assert " s/h: 2 acknowledged, pending p50 " in shown()
    assert [line.split()[:3] for line in shown().splitlines() if "(all)" in line] == [
        ["h", "(all)", "2"]
    ] * 2


def test_following_may_begin_in_the_past(journal: Connection) -> None:
    with interrupted_once(lambda _: is_followed(journal.url)) as shown:
        assert run(journal, "--follow", "--from", "2020-01-01", "--group", "g") == 0
    assert "g      (all)        20" in shown()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "--stream"),
        (["--stream", "s", "--follow", "--spark"], "--follow does not go with --spark"),
        (["--stream", "s", "--follow", "--to", "2020-01-01"], "--follow does not go with --to"),
        (["--stream", "s", "--from", "2020-01-02", "--to", "2020-01-01"], "--to is before --from"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], text: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_a_journal_that_is_no_stream_is_one_line(link: Connection, capsys: Capture) -> None:
    link.call("SET", "text", "v")
    assert main(["--url", link.url, "--stream", "s", "--journal", "text"]) == 1
    wanted = f"rillway latency: text at {link.url} is no stream: its type is string\n"
    assert capsys.readouterr().err == wanted
