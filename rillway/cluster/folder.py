"""The folder of a cluster: its plan, and a folder for each node.

cluster.json   the ports of its nodes, and the options that all of them are started with
lock           held by the `rillway cluster` that changes something
7000/ ...      a node: nodes.conf, appendonlydir, server.log
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote

from rillway.cluster.arguments import DEFAULT_FOLDER
from rillway.cluster.member import ClusterFailed, Member, Node, parse_nodes
from rillway.cluster.process import NodeProcess

FILE = "cluster.json"
FORMAT = 1
# All nodes have the same options, so none may name a resource of a single node.
RESERVED = (
    *("port", "dir", "cluster-enabled", "cluster-config-file", "cluster-port", "logfile"),
    *("tls-port", "unixsocket", "metrics-port", "pidfile", "daemonize"),
)


@dataclass
class Plan:
    """The content of cluster.json.

    `ports`: those of the primaries, of their replicas, and of added nodes. `adding` and `removing`:
    the ports of nodes that `add` or `remove` has begun with, not among `ports`. `first_port`: the
    first port of the cluster at its creation, even if that node was removed. `restarting`: the
    ports that `restart` has not come to. `program`: the words before `serve`, none for this
    Rillway; `former_program`: those before the last `upgrade`.
    """

    primaries: int
    replicas: int
    ports: list[int]
    options: list[str]
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    is_created: bool = False
    first_port: int = 0
    restarting: list[int] = field(default_factory=list)
    program: list[str] = field(default_factory=list)
    former_program: list[str] = field(default_factory=list)

    @property
    def password(self) -> str:
        """`requirepass` among the options, or the environment's password, as in redis-cli."""
        return option_value(self.options, "requirepass") or os.environ.get("REDISCLI_AUTH", "")


class ClusterFolder:
    """The folder `path`. Raises ClusterFailed if it exists and is not a cluster's."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._file = self.path / FILE
        self.plan = self._read()

    def _read(self) -> Plan | None:
        """Return the plan; None for a missing or empty folder."""
        try:
            found = json.loads(self._file.read_text())
            if found.pop("format") == FORMAT:
                return Plan(**found)
            raise ClusterFailed(f"{self._file} was written by another version of Rillway")
        except FileNotFoundError:
            if self.path.is_dir() and any(entry.name != "lock" for entry in self.path.iterdir()):
                raise ClusterFailed(
                    f"{self.path} is no cluster of ours: it has files, but no {FILE}"
                ) from None
            return None
        except NotADirectoryError:
            raise ClusterFailed(f"{self.path} is not a folder") from None
        except OSError as error:
            raise ClusterFailed(f"{self._file} cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ClusterFailed(f"{self._file} is damaged") from None

    def existing(self) -> Plan:
        """Return the plan. Raises ClusterFailed if there is no cluster."""
        if self.plan is None:
            first = self.command("start --nodes 3")
            raise ClusterFailed(f"there is no cluster in {self.path}: {first}")
        return self.plan

    def command(self, job: str) -> str:
        """Return a command on this folder for the user to run."""
        is_default = self.path == DEFAULT_FOLDER.absolute()
        where = "" if is_default else f" --dir {quote(str(self.path))}"
        return f"rillway cluster {job}{where}"

    def save(self, plan: Plan) -> None:
        """Write cluster.json atomically. Only its owner can read it: it contains passwords."""
        self.plan = plan
        written = self._file.with_suffix(".new")
        with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"format": FORMAT, **asdict(plan)}, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        written.replace(self._file)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other commands, and create it. Raises ClusterFailed."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("w")
        except OSError as error:
            raise ClusterFailed(f"{self.path} cannot be used: {error.strerror}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClusterFailed(
                    f"another `rillway cluster` is at work in {self.path}"
                ) from None
            self.plan = self._read()
            yield

    def process(self, port: int) -> NodeProcess:
        return NodeProcess(self.path / str(port), port)

    def processes(self) -> list[NodeProcess]:
        """Return the processes of all nodes, including those being added or removed."""
        plan = self.existing()
        return [self.process(port) for port in (*plan.ports, *plan.adding, *plan.removing)]

    def member(self, port: int) -> Member:
        return Member(port, password=self.existing().password)

    def saved_nodes(self, port: int) -> list[Node]:
        """Return the nodes in a node's nodes.conf."""
        try:
            return parse_nodes((self.path / str(port) / "nodes.conf").read_text())
        except (OSError, ValueError, IndexError):
            return []


def checked_options(options: Sequence[str]) -> list[str]:
    """Return the nodes' options, files by absolute path. Raises ClusterFailed for reserved ones.

    With a password, nodes need it to authenticate with each other.
    """
    checked = list(options)
    for word in checked:
        name = word.partition("=")[0].removeprefix("--").lower()
        if word == "-p" or (word.startswith("--") and name in RESERVED):
            raise ClusterFailed(f"{word} cannot be given to all nodes: each has its own")
    if checked and not checked[0].startswith("-"):
        file = Path(checked[0]).absolute()
        if not file.is_file():
            raise ClusterFailed(f"after -- there is no file {file}; options begin with --")
        checked[0] = str(file)
    password = option_value(checked, "requirepass")
    if password and not option_value(checked, "masterauth"):
        checked += ["--masterauth", password]
    return checked


def option_value(options: Sequence[str], name: str) -> str:
    """Return the last value of an option, `--name value` or `--name=value`; "" if missing."""
    value = ""
    for place, word in enumerate(options):
        if word.lower() == f"--{name}":
            value = options[place + 1] if place + 1 < len(options) else ""
        elif word.lower().startswith(f"--{name}="):
            value = word.partition("=")[2]
    return value
