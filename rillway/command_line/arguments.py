"""Arguments of several sub-commands, and types of arguments: one syntax for all."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, TimeID, make_id, parse_id
from rillway.pipeline.wire.quantities import (
    parse_bytes,
    parse_duration,
    parse_time,
)
from rillway.pipeline.wire.urls import DEFAULT_URL, check_url

T = TypeVar("T")
SCHEMES = ("redis://", "rediss://", "unix://")
URL_VARIABLE = "RILLWAY_URL"


def add_url(parser: argparse.ArgumentParser) -> None:
    """Add `url`: the value of --url, of the variable, or the default."""
    parser.add_argument(
        "--url",
        type=server_url,
        default=_OfVariable(os.environ.get(URL_VARIABLE) or DEFAULT_URL),
        help=f"the server (default: the variable {URL_VARIABLE}, else {DEFAULT_URL}); with TLS "
        "rediss://HOST:PORT?ssl_ca_certs=FILE",
    )


class _OfVariable(str):
    """The text of the environment variable, which argparse parses if --url is missing."""


def add_storage_options(parser: argparse.ArgumentParser) -> None:
    """Add `storage_options`: a dict, empty if there are none."""
    parser.add_argument(
        "--storage-option",
        dest="storage_options",
        action=KeyValues,
        default={},
        metavar="KEY=VALUE",
        help="an option of the archive's object store, as deltalake takes it: "
        "aws_endpoint_url=https://host; may be repeated; environment variables also work",
    )


class KeyValues(argparse.Action):
    """Collects arguments `KEY=VALUE` in a dict."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        name, equals, value = str(values).partition("=")
        if not name or not equals:
            parser.error(f"{option_string}: expected {self.metavar}, not {values}")
        setattr(namespace, self.dest, getattr(namespace, self.dest) | {name: value})


def add_allow_missing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="do not fail if a stream is missing: it may be created later",
    )


def add_range(parser: argparse.ArgumentParser) -> None:
    """Add `first` and `last`: IDs, both included."""
    parser.add_argument(
        "--from",
        dest="first",
        type=first_id,
        default=MIN_ID,
        metavar="WHEN",
        help="the beginning: 2026-01-31T12:00:00Z (UTC if no zone is given), -1h (an hour ago), "
        "an ID, or its first half, usually Unix milliseconds (default: the first entry)",
    )
    parser.add_argument(
        "--to",
        dest="last",
        type=last_id,
        default=MAX_ID,
        metavar="WHEN",
        help="the end: a time (exclusive) or an ID (inclusive) (default: the last entry)",
    )


def _argument(read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def server_url(text: str) -> str:
    try:
        if not text.startswith(SCHEMES):
            hint = f". Did you mean {found}?" if (found := _as_url(text)) else ""
            shown = _without_password(text)
            raise ValueError(
                f"expected redis://HOST:PORT, rediss:// or unix://; not {shown!r}{hint}"
            )
        check_url(text)
    except ValueError as error:
        where = f"the variable {URL_VARIABLE}: " if isinstance(text, _OfVariable) else ""
        raise argparse.ArgumentTypeError(f"{where}{error}") from None
    return str(text)


def _as_url(text: str) -> str:
    """Return the URL meant by `localhost:9150`, `:9150`, `9150` or a path; empty if none is."""
    scheme, has_scheme, rest = text.rpartition("://")
    if not has_scheme and text.startswith("/"):
        return f"unix://{text}"
    place = f"127.0.0.1:{rest.lstrip(':')}" if rest.lstrip(":").isdecimal() else rest
    found = f"redis{'s' * scheme.endswith('s')}://{place}"
    try:
        check_url(found)
    except ValueError:
        return ""
    return _without_password(found) if place else ""


def _without_password(text: str) -> str:
    return re.sub(r":[^:@/]*@", ":***@", text)


def duration(text: str) -> float:
    """Parse a duration to seconds."""
    return _argument(parse_duration, text)


def interval(text: str) -> float:
    """Parse a duration above 0 to seconds."""
    return _above_zero(duration(text), "time", text)


def size_in_bytes(text: str) -> int:
    """Parse a size with its unit to bytes."""
    if text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"expected a size with a unit, such as {text}mb or {text}b; not {text!r}"
        )
    return _argument(parse_bytes, text)


def first_id(text: str) -> int:
    """Parse `1700000000000-5` and `1700000000000` as IDs; a time as its first ID."""
    if is_id(text) or text.isdecimal():
        return _argument(parse_id, text)
    return TimeID(make_id(_argument(moment, text)))


def moment(text: str) -> int:
    """Return Unix ms of a time, or of `-1h`: an hour ago, by the clock of this machine."""
    if not text.startswith("-"):
        return parse_time(text)
    return max(round((time.time() - parse_duration(text[1:])) * 1000), 0)


RELATIVE = re.compile(r"-\d")


def with_relative_times(arguments: Sequence[str]) -> list[str]:
    """Replace `--from -1h` by `--from=-1h`: argparse would take `-1h` for an option."""
    found: list[str] = []
    for argument in arguments:
        if found and found[-1] in ("--from", "--to") and RELATIVE.match(argument):
            found[-1] += f"={argument}"
        else:
            found.append(argument)
    return found


def last_id(text: str) -> int:
    """Parse `1700000000000-5` as an ID; a time or `1700000000000` as the last ID before it."""
    if is_id(text):
        return _argument(parse_id, text)
    last = max(make_id(_argument(moment, text)) - 1, MIN_ID)
    return last if text.isdecimal() else TimeID(last)


def is_id(text: str) -> bool:
    ms, dash, seq = text.partition("-")
    return bool(dash) and ms.isdecimal() and seq.isdecimal()


def whole_number(minimum: int, maximum: int | None = None) -> Callable[[str], int]:
    """Return an argument type: a number from `minimum` to `maximum`."""
    to = "up" if maximum is None else f"to {maximum:,}"

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum or int(text) > (maximum or int(text)):
            raise argparse.ArgumentTypeError(
                f"expected a number from {minimum:,} {to}; not {text!r}"
            )
        return int(text)

    return number


from_zero, from_one = whole_number(0), whole_number(1)
port = whole_number(0, 65_535)


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    return _above_zero(number, "number", text)


def _above_zero(number: float, kind: str, text: str) -> float:
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a {kind} above 0; not {text!r}")
    return number
