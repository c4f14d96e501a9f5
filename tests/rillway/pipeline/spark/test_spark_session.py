"""Spark sessions: settings, and messages to the user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rillway.pipeline.spark.spark_session import (
    LOCAL_MASTER,
    JvmNoise,
    add_to_python_path,
    root_cause,
    settings,
)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_MASTER"):
        monkeypatch.delenv(name, raising=False)


def test_a_session_is_local_unless_another_master_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert settings(None, {})["spark.master"] == LOCAL_MASTER
    assert settings("local[1]", {})["spark.ui.enabled"] == "false"
    remote = settings("spark://host:7077", {})
    assert remote["spark.master"] == "spark://host:7077"
    assert "spark.driver.host" not in remote
    monkeypatch.setenv("SPARK_MASTER", "spark://other:7077")
    assert settings(None, {})["spark.master"] == "spark://other:7077"


def test_under_spark_submit_the_master_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert "spark.master" not in settings("local[1]", {})


def test_what_the_caller_sets_wins() -> None:
    conf = {"spark.sql.shuffle.partitions": "77"}
    assert settings(None, conf)["spark.sql.shuffle.partitions"] == "77"


def test_workers_find_a_checkout_but_need_no_help_with_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    add_to_python_path(Path("/venv/lib/python3.11/site-packages"))
    assert os.environ["PYTHONPATH"] == "/elsewhere"
    add_to_python_path(tmp_path)
    add_to_python_path(tmp_path)
    assert os.environ["PYTHONPATH"] == f"{tmp_path}{os.pathsep}/elsewhere"


def test_of_what_children_print_only_our_lines_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import io
    import subprocess

    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    noise = JvmNoise()
    with noise.redirected() as listener:
        script = "echo WARN something >&2; echo 'rillway: s: 5 entries are lost' >&2"
        subprocess.run(["sh", "-c", script], check=True)
    listener.join(60)
    assert shown.getvalue() == "rillway: s: 5 entries are lost\n"
    assert list(noise.lines) == ["WARN something", "rillway: s: 5 entries are lost"]


SPARK_ERROR = """An error occurred while calling o71.save.
: org.apache.spark.SparkException: [PYTHON_DATA_SOURCE_ERROR] Failed when reading:
Traceback (most recent call last):
  File "pyspark/worker.py", line 12, in main
    process()
rillway.pipeline.ranges.loss.DataLost: s: had been read up to 30-0
\tat org.apache.spark.Something(Something.scala:12)
pyspark.errors.exceptions.base.PySparkRuntimeError: and more
"""


def test_the_cause_of_an_error_is_one_line() -> None:
    assert root_cause(ValueError(SPARK_ERROR)) == "s: had been read up to 30-0"
    assert root_cause(ValueError("plain\nand more")) == "plain"
    hidden = "[PYTHON_ERROR] Failed: rillway.pipeline.spark.options.OptionError: no option x: y?"
    assert root_cause(ValueError(hidden)) == "no option x: y?"
    parsed = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'b'.\n\n== SQL ==\n"
    assert root_cause(ValueError(parsed)) == "[PARSE_SYNTAX_ERROR] Syntax error at or near 'b'."
    java = "An error occurred\n: a.B: x\n\tat c\nCaused by: a.B: y\nCaused by: d.E: no file: f"
    assert root_cause(ValueError(java)) == "no file: f"
    assert root_cause(ValueError()) == "ValueError"
