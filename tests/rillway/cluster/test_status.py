"""The lines and the JSON of a cluster's state."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from rillway.cluster.folder import ClusterFolder, Plan
from rillway.cluster.member import Node
from rillway.cluster.status import NodeStatus, Status, as_json, lines, read_status

A, B, C = "a" * 40, "b" * 40, "c" * 40
PRIMARY, REPLICA = frozenset({"master"}), frozenset({"slave"})
SOUND = Status(
    (
        NodeStatus(
            *("127.0.0.1:7000", 7000, True, 11),
            Node(A, "127.0.0.1", 7000, PRIMARY, None, 1, 0, ((0, 8191), (8193, 8193))),
        ),
        NodeStatus(*("127.0.0.1:7001", 7001, True, 12), Node(B, "127.0.0.1", 7001, REPLICA, A, 1)),
        NodeStatus(
            *("10.0.0.1:79", 79, False, None),
            Node(C, "10.0.0.1", 79, PRIMARY, None, 2, 0, ((8192, 8192), (8194, 16383))),
        ),
    ),
    True,
    (),
)


def test_each_node_has_a_line() -> None:
    assert SOUND.is_sound
    assert lines(SOUND) == [
        "127.0.0.1:7000  primary                    pid 11     0-8191 8193 (8,193 slots)",
        "127.0.0.1:7001  replica of 127.0.0.1:7000  pid 12",
        "10.0.0.1:79     primary                    another's  8192 8194-16383 (8,191 slots)",
        "cluster: ok, 16,384 of 16,384 slots served, 2 primaries",
    ]


def test_slots_of_a_node_that_is_down_are_not_served_although_nobody_has_noticed() -> None:
    down = dataclasses.replace(SOUND.nodes[0], pid=None, problem="is down; its log: x")
    status = Status((down, *SOUND.nodes[1:]), True, ("127.0.0.1:7000 is down; its log: x",))
    assert not status.is_sound
    assert lines(status)[-2:] == [
        "cluster: fail, 8,191 of 16,384 slots served, 2 primaries",
        "127.0.0.1:7000 is down; its log: x",
    ]


def test_the_json_has_the_same(tmp_path: Path) -> None:
    document = as_json(ClusterFolder(tmp_path), SOUND)
    assert (document["state"], document["slots_served"], document["problems"]) == ("ok", 16384, [])
    assert document["nodes"][1] == {
        "address": "127.0.0.1:7001",
        "port": 7001,
        "id": B,
        "role": "replica",
        "primary_id": A,
        "slots": [],
        "started_here": True,
        "pid": 12,
        "problem": None,
    }


def test_of_a_cluster_that_is_stopped_the_files_are_read(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    folder.save(Plan(1, 0, [7000], [], is_created=True))
    (tmp_path / "7000").mkdir()
    line = f"{A} 127.0.0.1:7000@17000,,shard-id={B} myself,master - 0 0 1 connected 0-16383\n"
    (tmp_path / "7000/nodes.conf").write_text(line)
    status = read_status(folder)
    assert (status.state, status.is_sound) == ("stopped", False)
    assert lines(status) == [
        "127.0.0.1:7000  primary  down  0-16383 (16,384 slots)",
        "cluster: stopped, 1 primary",
    ]


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (
            Plan(1, 0, [7000], []),
            "it was not made to the end: `rillway cluster start --dir {}` goes on",
        ),
        (
            Plan(1, 0, [7000], [], adding=[7001], is_created=True),
            "a node is being added (7001): `rillway cluster add --dir {}` goes on",
        ),
    ],
)
def test_what_was_cut_is_said(tmp_path: Path, plan: Plan, sentence: str) -> None:
    folder = ClusterFolder(tmp_path)
    folder.save(plan)
    assert sentence.format(tmp_path) in read_status(folder).problems
