"""`rillway restart`: Sentinel moves a primary's role to a replica, then its server restarts.

Exits with 0 if the server is a replica in step, restarted where a command was given; 1 if not; 2
for wrong arguments.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

from rillway.net.polling import poll
from rillway.restart.arguments import parse_options
from rillway.restart.watched import NO_GOOD_REPLICA, Address, RestartFailed, Watched

PAUSE_SECONDS = 0.1
ASKING_SECONDS = 15.0  # Sentinel asks servers every ten seconds how they are


def main(arguments: list[str]) -> int:
    """Restart a primary. Returns the exit status."""
    options = parse_options(arguments)
    password = os.environ.get("REDISCLI_AUTH") or None
    watched = Watched(options.sentinel, options.name, options.user, password)
    try:
        Restart(watched, options.timeout, say).run(options.command)
    except RestartFailed as failure:
        print(f"rillway restart: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


def say(line: str) -> None:
    """Print at once: the next step may take long."""
    print(line, flush=True)


class Restart:
    """The restart of the primary of a set. `seconds`: the longest time for each step."""

    def __init__(self, watched: Watched, seconds: float, say: Callable[[str], None]) -> None:
        self._watched = watched
        self._seconds = seconds
        self._say = say

    def run(self, command: Sequence[str]) -> None:
        """Move the role, then run the command, if there is one. Raises RestartFailed."""
        old = self._watched.primary()
        new = self._move(old)
        if not command:
            self._say(f"Restart {_shown(old)} now, the way it was started")
            return
        words = [word.replace("{host}", old[0]).replace("{port}", str(old[1])) for word in command]
        try:
            self._restart(old, new, words)
        except RestartFailed as failure:
            raise RestartFailed(
                f"{failure}. {_shown(new)} is the primary; left to do is the restart of "
                f"{_shown(old)} alone: {shlex.join(words)}"
            ) from None

    def _move(self, old: Address) -> Address:
        """Have a replica lead, and the old primary follow it; return its address."""
        self._ask()
        self._say(f"{_shown(old)} hands over (SENTINEL FAILOVER {self._watched.name})")
        new = old

        def has_moved() -> bool:
            nonlocal new
            new = self._watched.agreed_primary() or old
            return new != old

        self._wait(has_moved, f"no replica takes over from {_shown(old)}")
        self._watched.turn_into_replica(old, new)
        self._wait(
            lambda: self._run_id(old, new) is not None,
            f"{_shown(new)} is the primary, but {_shown(old)} does not follow it",
        )
        self._say(f"{_shown(new)} is the primary now, and {_shown(old)} its replica")
        return new

    def _ask(self) -> None:
        """Ask for a failover, again while Sentinel does not know yet that a replica is fit."""
        refusal = ""

        def is_decided() -> bool:
            nonlocal refusal
            refusal = self._watched.ask_for_failover()
            return not refusal.startswith(NO_GOOD_REPLICA)

        poll(is_decided, min(self._seconds, ASKING_SECONDS), pause_s=PAUSE_SECONDS)
        if refusal:
            raise RestartFailed(f"Sentinel refuses: {refusal}")

    def _restart(self, old: Address, new: Address, words: Sequence[str]) -> None:
        """Run the command, and wait until the server is a new process that follows."""
        former = self._run_id(old, new)
        try:
            status = subprocess.run(words).returncode
        except OSError as error:
            raise RestartFailed(f"{words[0]} cannot be run: {error.strerror}") from None
        if status:
            raise RestartFailed(f"the command ended with status {status}")
        self._wait(
            lambda: self._run_id(old, new) not in (None, former),
            f"{_shown(old)} is not back as a replica in step after the command",
        )
        self._say(f"{_shown(old)} restarted, and follows {_shown(new)}")

    def _run_id(self, server: Address, primary: Address) -> str | None:
        """Return the ID of the server's process if it follows the primary in step."""
        state = self._watched.state(server)
        return state.run_id if state is not None and state.follows == primary else None

    def _wait(self, holds: Callable[[], bool], otherwise: str) -> None:
        if not poll(holds, self._seconds, pause_s=PAUSE_SECONDS):
            raise RestartFailed(otherwise)


def _shown(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
