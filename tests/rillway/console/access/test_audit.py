"""A line of the audit file is whole JSON, whatever a key is called."""

from __future__ import annotations

import json
from pathlib import Path

from rillway.console.access.audit import AuditFile


def test_keys_that_are_no_text_are_base64(tmp_path: Path) -> None:
    audit = AuditFile(str(tmp_path / "audit"), lambda: 0)
    for keys in ([b"a\nb"], [b"\xff"]):
        audit.write(
            audit.open(), user=None, address="::1", action="ack", db=1, keys=keys, outcome="ok"
        )
    first, second = (tmp_path / "audit").read_text().splitlines()
    assert json.loads(first)["keys"] == ["a\nb"]
    assert json.loads(second)["keys"] == [{"base64": "/w=="}]
