"""storage/append_only/manifest.py: what redis-server 7.0.15 writes, takes and refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.append_only.manifest import (
    BASE,
    HISTORY,
    INCREMENT,
    Manifest,
    ManifestError,
    Part,
    parse,
)

BASE_2 = Part("appendonly.aof.2.base.rdb", 2, BASE)
INCREMENT_2 = Part("appendonly.aof.2.incr.aof", 2, INCREMENT)
INCREMENT_3 = Part("appendonly.aof.3.incr.aof", 3, INCREMENT)
USUAL = (
    b"file appendonly.aof.2.base.rdb seq 2 type b\nfile appendonly.aof.2.incr.aof seq 2 type i\n"
)


def test_the_usual_manifest_is_read_and_written_as_redis_does() -> None:
    manifest = parse(USUAL)
    assert manifest == Manifest(BASE_2, (INCREMENT_2,))
    assert manifest.format() == USUAL


@pytest.mark.parametrize(
    ("line", "part"),
    [
        (b"FILE b1 SEQ 1 TYPE b", Part("b1", 1, BASE)),
        (b"type b seq 1 file b1", Part("b1", 1, BASE)),
        (b"file b1 seq 1 type b color red", Part("b1", 1, BASE)),
        (b"file b1 seq 1 type b\r", Part("b1", 1, BASE)),
        (b"  file b1   seq 1  type b  ", Part("b1", 1, BASE)),
        (b"file b1 file b2 seq 1 type b", Part("b2", 1, BASE)),
        (b'file "b 1" seq 1 type b', Part("b 1", 1, BASE)),
        (b'file "b\\x31" seq 1 type b', Part("b1", 1, BASE)),
        (b"# a comment\nfile b1 seq 1 type b", Part("b1", 1, BASE)),
    ],
)
def test_what_redis_takes_is_taken(line: bytes, part: Part) -> None:
    assert parse(line + b"\n").base == part


@pytest.mark.parametrize(
    ("data", "line_number", "reason"),
    [
        (b"", 0, "Found an empty AOF manifest"),
        (b"file i1 seq 1 type i", 1, "The AOF manifest file contains too long line"),
        (
            b"file b1 seq 1 type b x " + b"a" * 1001 + b"\n",
            1,
            "The AOF manifest file contains too long line",
        ),
        (b"file b1\0 seq 1 type b\n", 1, "The AOF manifest file contains too long line"),
        (
            b"file b1 seq 1 type b\nfile b2 seq 2 type b\n",
            2,
            "Found duplicate base file information",
        ),
        (
            b"file i1 seq 2 type i\nfile i2 seq 1 type i\n",
            2,
            "Found a non-monotonic sequence number",
        ),
        (
            b"file i1 seq 1 type i\nfile i2 seq 1 type i\n",
            2,
            "Found a non-monotonic sequence number",
        ),
        (b"# hi\n\n", 2, "Invalid AOF manifest file format"),
        (b" # hi\n", 1, "Invalid AOF manifest file format"),
        (b"file b1 type b\n", 1, "Invalid AOF manifest file format"),
        (b"file b1 seq 1 type\n", 1, "Invalid AOF manifest file format"),
        (b"file b1 seq 1\n", 1, "Invalid AOF manifest file format"),
        (b"file b1 seq abc type b\n", 1, "Invalid AOF manifest file format"),
        (b"file b1 seq 0 type b\n", 1, "Invalid AOF manifest file format"),
        (b'file "b1 seq 1 type b\n', 1, "Invalid AOF manifest file format"),
        (b'file "" seq 1 type b\n', 1, "Invalid AOF manifest file format"),
        (b"file b1 seq 1 type x\n", 1, "Unknown AOF file type"),
        (b"file d/b1 seq 1 type b\n", 1, "File can't be a path, just a filename"),
    ],
)
def test_what_redis_refuses_is_refused_with_its_reason_and_the_line(
    data: bytes, line_number: int, reason: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(data)
    assert (caught.value.reason, caught.value.line_number) == (reason, line_number)
    if line_number:
        assert caught.value.line == data.split(b"\n")[line_number - 1]


def test_the_longest_line_is_taken() -> None:
    line = b"file b1 seq 1 type b x "
    assert parse(line + b"a" * (1023 - len(line)) + b"\n").base


def test_a_sequence_number_or_type_with_trailing_characters_is_refused() -> None:
    # Redis takes both; nothing writes them.
    for line in (b"file b1 seq 1x type b\n", b"file b1 seq 1 type bx\n"):
        with pytest.raises(ManifestError):
            parse(line)


def test_a_manifest_of_comments_names_no_file() -> None:
    assert parse(b"# hi\n") == Manifest()


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("appendonly.aof", b"appendonly.aof"),
        ('my file "x"', b'"my file \\"x\\""'),
        ("tab\tx", b'"tab\\tx"'),
        ("back\\slash", b'"back\\\\slash"'),
        ("\xfcn\xef", b'"\\xc3\\xbcn\\xc3\\xaf"'),
        ("it's", b'"it\'s"'),  # Redis writes it bare and cannot read it then
    ],
)
def test_a_name_is_quoted_where_it_must_be(name: str, written: bytes) -> None:
    assert Manifest(Part(name, 1, BASE)).format() == b"file %b seq 1 type b\n" % written


NAMES = st.binary(min_size=1, max_size=30).filter(
    lambda raw: b"/" not in raw and b"\0" not in raw
)  # fmt: skip


@given(
    base=st.none() | NAMES,
    increments=st.lists(NAMES, max_size=4),
    history=st.lists(NAMES, max_size=3),
)
def test_what_was_written_is_read_back(
    base: bytes | None, increments: list[bytes], history: list[bytes]
) -> None:
    def part(raw: bytes, sequence: int, part_type: str) -> Part:
        return Part(raw.decode("utf-8", "surrogateescape"), sequence, part_type)

    manifest = Manifest(
        None if base is None else part(base, 7, BASE),
        tuple(part(raw, sequence, INCREMENT) for sequence, raw in enumerate(increments, 1)),
        tuple(part(raw, sequence, HISTORY) for sequence, raw in enumerate(history, 1)),
    )
    assert parse(manifest.format()) == manifest


def test_the_first_names_carry_the_number_one() -> None:
    assert Manifest().next_base("a.aof", is_snapshot=True) == Part("a.aof.1.base.rdb", 1, BASE)
    assert Manifest().next_base("a.aof", is_snapshot=False).name == "a.aof.1.base.aof"
    assert Manifest().next_increment("a.aof") == Part("a.aof.1.incr.aof", 1, INCREMENT)


def test_the_next_names_follow_the_last_ones() -> None:
    manifest = Manifest(BASE_2, (INCREMENT_2, INCREMENT_3))
    assert manifest.next_base("appendonly.aof", is_snapshot=True).sequence == 3
    assert manifest.next_increment("appendonly.aof").sequence == 4


def test_a_name_that_history_uses_is_not_given_again() -> None:
    history = (Part("appendonly.aof.1.base.rdb", 1, HISTORY),)
    part = Manifest(history=history).next_base("appendonly.aof", is_snapshot=True)
    assert part == Part("appendonly.aof.2.base.rdb", 2, BASE)


def test_a_rewrite_makes_history_of_everything_but_what_came_since() -> None:
    base = Part("appendonly.aof.3.base.rdb", 3, BASE)
    manifest = Manifest(BASE_2, (INCREMENT_2, INCREMENT_3)).rewritten(base, (INCREMENT_3,))
    assert manifest.loaded == (base, INCREMENT_3)
    assert manifest.format() == (
        b"file appendonly.aof.3.base.rdb seq 3 type b\n"
        b"file appendonly.aof.2.base.rdb seq 2 type h\n"
        b"file appendonly.aof.2.incr.aof seq 2 type h\n"
        b"file appendonly.aof.3.incr.aof seq 3 type i\n"
    )
    assert manifest.without_history({BASE_2.name, INCREMENT_2.name}).history == ()
