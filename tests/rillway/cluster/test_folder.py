"""cluster.json, whose folder it is, and the options of all nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.cluster.arguments import DEFAULT_FOLDER
from rillway.cluster.folder import ClusterFolder, Plan, checked_options, option_value
from rillway.cluster.member import ClusterFailed


def test_a_plan_is_read_as_it_was_saved(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path / "new")
    assert folder.plan is None
    plan = Plan(3, 1, [7000, 7001], ["--appendfsync", "always"], adding=[7002])
    with folder.locked():
        folder.save(plan)
    again = ClusterFolder(tmp_path / "new")
    assert again.existing() == plan
    assert [process.port for process in again.processes()] == [7000, 7001, 7002]
    assert (again.path / "cluster.json").stat().st_mode & 0o077 == 0
    assert again.saved_nodes(7000) == []


def test_without_a_cluster_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ClusterFailed, match=r"there is no cluster in .*: rillway cluster start"):
        ClusterFolder(tmp_path).existing()


def test_commands_name_the_folder_unless_it_is_the_one_of_default(tmp_path: Path) -> None:
    assert ClusterFolder(DEFAULT_FOLDER).command("add") == "rillway cluster add"
    named = ClusterFolder(tmp_path / "my cluster")
    assert named.command("start") == f"rillway cluster start --dir '{tmp_path}/my cluster'"


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("letter.txt", "", "is no cluster of ours: it has files, but no cluster.json"),
        ("cluster.json", "{", "is damaged"),
        ("cluster.json", '{"format": 1, "nodes": 3}', "is damaged"),
        ("cluster.json", '{"format": 99}', "by another version"),
    ],
)
def test_a_folder_of_another_is_refused(tmp_path: Path, name: str, text: str, what: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ClusterFailed, match=what):
        ClusterFolder(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClusterFailed, match="is not a folder"):
        ClusterFolder(tmp_path / "file")


def test_two_cannot_change_it_at_once(tmp_path: Path) -> None:
    first, second = ClusterFolder(tmp_path), ClusterFolder(tmp_path)
    with first.locked():  # noqa: SIM117 (the second is the one that fails)
        with pytest.raises(ClusterFailed, match="another `rillway cluster` is at work"):
            with second.locked():
                pass
    with second.locked():
        pass


def test_what_a_node_has_for_itself_is_no_option_of_all(tmp_path: Path) -> None:
    for words in (["--port", "1"], ["--dir=x"], ["-p", "1"], ["--Cluster-Enabled", "no"]):
        with pytest.raises(ClusterFailed, match="cannot be given to all nodes"):
            checked_options(words)
    file = tmp_path / "rillway.conf"
    with pytest.raises(ClusterFailed, match="there is no file"):
        checked_options([str(file)])
    file.touch()
    assert checked_options([str(file), "--maxclients", "5"]) == [str(file), "--maxclients", "5"]


def test_a_password_is_that_of_the_nodes_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    options = checked_options(["--requirepass", "secret"])
    assert option_value(options, "masterauth") == "secret"
    assert Plan(1, 0, [], options).password == "secret"
    assert option_value(checked_options(["--requirepass=a", "--masterauth=b"]), "masterauth") == "b"
    monkeypatch.setenv("REDISCLI_AUTH", "from outside")
    assert Plan(1, 0, [], []).password == "from outside"
