"""`rillway consume`, as a process, against both servers."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rillway.consumer import command
from rillway.consumer.arguments import parse_options
from rillway.consumer.command import report_progress, summary
from rillway.consumer.worker import Counts, log
from tests.rillway.consumer.scene import DEAD, GROUP, STREAM, Scene
from tests.support.programs.servers import PROGRAM_PATH
from tests.support.waiting import until

DEADLINE_SECONDS = 60.0

# A command in shell: notes what it was given, and then does as the entry says.
HANDLER = """
read -r line
echo "$line" >> seen
case "$line" in
  *slow*) while [ ! -e go ]; do sleep 0.02; done ;;
  *poison*) exit 3 ;;
esac
"""


@dataclass
class Consumers:
    """Starts `rillway consume` processes in a folder of their own, and ends what is left."""

    scene: Scene
    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self, *options: str, name: str = "c", command: str = HANDLER
    ) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "rillway", "consume", "--url", self.scene.url]
        argv += ["--stream", STREAM, "--group", GROUP, "--consumer", name]
        process = subprocess.Popen(
            [*argv, *options, "--", "sh", "-c", command],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": PROGRAM_PATH},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def seen(self) -> list[dict[str, object]]:
        path = self.folder / "seen"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def values(self) -> list[object]:
        return [line["fields"]["n"] for line in self.seen()]  # type: ignore[index]

    def let_the_slow_go_on(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def consumers(scene: Scene, tmp_path: Path) -> Iterator[Consumers]:
    consumers = Consumers(scene, tmp_path)
    yield consumers
    consumers.let_the_slow_go_on()
    for process in consumers.started:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    """All that an ending process wrote to standard error."""
    return process.communicate(timeout=DEADLINE_SECONDS)[1]


# -- entries, failures, signals -------------------------------------------------------------------


@pytest.mark.integration
def test_sigterm_finishes_the_entry_at_hand_and_acknowledges_it(
    scene: Scene, consumers: Consumers
) -> None:
    ids = scene.add("quick", "slow", "not begun")
    process = consumers.start("--claim-idle", "60s")
    until(lambda: len(consumers.seen()) == 2)
    process.send_signal(signal.SIGTERM)
    consumers.let_the_slow_go_on()
    text = said(process)
    assert process.returncode == 0
    assert consumers.seen() == [
        {"stream": STREAM, "id": ids[0], "deliveries": 1, "fields": {"n": "quick"}},
        {"stream": STREAM, "id": ids[1], "deliveries": 1, "fields": {"n": "slow"}},
    ]
    assert list(scene.pending()) == [ids[2]]
    assert "SIGTERM: finishing the current entry" in text
    assert text.endswith("in all: 2 acknowledged, 3 new\n")


@pytest.mark.integration
def test_an_entry_whose_consumer_was_killed_is_handled_by_the_next(
    scene: Scene, consumers: Consumers
) -> None:
    scene.add("quick", "slow", "later")
    killed = consumers.start()
    until(lambda: len(consumers.seen()) == 2)
    killed.kill()
    killed.wait()
    assert len(scene.pending()) == 2
    consumers.let_the_slow_go_on()
    # One under the same name finds it in its backlog; one of another name has to claim.
    heir = consumers.start("--claim-idle", "50ms", "--quiet", name="another")
    until(lambda: scene.pending() == {})
    heir.terminate()
    assert said(heir) == ""
    assert consumers.values() == ["quick", "slow", "slow", "later"]
    assert [line["deliveries"] for line in consumers.seen()] == [1, 1, 2, 2]


@pytest.mark.integration
@pytest.mark.parametrize("options", [(), ("--trace",)])
def test_a_command_learns_the_context_of_its_entry_if_traces_are_on(
    scene: Scene, consumers: Consumers, options: tuple[str, ...]
) -> None:
    context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    scene.client.xadd(STREAM, {"n": "1", "traceparent": context})
    process = consumers.start(*options, command='echo "$TRACEPARENT" > told')
    until(lambda: (consumers.folder / "told").exists() and scene.pending() == {})
    process.terminate()
    said(process)
    expected = context if options else ""  # without an SDK, what the producer said
    assert (consumers.folder / "told").read_text().strip() == expected


@pytest.mark.integration
def test_a_command_that_fails_too_often_sends_its_entry_to_the_dead_letters(
    scene: Scene, consumers: Consumers
) -> None:
    _, poison, _ = scene.add("good", "poison", "good")
    limit = ["--max-deliveries", "2", "--dead-letter", DEAD]
    process = consumers.start("--claim-idle", "50ms", *limit)
    until(lambda: scene.client.xlen(DEAD))
    process.send_signal(signal.SIGINT)
    text = said(process)
    assert process.returncode == 0
    assert consumers.values() == ["good", "poison", "good", "poison"]
    ((_, letter),) = scene.client.xrange(DEAD)
    assert letter[b"rillway-id"].decode() == poison
    assert letter[b"rillway-error"] == b"exit status 3"
    assert scene.pending() == {}
    assert f"{poison} failed, delivery 1: exit status 3" in text
    assert "in all: 2 acknowledged, 3 new, 1 claimed, 2 failed, 1 dead-lettered" in text


@pytest.mark.integration
def test_a_second_signal_ends_the_command_too_and_leaves_the_entry(
    scene: Scene, consumers: Consumers
) -> None:
    (entry_id,) = scene.add("slow")
    process = consumers.start()
    until(consumers.seen)
    process.terminate()
    assert process.stderr is not None
    until(lambda: "SIGTERM" in process.stderr.readline())  # type: ignore[union-attr]
    process.terminate()
    said(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert list(scene.pending()) == [entry_id]


@pytest.mark.integration
def test_it_says_why_it_cannot_go_on(scene: Scene, consumers: Consumers) -> None:
    scene.client.set(STREAM, "no stream")
    process = consumers.start("--quiet")
    assert "WRONGTYPE" in said(process)
    assert process.returncode == 1


# -- the command line -----------------------------------------------------------------------------

GIVEN = ["--stream", "s", "--group", "g", "--consumer", "c"]


def test_what_is_not_given_has_a_default() -> None:
    options = parse_options([*GIVEN, "--", "cat", "--", "-n"])
    assert options.command == ["cat", "--", "-n"]
    assert (options.start, options.count, options.block) == ("0", 10, 5)
    assert options.claim_idle is None
    assert not options.quiet


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (GIVEN, "the command is missing"),
        ([*GIVEN, "--"], "the command is missing"),
        ([*GIVEN, "--", "no-such-command"], "there is no command no-such-command"),
        (["--stream", "s", "--", "cat"], "required: --group, --consumer"),
        ([*GIVEN, "--max-deliveries", "3", "--", "cat"], "belong together"),
        ([*GIVEN, "--dead-letter", "d", "--", "cat"], "belong together"),
        ([*GIVEN, "--partitions", "16385", "--", "cat"], "at most 16384"),
        ([*GIVEN, "--partitions", "4", "--dead-letter", "d", "--", "cat"], "has its own"),
        ([*GIVEN, "--partitions", "4", "--stream", "{s}", "--", "cat"], "no braces"),
        ([*GIVEN, "--max-deliveries", "3", "--dead-letter", "s", "--", "cat"], "another stream"),
        ([*GIVEN, "--count", "0", "--", "cat"], "--count takes a number from 1 up; not '0'"),
        ([*GIVEN, "--block", "-1", "--", "cat"], "--block"),
        ([*GIVEN, "--block-ms", "9", "--", "cat"], "no option --block-ms. Did you mean --block?"),
        (
            [*GIVEN, "--claim-idle", "60000", "--", "cat"],
            "--claim-idle takes a time with a unit, such as 60000s, 60000ms or 60000m; not '60000'",
        ),
        ([*GIVEN, "--url", "localhost:6379", "--", "cat"], "redis://"),
        ([*GIVEN, "--from", "now", "--", "cat"], "--from takes 0, $ or an entry's ID"),
    ],
)
def test_a_bad_command_line_is_refused_with_the_reason(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse_options(arguments)
    assert stopped.value.code == 2
    assert reason in capsys.readouterr().err


def test_traces_need_an_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        parse_options([*GIVEN, "--trace", "--", "cat"])
    assert "pip install 'rillway[otel]'" in capsys.readouterr().err


# -- what is said ---------------------------------------------------------------------------------


async def test_progress_is_told_only_where_there_is_some(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(command, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(log, "propagate", True)
    caplog.set_level("INFO", "rillway.consumer")
    counts = Counts()
    task = asyncio.ensure_future(report_progress(counts))
    for acknowledged in (0, 0, 3, 3, 4):
        counts.acknowledged = acknowledged
        for _ in range(5):  # turns of the loop: the task has had its own
            await asyncio.sleep(0)
    task.cancel()
    told = [record.getMessage().partition(",")[0] for record in caplog.records]
    assert told == ["3 acknowledged", "4 acknowledged"]


def test_a_summary_names_what_is_not_zero() -> None:
    assert summary(Counts()) == "0 acknowledged"
    assert (
        summary(Counts(new=1_200, acknowledged=1_199, dead_lettered=1))
        == "1,199 acknowledged, 1,200 new, 1 dead-lettered"
    )
