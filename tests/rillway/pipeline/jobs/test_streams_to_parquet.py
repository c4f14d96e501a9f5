"""rillway/pipeline/jobs/streams_to_parquet.py without Spark; the rest: jvm/test_clusters.py."""

from __future__ import annotations

import pytest

from rillway.pipeline.jobs import streams_to_parquet


def test_an_option_is_refused_before_spark_is_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_to_parquet, "spark_session", None)
    assert streams_to_parquet.main(["--out", "x", "--option", "steam=s"]) == 1
    error = capsys.readouterr().err
    assert error == "streams_to_parquet: there is no option steam: did you mean stream?\n"
