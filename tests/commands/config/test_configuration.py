"""The directives as a whole."""

from __future__ import annotations

import pytest

from commands.config.configuration import DIRECTIVES, NAMES, Configuration, is_known
from storage.redis_format.encoding_limits import EncodingLimits


def test_every_directive_shows_a_value_that_it_accepts() -> None:
    config = Configuration()
    for name, found in DIRECTIVES.items():
        config.set(name, found.kind.words(getattr(config, found.attribute)))
    assert config == Configuration()


def test_every_name_can_be_read() -> None:
    config = Configuration()
    assert {name: config.get(name) for name in NAMES}["appendonly"] == "no"
    assert config.get("client-output-buffer-limit") == (
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"
    )


def test_an_attribute_is_named_like_its_directive() -> None:
    own = {"module_parameters", "renamed_commands", "users"}
    names = {name.replace("_", "-") for name in vars(Configuration()).keys() - own}
    assert names == {found.name for found in DIRECTIVES.values()}
    assert EncodingLimits.__annotations__.keys() <= vars(Configuration()).keys()


def test_an_alias_sets_the_same_value() -> None:
    config = Configuration()
    config.set("lua-time-limit", ["7"])
    assert config.busy_reply_threshold == 7
    assert config.get("busy-reply-threshold") == config.get("lua-time-limit") == "7"


def test_output_limits_are_set_class_by_class() -> None:
    config = Configuration()
    config.set("client-output-buffer-limit", ["pubsub 1 2 3"])
    assert config.get("client-output-buffer-limit") == (
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 1 2 3"
    )
    assert Configuration().get("client-output-buffer-limit").endswith("33554432 8388608 60")


def test_a_value_of_one_configuration_is_not_shared_with_another() -> None:
    one = Configuration()
    one.bind.append("::2")
    assert Configuration().bind == ["127.0.0.1", "-::1"]


def test_a_refused_value_changes_nothing() -> None:
    config = Configuration()
    with pytest.raises(ValueError, match="inclusive"):
        config.set("port", ["70000"])
    with pytest.raises(ValueError, match="where connections come from"):
        config.set("socket-mark-id", ["7"])
    with pytest.raises(KeyError):
        config.set("nonsense", ["1"])
    assert config == Configuration()


def test_known_are_directives_and_those_of_missing_features() -> None:
    assert is_known("hz")
    assert is_known("lua-time-limit")
    assert is_known("save")
    assert is_known("slaveof")
    assert not is_known("nonsense")
