from __future__ import annotations

import pytest

from protocol.errors import ReplyError
from server.cluster import messages
from server.cluster.events import PauseWrites, Promote, ReplicateFrom, ResumeWrites, Save
from server.cluster.messages import FORCE_ACK, PAUSED
from server.cluster.nodes import FAIL, Node
from tests.server.cluster.small_cluster import SmallCluster

ACK, REQUEST = messages.AUTH_ACK, messages.AUTH_REQUEST


def voter() -> SmallCluster:
    """A primary; `c` is a replica of `b`, which has failed."""
    core = SmallCluster("bcd")
    core.state.set_owner(core.node("c").slots, None)
    core.state.make_replica(core.node("c"), core.node("b"))
    core.node("b").flags |= FAIL
    core.now_ms += 10_000
    return core


def ask(core: SmallCluster, letter: str = "c", **fields: object) -> list[str]:
    """A replica asks for a vote; who got one."""
    actions = core.hear(letter, REQUEST, **fields)
    granted = [to for to, _ in core.said(ACK)]
    if granted:
        assert isinstance(actions[0], Save) and actions[0].is_promise
    return granted


def test_a_vote_is_granted_once_in_an_epoch_and_saved_first() -> None:
    core = voter()
    assert ask(core, current_epoch=7) == ["c"]
    assert "vars currentEpoch 7 lastVoteEpoch 7" in core.saved
    assert ask(core, current_epoch=7) == []
    core.now_ms += 1_900
    assert ask(core, current_epoch=8) == []
    core.now_ms += 200
    assert ask(core, current_epoch=8) == ["c"]


def test_a_vote_needs_a_failed_primary_unless_it_is_forced() -> None:
    core = voter()
    core.node("b").flags &= ~FAIL
    assert ask(core, current_epoch=7) == []
    assert ask(core, current_epoch=7, marks=FORCE_ACK) == ["c"]


def test_no_vote_for_older_epochs_and_owners_of_newer_slots() -> None:
    core = voter()
    core.state.current_epoch = 9
    assert ask(core, current_epoch=8) == []
    slots = core.node("b").slots | 1 << 300
    assert ask(core, current_epoch=9, slots=slots) == []
    assert ask(core, current_epoch=9) == ["c"]


def test_only_primaries_with_slots_vote_and_only_for_replicas() -> None:
    core = voter()
    assert ask(core, "d", current_epoch=7) == []
    core.cluster.flush_slots()
    assert ask(core, current_epoch=7) == []


def candidate(**settings: object) -> SmallCluster:
    """A replica of `b`, which has failed; `c`, `d` and `e` are primaries."""
    core = SmallCluster("bcde", primary="b", **settings)
    core.data.offset = 5
    core.pass_time(2_000, alive="bcde")
    core.sent.clear()
    core.node("b").flags |= FAIL
    return core


def until_asked(core: SmallCluster) -> int:
    """Pass time until votes are asked for; how long that took, in ms."""
    begun_ms = core.now_ms
    while not (asked := core.said(REQUEST)):
        core.pass_time(100, alive="cde")
        core.node("b").flags |= FAIL
        assert core.now_ms < begun_ms + 30_000, "no election"
    assert {to for to, _ in asked} >= {"c", "d", "e"}
    return core.now_ms - begun_ms


def test_a_majority_makes_a_replica_the_primary_of_its_shard() -> None:
    core = candidate()
    assert 500 <= until_asked(core) <= 1_200
    epoch = core.state.current_epoch
    slots = core.node("b").slots
    assert epoch == 5
    assert f"vars currentEpoch {epoch} " in core.saved
    core.hear("c", ACK, current_epoch=epoch)
    core.hear("c", ACK, current_epoch=epoch)
    core.hear("d", ACK, current_epoch=epoch - 1)
    assert core.state.myself.is_replica
    actions = [*core.hear("d", ACK, current_epoch=epoch), *core.hear("e", ACK, current_epoch=epoch)]
    assert Promote() in actions
    me = core.state.myself
    assert (me.is_primary, me.slots, me.config_epoch) == (True, slots, epoch)
    assert sorted(to for to, _ in core.said(messages.PONG))[-3:] == ["c", "d", "e"]


def test_who_is_elected_votes_for_nobody_else_in_that_epoch() -> None:
    core = candidate()
    until_asked(core)
    for letter in "cde":
        core.hear(letter, ACK, current_epoch=5)
    core.state.set_owner(core.node("e").slots, None)
    core.state.make_replica(core.node("e"), core.node("d"))
    core.node("d").flags |= FAIL
    assert ask(core, "e", current_epoch=5) == []
    assert ask(core, "e", current_epoch=6) == ["e"]


def test_a_replaced_primary_and_its_successor_have_one_vote() -> None:
    core = candidate()
    until_asked(core)
    core.hear("c", ACK, current_epoch=5)
    core.hear("d", flags=1, slots=core.node("c").slots | core.node("d").slots, config_epoch=4)
    core.hear("d", ACK, current_epoch=5)
    assert core.state.myself.is_replica


def test_the_election_is_tried_again_with_another_epoch() -> None:
    core = candidate()
    until_asked(core)
    assert 4_000 <= until_asked(core) <= 6_000
    assert core.state.current_epoch == 6


def test_who_has_less_data_waits_for_others() -> None:
    core = candidate()
    core.state.set_owner(core.node("e").slots, None)
    core.state.make_replica(core.node("e"), core.node("b"))
    core.hear("e", offset=9)
    assert 1_500 <= until_asked(core) <= 2_200


@pytest.mark.parametrize(
    ("age_ms", "factor", "may_stand"),
    [(20_500, 10, True), (22_000, 10, False), (22_000, 0, True), (None, 10, False)],
)
def test_a_replica_with_old_data_does_not_stand(
    age_ms: int | None, factor: int, may_stand: bool
) -> None:
    core = candidate(replica_validity_factor=factor)
    core.data.age_ms = age_ms
    core.pass_time(1_200, alive="cde")
    assert bool(core.said(REQUEST)) == may_stand


def test_a_replica_may_be_told_not_to_stand() -> None:
    core = candidate(replica_no_failover=True)
    core.pass_time(1_200, alive="cde")
    assert core.said(REQUEST) == []


# -- manual failover ---------------------------------------------------------------------------


def manual(mode: bytes) -> SmallCluster:
    core = SmallCluster("bcd", primary="b")
    core.data.offset = 5
    core.cluster.fail_over(mode, core.now_ms)
    core.take()
    return core


def test_a_manual_failover_waits_for_the_offset_of_the_paused_primary() -> None:
    core = manual(b"")
    assert [to for to, _ in core.said(messages.MFSTART)] == ["b"]
    core.hear("b", offset=9)
    core.pass_time(300, alive="bcd")
    core.hear("b", offset=9, marks=PAUSED)
    core.pass_time(300, alive="bcd")
    assert core.said(REQUEST) == []
    core.data.offset = 9
    core.pass_time(200, alive="bcd")
    asked = core.said(REQUEST)
    assert {to for to, _ in asked} == {"b", "c", "d"}
    assert all(message.marks & FORCE_ACK for _, message in asked)


def test_force_does_not_ask_the_primary() -> None:
    core = manual(b"FORCE")
    core.pass_time(200, alive="cd")
    assert {to for to, _ in core.said(REQUEST)} == {"b", "c", "d"}
    assert core.said(messages.MFSTART) == []


def test_takeover_asks_nobody() -> None:
    core = manual(b"TAKEOVER")
    assert core.state.myself.is_primary
    assert core.state.myself.config_epoch == core.state.current_epoch == 4
    assert core.said(REQUEST) == []


def test_a_manual_failover_ends_in_time() -> None:
    core = manual(b"")
    core.pass_time(5_100, alive="bcd")
    core.hear("b", offset=5, marks=PAUSED)
    core.pass_time(500, alive="bcd")
    assert core.said(REQUEST) == []


def test_what_a_manual_failover_needs() -> None:
    with pytest.raises(ReplyError, match="You should send CLUSTER FAILOVER to a replica"):
        SmallCluster("b").cluster.fail_over(b"", 0)
    core = SmallCluster("b", primary="b")
    core.node("b").flags |= FAIL
    with pytest.raises(ReplyError, match="Master is down or failed"):
        core.cluster.fail_over(b"", 0)
    core.state.demote(core.state.myself)
    with pytest.raises(ReplyError, match="my master is unknown to me"):
        core.cluster.fail_over(b"FORCE", 0)


def test_the_primary_pauses_writes_and_says_its_offset_on_each_tick() -> None:
    core = SmallCluster("bc")
    core.state.make_replica(core.node("b"), core.state.myself)
    assert PauseWrites(core.now_ms + 10_000) in core.hear("b", messages.MFSTART)
    core.data.offset = 77
    core.pass_time(200, alive="bc")
    pings = [message for to, message in core.said(messages.PING) if to == "b"]
    assert len(pings) == 2
    assert all(message.marks & PAUSED and message.offset == 77 for message in pings)
    actions = core.hear("b", flags=1, primary="", slots=core.state.myself.slots, config_epoch=9)
    assert ResumeWrites() in actions
    assert ReplicateFrom("10.0.0.2", 7001) in actions


def test_the_primary_goes_on_if_nothing_comes_of_it() -> None:
    core = SmallCluster("b")
    core.state.make_replica(core.node("b"), core.state.myself)
    core.hear("b", messages.MFSTART)
    assert ResumeWrites() in core.tick(5.2)


def test_a_primary_that_ends_asks_the_furthest_replica() -> None:
    core = SmallCluster("bcde")
    for letter, offset in (("b", 7), ("c", 9), ("d", 10)):
        core.state.make_replica(core.node(letter), core.state.myself)
        core.node(letter).offset = offset
    core.node("d").flags |= FAIL
    assert core.cluster.hand_over()
    core.take()
    assert [to for to, _ in core.said(messages.MFSTART)] == ["c"]
    core.node("b").offset, core.node("b").pong_received_ms = 9, core.now_ms + 1
    assert core.cluster.hand_over()  # `c` may hang: the last pong came from `b`
    core.take()
    assert [to for to, _ in core.said(messages.MFSTART)] == ["b"]
    assert not SmallCluster("b").cluster.hand_over()
    core.state.set_owner(core.state.myself.slots, core.node("e"))
    assert not core.cluster.hand_over()  # without slots there is nothing to take over


def test_a_replica_that_its_primary_asks_begins_a_manual_failover() -> None:
    core = SmallCluster("bcd", primary="b")
    core.hear("b", messages.MFSTART)
    assert [to for to, _ in core.said(messages.MFSTART)] == ["b"]
    core.hear("b", messages.MFSTART)  # one that is under way goes on
    assert core.said(messages.MFSTART) == []


def test_a_replica_does_not_take_over_from_a_primary_that_it_cannot_ask() -> None:
    core = SmallCluster("bcd", primary="b")
    core.node("b").flags |= FAIL
    core.hear("b", messages.MFSTART)
    core.pass_time(300, alive="cd")
    assert core.said(messages.MFSTART) == []


def test_a_stranger_cannot_pause_writes() -> None:
    core = SmallCluster("b")
    assert not any(isinstance(each, PauseWrites) for each in core.hear("b", messages.MFSTART))


# -- replica migration -------------------------------------------------------------------------


def shards(core: SmallCluster) -> Node:
    """This node and `c` are replicas of `b`; `d` has lost its replica `e`."""
    core.state.set_owner(core.node("c").slots | core.node("e").slots, core.node("b"))
    core.state.make_replica(core.node("c"), core.node("b"))
    core.state.make_replica(core.node("e"), core.node("d"))
    core.state.rename(core.state.myself, "0" * 40)
    core.settings.require_full_coverage = False
    core.pass_time(1_000, alive="bcde")
    core.node("e").flags |= FAIL
    return core.node("d")


def test_a_spare_replica_joins_an_orphaned_primary() -> None:
    core = SmallCluster("bcde", primary="b")
    orphaned = shards(core)
    core.pass_time(4_900, alive="bcd")
    assert core.state.myself.primary is core.node("b")
    core.pass_time(400, alive="bcd")
    assert core.state.myself.primary is orphaned


@pytest.mark.parametrize("setting", [{"migration_barrier": 2}, {"allow_replica_migration": False}])
def test_it_stays_if_it_must(setting: dict[str, object]) -> None:
    core = SmallCluster("bcde", primary="b", **setting)
    shards(core)
    core.pass_time(7_000, alive="bcd")
    assert core.state.myself.primary is core.node("b")
