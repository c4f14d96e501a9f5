"""nodes.conf on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.cluster.host.node_file import NodeFile, NodeFileInUse


def test_the_text_is_kept(tmp_path: Path) -> None:
    file = NodeFile(str(tmp_path / "nodes.conf"))
    assert file.read() == ""
    for is_synced in (False, True):
        file.write(f"{is_synced}\n", is_synced=is_synced)
        assert file.read() == f"{is_synced}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes.conf", "nodes.conf.lock"]


def test_two_nodes_do_not_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "nodes.conf")
    file = NodeFile(path)
    file.write("mine\n", is_synced=True)
    with pytest.raises(NodeFileInUse, match="each node needs one of its own"):
        NodeFile(path)
    file.close()
    assert NodeFile(path).read() == "mine\n"


def test_a_file_that_cannot_be_written_is_an_error_and_stays(tmp_path: Path) -> None:
    file = NodeFile(str(tmp_path / "nodes.conf"))
    file.write("old\n", is_synced=True)
    (tmp_path / f"nodes.conf.tmp-{os.getpid()}").mkdir()
    with pytest.raises(OSError, match="directory"):
        file.write("new\n", is_synced=True)
    assert file.read() == "old\n"
