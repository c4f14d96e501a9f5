"""A schema by what streams hold."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rillway.pipeline.archive.columns.inference import Samples, proposal
from rillway.pipeline.archive.columns.requests import evolved, from_file
from rillway.pipeline.archive.columns.schema import Columns


def proposed(*values: str | bytes, name: str = "a") -> str:
    samples = Samples()
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    samples.add("s", ([name.encode(), value] for value in encoded))
    return proposal(samples)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-5"], "INT"),
        (["1", "2147483648"], "BIGINT"),
        (["1", "007"], "STRING"),
        (["1.50", "12.25"], "DECIMAL(9,2)"),
        (["1.50", "1234567890.25"], "DECIMAL(18,2)"),
        (["1.5", "12.25"], "DOUBLE"),
        (["1.50", "12.2"], "STRING"),
        (["true", "false"], "BOOLEAN"),
        (["2026-01-31"], "DATE"),
        (["2026-01-31 12:00:00", "2026-01-31 12:00:00.5"], "TIMESTAMP"),
        (["x", ""], "STRING"),
        ([b"\xff"], "BINARY"),
        (["9" * 30], "STRING"),
    ],
)
def test_the_narrowest_type_that_takes_all_as_they_are(values: list[str], kind: str) -> None:
    assert f'"s": "a {kind}"' in proposed(*values)


def test_times_have_one_form() -> None:
    samples = Samples()
    samples.add("s", [[b"a", b"2026-01-31T12:00:00Z", b"b", b"2026-01-31 12:00:00"]])
    text = proposal(samples)
    assert "timestampFormat: \"yyyy-MM-dd'T'HH:mm:ssX\"" in text
    assert '"s": "a TIMESTAMP, b STRING"' in text


def test_a_name_has_one_type_for_all_streams(tmp_path: Path) -> None:
    samples = Samples()
    samples.add("one", [[b"amount", b"1", b"id", b"7"]])
    samples.add("other", [[b"Amount", b"1.50", b"a b", b"x", b"\xff", b"y", b'"', b"z"]])
    path = tmp_path / "s.yaml"
    path.write_text(proposal(samples))
    columns = evolved(Columns(), pa.schema([]), from_file(path))
    types = {column.name: column.type for column in columns.columns}
    assert types == {"amount": "STRING", "id_field": "INT", "a_b_field": "STRING", '"': "STRING"}
