"""rillway/pipeline/jobs/parquet_to_stream.py without Spark; the rest is in jvm/test_clusters.py."""

from __future__ import annotations

import pytest

from rillway.pipeline.jobs import parquet_to_stream


def test_an_option_is_refused_before_spark_is_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_to_stream, "spark_session", None)
    assert parquet_to_stream.main(["--from", "x", "--option", "steam=s"]) == 1
    error = capsys.readouterr().err
    assert error == "parquet_to_stream: there is no option steam: did you mean stream?\n"
