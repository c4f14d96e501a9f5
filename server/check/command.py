"""`rillway check FILE|DIR... [--fix] [--yes] [--json] [--truncate-to-timestamp T]`.

Exit status: 0 all files are sound, 1 a file is damaged, 2 wrong usage or a file that cannot be
read, 3 damage was found and fixed, 130 interrupted with Ctrl-C.
"""

from __future__ import annotations

import argparse
import errno
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from server import clock
from server.check import presentation
from server.check.inspection import FileReport, Inspector, Problem, Report, cut, data_files
from server.check.presentation import Paint, plain
from server.check.truncation import CannotTruncate, truncate
from server.persistence.files import Files, OsFiles
from server.printable import printable

SOUND, BROKEN, USAGE_ERROR, FIXED = 0, 1, 2, 3
INTERRUPTED = 130  # as shells report it

# On a terminal, files of at least this size show progress.
_PROGRESS_BYTES = 16 << 20


def main(options: argparse.Namespace, paint: Paint = plain) -> int:
    """Check the files and folders of the command line (rillway/command_line/check.py).

    `paint(text, colour)` puts text in a colour where standard output shows it.
    """
    gc.disable()  # a collection would only look again and again at the growing data
    progress = _Progress() if sys.stderr.isatty() else _no_progress
    try:
        return check(options, OsFiles(), clock.now_ms(), progress, _ask, paint)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # ends the line of the progress, or of the question
        return INTERRUPTED


def check(
    options: argparse.Namespace,
    files: Files,
    now_ms: int,
    progress: Callable[[str, int, int], object],
    ask: Callable[[str], str],
    paint: Paint = plain,
) -> int:
    """Check every file; returns the exit status. `ask(question)` returns the user's answer."""
    if options.truncate_to_timestamp is not None:
        return _truncate(options, files, now_ms, progress)
    reports: list[Report] = []
    status = SOUND
    try:
        paths = [path for name in options.files for path in _data_files(files, name)]
    except OSError as error:
        return _refused(f"{error.filename}: {error.strerror}")
    for path in paths:
        if options.fix and (user := _user_of(path, files)) is not None:
            return _refused(f"{path} is in use by {user}; stop it before you cut anything")
        try:
            report = Inspector(files, now_ms, progress).inspect(path)
            if options.fix:
                _fix(report, files, options.yes, ask)
        except OSError as error:
            return _refused(f"{error.filename or path}: {error.strerror}")
        reports.append(report)
        if not options.json:
            print(presentation.as_text(report, paint))
        if not report.is_sound:
            status = BROKEN
        elif any(file.fixed for file in report.files) and status == SOUND:
            status = FIXED
    if options.json:
        print(presentation.as_json(reports))
    return status


def _truncate(
    options: argparse.Namespace,
    files: Files,
    now_ms: int,
    progress: Callable[[str, int, int], object],
) -> int:
    """Cut what is later than a moment; returns the exit status."""
    time_s = options.truncate_to_timestamp
    try:
        found = [path for name in options.files for path in _data_files(files, name)]
        paths = [path for path in found if not path.endswith(".rdb")]
        if len(paths) != 1:
            return _refused(f"--truncate-to-timestamp takes one append-only file, not {len(paths)}")
        if (user := _user_of(paths[0], files)) is not None:
            return _refused(f"{paths[0]} is in use by {user}; stop it before you cut anything")
        done = truncate(files, Inspector(files, now_ms, progress).inspect(paths[0]), time_s)
    except CannotTruncate as error:
        print(f"rillway check: {printable(str(error))}", file=sys.stderr)
        return BROKEN
    except OSError as error:
        return _refused(f"{error.filename}: {error.strerror}")
    if options.json:
        print(json.dumps(asdict(done), indent=2))
    elif done.path:
        print(f"{done.path}: cut at offset {done.offset:,}; later than {time_s}, kept:")
        print("\n".join(f"  {path}" for path in done.copies))
    else:
        print(f"{paths[0]}: nothing is later than {time_s}")
    return SOUND


def _data_files(files: Files, name: str) -> list[str]:
    """The files that an argument stands for. Raises OSError, also if a folder has none."""
    found = data_files(files, name)
    if not found:
        reason = "no manifest, append-only file or snapshot in this folder"
        raise FileNotFoundError(errno.ENOENT, reason, name)
    return found


def _refused(reason: str) -> int:
    print(f"rillway check: {printable(reason)}", file=sys.stderr)
    return USAGE_ERROR


def _user_of(path: str, files: Files) -> str | None:
    """The server that holds the lock on a file's folder or its parent; None if there is none."""
    folder = os.path.dirname(path) or "."
    return files.holder(folder) or files.holder(f"{folder}/..")


def _fix(report: Report, files: Files, yes: bool, ask: Callable[[str], str]) -> None:
    """Truncate damaged files where that is possible and confirmed."""
    for file in report.files:
        problem = file.problem
        if problem is None or not problem.can_be_cut or not _may_cut(file, problem, yes, ask):
            continue
        copy_path = cut(files, file.path, problem.sound_bytes)
        file.fixed = f"cut at offset {problem.sound_bytes:,}; what was cut is in {copy_path}"


def _may_cut(file: FileReport, problem: Problem, yes: bool, ask: Callable[[str], str]) -> bool:
    if problem.is_torn:
        question = f"{file.path}: {problem.reason}. Cut the last {problem.lost_bytes:,} bytes?"
        return yes or ask(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    question = (
        f"{file.path} is damaged at offset {problem.offset:,}: {problem.reason}.\n"
        f"To cut it there loses the {problem.lost_bytes:,} bytes from offset"
        f" {problem.sound_bytes:,} on, with {problem.lost_requests:,} requests after the damage"
        " that can still be read.\n"
    )
    return ask(f"{question}Type 'yes' to cut it: ").strip() == "yes"


def _ask(question: str) -> str:
    """Ask on standard error, so that standard output holds the report only."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline()


def _no_progress(path: str, position: int, size: int) -> None:
    """Show no progress."""


class _Progress:
    """A line on the terminal, at most ten times a second."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, path: str, position: int, size: int) -> None:
        now_s = time.monotonic()
        if size < _PROGRESS_BYTES or (now_s < self._next_s and position < size):
            return
        self._next_s = now_s + 0.1
        end = "\r" if position < size else "\r\033[K"
        print(f"\r{path}: {100 * position // size}%", end=end, file=sys.stderr, flush=True)
