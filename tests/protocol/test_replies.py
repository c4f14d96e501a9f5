"""protocol/replies.py: values as RESP bytes."""

from __future__ import annotations

import pytest

from protocol import replies


def test_a_bulk_string_is_binary_safe() -> None:
    assert replies.bulk(b"a\r\n\0") == b"$4\r\na\r\n\0\r\n"


def test_replies_are_joined_in_order() -> None:
    assert replies.joined([b"a", b"", b"bc"]) == b"abc"
    assert replies.joined([]) == b""


def test_an_error_never_holds_a_line_break() -> None:
    assert replies.error(b"ERR a\r\nb") == b"-ERR a  b\r\n"


def test_null_depends_on_protocol_and_shape() -> None:
    assert (replies.NIL[2], replies.NIL_ARRAY[2]) == (b"$-1\r\n", b"*-1\r\n")
    assert replies.NIL[3] == replies.NIL_ARRAY[3] == b"_\r\n"


def test_a_map_is_a_flat_array_in_resp2() -> None:
    items = [replies.bulk(b"k"), replies.integer(1)]
    assert replies.mapping(items, 2) == b"*2\r\n$1\r\nk\r\n:1\r\n"
    assert replies.mapping(items, 3) == b"%1\r\n$1\r\nk\r\n:1\r\n"


def test_sets_and_pushes_are_arrays_in_resp2() -> None:
    assert replies.set_header(2, 2) == replies.push_header(2, 2) == b"*2\r\n"
    assert (replies.set_header(2, 3), replies.push_header(2, 3)) == (b"~2\r\n", b">2\r\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, b"1"),
        (-2.5, b"-2.5"),
        (0.1, b"0.1"),
        (float("inf"), b"inf"),
        (float("-inf"), b"-inf"),
        (float("nan"), b"nan"),
        (1e300, b"1e+300"),
    ],
)
def test_a_double_is_its_shortest_exact_text(value: float, text: bytes) -> None:
    assert replies.double(value, 3) == b"," + text + b"\r\n"
    assert replies.double(value, 2) == replies.bulk(text)


def test_a_verbatim_string_counts_its_kind() -> None:
    assert replies.verbatim(b"hi", 3) == b"=6\r\ntxt:hi\r\n"
    assert replies.verbatim(b"hi", 2) == b"$2\r\nhi\r\n"


def test_a_request_is_an_array_of_bulk_strings() -> None:
    assert replies.command([b"GET", b"k"]) == b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"


def test_many_bulk_strings_look_the_same_whether_or_not_they_are_of_one_length() -> None:
    for values in ([], [b"a"], [b"a"] * 20, [b""] * 20, [b"a\r\n", b"bcd"] * 9, [b"x" * 99] * 8):
        each = [replies.bulk(value) for value in values]
        assert replies.bulk_array(values) == replies.array(each)
        assert replies.bulks(values) == b"".join(each)


def test_a_form_is_filled_with_numbers_and_bytes() -> None:
    form = b"%%2 a=%d b=%b%b%d end"
    for values in (
        (0, b"", b"x" * 300, 9),
        (-1, b"%d", b"\0\r\n", 2**63 - 1),
        (-(2**63), b"1", b"2", 10),
    ):
        assert replies.Form(form).fill(values) == form % values
    assert replies.Form(b"plain").fill(()) == b"plain"
    for wrong in ((), (1, b"", b""), (1, b"", b"", 2, 3)):
        with pytest.raises(ValueError, match=r"argument|places"):
            replies.Form(form).fill(wrong)
