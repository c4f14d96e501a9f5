"""The parser of a sub-command's arguments: argparse, with errors that say what to write instead.

An unknown option is reported before a missing one, with the nearest known option; for -p and
--port, which redis-cli and `rillway serve` take, with the equivalent --url. Options cannot be
shortened: what a script writes today must not become ambiguous with a new option. All errors of
usage end the process with status 2.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from rillway.command_line.output import paint

# The types of arguments (arguments.py) raise "expected a number from 1 up".
EXPECTED = re.compile(r"argument (.+?): expected ")


class Parser(argparse.ArgumentParser):
    """Parses the arguments of `rillway SUB`."""

    def __init__(self, sub_command: str, description: str, **others: Any) -> None:
        super().__init__(
            prog=f"rillway {sub_command}", description=description, allow_abbrev=False, **others
        )

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, after checking that all options are known."""
        words = list(args or ())
        for word in words[: words.index("--") if "--" in words else len(words)]:
            name = word.partition("=")[0]
            is_option = (name.startswith("--") and " " not in name) or name == "-p"
            if is_option and name not in self.options:
                self.error(f"there is no option {name}.{self._instead_of(name)}")
        return super().parse_known_args(words, namespace)

    def _instead_of(self, name: str) -> str:
        if name in ("-p", "--port", "--host") and "--url" in self.options:
            if "--port" not in self.options:
                return " The server is named by --url redis://HOST:PORT"
            name = "--port"
        return did_you_mean(name, self.options, "")

    @property
    def options(self) -> dict[str, argparse.Action]:
        """The options by their names."""
        return self._option_string_actions

    @property
    def arguments(self) -> list[argparse.Action]:
        """Options and positional arguments, in the order in which --help shows them."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        """Print the error as a sentence, and exit with status 2."""
        self.print_usage(sys.stderr)
        message = EXPECTED.sub(r"\1 takes ", message).removeprefix("argument ")
        self.exit(2, f"{self.prog}: {paint('error:', 'red', sys.stderr)} {message}\n")


def did_you_mean(word: str, names: Iterable[str], mark: str = "'") -> str:
    """Return " Did you mean 'serve'?" for the name nearest to `word`; "" if none is near."""
    from difflib import get_close_matches  # imported for errors only: `serve` must start fast

    close = get_close_matches(word, names, n=1)
    return f" Did you mean {mark}{close[0]}{mark}?" if close else ""
