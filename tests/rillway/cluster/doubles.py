"""Nodes of a cluster without processes: they do at once what they are asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rillway.cluster.member import Member, Node, NotReady


class FakeCluster:
    """Nodes that hear of every change at once. `changes`: what they were asked to change."""

    def __init__(self, count: int, fail_after: int | None = None) -> None:
        """`fail_after`: how many changes are made before a node cannot be reached any more."""
        self.members: list[Any] = [FakeMember(self, number) for number in range(count)]
        self.owners: list[FakeMember | None] = [None] * 16384
        self.changes: list[tuple[Any, ...]] = []
        self.keys: dict[int, dict[bytes, FakeMember]] = {}
        self.fail_after = fail_after

    def change(self, member: FakeMember, words: Sequence[Any]) -> None:
        if self.fail_after is not None and len(self.changes) >= self.fail_after:
            raise NotReady("cut")
        self.changes.append((member.port, *words))

    def give_all(self) -> None:
        """Divide the slots among the members but the last."""
        givers = self.members[:-1]
        for slot in range(16384):
            self.owners[slot] = givers[slot * len(givers) // 16384]


class FakeMember(Member):
    """One of them."""

    def __init__(self, cluster: FakeCluster, number: int) -> None:
        self.cluster, self.host, self.port = cluster, "127.0.0.1", 7000 + number
        self.bus_port, self.password = 17000 + number, ""
        self.node_id = f"{number:040x}"
        self.epoch = 0
        self.known = {self.port}
        self.primary_id: str | None = None
        self.migrating: dict[int, str] = {}
        self.importing: dict[int, str] = {}

    def nodes(self) -> list[Node]:
        return [
            each.as_node(each is self) for each in self.cluster.members if each.port in self.known
        ]

    def as_node(self, is_myself: bool) -> Node:
        slots = [(s, s) for s, owner in enumerate(self.cluster.owners) if owner is self]
        flags = {"slave" if self.primary_id else "master"} | ({"myself"} if is_myself else set())
        return Node(
            *(self.node_id, self.host, self.port, frozenset(flags), self.primary_id, self.epoch),
            self.bus_port,
            joined(slots),
            dict(self.migrating),
            dict(self.importing),
        )

    def ask(self, *words: str | int) -> Any:
        if words[0] == "ROLE":
            return ["slave", "", 0, "connected"] if self.primary_id else ["master"]
        if words[:2] == ("CLUSTER", "MYID"):
            return self.node_id
        if words[:2] == ("CLUSTER", "INFO"):
            return f"cluster_state:{'fail' if None in self.cluster.owners else 'ok'}"
        if words[:2] == ("CLUSTER", "GETKEYSINSLOT"):
            held = self.cluster.keys.get(int(words[2]), {})
            return [key for key, holder in held.items() if holder is self][: int(words[3])]
        self.cluster.change(self, words)
        name = str(words[1] if words[0] == "CLUSTER" else words[0]).lower().replace("-", "_")
        return getattr(self, f"do_{name}")(*words[2 if words[0] == "CLUSTER" else 1 :])

    def ask_all(self, commands: Iterable[tuple[str | int, ...]]) -> list[Any]:
        return [self.ask(*words) for words in commands]

    def do_set_config_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def do_addslotsrange(self, first: int, last: int) -> None:
        assert not any(self.cluster.owners[first : last + 1])
        self.cluster.owners[first : last + 1] = [self] * (last - first + 1)

    def do_meet(self, host: str, port: int, bus_port: int) -> None:
        [other] = [member for member in self.cluster.members if member.port == port]
        together = self.known | other.known
        for member in self.cluster.members:
            if member.port in together:
                member.known = set(together)

    def do_replicate(self, node_id: str) -> None:
        self.primary_id = node_id

    def do_forget(self, node_id: str) -> None:
        [port] = [member.port for member in self.cluster.members if member.node_id == node_id]
        assert port != self.port and node_id != self.primary_id
        self.known.remove(port)

    def do_reset(self, how: str) -> None:
        assert self not in self.cluster.owners
        self.known, self.primary_id, self.node_id = {self.port}, None, f"{self.port:040d}"

    def do_setslot(self, slot: int, what: str, node_id: str) -> None:
        cluster, [other] = self.cluster, [m for m in self.cluster.members if m.node_id == node_id]
        if what == "IMPORTING":
            assert cluster.owners[slot] is other
            self.importing[slot] = node_id
        elif what == "MIGRATING":
            assert cluster.owners[slot] is self
            self.migrating[slot] = node_id
        else:
            assert self is other or self not in cluster.keys.get(slot, {}).values()
            cluster.owners[slot] = other
            self.migrating.pop(slot, None)
            self.importing.pop(slot, None)

    def do_migrate(self, host: str, port: int, *words: Any) -> None:
        keys = words[words.index("KEYS") + 1 :]
        [other] = [member for member in self.cluster.members if member.port == port]
        for slot, held in self.cluster.keys.items():
            for key in keys:
                if held.get(key) is self:
                    assert slot in self.migrating and slot in other.importing
                    held[key] = other


def joined(slots: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ranges that follow one another as one."""
    found: list[tuple[int, int]] = []
    for first, last in slots:
        if found and found[-1][1] == first - 1:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found)
