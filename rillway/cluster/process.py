"""The process of a node: `rillway serve` in a folder, detached from the program that starts it.

The process holds a lock on the file `process` of its folder, which contains its ID. The lock ends
with the process, however it ends, so no other process is mistaken for it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import rillway
from rillway.cluster.member import ClusterFailed, Member, wait_until

START_SECONDS = 600.0  # it may have to load a lot
STOP_SECONDS = 60.0
AGAIN_SECONDS = 1.0
SHOWN_LINES = 5
OWN_PROGRAM = (sys.executable, "-m", "rillway")
# The folder of this package, so that the process imports the same one from any folder.
IMPORT_ROOT = str(Path(rillway.__file__).parent.parent)
# Options of all nodes; the user's options follow and override them.
DIRECTIVES = (
    *("--cluster-enabled", "yes", "--appendonly", "yes"),
    # Replicas are on the same machine, and `start` waits for them.
    *("--repl-diskless-sync-delay", "0"),
    # A primary that a supervisor ends hands its role to a replica first; `stop` turns this off.
    *("--shutdown-on-sigterm", "failover"),
)


class NodeProcess:
    """A node's folder, and the process that serves it, if there is one."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.log = folder / "server.log"
        self._file = folder / "process"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process ID; None if the node does not run."""
        if self._child is not None and self._child.poll() is None:
            return self._child.pid
        try:
            with self._file.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: others may check too
                return None
        except BlockingIOError:
            return int(self._file.read_text() or 0) or None
        except FileNotFoundError:
            return None

    def start(self, options: Sequence[str], program: Sequence[str] = ()) -> None:
        """Start the process. `options`: words for `rillway serve`, the first one may be a file.

        `program`: the words before `serve`, of another Rillway than this. Returns before the
        process answers.
        """
        self.folder.mkdir(exist_ok=True)
        files = options[:1] if options and not options[0].startswith("-") else []
        arguments = [*files, *DIRECTIVES, *options[len(files) :]]
        arguments += ["--port", str(self.port), "--dir", str(self.folder)]
        paths = [IMPORT_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        ours = {"PYTHONPATH": os.pathsep.join(paths)}
        words = [*(program or OWN_PROGRAM), "serve", *arguments]
        with self._file.open("a+") as held, self.log.open("ab") as log:
            fcntl.flock(held, fcntl.LOCK_EX)
            held.truncate(0)
            self._child = subprocess.Popen(
                # The shell writes the ID, so that it is written even if this program is killed.
                ["sh", "-c", 'echo "$$" >process && exec "$@"', "sh", *words],
                cwd=self.folder,
                env=os.environ | {"PYTHONUNBUFFERED": "1"} | ({} if program else ours),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must not reach it
                pass_fds=[held.fileno()],
            )

    def wait_until_it_answers(self, member: Member) -> None:
        """Wait until the node answers. Raises ClusterFailed if it ends or does not answer."""

        def answers() -> bool:
            if self.pid is None:
                what = f"the node on port {self.port} did not start"
                raise ClusterFailed(f"{what}. {self.last_words}")
            return bool(member.ask("PING"))

        wait_until(answers, START_SECONDS, lambda: f"{member.address} does not answer PING")

    @property
    def last_words(self) -> str:
        """Return the end of the log, for a message."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
        except FileNotFoundError:
            return "It has no log."
        return "\n".join((f"The end of its log, {self.log}:", *lines))

    def ask_to_end(self) -> bool:
        """Send SIGTERM; return False if it does not run."""
        pid = self.pid
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        return True

    def wait_for_its_end(self) -> None:
        """Wait until the process has ended. Raises ClusterFailed if it runs after a minute.

        It is asked again each second: as in Redis, a replica refuses to end while it writes its
        first append-only file after a synchronisation.
        """
        asked = time.monotonic()

        def has_ended() -> bool:
            nonlocal asked
            if self.pid is not None and time.monotonic() > asked + AGAIN_SECONDS:
                self.ask_to_end()
                asked = time.monotonic()
            return self.pid is None

        wait_until(
            has_ended,
            STOP_SECONDS,
            lambda: (
                f"the node on port {self.port} (pid {self.pid}) still runs after "
                f"{STOP_SECONDS:.0f} s. {self.last_words}"
            ),
        )
