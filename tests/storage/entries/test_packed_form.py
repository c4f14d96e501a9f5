"""In which form the entries of a node are packed."""

from __future__ import annotations

import random
import tracemalloc

from storage.entries.entry_id import make_id
from storage.entries.frame import Frame
from storage.entries.layout import Layout
from storage.entries.packed_form import (
    AS_IS,
    COMPRESSED,
    MAX_COLUMNS,
    MIN_ENTRIES,
    PAUSE,
    Form,
    Packing,
)
from storage.zstd import decompress
from tests.storage.entries.sample_layouts import FIRST, entries_of, lay_out_all, numbered
from tests.storage.nodes.sample_nodes import encoded, packed_ids

CHANCE = random.Random(1)


def pack(
    packing: Packing, values: list[bytes], step: int = make_id(1, 0), name: bytes = b"f"
) -> Form:
    """The form of a node with these values; what is compressed comes back."""
    ids = [FIRST + n * step for n in range(len(values))]
    pairs = zip(ids, values, strict=True)
    entries = [encoded(entry_id, [name, value]) for entry_id, value in pairs]
    payload = b"".join(entries)
    lengths = set(map(len, entries))
    length = lengths.pop() if len(lengths) == 1 else 0
    text = bytearray(payload) + b"what was there before"
    form, packed = packing.pack(text, len(payload), length, ids[0], packed_ids(ids))
    if form is COMPRESSED:
        assert decompress(packed) == payload
        assert len(packed) < len(payload)
    if isinstance(form, Frame):
        assert form.build(ids[0], decompress(packed), len(ids), len(payload)) == payload
        assert len(packed) < len(payload)
    return form


def numbers(count: int = 100) -> list[bytes]:
    return [b"%06d" % CHANCE.randrange(10**6) for _ in range(count)]


def noise(count: int = 4) -> list[bytes]:
    return [CHANCE.randbytes(1024) for _ in range(count)]


def test_short_entries_of_one_length_are_kept_by_a_layout() -> None:
    assert isinstance(pack(Packing(), numbers()), Layout)


def test_entries_of_several_lengths_are_compressed() -> None:
    values = [b"%d" % n**3 for n in range(100)]
    assert pack(Packing(has_frames=False), values) is COMPRESSED
    assert isinstance(pack(Packing(has_frames=True), values), Frame)


def test_entries_whose_ids_do_not_proceed_in_equal_steps_are_compressed() -> None:
    assert pack(Packing(has_frames=False), numbers(), step=make_id(3, 0)) is COMPRESSED
    assert isinstance(pack(Packing(has_frames=True), numbers(), step=make_id(3, 0)), Frame)


def test_nodes_share_a_frame_and_a_new_one_is_not_made_for_each_node() -> None:
    packing = Packing(has_frames=True)
    texts = [b"%d" % n**3 for n in range(100)]
    first = pack(packing, texts)
    assert pack(packing, texts) is first
    assert [pack(packing, texts, name=b"g") for _ in range(PAUSE)] == [COMPRESSED] * PAUSE
    other = pack(packing, texts, name=b"g")
    assert isinstance(other, Frame)
    assert other is not first


def test_what_does_not_compress_is_kept_as_it_is() -> None:
    assert pack(Packing(), noise()) is AS_IS


def test_after_an_attempt_in_vain_nothing_is_tried_for_a_while() -> None:
    packing = Packing(has_frames=False)
    texts = [b"a text that compresses well, " * 40] * 4
    assert pack(packing, noise()) is AS_IS
    assert [pack(packing, texts) for _ in range(PAUSE)] == [AS_IS] * PAUSE
    assert pack(packing, texts) is COMPRESSED
    assert pack(packing, texts) is COMPRESSED


def test_a_stream_of_changing_entries_comes_back_to_columns() -> None:
    packing = Packing()
    texts = [CHANCE.randbytes(60) for _ in range(50)]
    assert isinstance(pack(packing, numbers()), Layout)
    assert not isinstance(pack(packing, texts), Layout)
    forms = [pack(packing, numbers()) for _ in range(PAUSE + 1)]
    assert not any(isinstance(form, Layout) for form in forms[:-1])
    assert isinstance(forms[-1], Layout)


def test_compressed_entries_do_not_hold_the_memory_of_the_worst_case() -> None:
    packing = Packing(has_frames=False)
    payload = b"a text that compresses well, " * 40
    ids = packed_ids([FIRST, FIRST + 7])
    text = bytearray(payload)
    tracemalloc.start()
    try:
        packed = [packing.pack(text, len(text), len(text), FIRST, ids)[1] for _ in range(100)]
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 100 * len(payload) / 2
    assert set(map(decompress, packed)) == {payload}


def test_a_layout_is_not_worth_it_for_few_entries() -> None:
    entries, ids = numbered(MIN_ENTRIES - 1)
    assert lay_out_all(entries, ids) is None


def test_entries_with_much_that_differs_have_no_layout() -> None:
    ids = [FIRST + n for n in range(200, 300)]
    values = [bytes((n + k) % 256 for k in range(MAX_COLUMNS + 1)) for n in range(100)]
    assert lay_out_all(entries_of(ids, values, [b"f"]), ids) is None
