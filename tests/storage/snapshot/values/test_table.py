"""storage/snapshot/values/table.py: every type is written and read."""

from __future__ import annotations

from storage.append_only import rewrite
from storage.digest import PARTS
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.reader import can_skip
from storage.snapshot.values.table import CODECS, DECODERS, plain_version
from storage.types.packed_table import PackedTable
from storage.types.value import Value


def test_every_class_of_values_is_in_every_table() -> None:
    classes = {*Value.__subclasses__(), *PackedTable.__subclasses__()} - {PackedTable}
    assert classes == set(CODECS) == set(PARTS) == set(rewrite.REBUILDERS)
    assert len({cls.type_name for cls in classes}) == len(classes)


def test_what_is_read_needs_not_be_passed_over() -> None:
    assert not [code for code in DECODERS if can_skip(code)]


def test_a_fixed_type_of_stream_fixes_the_version() -> None:
    assert plain_version(SnapshotOptions()) == 11
    options = SnapshotOptions(stream_type=19)
    assert plain_version(options) == options.newest_version == 10
    assert options.allows(10)
    assert not options.allows(11)
    assert SnapshotOptions().allows(14)
