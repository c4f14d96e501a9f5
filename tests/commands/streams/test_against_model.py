"""The server beside a model that is small and obviously right: every reply, and what is pending.

The model (tests/storage/stream_model.py) keeps plain lists and dicts; here each request is put to
both. The clock moves by a millisecond with each request, so that no two deliveries are alike.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from server.inprocess.server import InProcessServer
from storage.groups.group import MAX_DELIVERIES, References
from tests.commands.streams.talk import Talk
from tests.storage.stream_model import ModelGroup, StreamModel
from tests.support.examples import examples

NODE_ENTRIES = 3
ANY = 2**128
POLICIES = {"KEEPREF": References.KEEP, "DELREF": References.DELETE, "ACKED": References.ACKED}

group_names = st.sampled_from(["g", "h"])
consumer_names = st.sampled_from(["a", "b"])
numbers = st.integers(1, 9)
repeated = st.lists(numbers, min_size=1, max_size=6)
counts = st.integers(1, 3)
idles = st.sampled_from([0, 1, 3, 1000])
policies = st.sampled_from(sorted(POLICIES))


def make_id(number: int) -> int:
    return number << 64 | 1


def text(entry_id: int) -> bytes:
    return b"%d-%d" % (entry_id >> 64, entry_id & 2**64 - 1)


class Pair:
    """A server and the model; each method puts one request to both and compares the replies."""

    def __init__(self) -> None:
        self.server = InProcessServer(stream_node_max_entries=str(NODE_ENTRIES))
        self.talk = Talk(self.server)
        self.model = StreamModel()
        self.tickets: dict[tuple[str, int], int] = {}  # the order of deliveries within a group
        self.talk.all("XADD s 0-1 f v", "XDEL s 0-1", "XGROUP CREATE s g 0", "XGROUP CREATE s h 0")
        self.model.append(1, [b"f", b"v"], NODE_ENTRIES)
        self.model.delete(1)
        self.model.groups = {b"g": ModelGroup(0, -1), b"h": ModelGroup(0, -1)}

    def ask(self, request: str) -> Any:
        self.server.now_ms += 1
        return self.talk.do(request)

    def group(self, name: str) -> ModelGroup:
        return self.model.groups[name.encode()]

    def is_alive(self, entry_id: int) -> bool:
        return any(entry.entry_id == entry_id for entry in self.model.entries())

    def note_delivery(self, group: str, entry_id: int) -> None:
        self.tickets[group, entry_id] = len(self.tickets) + self.server.now_ms * 1000

    def delete(self, entry_id: int, policy: str) -> int:
        """XDELEX's answer for one entry."""
        if policy == "ACKED" and self.model.is_referenced(entry_id):
            return 2
        if policy == "DELREF":
            self.model.drop_references(entry_id)
        return 1 if self.model.delete(entry_id) else -1

    # -- entries -------------------------------------------------------------------------------

    def add(self) -> None:
        number = (self.model.last_id >> 64) + 1
        self.ask(f"XADD s {number}-1 f v")
        self.model.append(make_id(number), [b"f", b"v"], NODE_ENTRIES)

    def xdel(self, numbers: list[int]) -> None:
        reply = self.ask("XDEL s " + words(numbers))
        assert reply == sum(self.model.delete(make_id(n)) for n in numbers)

    def xdelex(self, policy: str, numbers: list[int]) -> None:
        reply = self.ask(f"XDELEX s {policy} IDS {len(numbers)} {words(numbers)}")
        assert reply == [self.delete(make_id(n), policy) for n in numbers]

    def trim(self, policy: str, length: int) -> None:
        reply = self.ask(f"XTRIM s MAXLEN = {length} {policy}")
        if policy == "KEEPREF":
            assert reply == self.model.trim_to_length(length, False, 0)
        else:
            assert reply == self.model.trim_by_references(ANY, length, 0, POLICIES[policy])

    # -- groups --------------------------------------------------------------------------------

    def ack(self, name: str, numbers: list[int]) -> None:
        reply = self.ask(f"XACK s {name} {words(numbers)}")
        assert reply == sum(self.group(name).drop(make_id(n)) for n in numbers)

    def ackdel(self, name: str, policy: str, numbers: list[int]) -> None:
        reply = self.ask(f"XACKDEL s {name} {policy} IDS {len(numbers)} {words(numbers)}")
        expected = []
        for entry_id in map(make_id, numbers):
            was_pending = self.group(name).drop(entry_id)
            expected.append(max(self.delete(entry_id, policy), 1) if was_pending else -1)
        assert reply == expected

    def nack(
        self, name: str, mode: str, numbers: list[int], retry: int | None, force: bool
    ) -> None:
        options = ("" if retry is None else f" RETRYCOUNT {retry}") + (" FORCE" if force else "")
        reply = self.ask(f"XNACK s {name} {mode} IDS {len(numbers)} {words(numbers)}{options}")
        group, released = self.group(name), 0
        for entry_id in map(make_id, numbers):
            pending = group.pending.get(entry_id)
            if pending is None and not (force and self.is_alive(entry_id)):
                continue
            before = 0 if pending is None else pending.delivery_count
            after = {"SILENT": max(before - 1, 0), "FAIL": before, "FATAL": MAX_DELIVERIES}[mode]
            group.release(entry_id, after if retry is None else retry)
            released += 1
        assert reply == released

    def read(self, name: str, consumer: str, count: int) -> None:
        request = f"XREADGROUP GROUP {name} {consumer} COUNT {count} STREAMS s >"
        assert ids_of(self.ask(request)) == self.deliver(name, consumer, count)

    def deliver(self, name: str, consumer: str, count: int) -> list[bytes]:
        now_ms = self.server.now_ms
        ids = self.model.deliver_new(name.encode(), consumer.encode(), count, now_ms)
        for entry_id in ids:
            self.note_delivery(name, entry_id)
        return [text(entry_id) for entry_id in ids]

    def read_claim(self, name: str, consumer: str, idle_ms: int, count: int) -> None:
        reply = self.ask(
            f"XREADGROUP GROUP {name} {consumer} CLAIM {idle_ms} COUNT {count} STREAMS s >"
        )
        group, now_ms, expected = self.group(name), self.server.now_ms, []
        group.consumers.add(consumer.encode())
        owned = [i for i in group.claimable(now_ms, idle_ms) if i not in group.released]
        owned.sort(key=lambda entry_id: self.tickets[name, entry_id])
        for entry_id in [i for i in group.released + owned if self.is_alive(i)][:count]:
            pending = group.pending[entry_id]
            times = pending.delivery_count
            expected.append([text(entry_id), now_ms - pending.delivery_ms, times])
            group.claim(entry_id, consumer.encode(), now_ms, min(times + 1, MAX_DELIVERIES))
            self.note_delivery(name, entry_id)
        rest = count - len(expected)
        if rest:
            expected += [[entry_id, 0, 0] for entry_id in self.deliver(name, consumer, rest)]
        entries = reply[0][1] if reply else []
        assert [[entry[0], entry[2], entry[3]] for entry in entries] == expected

    def claim(self, name: str, consumer: str, idle_ms: int, numbers: list[int]) -> None:
        reply = self.ask(f"XCLAIM s {name} {consumer} {idle_ms} {words(numbers)}")
        claimed = [i for i in map(make_id, numbers) if self.claim_one(name, consumer, idle_ms, i)]
        assert [entry[0] for entry in reply] == [text(entry_id) for entry_id in claimed]

    def claim_one(self, name: str, consumer: str, idle_ms: int, entry_id: int) -> bool:
        group, now_ms = self.group(name), self.server.now_ms
        group.consumers.add(consumer.encode())
        pending = group.pending.get(entry_id)
        if pending is None:
            return False
        if not self.is_alive(entry_id):
            group.drop(entry_id)
            return False
        if pending.consumer is not None and idle_ms and now_ms - pending.delivery_ms < idle_ms:
            return False
        count = min(pending.delivery_count + 1, MAX_DELIVERIES)
        group.claim(entry_id, consumer.encode(), now_ms, count)
        self.note_delivery(name, entry_id)
        return True

    def autoclaim(self, name: str, consumer: str, idle_ms: int, count: int) -> None:
        reply = self.ask(f"XAUTOCLAIM s {name} {consumer} {idle_ms} 0 COUNT {count}")
        waiting = sorted(self.group(name).pending)
        claimed: list[bytes] = []
        deleted: list[bytes] = []
        self.group(name).consumers.add(consumer.encode())
        for _ in range(10 * count):
            if not waiting or len(claimed) + len(deleted) == count:
                break
            entry_id = waiting.pop(0)
            if not self.is_alive(entry_id):
                deleted.append(text(entry_id))
                self.group(name).drop(entry_id)
            elif self.claim_one(name, consumer, idle_ms, entry_id):
                claimed.append(text(entry_id))
        cursor = text(waiting[0]) if waiting else b"0-0"
        assert [reply[0], [entry[0] for entry in reply[1]], reply[2]] == [cursor, claimed, deleted]

    def set_back(self, name: str, number: int) -> None:
        self.ask(f"XGROUP SETID s {name} {number}-1")
        self.group(name).last_delivered_id = make_id(number)
        self.group(name).entries_read = -1

    def delete_consumer(self, name: str, consumer: str) -> None:
        reply = self.ask(f"XGROUP DELCONSUMER s {name} {consumer}")
        assert reply == self.model.delete_consumer(name.encode(), consumer.encode())

    def start_group_again(self, name: str) -> None:
        assert self.ask(f"XGROUP DESTROY s {name}") == 1
        self.ask(f"XGROUP CREATE s {name} 0")
        self.model.groups[name.encode()] = ModelGroup(0, -1)

    # -- what holds after each request ---------------------------------------------------------

    def check(self) -> None:
        talk, model = self.talk, self.model
        assert talk.ids("s") == [text(entry.entry_id).decode() for entry in model.entries()]
        lags = {info[1]: info[11] for info in talk.do("XINFO GROUPS s")}
        for name in ("g", "h"):
            group = self.group(name)
            assert lags[name.encode()] == model.lag(group)
            assert talk.do(f"XPENDING s {name} - + 99") == [
                [text(i), p.consumer or b"", idle_of(p.delivery_ms, p.consumer, self.server.now_ms),
                 p.delivery_count]
                for i, p in sorted(group.pending.items())
            ]  # fmt: skip
            owned = sum(info[3] for info in talk.do(f"XINFO CONSUMERS s {name}"))
            assert owned + len(group.released) == len(group.pending)


def idle_of(delivery_ms: int, consumer: bytes | None, now_ms: int) -> int:
    return -1 if consumer is None else now_ms - delivery_ms


def words(numbers: list[int]) -> str:
    return " ".join(f"{number}-1" for number in numbers)


def ids_of(reply: Any) -> list[bytes]:
    return [entry[0] for entry in reply[0][1]] if reply else []


STEPS = st.one_of(
    st.tuples(st.just("add")),
    st.tuples(st.just("add")),
    st.tuples(st.just("xdel"), repeated),
    st.tuples(st.just("xdelex"), policies, repeated),
    st.tuples(st.just("trim"), policies, st.integers(0, 5)),
    st.tuples(st.just("ack"), group_names, repeated),
    st.tuples(st.just("ackdel"), group_names, policies, repeated),
    st.tuples(
        st.just("nack"), group_names, st.sampled_from(["SILENT", "FAIL", "FATAL"]), repeated,
        st.none() | st.integers(0, 4), st.booleans(),
    ),
    st.tuples(st.just("read"), group_names, consumer_names, counts),
    st.tuples(st.just("read"), group_names, consumer_names, counts),
    st.tuples(st.just("read_claim"), group_names, consumer_names, idles, counts),
    st.tuples(st.just("claim"), group_names, consumer_names, idles, repeated),
    st.tuples(st.just("autoclaim"), group_names, consumer_names, idles, counts),
    st.tuples(st.just("set_back"), group_names, numbers),
    st.tuples(st.just("delete_consumer"), group_names, consumer_names),
    st.tuples(st.just("start_group_again"), group_names),
)  # fmt: skip


@settings(max_examples=examples(150))
@given(st.lists(STEPS, min_size=5, max_size=40))
def test_the_server_answers_what_the_model_answers(steps: list[tuple[Any, ...]]) -> None:
    pair = Pair()
    for name, *arguments in steps:
        getattr(pair, name)(*arguments)
        pair.check()
