"""`rillway check FILE... [--fix] [--yes] [--json]`.

Exit status: 0 all files are sound, 1 a file is damaged, 2 wrong usage or a file that cannot be
read, 3 damage was found and fixed, 130 interrupted with Ctrl-C.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable

from server import clock
from server.check import presentation
from server.check.inspection import FileReport, Inspector, Problem, Report
from server.check.repair import cut
from server.persistence.files import Files, OsFiles

SOUND, BROKEN, USAGE_ERROR, FIXED = 0, 1, 2, 3
INTERRUPTED = 130  # as shells report it

_DESCRIPTION = """\
Look into files of data: append-only files, their manifests (with all files that they name),
snapshots (RDB). Shows what is in them, and where they are broken."""

_EPILOG = """\
--fix asks before it cuts anything, and keeps what it cuts in FILE.cut-OFFSET. --yes answers for a
last request that is not complete, as a crash leaves it, and for nothing else. Stop the server
first. Exit status: 0 sound, 1 broken, 2 wrong usage, 3 fixed."""

# On a terminal, files of at least this size show progress.
_PROGRESS_BYTES = 16 << 20


def main(arguments: list[str]) -> int:
    """Check the files that the command line names."""
    parser = argparse.ArgumentParser(
        prog="rillway check",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--fix", action="store_true", help="cut off what is broken, after asking")
    parser.add_argument("--yes", action="store_true", help="with --fix: do not ask (see below)")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    options = parser.parse_args(arguments)
    gc.disable()  # a collection would only look again and again at the growing data
    progress = _Progress() if sys.stderr.isatty() else _no_progress
    try:
        return check(options, OsFiles(), clock.now_ms(), progress, _ask)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # ends the line of the progress, or of the question
        return INTERRUPTED


def check(
    options: argparse.Namespace,
    files: Files,
    now_ms: int,
    progress: Callable[[str, int, int], object],
    ask: Callable[[str], str],
) -> int:
    """Check every file; returns the exit status. `ask(question)` returns the user's answer."""
    reports: list[Report] = []
    status = SOUND
    for path in options.files:
        if options.fix and (user := _user_of(path, files)) is not None:
            text = f"{path} is in use by {user}; stop it before you cut anything"
            print(f"rillway check: {text}", file=sys.stderr)
            return USAGE_ERROR
        try:
            report = Inspector(files, now_ms, progress).inspect(path)
            if options.fix:
                _fix(report, files, options.yes, ask)
        except IsADirectoryError:
            text = f"{path} is a directory; name the manifest in it, or a single file"
            print(f"rillway check: {text}", file=sys.stderr)
            return USAGE_ERROR
        except OSError as error:
            print(f"rillway check: {error.filename or path}: {error.strerror}", file=sys.stderr)
            return USAGE_ERROR
        reports.append(report)
        if not options.json:
            print(presentation.as_text(report))
        if not report.is_sound:
            status = BROKEN
        elif any(file.fixed for file in report.files) and status == SOUND:
            status = FIXED
    if options.json:
        print(presentation.as_json(reports))
    return status


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
