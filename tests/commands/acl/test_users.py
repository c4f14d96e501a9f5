"""Passwords are kept as hashes.

Users.
"""

from __future__ import annotations

import pytest

from commands.acl.rules import RuleError
from commands.acl.users import User, apply_all, default_user, hash_of, is_hash, is_one_of

HASH = b"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def test_a_hash_is_sha_256_in_lower_case() -> None:
    assert hash_of(b"test") == HASH
    assert is_hash(HASH)
    assert not is_hash(HASH.upper()) and not is_hash(HASH[1:]) and not is_hash(b"z" * 64)


def test_a_password_is_one_of_several_hashes() -> None:
    assert is_one_of(b"test", [hash_of(b"other"), HASH])
    assert not is_one_of(b"Test", [hash_of(b"other"), HASH])
    assert not is_one_of(b"", [])


def made(text: str, *, all_channels: bool = False) -> User:
    user = User(b"ann", all_channels=all_channels)
    apply_all(user, [word.encode() for word in text.split(",") if word])
    return user


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "off sanitize-payload resetchannels -@all"),
        ("ON,NoPass,~*,+get", "on nopass sanitize-payload ~* resetchannels -@all +get"),
        ("on,(~a +get),()", "on sanitize-payload resetchannels -@all"
         " (~a resetchannels -@all +get) (resetchannels -@all)"),
        ("on,(+get),reset", "off sanitize-payload resetchannels -@all"),
        ("(+get),clearselectors,skip-sanitize-payload",
         "off skip-sanitize-payload resetchannels -@all"),
    ],
)  # fmt: skip
def test_a_user_is_shown_as_a_line_that_makes_it(text: str, line: str) -> None:
    user = made(text)
    assert user.line() == b"user ann " + line.encode()
    assert user.copy().line() == user.line()


def test_passwords_are_added_once_and_removed_by_either_form() -> None:
    digest = hash_of(b"p").decode()
    user = made(f"on,>p,#{digest},>q")
    assert user.hashes == [hash_of(b"p"), hash_of(b"q")]
    assert user.admits(b"p") and user.admits(b"q") and not user.admits(b"r")
    apply_all(user, [b"!" + digest.encode(), b"<q"])
    assert user.hashes == [] and not user.admits(b"q")
    for rule in (b"<q", b"!" + digest.encode(), b"#abc"):
        with pytest.raises(RuleError):
            user.apply(rule)


def test_nopass_forgets_passwords_and_a_password_ends_nopass() -> None:
    user = made("on,>p,nopass")
    assert user.admits(b"any") and user.hashes == []
    user.apply(b">p")
    assert not user.admits(b"any")


def test_who_is_off_is_not_admitted() -> None:
    assert not made("nopass").admits(b"")
    assert not made(">p").admits(b"p")


def test_new_selectors_begin_with_all_channels_if_so_configured() -> None:
    assert made("(+get)", all_channels=True).line().endswith(b"&* -@all (&* -@all +get)")


def test_the_default_user_may_do_everything() -> None:
    assert default_user().allows_everything
    assert default_user().line() == b"user default on nopass sanitize-payload ~* &* +@all"


def test_another_selector_may_allow_everything() -> None:
    assert made("(allkeys allchannels allcommands)").allows_everything
    assert not made("allkeys,(allchannels allcommands)").allows_everything
