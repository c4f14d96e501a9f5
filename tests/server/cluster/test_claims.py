from __future__ import annotations

from server.cluster import messages
from server.cluster.events import DeleteKeysInSlots, ReplicateFrom, Save, SlotsChanged
from server.cluster.nodes import range_of_slots
from tests.server.cluster.small_cluster import SmallCluster


def test_a_claim_with_a_higher_epoch_wins() -> None:
    core = SmallCluster("bc")
    slots = core.node("b").slots | 1 << 200 | 1 << 9_000
    actions = core.hear("b", slots=slots, config_epoch=3, current_epoch=3)
    assert core.node("b").slots == slots
    assert core.state.current_epoch == 3
    assert any(isinstance(action, Save) and action.is_promise for action in actions)
    assert any(isinstance(action, SlotsChanged) for action in actions)


def test_a_claim_with_a_lower_epoch_is_corrected() -> None:
    core = SmallCluster("bc")
    core.hear("b", slots=core.node("b").slots | 1 << 200)
    assert core.node("c").slots == range_of_slots(200, 299)
    ((to, update),) = core.said(messages.UPDATE)
    assert (to, update.subject, update.subject_epoch) == ("b", "c" * 40, 2)
    assert update.subject_slots == core.node("c").slots


def test_a_slot_that_is_imported_stays_with_its_owner() -> None:
    core = SmallCluster("bc")
    core.cluster.set_slot_importing(b"150", b"b" * 40)
    core.hear("c", slots=core.node("c").slots | 1 << 150, config_epoch=9)
    assert core.cluster.slot_owner(150) is core.node("b")


def test_a_slot_whose_owner_has_dropped_it_is_free_for_any_claim() -> None:
    core = SmallCluster("bc")
    core.hear("c", slots=core.node("c").slots & ~(1 << 200))
    assert core.cluster.slot_owner(200) is core.node("c")
    core.hear("b", slots=core.node("b").slots | 1 << 200)
    assert core.cluster.slot_owner(200) is core.node("b")
    assert core.said(messages.UPDATE) == []


def test_keys_of_lost_slots_are_deleted() -> None:
    core = SmallCluster("b")
    core.data.keys[5] = 1
    actions = core.hear("b", slots=core.node("b").slots | 1 << 5 | 1 << 6)
    assert DeleteKeysInSlots(1 << 5) in actions
    assert core.cluster.slot_owner(6) is core.node("b")


def test_who_has_lost_its_last_slot_follows_the_one_that_took_it() -> None:
    core = SmallCluster("b")
    actions = core.hear("b", slots=core.node("b").slots | range_of_slots(0, 99))
    assert ReplicateFrom("10.0.0.2", 7001) in actions
    assert core.state.myself.primary is core.node("b")


def test_it_stays_a_primary_if_replicas_must_not_migrate() -> None:
    core = SmallCluster("b", allow_replica_migration=False)
    core.hear("b", slots=core.node("b").slots | range_of_slots(0, 99))
    assert core.state.myself.is_primary
    core = SmallCluster("b", allow_replica_migration=False)
    core.hear("b", slots=range_of_slots(0, 99))
    assert core.state.myself.primary is core.node("b")


def test_a_replica_follows_who_replaces_its_primary() -> None:
    core = SmallCluster("bc", primary="b")
    core.hear("c", slots=core.node("b").slots | core.node("c").slots, config_epoch=5)
    assert core.state.myself.primary is core.node("c")


def test_an_update_says_who_owns_slots_now() -> None:
    core = SmallCluster("bc")
    core.hear(
        "b", messages.UPDATE, subject="c" * 40, subject_epoch=7, subject_slots=1 << 5 | 1 << 200
    )
    assert core.node("c").config_epoch == 7
    assert core.cluster.slot_owner(5) is core.node("c")
    core.hear("b", messages.UPDATE, subject="c" * 40, subject_epoch=6, subject_slots=1 << 6)
    assert core.cluster.slot_owner(6) is core.state.myself


def test_of_two_primaries_with_one_epoch_the_smaller_id_takes_another() -> None:
    core = SmallCluster("b")
    core.state.rename(core.state.myself, "a" * 40)
    core.hear("b", config_epoch=1)
    assert core.state.myself.config_epoch == 0
    core.state.myself.config_epoch = 1
    actions = core.hear("b")
    assert core.state.myself.config_epoch == core.state.current_epoch == 2
    assert isinstance(actions[0], Save) and actions[0].is_promise
    core.state.rename(core.state.myself, "c" * 40)
    core.hear("b", config_epoch=2)
    assert core.state.myself.config_epoch == 2


def test_a_primary_that_becomes_a_replica_in_another_shard_has_no_slots() -> None:
    core = SmallCluster("bc")
    core.hear("b", flags=2, primary="c" * 40, slots=core.node("c").slots)
    assert core.node("b").primary is core.node("c")
    assert core.cluster.slot_owner(100) is None


def test_in_one_shard_the_new_primary_has_its_slots() -> None:
    core = SmallCluster("bc")
    core.state.set_owner(core.node("c").slots, None)
    core.state.make_replica(core.node("c"), core.node("b"))
    slots = core.node("b").slots
    core.hear("b", flags=2, primary="c" * 40, config_epoch=8)
    assert core.node("c").is_primary and core.node("c").slots == slots
    assert core.node("c").config_epoch == 8


def test_a_message_from_before_an_election_changes_nothing() -> None:
    core = SmallCluster("bc")
    core.state.set_owner(core.node("c").slots, None)
    core.state.make_replica(core.node("c"), core.node("b"))
    late = core.message("c", messages.PING)
    slots = core.node("b").slots
    core.hear("c", flags=1, primary="", slots=slots, config_epoch=8)
    assert core.node("c").slots == slots
    core.receive(core.inbound["c"], late)
    assert core.node("c").is_primary and core.node("c").slots == slots


def test_a_replica_of_a_replica_follows_the_primary() -> None:
    core = SmallCluster("bc", primary="b")
    core.hear("b", flags=2, primary="c" * 40, slots=core.node("c").slots, config_epoch=2)
    assert core.state.myself.primary is core.node("c")


def test_roles_change_back() -> None:
    core = SmallCluster("bc")
    core.state.make_replica(core.node("c"), core.node("b"))
    core.hear("c", flags=1, primary="", slots=0)
    assert core.node("c").is_primary
    assert core.node("b").replicas == []
