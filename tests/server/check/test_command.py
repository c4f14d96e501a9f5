"""The command line: questions, answers, exit statuses."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from rillway.command_line.check import make_parser
from server.check import command
from server.check.command import BROKEN, FIXED, INTERRUPTED, SOUND, USAGE_ERROR, check, main
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import to_argv
from server.persistence.files import FolderInUse
from storage.append_only.requests import encode_requests

WHOLE = encode_requests([to_argv(("SET", "a", n)) for n in range(3)])
TORN = WHOLE + b"*3\r\n$3\r\nSE"
DAMAGED = WHOLE + b"hello\r\n" + WHOLE


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    def __call__(self, question: str) -> str:
        self.questions.append(question)
        return self.answers.pop(0)


def run(
    files: MemoryFiles, *paths: str, fix: bool = False, yes: bool = False, json: bool = False,
    person: Person | None = None, back_to: int | None = None,
) -> int:  # fmt: skip
    options = argparse.Namespace(
        files=list(paths), fix=fix, yes=yes, json=json, truncate_to_timestamp=back_to
    )
    return check(options, files, 0, lambda *_: None, person or Person())


def given(*words: str) -> argparse.Namespace:
    return make_parser().parse_args(words)


def disk(**contents: bytes) -> MemoryFiles:
    files = MemoryFiles()
    for path, data in contents.items():
        files.put(path, data)
    return files


def test_the_exit_status_shows_whether_all_files_are_sound() -> None:
    assert run(disk(a=WHOLE), "a") == SOUND
    assert run(disk(a=TORN), "a") == BROKEN
    assert run(disk(a=WHOLE, b=TORN, c=WHOLE), "a", "b", "c") == BROKEN


def test_nothing_is_cut_while_a_server_uses_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    files = disk(a=TORN)
    files.claim_error = FolderInUse("/data", "process 7")
    assert run(files, "a", fix=True, yes=True) == USAGE_ERROR
    assert "stop it before you cut anything" in capsys.readouterr().err
    assert files.snapshot() == {"a": TORN}
    assert run(files, "a") == BROKEN  # looking is allowed


def test_nothing_is_cut_unless_that_is_asked_for() -> None:
    files = disk(a=TORN)
    run(files, "a", yes=True)
    assert files.snapshot() == {"a": TORN}


@pytest.mark.parametrize(("answer", "status"), [("y\n", FIXED), ("yes\n", FIXED), ("\n", BROKEN)])
def test_a_torn_end_is_cut_after_asking(answer: str, status: int) -> None:
    files, person = disk(a=TORN), Person(answer)
    assert run(files, "a", fix=True, person=person) == status
    assert "Cut the last 10 bytes?" in person.questions[0]
    expected = {"a": WHOLE, "a.cut-81": TORN[len(WHOLE) :]} if status == FIXED else {"a": TORN}
    assert files.snapshot() == expected


def test_yes_answers_for_a_torn_end() -> None:
    files = disk(a=TORN)
    assert run(files, "a", fix=True, yes=True) == FIXED
    assert files.snapshot()["a"] == WHOLE
    assert run(files, "a") == SOUND


@pytest.mark.parametrize(
    ("answer", "status"), [("yes\n", FIXED), ("y\n", BROKEN), ("\n", BROKEN), ("", BROKEN)]
)
def test_damage_is_truncated_only_after_a_question_that_names_the_loss(
    answer: str, status: int
) -> None:
    files, person = disk(a=DAMAGED), Person(answer)
    assert run(files, "a", fix=True, yes=True, person=person) == status
    assert "loses the 88 bytes from offset 81 on, with 3 requests" in person.questions[0]
    assert files.snapshot()["a"] == (WHOLE if status == FIXED else DAMAGED)


def test_what_cannot_be_repaired_is_not_asked_about() -> None:
    files = disk(a=b"REDIS0011 and then nothing")
    assert run(files, "a", fix=True, yes=True) == BROKEN
    assert list(files.snapshot()) == ["a"]


def test_broken_wins_over_fixed() -> None:
    assert run(disk(a=TORN, b=b"hello"), "a", "b", fix=True, yes=True) == BROKEN
    assert run(disk(a=b"hello", b=TORN), "a", "b", fix=True, yes=True) == BROKEN


def test_a_file_that_is_not_there_is_a_wrong_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(disk(), "nothing") == USAGE_ERROR
    assert capsys.readouterr().err == "rillway check: nothing: No such file or directory\n"


def test_ctrl_c_ends_without_a_traceback_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(question: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("gc.disable", lambda: None)
    monkeypatch.setattr("server.check.command._ask", interrupted)
    path = tmp_path / "appendonly.aof"
    path.write_bytes(TORN)
    assert main(given(str(path), "--fix")) == INTERRUPTED
    assert path.read_bytes() == TORN


def test_of_a_folder_its_data_files_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gc.disable", lambda: None)
    (tmp_path / "appendonly.aof").write_bytes(TORN)
    assert main(given(str(tmp_path))) == BROKEN
    assert f"{tmp_path}/appendonly.aof: append-only file" in capsys.readouterr().out


def test_a_folder_without_data_files_is_a_wrong_argument(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gc.disable", lambda: None)
    assert main(given(str(tmp_path))) == USAGE_ERROR
    assert capsys.readouterr().err == (
        f"rillway check: {tmp_path}: no manifest, append-only file or snapshot in this folder\n"
    )


def test_programs_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    run(disk(a=TORN, b=WHOLE), "a", "b", fix=True, yes=True, json=True)
    first, second = json.loads(capsys.readouterr().out)
    assert first["is_sound"]
    assert first["files"][0]["problem"]["offset"] == len(WHOLE)
    assert first["files"][0]["fixed"].endswith("a.cut-81")
    assert second["contents"]["databases"][0]["strings"] == 1


def test_the_command_line_checks_files_on_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gc.disable", lambda: None)
    path = tmp_path / "appendonly.aof"
    path.write_bytes(TORN)
    assert main(given(str(path))) == BROKEN
    assert "BROKEN at offset 81" in capsys.readouterr().out
    assert main(given(str(path), "--fix", "--yes")) == FIXED
    assert main(given(str(path))) == SOUND
    assert path.read_bytes() == WHOLE
    assert (tmp_path / "appendonly.aof.cut-81").read_bytes() == TORN[81:]


@pytest.mark.parametrize("arguments", [[], ["--nonsense", "x"]])
def test_wrong_usage_has_a_status_of_its_own(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        given(*arguments)
    assert left.value.code == USAGE_ERROR


def test_progress_is_shown_for_large_files_only(capsys: pytest.CaptureFixture[str]) -> None:
    progress = command._Progress()
    progress("small", 1, 100)
    progress("large", 8 << 20, 32 << 20)
    progress("large", 9 << 20, 32 << 20)  # too soon after the last
    progress("large", 32 << 20, 32 << 20)
    assert capsys.readouterr().err == "\rlarge: 25%\r\rlarge: 100%\r\033[K"
