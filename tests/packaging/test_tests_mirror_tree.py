"""Tests mirror the tree: storage/stream.py is tested by tests/storage/test_stream.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
FOLDERS = ("protocol", "storage", "commands", "server", "rillway")

# Modules without a test file of their own, and where their behaviour is tested instead.
TESTED_ELSEWHERE: dict[str, str] = {
    "commands/core/server_state.py": "plain attributes; replication/test_roles.py",
    "commands/transactions/watched_keys.py": "plain attributes; test_watch.py beside it",
    "commands/cluster/mode.py": "an interface and a table; test_routing.py beside it",
    "commands/geo/places.py": "the script tests/golden/replies/geo.txt",
    "commands/hashes/himport.py": "the script tests/golden/replies/hashes.txt",
    "commands/core/services.py": "interfaces; their implementations are in server/",
    "storage/keyspace/key_records.py": "compiled, C; test_key_table.py beside it",
    "rillway/cluster/launch.py": "test_command.py beside it, in processes of its own",
    "rillway/cluster/process.py": "test_command.py beside it, in processes of its own",
    **{
        f"rillway/backup/{module}.py": "test_command.py beside it"
        for module in ("arguments", "nodes", "snapshot", "work")
    },
    **{
        f"rillway/restore/{module}.py": "test_checking.py, and tests/rillway/backup/test_command.py"
        for module in ("arguments", "command", "restoring")
    },
    **{
        f"rillway/{room}/arguments.py": "test_command.py beside it, and test_main.py"
        for room in (
            *("console", "consumer", "demo", "top", "pipeline/archive", "pipeline/dead_letters"),
            *("pipeline/lag", "pipeline/latency", "pipeline/policy", "pipeline/query"),
            *("pipeline/relations", "pipeline/replay", "pipeline/why", "restart"),
        )
    },
    "rillway/pipeline/archive/engine.py": "test_archiver.py, and jvm/test_commands.py",
    **{
        f"rillway/pipeline/archive/erasure/{module}.py": "test_eraser.py, test_commands.py"
        for module in (
            *("journal", "memory", "progress", "rewriting", "selection", "targets", "traces"),
        )
    },
    "rillway/pipeline/archive/files/actions.py": "test_table.py, and columns/test_statistics.py",
    "rillway/pipeline/archive/files/opening.py": "test_table.py, and files/test_log_files.py",
    "rillway/pipeline/archive/groups.py": "test_trim.py beside it",
    "rillway/pipeline/archive/identity/sources.py": "test_recognition.py beside it",
    "rillway/pipeline/archive/commits.py": "test_archiver.py beside it",
    "rillway/pipeline/archive/pins.py": "test_trim.py beside it, and test_history.py",
    "rillway/pipeline/latency/spark_journal.py": "tests/rillway/pipeline/jvm/test_journal.py",
    "rillway/pipeline/spark/frames.py": "jvm/test_stream_frame.py, jvm/test_oldest_spark.py",
    "rillway/pipeline/replay/command.py": "test_replayer.py beside it",
    "rillway/pipeline/replay/ledger.py": "test_replayer.py beside it",
    "server/loop/server.py": "every test of a command runs on it, by server/inprocess/server.py",
    "server/inprocess/children.py": "the double by which test_saves.py works",
    "server/inprocess/server.py": "every test of a command runs on it",
    "server/cluster/events.py": "plain attributes; whoever makes and reads them has tests",
    "server/cluster/outbox.py": "test_gossip.py, test_model.py beside it",
    "server/cluster/state.py": "test_operations.py, test_core.py and test_gossip.py beside it",
    "server/migration.py": "tests/compat/test_migrate.py, over real sockets",
    "server/main.py": "tests/integration/test_connections.py and tests/packaging/test_wheel.py",
    "server/persistence/snapshots/snapshot_file.py": "test_saves.py and test_rewrites.py",
    "server/replication/replica/installation.py": "test_link.py beside it",
    "server/inprocess/memory_network.py": "the network that test_replicas.py and others work on",
    "server/replication/replication.py": "the tests of its parts, and test_replication.py",
    "server/replication/sockets.py": "integration/replication/test_replication.py, real sockets",
    "server/replication/primary/failed_syncs.py": "replication/test_backoff.py, both sides",
    "server/replication/primary/transfers.py": "test_replicas.py, and test_replication.py",
    "storage/redis_format/encoding_limits.py": "plain attributes; the types have tests",
    "storage/types/blocks.py": "test_segment.py and test_packed_table.py beside it",
    "server/loop/service.py": "tests/integration/test_connections.py, over real sockets",
}


def has_code(path: Path) -> bool:
    """Whether a module defines a function or a class; re-exports and constants need no test."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, definitions) for node in ast.walk(ast.parse(path.read_text())))


def expected_test(module: str) -> str:
    """The test file of a module, both as paths from the repository root."""
    path = Path(module)
    noun = path.parent.name if path.name == "__init__.py" else path.stem.strip("_")
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    return str(Path("tests") / folder / f"test_{noun}.py")


def modules() -> list[str]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [str(path.relative_to(ROOT)) for path in paths]


def test_the_test_file_of_a_module_is_found_by_its_name() -> None:
    assert expected_test("storage/stream.py") == "tests/storage/test_stream.py"
    assert expected_test("commands/streams/xadd.py") == "tests/commands/streams/test_xadd.py"
    assert expected_test("commands/streams/__init__.py") == "tests/commands/test_streams.py"
    assert expected_test("rillway/__main__.py") == "tests/rillway/test_main.py"


def test_every_module_with_code_has_a_test_file() -> None:
    untested = {
        module
        for module in modules()
        if not (ROOT / expected_test(module)).is_file() and has_code(ROOT / module)
    }
    assert untested == set(TESTED_ELSEWHERE)
